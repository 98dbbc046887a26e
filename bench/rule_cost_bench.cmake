# The measurement behind docs/decisions/0001-one-arithmetic-cost.md; built on demand only.
add_executable(rule_cost EXCLUDE_FROM_ALL ${CMAKE_CURRENT_LIST_DIR}/rule_cost.cc)
target_compile_options(rule_cost PRIVATE -O3 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mprefer-vector-width=512
                       -Wno-uninitialized -Wno-maybe-uninitialized)
target_link_libraries(rule_cost PRIVATE fb_kernels fb_weights)
