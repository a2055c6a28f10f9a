// One number and one name per ACL function, made from the list.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace pypto::acl {

enum class CallId : uint16_t {
#define PYPTO_ACL_FUNCTION(need, return_type, name, ...) name,
#include "pypto/acl_abi/functions.inc"
};

inline constexpr size_t kCallCount = 0
#define PYPTO_ACL_FUNCTION(need, return_type, name, ...) +1
#include "pypto/acl_abi/functions.inc"
    ;

// The function's own name, such as "aclrtMalloc".
std::string_view CallName(CallId id);
// Nothing when no function of the list has this name.
std::optional<CallId> FindCall(std::string_view name);

}  // namespace pypto::acl
