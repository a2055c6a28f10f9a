// Budget arithmetic: validation, depths by mode, layout of one copy, totals.
#include "pypto/workspace/budget.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "pypto/base/checked.h"

namespace pypto::workspace {
namespace {

using base::MakeStatus;
using base::Status;
using base::StatusCode;
using Depths = std::array<uint32_t, kPoolCount>;

constexpr uint64_t kMaxTotal = std::numeric_limits<int64_t>::max();

Pool PoolAt(int index) noexcept { return static_cast<Pool>(index); }

[[gnu::cold]] Status Overflow(const char* what) {
  return MakeStatus(
      StatusCode::kWorkspace,
      "[workspaceSize] the workspace does not fit 63 bits: %s passes 9223372036854775807 bytes. Lower the "
      "depths or the sizes of the kernel's tensors.",
      what);
}

[[gnu::cold]] Status Contradiction(int pool, const char* reason) {
  const std::string_view name = PoolName(PoolAt(pool));
  return MakeStatus(StatusCode::kInternal, "workspace requirement of pool %.*s is wrong: %s",
                    static_cast<int>(name.size()), name.data(), reason);
}

Status CheckRequirement(const Requirement& requirement) {
  for (int i = 0; i < kPoolCount; ++i) {
    const uint64_t unit = requirement.unit_bytes[i];
    if (unit % kBlockAlignment != 0) return Contradiction(i, "its unit is no multiple of 512 bytes");
    if (unit != 0 && !requirement.present[i]) return Contradiction(i, "its unit is not 0, yet it is not present");
  }
  if (requirement.boundary_bytes % kBlockAlignment != 0) {
    return Status(StatusCode::kInternal, "workspace boundary bytes are no multiple of 512 bytes");
  }
  return base::OkStatus();
}

Status CheckRange(const char* option, uint64_t value, uint64_t low, uint64_t high) {
  if (value >= low && value <= high) [[likely]]
    return base::OkStatus();
  return MakeStatus(StatusCode::kInvalidArgument, "%s=%llu doesn't within the value range %llu..%llu", option,
                    static_cast<unsigned long long>(value), static_cast<unsigned long long>(low),
                    static_cast<unsigned long long>(high));
}

Status CheckOptions(const BudgetOptions& options) {
  PYPTO_RETURN_IF_ERROR(CheckRange("stitch_function_max_num", options.stitch_function_max_num, 1, kMaxDepth));
  PYPTO_RETURN_IF_ERROR(CheckRange("max_workspace_kb", options.max_workspace_kb, 0, kMaxWorkspaceKb));
  return CheckRange("device_sched_parallelism", options.parallelism, 1, kMaxParallelism);
}

// Capacities, offsets and bytes of one copy for the given depths. Nothing when a sum passes kMaxTotal.
bool LayOut(const Requirement& requirement, const Depths& depths, uint32_t parallelism, Budget* budget) noexcept {
  uint64_t offset = 0;
  for (int i = 0; i < kPoolCount; ++i) {
    PoolBudget& pool = budget->pools[i];
    const auto capacity = base::CheckedMul<uint64_t>(requirement.unit_bytes[i], depths[i]);
    const auto end = capacity ? base::CheckedAdd(offset, *capacity) : std::nullopt;
    if (!end) return false;
    pool = {depths[i], requirement.unit_bytes[i], offset, *capacity, requirement.present[i]};
    offset = *end;
  }
  budget->boundary_offset = offset;
  budget->boundary_bytes = requirement.boundary_bytes;
  budget->parallelism = parallelism;
  const auto used = base::CheckedAdd(offset, requirement.boundary_bytes);
  const auto copy = used ? base::CheckedAlignUp(*used, kTotalAlignment) : std::nullopt;
  const auto tensors = copy ? base::CheckedMul<uint64_t>(*copy, parallelism) : std::nullopt;
  if (!tensors || *tensors > kMaxTotal) return false;
  budget->bytes_per_copy = *copy;
  budget->tensor_bytes = *tensors;
  return true;
}

// The largest common depth whose copies fit into `limit` bytes; the smallest workspace is known to fit.
uint32_t LargestDepth(const Requirement& requirement, uint32_t parallelism, uint64_t limit) noexcept {
  uint64_t unit_sum = 0;  // below 2^63: depth 1 has been laid out
  for (const uint64_t unit : requirement.unit_bytes) unit_sum += unit;
  if (unit_sum == 0) return kMaxDepth;
  const uint64_t room = (limit / parallelism) & ~(kTotalAlignment - 1);
  return static_cast<uint32_t>(std::min<uint64_t>((room - requirement.boundary_bytes) / unit_sum, kMaxDepth));
}

Status DepthsByMemory(const Requirement& requirement, const BudgetOptions& options, Depths* depths) {
  Budget smallest;
  if (!LayOut(requirement, {1, 1, 1}, options.parallelism, &smallest)) return Overflow("the smallest workspace");
  const uint64_t limit = options.max_workspace_kb * 1024;
  if (limit <= smallest.tensor_bytes) {
    return MakeStatus(StatusCode::kWorkspace,
                      "[workspaceSize] max_workspace_kb=%lluKB must be greater than the minimum runnable "
                      "workspace=%lluKB.",
                      static_cast<unsigned long long>(options.max_workspace_kb),
                      static_cast<unsigned long long>(smallest.tensor_bytes / 1024));
  }
  depths->fill(LargestDepth(requirement, options.parallelism, limit));
  return base::OkStatus();
}

}  // namespace

std::string_view PoolName(Pool pool) noexcept {
  switch (pool) {
    case Pool::kRootInner: return "root_inner";
    case Pool::kAssembleOutcast: return "assemble_outcast";
    case Pool::kExclusiveOutcast: return "exclusive_outcast";
  }
  return "unknown";
}

BudgetMode ModeOf(const BudgetOptions& options) noexcept {
  for (const uint32_t depth : options.num_per_pool) {
    if (depth != 0) return BudgetMode::kPerPool;
  }
  return options.max_workspace_kb > 0 ? BudgetMode::kByMemory : BudgetMode::kByCount;
}

Status ValidateDepth(const Requirement& requirement, const Depths& num_per_pool) {
  for (int i = 0; i < kPoolCount; ++i) {
    const std::string_view name = PoolName(PoolAt(i));
    if (num_per_pool[i] > kMaxDepth) {
      return MakeStatus(StatusCode::kInvalidArgument,
                        "Invalid stitch_function_num_per_pool: element %d (%.*s) is %u, it must be in 0..%u", i,
                        static_cast<int>(name.size()), name.data(), num_per_pool[i], kMaxDepth);
    }
    if (num_per_pool[i] == 0 && requirement.present[i]) {
      return MakeStatus(StatusCode::kWorkspace,
                        "[workspaceSize] stitch_function_num_per_pool element %d is 0, but the kernel has tensors in "
                        "pool %.*s: one depth needs %llu bytes; the value must be at least 1.",
                        i, static_cast<int>(name.size()), name.data(),
                        static_cast<unsigned long long>(requirement.unit_bytes[i]));
    }
  }
  return base::OkStatus();
}

base::Result<Budget> ResolveBudget(const Requirement& requirement, const BudgetOptions& options,
                                   uint64_t engine_bytes) {
  PYPTO_RETURN_IF_ERROR(CheckRequirement(requirement));
  PYPTO_RETURN_IF_ERROR(CheckOptions(options));
  Budget budget;
  budget.mode = ModeOf(options);
  budget.max_instances_per_task = budget.mode == BudgetMode::kByCount ? options.stitch_function_max_num : kMaxDepth;
  Depths depths{};
  switch (budget.mode) {
    case BudgetMode::kByCount: depths.fill(options.stitch_function_max_num); break;
    case BudgetMode::kByMemory: PYPTO_RETURN_IF_ERROR(DepthsByMemory(requirement, options, &depths)); break;
    case BudgetMode::kPerPool:
      PYPTO_RETURN_IF_ERROR(ValidateDepth(requirement, options.num_per_pool));
      depths = options.num_per_pool;
      break;
  }
  if (!LayOut(requirement, depths, options.parallelism, &budget)) return Overflow("the sum of pools and boundary");
  const auto total = base::CheckedAdd(budget.tensor_bytes, engine_bytes);
  if (!total || *total > kMaxTotal) return Overflow("the sum with the engine's own bytes");
  budget.engine_bytes = engine_bytes;
  budget.total_bytes = *total;
  return budget;
}

base::Result<uint64_t> MinimumTensorBytes(const Requirement& requirement, uint32_t parallelism) {
  PYPTO_RETURN_IF_ERROR(CheckRequirement(requirement));
  PYPTO_RETURN_IF_ERROR(CheckRange("device_sched_parallelism", parallelism, 1, kMaxParallelism));
  Budget smallest;
  if (!LayOut(requirement, {1, 1, 1}, parallelism, &smallest)) return Overflow("the smallest workspace");
  return smallest.tensor_bytes;
}

uint64_t NextDepthBytes(const Budget& budget, Pool pool) noexcept {
  const uint64_t used = budget.boundary_offset + budget.boundary_bytes;
  const uint64_t grown = base::AlignUp(used + budget.pool(pool).unit, kTotalAlignment);
  return (grown - budget.bytes_per_copy) * budget.parallelism;
}

}  // namespace pypto::workspace
