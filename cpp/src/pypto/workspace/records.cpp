// Texts of the [Workspace Runtime …] records.
#include "pypto/workspace/records.h"

#include <array>
#include <charconv>
#include <utility>

namespace pypto::workspace {
namespace {

// Names of the pools in records of bytes, and in groups of depths.
constexpr std::array<std::string_view, kPoolCount> kByteNames = {"rootInner", "assembleOutcast", "exclusiveOutcast"};
constexpr std::array<std::string_view, kPoolCount> kDepthNames = {"rootInner", "assembleOutcast", "exclusive"};

// One record as it grows. Launches write several per device task, so numbers do not go through printf.
class Line {
 public:
  Line(std::string_view kind, std::string_view kernel) {
    text_.reserve(384 + kernel.size());
    *this << "[Workspace Runtime " << kind << "] kernel=" << kernel;
  }
  Line& operator<<(std::string_view part) {
    text_ += part;
    return *this;
  }
  Line& operator<<(uint64_t value) {
    std::array<char, 20> digits;
    text_.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr);
    return *this;
  }
  template <typename T>
  Line& Group(std::string_view name, const std::array<T, kPoolCount>& values) {
    for (int i = 0; i < kPoolCount; ++i) {
      if (i == 0) *this << ", " << name << "={";
      if (i != 0) *this << ",";
      *this << kDepthNames[i] << "=" << uint64_t{values[i]};
    }
    return *this << "}";
  }
  std::string Take() { return std::move(text_); }

 private:
  std::string text_;
};

}  // namespace

std::string PoolRecord(std::string_view kernel, uint32_t parallel_id, const PoolUsage& usage) {
  Line line("Pool", kernel);
  line << ", parallelId=" << uint64_t{parallel_id};
  for (int i = 0; i < kPoolCount; ++i) {
    line << ", " << kByteNames[i] << "={current=" << usage.current[i] << ",peak=" << usage.peak[i]
         << ",capacity=" << usage.capacity[i] << "}";
  }
  return line.Take();
}

std::string TuningRecord(std::string_view kernel, uint64_t task_id, uint64_t stitch_count,
                         const PerPoolDepths& configured, const PerPoolDepths& recommended) {
  Line line("Tuning", kernel);
  line << ", taskId=" << task_id << ", stitchCount=" << stitch_count;
  return line.Group("configuredDepths", configured).Group("recommendedDepths", recommended).Take();
}

std::string SummaryRecord(std::string_view kernel, uint32_t parallel_id, const PoolUsage& usage) {
  Line line("Summary", kernel);
  line << ", parallelId=" << uint64_t{parallel_id};
  for (int i = 0; i < kPoolCount; ++i) {
    line << ", " << kByteNames[i] << "={peak=" << usage.peak[i] << ",capacity=" << usage.capacity[i] << "}";
  }
  return line.Take();
}

std::string RecommendationRecord(std::string_view kernel, const Recommendation& recommendation) {
  Line line("Recommendation", kernel);
  line.Group("actualDepths", recommendation.actual_depths)
      .Group("recommendedDepths", recommendation.recommended_depths)
      .Group("rawPerParallelBytes", recommendation.raw_per_parallel_bytes)
      .Group("nextDepthTotalBytes", recommendation.next_depth_total_bytes);
  return (line << ", parallelism=" << uint64_t{recommendation.parallelism}).Take();
}

std::string AllocFailureRecord(std::string_view kernel, uint64_t task_id, Pool pool, uint64_t requested,
                               uint64_t available, uint64_t capacity) {
  Line line("Alloc Failure", kernel);
  line << ", taskId=" << task_id << ", pool=" << kByteNames[static_cast<size_t>(pool)] << ", requested=" << requested
       << ", available=" << available << ", capacity=" << capacity;
  return line.Take();
}

}  // namespace pypto::workspace
