# Compiler settings shared by all targets: pypto_compile_options is linked privately by each.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
# Tile kernels set their own level; the rest gains nothing from -O3 but build time.
string(REPLACE "-O3" "-O2" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")

find_program(PYPTO_CCACHE ccache)
if(PYPTO_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Precompiled headers are cached too, and a clone in another folder hits.
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env CCACHE_SLOPPINESS=pch_defines,time_macros
    "CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}" CCACHE_NOHASHDIR=1 "${PYPTO_CCACHE}")
  set(CMAKE_C_COMPILER_LAUNCHER ${PYPTO_CCACHE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
  endif()
endif()

find_package(Threads REQUIRED)

add_library(pypto_compile_options INTERFACE)
target_compile_options(pypto_compile_options INTERFACE
  -Wall -Wextra -Wshadow -Wcast-qual -Wundef -Wvla
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor;-Wold-style-cast>
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fno-gnu-unique>
  # g++ 12 reports std::string concatenation as overlapping or endless (GCC bug 105651).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict -Wno-stringop-overflow>
  -ffp-contract=off -fno-math-errno)
if(PYPTO_WARNINGS_AS_ERRORS)
  target_compile_options(pypto_compile_options INTERFACE -Werror)
endif()
if(PYPTO_SANITIZE)
  target_compile_options(pypto_compile_options INTERFACE
    -fsanitize=${PYPTO_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(pypto_compile_options INTERFACE -fsanitize=${PYPTO_SANITIZE})
endif()
