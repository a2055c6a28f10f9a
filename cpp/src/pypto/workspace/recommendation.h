// Usage of the pools, and what it says about depths: the figures of the workspace report.
#pragma once

#include <array>
#include <cstdint>

#include "pypto/base/export.h"
#include "pypto/workspace/budget.h"

namespace pypto::workspace {

// One number per pool, in the order of Pool.
using PerPoolDepths = std::array<uint32_t, kPoolCount>;
using PerPoolBytes = std::array<uint64_t, kPoolCount>;

// State of the pools of one copy of the workspace, in bytes.
struct PoolUsage {
  PerPoolBytes current{};
  PerPoolBytes peak{};
  PerPoolBytes capacity{};
};

// Largest peaks seen, in bytes: over one device task, or over a launch; over all copies.
struct PoolPeaks {
  PerPoolBytes bytes{};

  // Element-wise maximum.
  void Include(const PerPoolBytes& peak) noexcept;
};

// What a launch used and what to set next.
struct Recommendation {
  PerPoolDepths actual_depths{};
  PerPoolDepths recommended_depths{};     // ceil(peak / unit); at least 1 where the kernel needs the pool, else 0
  PerPoolBytes raw_per_parallel_bytes{};  // the units
  PerPoolBytes next_depth_total_bytes{};  // growth of the total when that depth is raised by one
  uint32_t parallelism = 1;
};

PYPTO_API PerPoolDepths ActualDepths(const Budget& budget) noexcept;
PYPTO_API PerPoolDepths RecommendDepths(const Budget& budget, const PoolPeaks& peaks) noexcept;
PYPTO_API Recommendation Recommend(const Budget& budget, const PoolPeaks& peaks) noexcept;
// Element-wise maximum: recommendations of several launches put together.
PYPTO_API PerPoolDepths MaxDepths(const PerPoolDepths& a, const PerPoolDepths& b) noexcept;

}  // namespace pypto::workspace
