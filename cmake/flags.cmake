# Compiler flags of every target. The baseline is x86-64-v3 (AVX2, FMA, F16C): the lowest level that the kernels
# have. Contraction is off, so that a fused multiply-add happens only where one is written: see docs/contracts/numerics.md.
add_compile_options(-march=x86-64-v3 -ffp-contract=off -fno-fast-math -Wall -Wextra -Wno-psabi
                    $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor> -fno-omit-frame-pointer)
# The release and debug builds hold every warning for an error. Sanitizer builds print them: GCC 12 takes its own
# instrumentation for uninitialised reads, and clang warns of other things than the compiler of record.
if(NOT FIREBRICK_SANITIZER)
  add_compile_options(-Werror)
endif()
add_compile_definitions(_GNU_SOURCE)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
# -O3 is for kernels/ (its CMakeLists.txt); elsewhere it costs a fifth of the build and buys nothing that a bench shows.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_C_FLAGS_RELEASE "-O2 -DNDEBUG")
if(FIREBRICK_SANITIZER)
  # Fast to compile, with line numbers; CHECKs for debugging stay in.
  set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g1")
  set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O1 -g1")
endif()
if(FIREBRICK_SANITIZER STREQUAL "asan")
  # The four checks left out stand at every access through a pointer and double the build; ASan finds what they find by
  # itself, but for misaligned reads, and the fuzz targets of every parser keep all of them.
  add_compile_options(-fsanitize=address,undefined -fno-sanitize=null,alignment,object-size,vptr -fno-sanitize-recover=all)
  # Checks by call, not inline: a quarter of the build's time, for tests that run a little longer.
  add_compile_options(--param=asan-instrumentation-with-call-threshold=0)
  add_link_options(-fsanitize=address,undefined)
elseif(FIREBRICK_SANITIZER STREQUAL "tsan")
  add_compile_options(-fsanitize=thread -Wno-tsan)
  add_link_options(-fsanitize=thread)
elseif(FIREBRICK_SANITIZER STREQUAL "fuzz")
  add_compile_options(-fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=all)
  add_link_options(-fsanitize=address,undefined)
endif()
