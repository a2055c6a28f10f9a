# nlohmann_json headers as target PyptoJson::json: from the PyPI package nlohmann-json of the Python in use, else from
# the system. Only the libraries that read JSON name it.
if(NOT TARGET PyptoJson::json)
  find_package(Python3 QUIET COMPONENTS Interpreter)
  if(NOT PyptoJson_INCLUDE_DIR)
    foreach(python IN ITEMS "${Python_EXECUTABLE}" "${Python3_EXECUTABLE}" python3 python)
      if(python AND NOT PyptoJson_package_dir)
        execute_process(
          COMMAND "${python}" -c
            "import importlib.util as u; s = u.find_spec('nlohmann_json'); print(s.submodule_search_locations[0] if s else '')"
          OUTPUT_VARIABLE PyptoJson_package_dir OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
      endif()
    endforeach()
  endif()
  find_path(PyptoJson_INCLUDE_DIR nlohmann/json.hpp HINTS "${PyptoJson_package_dir}/include")
  include(FindPackageHandleStandardArgs)
  find_package_handle_standard_args(PyptoJson REQUIRED_VARS PyptoJson_INCLUDE_DIR
    REASON_FAILURE_MESSAGE "install the PyPI package nlohmann-json or Debian's nlohmann-json3-dev")
  mark_as_advanced(PyptoJson_INCLUDE_DIR)
  if(PyptoJson_FOUND)
    add_library(PyptoJson::json INTERFACE IMPORTED)
    target_include_directories(PyptoJson::json INTERFACE "${PyptoJson_INCLUDE_DIR}")
  endif()
endif()
