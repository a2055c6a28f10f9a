// All functions of the list, weak: each does nothing and returns FAKE_ACL_CODE. One library of these tests is this file
// alone (the link stub), others put behaviour.cpp in front of it.
#include <type_traits>

#include "pypto/acl_abi/types.h"

#ifndef FAKE_ACL_CODE
#define FAKE_ACL_CODE 0
#endif

using namespace pypto::acl_abi;  // the list names the types

namespace {

template <typename R>
R Default() {
  if constexpr (std::is_same_v<R, aclError>) {
    return FAKE_ACL_CODE;
  } else {
    return R();
  }
}

}  // namespace

extern "C" {
#define PYPTO_ACL_FUNCTION(need, return_type, name, ...)                   \
  [[gnu::weak, gnu::visibility("default")]] return_type name(__VA_ARGS__); \
  return_type name(__VA_ARGS__) { return Default<return_type>(); }
#include "pypto/acl_abi/functions.inc"

#ifdef FAKE_ACL_IS_MOCK
[[gnu::visibility("default")]] const char* pypto_mock_version() { return "0"; }
#endif
}
