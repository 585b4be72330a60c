# Runs clang-tidy with .clang-tidy on every source of the libraries and programs, or, where the build joins sources (unity
# build), on the files that include them: headers are then read once for a dozen sources.
#     cmake -DROOT=<repository> -DBUILD_DIR=<build> -DCLANG_TIDY=<program> -DRUN_CLANG_TIDY=<program> -P tidy.cmake
cmake_minimum_required(VERSION 3.25)

if(NOT CLANG_TIDY OR NOT RUN_CLANG_TIDY)
    message("SKIPPED: clang-tidy was not found")
    return()
endif()
execute_process(COMMAND ${RUN_CLANG_TIDY} -clang-tidy-binary ${CLANG_TIDY} -quiet -p ${BUILD_DIR}
    "-header-filter=^${ROOT}/(sim|traces|cli|gui|runtime)/.*[hc]pp$" -extra-arg=-Wno-unknown-warning-option -extra-arg=-Wno-shadow
    "^${ROOT}/(sim|traces|cli|gui|runtime)/.*[.]cpp$" "^${BUILD_DIR}/(sim|traces|cli|gui|runtime)/.*/Unity/" OUTPUT_VARIABLE output ERROR_VARIABLE errors RESULT_VARIABLE failed)
if(failed)
    # Without colours, and without the line that names each command.
    string(ASCII 27 escape)
    string(REGEX REPLACE "${escape}\\[[0-9;]*m" "" output "${output}")
    string(REGEX REPLACE "[^\n]*clang-tidy[^\n]* -p=[^\n]*\n" "" output "${output}")
    message("${output}")
    message(FATAL_ERROR "clang-tidy has complaints")
endif()
