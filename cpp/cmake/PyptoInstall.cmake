# Where things are installed: under the prefix, or inside the package folder when a wheel is built.
if(SKBUILD)
  set(PYPTO_INSTALL_LIBDIR pypto)
  set(PYPTO_INSTALL_INCLUDEDIR pypto/include)
  set(PYPTO_INSTALL_CMAKEDIR pypto/cmake)
else()
  set(PYPTO_INSTALL_LIBDIR ${CMAKE_INSTALL_LIBDIR})
  set(PYPTO_INSTALL_INCLUDEDIR ${CMAKE_INSTALL_INCLUDEDIR})
  set(PYPTO_INSTALL_CMAKEDIR ${CMAKE_INSTALL_LIBDIR}/cmake/pypto)
endif()

include(CMakePackageConfigHelpers)
configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/pypto-config.cmake.in"
  "${CMAKE_BINARY_DIR}/pypto-config.cmake" INSTALL_DESTINATION "${PYPTO_INSTALL_CMAKEDIR}")
write_basic_package_version_file("${CMAKE_BINARY_DIR}/pypto-config-version.cmake"
  VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_BINARY_DIR}/pypto-config.cmake" "${CMAKE_BINARY_DIR}/pypto-config-version.cmake"
  DESTINATION "${PYPTO_INSTALL_CMAKEDIR}")
install(EXPORT pypto NAMESPACE pypto:: FILE pypto-targets.cmake DESTINATION "${PYPTO_INSTALL_CMAKEDIR}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/cpp/include/pypto" DESTINATION "${PYPTO_INSTALL_INCLUDEDIR}")
