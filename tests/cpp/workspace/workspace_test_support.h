// The requirement of the worked example, and random requirements.
#pragma once

#include <random>

#include "pypto/workspace/budget.h"

namespace pypto::workspace {

// Units {512, 4096, 4096}, boundary 8192.
inline Requirement WorkedExample() { return {{512, 4096, 4096}, {true, true, true}, 8192}; }

inline BudgetOptions ByCount(uint32_t depth) { return {.stitch_function_max_num = depth}; }
inline BudgetOptions ByMemory(uint64_t kb) { return {.max_workspace_kb = kb}; }
inline BudgetOptions PerPool(uint32_t a, uint32_t b, uint32_t c) { return {.num_per_pool = {a, b, c}}; }

class RandomInputs {
 public:
  explicit RandomInputs(uint32_t seed) : engine_(seed) {}

  uint64_t Number(uint64_t low, uint64_t high) { return std::uniform_int_distribution<uint64_t>(low, high)(engine_); }

  Requirement NextRequirement(uint64_t max_blocks) {
    Requirement requirement;
    for (int i = 0; i < kPoolCount; ++i) {
      requirement.present[i] = Number(0, 3) != 0;
      if (requirement.present[i]) requirement.unit_bytes[i] = Number(0, max_blocks) * kBlockAlignment;
    }
    requirement.boundary_bytes = Number(0, 1) * Number(0, max_blocks) * kBlockAlignment;
    return requirement;
  }

  BudgetOptions NextOptions(const Requirement& requirement) {
    BudgetOptions options;
    options.parallelism = static_cast<uint32_t>(Number(1, kMaxParallelism));
    const uint64_t mode = Number(0, 2);
    if (mode == 0) options.stitch_function_max_num = static_cast<uint32_t>(Number(1, kMaxDepth));
    if (mode == 1) {
      const uint64_t minimum = MinimumTensorBytes(requirement, options.parallelism).value() / 1024;
      options.max_workspace_kb = minimum + Number(1, 3 * minimum + 100);
    }
    if (mode == 2) {
      for (int i = 0; i < kPoolCount; ++i) {
        options.num_per_pool[i] = static_cast<uint32_t>(Number(requirement.present[i] ? 1 : 0, kMaxDepth));
      }
    }
    return options;
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace pypto::workspace
