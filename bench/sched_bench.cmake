add_executable(sched_bench ${CMAKE_CURRENT_SOURCE_DIR}/sched_bench.cc)
target_link_libraries(sched_bench PRIVATE fb_sched benchmark::benchmark)
