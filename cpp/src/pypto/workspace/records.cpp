// Texts of the [Workspace Runtime …] records.
#include "pypto/workspace/records.h"

#include <array>

namespace pypto::workspace {
namespace {

// Names of the pools in records of bytes, and in groups of depths.
constexpr std::array<const char*, kPoolCount> kByteNames = {"rootInner", "assembleOutcast", "exclusiveOutcast"};
constexpr std::array<const char*, kPoolCount> kDepthNames = {"rootInner", "assembleOutcast", "exclusive"};

unsigned long long Print(uint64_t value) { return value; }

std::string Head(const char* kind, std::string_view kernel) {
  return std::string("[Workspace Runtime ") + kind + "] kernel=" + std::string(kernel);
}

template <typename T>
std::string Group(const char* name, const std::array<T, kPoolCount>& values) {
  return base::Format(", %s={%s=%llu,%s=%llu,%s=%llu}", name, kDepthNames[0], Print(values[0]), kDepthNames[1],
                      Print(values[1]), kDepthNames[2], Print(values[2]));
}

}  // namespace

std::string PoolRecord(std::string_view kernel, uint32_t parallel_id, const PoolUsage& usage) {
  std::string text = Head("Pool", kernel) + base::Format(", parallelId=%u", parallel_id);
  for (int i = 0; i < kPoolCount; ++i) {
    text += base::Format(", %s={current=%llu,peak=%llu,capacity=%llu}", kByteNames[i], Print(usage.current[i]),
                         Print(usage.peak[i]), Print(usage.capacity[i]));
  }
  return text;
}

std::string TuningRecord(std::string_view kernel, uint64_t task_id, uint64_t stitch_count,
                         const PerPoolDepths& configured, const PerPoolDepths& recommended) {
  return Head("Tuning", kernel) + base::Format(", taskId=%llu, stitchCount=%llu", Print(task_id), Print(stitch_count)) +
         Group("configuredDepths", configured) + Group("recommendedDepths", recommended);
}

std::string SummaryRecord(std::string_view kernel, uint32_t parallel_id, const PoolUsage& usage) {
  std::string text = Head("Summary", kernel) + base::Format(", parallelId=%u", parallel_id);
  for (int i = 0; i < kPoolCount; ++i) {
    text +=
        base::Format(", %s={peak=%llu,capacity=%llu}", kByteNames[i], Print(usage.peak[i]), Print(usage.capacity[i]));
  }
  return text;
}

std::string RecommendationRecord(std::string_view kernel, const Recommendation& recommendation) {
  return Head("Recommendation", kernel) + Group("actualDepths", recommendation.actual_depths) +
         Group("recommendedDepths", recommendation.recommended_depths) +
         Group("rawPerParallelBytes", recommendation.raw_per_parallel_bytes) +
         Group("nextDepthTotalBytes", recommendation.next_depth_total_bytes) +
         base::Format(", parallelism=%u", recommendation.parallelism);
}

std::string AllocFailureRecord(std::string_view kernel, uint64_t task_id, Pool pool, uint64_t requested,
                               uint64_t available, uint64_t capacity) {
  return Head("Alloc Failure", kernel) +
         base::Format(", taskId=%llu, pool=%s, requested=%llu, available=%llu, capacity=%llu", Print(task_id),
                      kByteNames[static_cast<size_t>(pool)], Print(requested), Print(available), Print(capacity));
}

}  // namespace pypto::workspace
