# All code is built so that libFuzzer sees which branches run, and the sanitizers what goes wrong.
if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "FORESHARD_BUILD_FUZZERS needs clang (CMAKE_CXX_COMPILER=clang++-14), "
        "not ${CMAKE_CXX_COMPILER_ID}")
endif()
add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
add_link_options(-fsanitize=address,undefined)
