// The workspace budget: from what one launch needs and the options in force to depths, offsets and total bytes.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pypto/base/export.h"
#include "pypto/base/status.h"

namespace pypto::workspace {

enum class Pool : uint8_t { kRootInner = 0, kAssembleOutcast = 1, kExclusiveOutcast = 2 };
inline constexpr int kPoolCount = 3;

inline constexpr uint64_t kBlockAlignment = 512;        // every tensor in the workspace is rounded up to this
inline constexpr uint64_t kTotalAlignment = 32 * 1024;  // every copy of the workspace is rounded up to this
inline constexpr uint32_t kMaxDepth = 1024;
inline constexpr uint32_t kMaxParallelism = 8;
inline constexpr uint64_t kMaxWorkspaceKb = 2147483647;
inline constexpr uint32_t kDefaultStitchFunctionMaxNum = 128;

// "root_inner", "assemble_outcast", "exclusive_outcast": the names of errors and line items.
PYPTO_API std::string_view PoolName(Pool pool) noexcept;

// What a kernel needs for the shapes of one launch. Units and boundary bytes are sums of tensor sizes, each rounded up
// to kBlockAlignment. `present` says whether the kernel has tensors of that class on any path; a pool that is not
// present has unit 0, one that is present may have unit 0 for the shapes of this launch.
struct Requirement {
  std::array<uint64_t, kPoolCount> unit_bytes{};
  std::array<bool, kPoolCount> present{};
  uint64_t boundary_bytes = 0;
};

// Which option rules: stitch_function_max_num, max_workspace_kb, or stitch_function_num_per_pool.
enum class BudgetMode : uint8_t { kByCount, kByMemory, kPerPool };

// The options in force when the kernel was compiled.
struct BudgetOptions {
  uint32_t stitch_function_max_num = kDefaultStitchFunctionMaxNum;  // 1 … 1024
  uint64_t max_workspace_kb = 0;                                    // 0 … 2147483647, 0 is off
  std::array<uint32_t, kPoolCount> num_per_pool{};                  // each 0 … 1024, all 0 is off
  uint32_t parallelism = 1;                                         // 1 … 8
};

// One line of a printed budget. The bytes of all lines add up to Budget::total_bytes.
struct LineItem {
  std::string name;
  uint64_t bytes = 0;
  std::string text;
};

// One pool inside a copy of the workspace; offsets count from the start of the copy.
struct PoolBudget {
  uint32_t depth = 0;
  uint64_t unit = 0;
  uint64_t offset = 0;
  uint64_t capacity = 0;  // depth × unit
  bool present = false;

  friend bool operator==(const PoolBudget&, const PoolBudget&) = default;
};

// Layout of the workspace of one launch: `parallelism` copies of bytes_per_copy, then the engine's own bytes.
// Each copy: root inner pool, assemble outcast pool, exclusive outcast pool, boundary memory, padding to 32 KiB.
struct Budget {
  BudgetMode mode = BudgetMode::kByCount;
  std::array<PoolBudget, kPoolCount> pools{};
  uint64_t boundary_offset = 0;
  uint64_t boundary_bytes = 0;
  uint32_t parallelism = 1;
  uint32_t max_instances_per_task = 0;
  uint64_t bytes_per_copy = 0;  // a multiple of 32 KiB
  uint64_t tensor_bytes = 0;    // bytes_per_copy × parallelism
  uint64_t engine_bytes = 0;
  uint64_t total_bytes = 0;  // tensor_bytes + engine_bytes

  const PoolBudget& pool(Pool which) const noexcept { return pools[static_cast<size_t>(which)]; }
  // Offset of copy i from the start of the workspace.
  uint64_t copy_offset(uint32_t copy) const noexcept { return copy * bytes_per_copy; }

  friend bool operator==(const Budget&, const Budget&) = default;
};

// kByCount, kByMemory or kPerPool, from the options alone.
PYPTO_API BudgetMode ModeOf(const BudgetOptions& options) noexcept;

// Checks the depths of per-pool mode: each 0 … 1024 (kInvalidArgument), and not 0 for a pool that the kernel needs
// (kWorkspace; names the pool and the bytes that one depth needs).
PYPTO_API base::Status ValidateDepth(const Requirement& requirement,
                                     const std::array<uint32_t, kPoolCount>& num_per_pool);

// The budget of one launch. Allocates nothing on success. Errors: kWorkspace when max_workspace_kb is not above the
// smallest runnable workspace, when a needed pool has depth 0, or when a sum passes 2^63 - 1; kInvalidArgument when an
// option is outside its range; kInternal when the requirement contradicts itself. Thread-safe.
PYPTO_API base::Result<Budget> ResolveBudget(const Requirement& requirement, const BudgetOptions& options,
                                             uint64_t engine_bytes);

// Bytes of the smallest runnable workspace (every needed depth 1), without the engine's own items.
PYPTO_API base::Result<uint64_t> MinimumTensorBytes(const Requirement& requirement, uint32_t parallelism);

// Bytes by which total_bytes grows when the depth of `pool` is raised by one; 0 for a pool that is not needed.
PYPTO_API uint64_t NextDepthBytes(const Budget& budget, Pool pool) noexcept;

// "root_inner: 64 × 512 B = 32 KiB" and so on: pools, boundary memory, rounding, the engine's own bytes.
PYPTO_API std::vector<LineItem> DescribeBudget(const Budget& budget);

// Text for the INFO record of per-pool mode that says which options that were set have no effect; empty when none.
PYPTO_API std::string DescribeIgnoredOptions(const BudgetOptions& options);

// Exact: "0 B", "512 B", "32 KiB", "1120 KiB"; the largest of B, KiB, MiB, GiB that divides the number.
PYPTO_API std::string FormatBytes(uint64_t bytes);

}  // namespace pypto::workspace
