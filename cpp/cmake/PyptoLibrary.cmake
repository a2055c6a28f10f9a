# pypto_library(name SOURCES … [DEPENDS …]): folder = library = target pypto_<name>, a static archive.
#
# A target sees its own headers and those of the libraries it names, nothing else: each library has an include
# root of its own, holding one link pypto/<name> to the source folder.
function(pypto_include_root name source_dir out)
  set(root "${CMAKE_BINARY_DIR}/include_roots/${name}")
  file(MAKE_DIRECTORY "${root}/pypto")
  file(CREATE_LINK "${source_dir}" "${root}/pypto/${name}" SYMBOLIC)
  set(${out} "${root}" PARENT_SCOPE)
endfunction()

function(pypto_library name)
  cmake_parse_arguments(ARG "NO_PCH" "" "SOURCES;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  set(target pypto_${name})
  add_library(${target} STATIC ${ARG_SOURCES})
  pypto_include_root(${name} "${CMAKE_CURRENT_SOURCE_DIR}" root)
  target_include_directories(${target} PUBLIC "${root}")
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:pypto_compile_options>)
  foreach(dependency IN LISTS ARG_DEPENDS)
    target_link_libraries(${target} PUBLIC pypto_${dependency})
  endforeach()
  if(ARG_PRIVATE_DEPENDS)
    target_link_libraries(${target} PRIVATE ${ARG_PRIVATE_DEPENDS})
  endif()
  if(NOT ARG_NO_PCH)
    target_precompile_headers(${target} PRIVATE
      <algorithm> <array> <atomic> <cstdint> <cstring> <map> <memory> <mutex> <optional> <span> <string>
      <string_view> <unordered_map> <utility> <vector>)
  endif()
endfunction()

# pypto_test(name SOURCES … DEPENDS …): one gtest executable per library; ctest sees each test of it.
function(pypto_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;LIBRARIES;ENVIRONMENT" ${ARGN})
  set(target test_${name})
  add_executable(${target} ${ARG_SOURCES})
  target_include_directories(${target} PRIVATE "${CMAKE_SOURCE_DIR}/tests/cpp")
  target_link_libraries(${target} PRIVATE pypto_compile_options GTest::gmock GTest::gtest_main ${ARG_LIBRARIES})
  foreach(dependency IN LISTS ARG_DEPENDS)
    target_link_libraries(${target} PRIVATE pypto_${dependency})
  endforeach()
  gtest_discover_tests(${target} TEST_PREFIX "${name}." DISCOVERY_TIMEOUT 60
    PROPERTIES TIMEOUT 300 ENVIRONMENT "${ARG_ENVIRONMENT}")
endfunction()
