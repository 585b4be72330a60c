# Tests that read the sources instead of running them (label `lint`).

function(lint_test name seconds)
    add_test(NAME ${name} COMMAND ${ARGN})
    set_tests_properties(${name} PROPERTIES TIMEOUT ${seconds} LABELS lint)
endfunction()

set(lint_folder ${CMAKE_CURRENT_SOURCE_DIR})

lint_test(layering 60 ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR} -P ${lint_folder}/layering.cmake)
# The fixture breaks every rule once: a rule that stops working changes the count.
lint_test(layering_detects 60 ${CMAKE_COMMAND} -DROOT=${lint_folder}/layering_fixture -P ${lint_folder}/layering.cmake)
set_tests_properties(layering_detects PROPERTIES PASS_REGULAR_EXPRESSION " 13 broken layering rules")

lint_test(listed 60 ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR} -P ${lint_folder}/listed.cmake)

lint_test(headers_alone 900 ${CMAKE_COMMAND} --build ${PROJECT_BINARY_DIR} --target all_verify_interface_header_sets)

# Formatting depends on the version: only version 14 decides.
find_program(FORESHARD_CLANG_FORMAT NAMES clang-format-14 clang-format)
lint_test(format 120 ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR} -DCLANG_FORMAT=${FORESHARD_CLANG_FORMAT}
    -P ${lint_folder}/format.cmake)
set_tests_properties(format PROPERTIES SKIP_REGULAR_EXPRESSION "SKIPPED")

find_program(FORESHARD_CLANG_TIDY NAMES clang-tidy-14 clang-tidy)
find_program(FORESHARD_RUN_CLANG_TIDY NAMES run-clang-tidy-14 run-clang-tidy)
mark_as_advanced(FORESHARD_CLANG_FORMAT FORESHARD_CLANG_TIDY FORESHARD_RUN_CLANG_TIDY)
lint_test(tidy 2400 ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR} -DBUILD_DIR=${PROJECT_BINARY_DIR}
    -DCLANG_TIDY=${FORESHARD_CLANG_TIDY} -DRUN_CLANG_TIDY=${FORESHARD_RUN_CLANG_TIDY} -P ${lint_folder}/tidy.cmake)
set_tests_properties(tidy PROPERTIES SKIP_REGULAR_EXPRESSION "SKIPPED")
