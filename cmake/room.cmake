# Headers that most files include, parsed once: a third of the build's time. Sources include what they use all the same;
# the debug preset and clang-tidy compile without. One target per set of flags; the others reuse it.
function(firebrick_precompile name)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/${name}.cc CONTENT "// Here to build the precompiled headers.\n")
  add_library(${name} OBJECT ${CMAKE_BINARY_DIR}/${name}.cc)
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(${name} PRIVATE spdlog::spdlog)
  target_precompile_headers(${name} PRIVATE
    <algorithm> <array> <atomic> <chrono> <cstdint> <cstring> <filesystem> <functional> <map> <memory> <mutex> <optional>
    <random> <span> <string> <string_view> <thread> <unordered_map> <utility> <variant> <vector>
    ${CMAKE_SOURCE_DIR}/src/base/status.h ${ARGN})
endfunction()
firebrick_precompile(fb_precompiled)
firebrick_precompile(fb_precompiled_test <gtest/gtest.h> <gmock/gmock.h>)
target_link_libraries(fb_precompiled_test PRIVATE GTest::gtest GTest::gmock)
target_compile_options(fb_precompiled_test PRIVATE $<$<CONFIG:Release>:-O1>)

# Sanitizer builds compile several files of a room as one (CMAKE_UNITY_BUILD): half the time. These stand alone there,
# since they have a private name that another file of the room has, too.
function(firebrick_stand_alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# firebrick_room(NAME [DEPS target...] [OWN_FLAGS]): one library of all .cc files below src/NAME, and one test program
# NAME_test of all *_test.cc files there. The library is fb_NAME. DEPS are the rooms and libraries it links.
# OWN_FLAGS: the room sets compile options of its own, so that the precompiled headers do not fit it.
function(firebrick_room name)
  cmake_parse_arguments(ROOM "OWN_FLAGS" "" "DEPS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  list(FILTER sources EXCLUDE REGEX "/main\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  if(sources)
    add_library(fb_${name} STATIC ${sources})
    target_include_directories(fb_${name} PUBLIC ${CMAKE_SOURCE_DIR}/src)
    target_link_libraries(fb_${name} PUBLIC ${ROOM_DEPS})
    if(NOT ROOM_OWN_FLAGS)
      target_precompile_headers(fb_${name} REUSE_FROM fb_precompiled)
    endif()
  else()
    add_library(fb_${name} INTERFACE)
    target_include_directories(fb_${name} INTERFACE ${CMAKE_SOURCE_DIR}/src)
    target_link_libraries(fb_${name} INTERFACE ${ROOM_DEPS})
  endif()
  if(tests AND NOT FIREBRICK_SANITIZER STREQUAL "fuzz")
    firebrick_test(${name}_test SOURCES ${tests} DEPS fb_${name})
  endif()
endfunction()

# firebrick_test(NAME SOURCES file... DEPS target... [NO_SANITIZER]): a GoogleTest program, registered with ctest
# under its own name, and built by the sanitizer presets unless NO_SANITIZER is given.
function(firebrick_test name)
  cmake_parse_arguments(T "NO_SANITIZER" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${T_SOURCES})
  # The time of a test is spent in the rooms, which stay optimised; a heavy test file compiles in two thirds of the time.
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  target_precompile_headers(${name} REUSE_FROM fb_precompiled_test)
  target_link_libraries(${name} PRIVATE ${T_DEPS} GTest::gtest GTest::gmock GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE FIREBRICK_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  if(NOT T_NO_SANITIZER)
    add_dependencies(sanitizer_tests ${name})
    set_tests_properties(${name} PROPERTIES LABELS sanitizer)
  endif()
endfunction()
