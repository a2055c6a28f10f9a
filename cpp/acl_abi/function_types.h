// One function type per entry of the list: pypto::acl_abi::function_types::aclrtMalloc is the type of aclrtMalloc.
// Types, not declarations: two extern "C" declarations of one name are one function to the compiler.
#pragma once

#include "pypto/acl_abi/types.h"

namespace pypto::acl_abi::function_types {

#define PYPTO_ACL_FUNCTION(need, return_type, name, ...) using name = return_type(__VA_ARGS__);
#include "pypto/acl_abi/functions.inc"

}  // namespace pypto::acl_abi::function_types
