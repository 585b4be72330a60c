# Fails when a source file is in no CMakeLists.txt: it would be neither built nor, for a test, run.
#     cmake -DROOT=<repository> -P listed.cmake
cmake_minimum_required(VERSION 3.25)

set(unlisted "")
foreach(folder sim traces cli gui runtime tests)
    file(READ "${ROOT}/${folder}/CMakeLists.txt" list)
    if(folder STREQUAL "tests")
        file(READ "${ROOT}/tests/bench/CMakeLists.txt" bench_list)
        string(REGEX REPLACE "([^ \n]+\\.[hc]pp)" "bench/\\1" bench_list "${bench_list}")
        string(APPEND list "${bench_list}")
    endif()
    file(GLOB_RECURSE files RELATIVE "${ROOT}/${folder}" "${ROOT}/${folder}/*.hpp" "${ROOT}/${folder}/*.cpp")
    # Projects and examples of their own.
    list(FILTER files EXCLUDE REGEX "^(consumer|layering_fixture|fuzz)/")
    foreach(file IN LISTS files)
        string(REGEX REPLACE "([][+.*()^])" "\\\\\\1" pattern "${file}")
        if(NOT list MATCHES "[ \n]${pattern}[ \n)]")
            list(APPEND unlisted "${folder}/${file}")
        endif()
    endforeach()
endforeach()

if(unlisted)
    list(JOIN unlisted "\n  " text)
    message(FATAL_ERROR "Add these files to the CMakeLists.txt of their folder:\n  ${text}\n")
endif()
