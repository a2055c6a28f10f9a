// One number per ACL function of the list, and its name.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace pypto::mock {

enum class CallId : uint16_t {
#define PYPTO_ACL_FUNCTION(need, return_type, name, ...) name,
#include "pypto/acl_abi/functions.inc"
};

inline constexpr const char* kCallNames[] = {
#define PYPTO_ACL_FUNCTION(need, return_type, name, ...) #name,
#include "pypto/acl_abi/functions.inc"
};

inline constexpr size_t kCallCount = std::size(kCallNames);

constexpr const char* CallName(CallId id) { return kCallNames[static_cast<size_t>(id)]; }

constexpr std::optional<CallId> FindCall(std::string_view name) {
  for (size_t i = 0; i < kCallCount; ++i) {
    if (name == kCallNames[i]) return static_cast<CallId>(i);
  }
  return std::nullopt;
}

}  // namespace pypto::mock
