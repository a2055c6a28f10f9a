// Declarations of the exported ACL functions, made from the list: a definition of another type does not compile.
#pragma once

#include "pypto/acl_abi/types.h"

namespace pypto::acl_abi {

extern "C" {
#define PYPTO_ACL_FUNCTION(need, return_type, name, ...) [[gnu::visibility("default")]] return_type name(__VA_ARGS__);
#include "pypto/acl_abi/functions.inc"
}

}  // namespace pypto::acl_abi
