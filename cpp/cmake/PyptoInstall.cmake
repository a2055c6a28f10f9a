# Where things are installed: under the prefix, or inside the package folder when a wheel is built.
if(SKBUILD)
  set(PYPTO_INSTALL_LIBDIR pypto)
  set(PYPTO_INSTALL_INCLUDEDIR pypto/include)
  set(PYPTO_INSTALL_CMAKEDIR pypto/cmake)
  set(PYPTO_INSTALL_PKGCONFIGDIR pypto/pkgconfig)
  set(PYPTO_PC_ROOT pypto)
else()
  set(PYPTO_INSTALL_LIBDIR ${CMAKE_INSTALL_LIBDIR})
  set(PYPTO_INSTALL_INCLUDEDIR ${CMAKE_INSTALL_INCLUDEDIR})
  set(PYPTO_INSTALL_CMAKEDIR ${CMAKE_INSTALL_LIBDIR}/cmake/pypto)
  set(PYPTO_INSTALL_PKGCONFIGDIR ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  set(PYPTO_PC_ROOT "")
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

# For pkg-config: the same, found from where the file lies, so that the tree can be moved. A folder that was given as an
# absolute path stays where it is; spaces in it are escaped, as pkg-config itself does for the file's own folder.
foreach(folder IN ITEMS INCLUDE LIB)
  if(IS_ABSOLUTE "${PYPTO_INSTALL_${folder}DIR}")
    string(REPLACE " " "\\ " PYPTO_PC_${folder}DIR "${PYPTO_INSTALL_${folder}DIR}")
  else()
    file(RELATIVE_PATH relative "/root/${PYPTO_PC_ROOT}" "/root/${PYPTO_INSTALL_${folder}DIR}")
    set(PYPTO_PC_${folder}DIR "\${prefix}/${relative}")
  endif()
endforeach()
if(IS_ABSOLUTE "${PYPTO_INSTALL_PKGCONFIGDIR}")
  string(REPLACE " " "\\ " PYPTO_PC_PREFIX "${CMAKE_INSTALL_PREFIX}")
else()
  file(RELATIVE_PATH relative "/root/${PYPTO_INSTALL_PKGCONFIGDIR}" "/root/${PYPTO_PC_ROOT}")
  set(PYPTO_PC_PREFIX "\${pcfiledir}/${relative}")
endif()
configure_file("${CMAKE_CURRENT_LIST_DIR}/pypto.pc.in" "${CMAKE_BINARY_DIR}/pypto.pc" @ONLY)
install(FILES "${CMAKE_BINARY_DIR}/pypto.pc" DESTINATION "${PYPTO_INSTALL_PKGCONFIGDIR}")
