// Recommended depths from peaks.
#include "pypto/workspace/recommendation.h"

#include <algorithm>

namespace pypto::workspace {

void PoolPeaks::Include(const PerPoolBytes& peak) noexcept {
  for (int i = 0; i < kPoolCount; ++i) bytes[i] = std::max(bytes[i], peak[i]);
}

PerPoolDepths ActualDepths(const Budget& budget) noexcept {
  PerPoolDepths depths{};
  for (int i = 0; i < kPoolCount; ++i) depths[i] = budget.pools[i].depth;
  return depths;
}

PerPoolDepths RecommendDepths(const Budget& budget, const PoolPeaks& peaks) noexcept {
  PerPoolDepths depths{};
  for (int i = 0; i < kPoolCount; ++i) {
    const PoolBudget& pool = budget.pools[i];
    if (!pool.present) continue;
    const uint64_t peak = peaks.bytes[i];
    const uint64_t needed = pool.unit == 0 ? 0 : peak / pool.unit + (peak % pool.unit != 0 ? 1 : 0);
    depths[i] = static_cast<uint32_t>(std::max<uint64_t>(needed, 1));
  }
  return depths;
}

Recommendation Recommend(const Budget& budget, const PoolPeaks& peaks) noexcept {
  Recommendation result;
  result.actual_depths = ActualDepths(budget);
  result.recommended_depths = RecommendDepths(budget, peaks);
  for (int i = 0; i < kPoolCount; ++i) {
    result.raw_per_parallel_bytes[i] = budget.pools[i].unit;
    result.next_depth_total_bytes[i] = NextDepthBytes(budget, static_cast<Pool>(i));
  }
  result.parallelism = budget.parallelism;
  return result;
}

PerPoolDepths MaxDepths(const PerPoolDepths& a, const PerPoolDepths& b) noexcept {
  PerPoolDepths depths{};
  for (int i = 0; i < kPoolCount; ++i) depths[i] = std::max(a[i], b[i]);
  return depths;
}

}  // namespace pypto::workspace
