// Leaves that need not run: those that only copy one root-inner tensor to another, as a branch that leaves a value as
// it is does, and those that only multiply a product by a number.
#pragma once

#include <cstdint>
#include <vector>

#include "pypto/device/leaf_program.h"

namespace pypto::device {

// Where the leaf would run, the target may be the source itself: each cell lies in the same place of both.
struct InnerAlias {
  static constexpr uint32_t kNone = UINT32_MAX;
  uint32_t target = kNone;  // storage; none: the leaf is not of that kind
  uint32_t source = kNone;
  std::vector<uint32_t> conflicts;  // leaves that keep it from being so when they run, too: they write either of them
};

// Per leaf of a root function. Products are told what they multiply their sums by.
std::vector<InnerAlias> FindAliases(const program::Plan& plan, std::vector<LeafProgram>* leaves);

}  // namespace pypto::device
