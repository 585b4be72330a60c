# Install, export for find_package(foreshard), and package.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(foreshard_include_dir ${CMAKE_INSTALL_INCLUDEDIR}/foreshard)
set(foreshard_config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/foreshard)

set_target_properties(foreshard_sim PROPERTIES EXPORT_NAME sim)
set_target_properties(foreshard_traces PROPERTIES EXPORT_NAME traces)

install(TARGETS foreshard_sim foreshard_traces EXPORT foreshardTargets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
    FILE_SET HEADERS DESTINATION ${foreshard_include_dir}
    FILE_SET headers_alone DESTINATION ${foreshard_include_dir}
    INCLUDES DESTINATION ${foreshard_include_dir})
install(TARGETS foreshard RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
foreach(program foreshard-run foreshard-gui)
    if(TARGET ${program})
        install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
    endif()
endforeach()
install(EXPORT foreshardTargets NAMESPACE foreshard:: DESTINATION ${foreshard_config_dir})

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/foreshardConfig.cmake.in
    ${PROJECT_BINARY_DIR}/foreshardConfig.cmake INSTALL_DESTINATION ${foreshard_config_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/foreshardConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/foreshardConfig.cmake ${PROJECT_BINARY_DIR}/foreshardConfigVersion.cmake
    DESTINATION ${foreshard_config_dir})

if(PROJECT_IS_TOP_LEVEL)
    set(CPACK_GENERATOR TGZ)
    set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
    include(CPack)
endif()
