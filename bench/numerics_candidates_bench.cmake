# The measurement behind docs/contracts/numerics.md; built on demand only.
add_executable(numerics_candidates EXCLUDE_FROM_ALL ${CMAKE_CURRENT_LIST_DIR}/numerics_candidates.cc)
target_link_libraries(numerics_candidates PRIVATE fb_kernels)
