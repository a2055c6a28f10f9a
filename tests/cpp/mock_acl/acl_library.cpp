// Opens the library once per test program.
#include "mock_acl/acl_library.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>

namespace pypto::mock_test {
namespace {

void* MustFind(void* handle, const char* name) {
  void* symbol = dlsym(handle, name);
  if (symbol == nullptr) {
    std::fprintf(stderr, "%s is not exported: %s\n", name, dlerror());
    std::abort();
  }
  return symbol;
}

// Records of the library go to a folder of the build, from INFO on.
const bool log_folder_set = [] {
  setenv("ASCEND_PROCESS_LOG_PATH", PYPTO_MOCK_TEST_LOGS, 1);
  setenv("ASCEND_GLOBAL_LOG_LEVEL", "1", 1);
  return true;
}();

}  // namespace

AclLibrary::AclLibrary(const char* path) : handle(dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
  if (handle == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    std::abort();
  }
#define PYPTO_ACL_FUNCTION(need, return_type, name, ...) \
  name = reinterpret_cast<function_types::name*>(MustFind(handle, #name));
#include "pypto/acl_abi/functions.inc"
#define MOCK_SIDE_DOOR(name) name = reinterpret_cast<decltype(&::name)>(MustFind(handle, #name));
#include "mock_acl/side_door.inc"
}

std::string TemporaryPath(const std::string& name) {
  return testing::TempDir() + "mock_acl_" + std::to_string(getpid()) + "_" + name;
}

AclLibrary& Library() {
  static AclLibrary library(PYPTO_MOCK_TEST_LIBRARY);
  return library;
}

}  // namespace pypto::mock_test
