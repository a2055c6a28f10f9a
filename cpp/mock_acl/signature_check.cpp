// Fails the build, naming the function, when an exported function has another type than the list gives it.
#include <type_traits>

#include "pypto/acl_abi/function_types.h"
#include "pypto/mock_acl/exports.h"

namespace pypto::acl_abi {

#define PYPTO_ACL_FUNCTION(need, return_type, name, ...)                                  \
  static_assert(std::is_same_v<decltype(&::pypto::acl_abi::name), function_types::name*>, \
                #name " has another type than functions.inc gives it");
#include "pypto/acl_abi/functions.inc"

}  // namespace pypto::acl_abi
