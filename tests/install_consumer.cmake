# Installs the build into a fresh prefix, then configures, builds and runs an outside project against it.
cmake_minimum_required(VERSION 3.25)

set(work "${BUILD_DIR}/install_consumer")
file(REMOVE_RECURSE "${work}")

function(must)
    execute_process(COMMAND ${ARGN} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

must(${CMAKE_COMMAND} --install "${BUILD_DIR}" --prefix "${work}/prefix" --config "${CONFIG}")
must(${CMAKE_COMMAND} -S "${CONSUMER}" -B "${work}/build" -G "${GENERATOR}" "-DCMAKE_BUILD_TYPE=${CONFIG}"
    "-DCMAKE_PREFIX_PATH=${work}/prefix" "-DCMAKE_CXX_COMPILER=${CXX}" "-DCMAKE_CXX_FLAGS=${CXX_FLAGS}"
    "-DFORESHARD_WANTED=${VERSION}")
must(${CMAKE_COMMAND} --build "${work}/build")
must("${work}/build/consumer")
must("${work}/prefix/bin/foreshard" --help)
