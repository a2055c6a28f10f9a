// What each ACL function does to the handles among its arguments: data for the validation layer.
#pragma once

#include <cstdint>
#include <span>

#include "pypto/acl/layers/validation.h"

namespace pypto::acl {

enum class HandleRole : uint8_t {
  kCreates,   // argument: where the new handle is stored
  kHandsOut,  // the same, and nobody destroys it
  kDestroys,
  kUses,
};

struct HandleRule {
  CallId call;
  uint8_t argument;
  HandleRole role;
  ValidationLayer::Kind kind;
};

// Of one function, in the order of its arguments.
std::span<const HandleRule> HandleRulesOf(CallId call);

}  // namespace pypto::acl
