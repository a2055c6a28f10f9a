// Functions of the list that no other file defines: exported all the same, they answer 200001.
//
// Every function is defined here weakly; the linker takes the ordinary definition where there is one.
#include <type_traits>

#include "pypto/acl_abi/error_codes.h"
#include "pypto/mock_acl/entry.h"

namespace pypto::mock {
namespace {

// Codes are returned as they are; functions that return a pointer or nothing answer with null or nothing.
template <typename Return>
Return NotOffered(CallId id) {
  const acl_abi::aclError code = Enter(id, [&](ThreadState&) {
    return Fail(acl_abi::kErrorUnsupported, "%s is not offered by the mock library", CallName(id));
  });
  if constexpr (std::is_same_v<Return, acl_abi::aclError>) {
    return code;
  } else if constexpr (!std::is_void_v<Return>) {
    return Return{};
  }
}

}  // namespace
}  // namespace pypto::mock

namespace pypto::acl_abi {

extern "C" {
#define PYPTO_ACL_FUNCTION(need, return_type, name, ...) \
  [[gnu::weak]] return_type name(__VA_ARGS__) { return mock::NotOffered<return_type>(mock::CallId::name); }
#include "pypto/acl_abi/functions.inc"
}

}  // namespace pypto::acl_abi
