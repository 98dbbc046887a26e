add_executable(tokenizer_speed ${CMAKE_CURRENT_LIST_DIR}/tokenizer_speed.cc)
target_link_libraries(tokenizer_speed PRIVATE fb_text)
