# What every target of the project has in common.

# foreshard_sources(TARGET file...): one list for headers and sources. Headers (.hpp) become the target's public
# header sets, those without a source of their own in `headers_alone`: they are installed with their path from the
# repository root, and each must compile alone.
function(foreshard_sources target)
    set(headers ${ARGN})
    list(FILTER headers INCLUDE REGEX "\\.hpp$")
    set(sources ${ARGN})
    list(FILTER sources EXCLUDE REGEX "\\.hpp$")
    target_sources(${target} PRIVATE ${sources})
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "EXECUTABLE")
        target_sources(${target} PRIVATE ${headers})
        target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
    else()
        set(headers_alone ${headers})
        foreach(source IN LISTS sources)
            string(REGEX REPLACE "\\.cpp$" ".hpp" header "${source}")
            list(REMOVE_ITEM headers_alone "${header}")
        endforeach()
        list(REMOVE_ITEM headers ${headers_alone})
        target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${headers}
            PUBLIC FILE_SET headers_alone TYPE HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${headers_alone})
        target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
    endif()
    foreshard_compile_options(${target})
endfunction()

# foreshard_sources_show_headers(TARGET): its sources are compiled one by one in some build that is checked (the preset
# bench), and a source's own header comes first (the format has it so): only headers without a source have to be compiled
# alone.
function(foreshard_sources_show_headers target)
    set_property(TARGET ${target} PROPERTY INTERFACE_HEADER_SETS_TO_VERIFY headers_alone)
endfunction()

function(foreshard_compile_options target)
    target_compile_features(${target} PUBLIC cxx_std_20)
    set(options -Wall -Wextra -Wconversion -Wno-sign-conversion -Wshadow)
    # GCC 12 at -O3 sees overlaps in "text" + std::string that are none (GCC bug 105651).
    list(APPEND options $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
    # No fused multiply-add where the source has none: reports are the same on every machine and build type.
    list(APPEND options -ffp-contract=off)
    # nvcc hands on what is for the host compiler, and has warnings of its own.
    set(cuda_options -Xcompiler=-Wall,-Wextra)
    if(FORESHARD_WERROR)
        list(APPEND options -Werror)
        list(APPEND cuda_options -Werror=all-warnings -Xcompiler=-Werror)
    endif()
    target_compile_options(${target} PRIVATE
        "$<$<COMPILE_LANGUAGE:CXX>:${options}>" "$<$<COMPILE_LANGUAGE:CUDA>:${cuda_options}>")
endfunction()

# foreshard_optional_part(FOLDER SWITCH [package...]): adds FOLDER when SWITCH is ON, or AUTO and the package (arguments
# of find_package) is found.
function(foreshard_optional_part folder switch)
    if("${${switch}}" STREQUAL "OFF" OR NOT EXISTS ${PROJECT_SOURCE_DIR}/${folder}/CMakeLists.txt)
        return()
    endif()
    if(ARGN)
        list(POP_FRONT ARGN package)
        if("${${switch}}" STREQUAL "AUTO")
            find_package(${package} QUIET ${ARGN})
        else()
            find_package(${package} REQUIRED ${ARGN})
        endif()
        if(NOT ${package}_FOUND)
            message(STATUS "${folder}: left out, ${package} was not found")
            return()
        endif()
    endif()
    add_subdirectory(${folder})
endfunction()
