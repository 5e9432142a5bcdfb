# What find_package(sinter) finds: the library, its headers, and the package files.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/sinter)

install(TARGETS sinter EXPORT sinterTargets)
install(DIRECTORY ir/include/ frontend/include/ ${PROJECT_BINARY_DIR}/include/ TYPE INCLUDE)
install(EXPORT sinterTargets NAMESPACE sinter:: DESTINATION ${package_dir})

configure_package_config_file(cmake/sinterConfig.cmake.in ${PROJECT_BINARY_DIR}/sinterConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/sinterConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/sinterConfig.cmake ${PROJECT_BINARY_DIR}/sinterConfigVersion.cmake
              cmake/FindCgraph.cmake
        DESTINATION ${package_dir})
