// Names of the ACL functions.
#include "pypto/acl/call_ids.h"

#include <algorithm>
#include <array>

namespace pypto::acl {
namespace {

constexpr std::array<std::string_view, kCallCount> kNames = {
#define PYPTO_ACL_FUNCTION(need, return_type, name, ...) #name,
#include "pypto/acl_abi/functions.inc"
};

}  // namespace

std::string_view CallName(CallId id) { return kNames[static_cast<size_t>(id)]; }

std::optional<CallId> FindCall(std::string_view name) {
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<CallId>(found - kNames.begin());
}

}  // namespace pypto::acl
