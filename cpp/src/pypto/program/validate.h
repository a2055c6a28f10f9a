// The parts of plan validation. Private to the program library.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pypto/program/plan.h"

namespace pypto::program {

// What the leaves of one root function may refer to: an item is in a set when its mark is that root's. Kept over the
// roots of a plan, so that a root costs only what it lists. Thread rule: a value.
struct RootMarks {
  std::vector<uint32_t> inner;    // per storage
  std::vector<uint32_t> read;     // per storage
  std::vector<uint32_t> written;  // per storage
  std::vector<uint32_t> exprs;    // per expression
  uint32_t root = 0;              // the current mark, from 1
};

// kProgramFormat, "the plan is not sound: …".
base::Status Unsound(const char* format, ...) __attribute__((format(printf, 1, 2)));

base::Status ValidateLeaf(const Plan& plan, const Leaf& leaf, const RootMarks& marks);
base::Status ValidateControl(const Plan& plan);

}  // namespace pypto::program
