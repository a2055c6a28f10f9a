// The launch block: the argument bytes of one launch, and the statistics block. The only layout shared by the host and
// the engine. Little-endian, versioned; every record starts at a multiple of 8.
//
//   LaunchHeader
//   parameter slots   u64 × parameter_count, in signature order
//                     tensor: device address, or kInlineFlag | offset from the start of the block
//                     scalar: int64, or the bits of a double
//   symbols           i64 × symbol_count
//   inline data       host inputs of at most kInlineLimit bytes each, each at a multiple of 64, from kHeadBytes on
//
// A launch with kRecordTasks also names a task block, written by the engine:
//
//   LaunchStatistics  of this launch, at the start of kTaskBlockHeader bytes
//   TaskEntry         one per device task, at most kMostTaskEntries; one more sums all further tasks
//   TaskPools         behind each entry, one per parallel copy
//
// With kRecordLeaves as well, a profile lies behind TaskBlockBytes(parallelism):
//
//   ProfileHeader
//   LeafEntry         one per leaf of the plan, root function after root function
//   OpEntry           one per operation that the leaves carry out, leaf after leaf
//   RunEntry          one per run of neighbouring tiles on one core, as many as fit
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace pypto::program {

inline constexpr uint32_t kLaunchMagic = 0x4c505950;  // "PYPL"
inline constexpr uint16_t kLaunchVersion = 2;
inline constexpr uint64_t kInlineFlag = uint64_t{1} << 63;
inline constexpr uint64_t kInlineLimit = 2048;
inline constexpr uint64_t kInlineAlignment = 64;
// Libraries may take a block whose head is that of the last one for the same with other data: inline data begins no
// earlier.
inline constexpr uint64_t kHeadBytes = 384;
inline constexpr uint64_t kStatisticsBytes = 4096;
inline constexpr uint64_t kTaskBlockHeader = 512;
inline constexpr uint64_t kMostTaskEntries = 1024;
inline constexpr uint32_t kMostCopies = 8;  // of the workspace

enum LaunchFlags : uint16_t {
  kRecordTasks = 1,   // write the task block
  kRecordLeaves = 2,  // time each leaf; with kRecordTasks only
};

struct LaunchPool {
  uint64_t unit = 0;      // bytes for depth 1
  uint64_t offset = 0;    // from the start of a copy of the workspace
  uint64_t capacity = 0;  // depth * unit
  uint32_t depth = 0;
  uint32_t reserved = 0;
};

struct LaunchHeader {
  uint32_t magic = kLaunchMagic;
  uint16_t version = kLaunchVersion;
  uint16_t flags = 0;
  uint32_t bytes = 0;  // of the whole block
  uint32_t parameter_count = 0;
  uint32_t symbol_count = 0;
  uint32_t parallelism = 1;
  uint64_t workspace_address = 0;  // 0 when workspace_bytes is 0
  uint64_t workspace_bytes = 0;
  uint64_t statistics_address = 0;  // 0: none wanted
  uint64_t statistics_bytes = 0;
  uint64_t tasks_address = 0;  // of the task block; read with kRecordTasks only
  uint64_t tasks_bytes = 0;
  std::array<LaunchPool, 3> pools;  // root_inner, assemble_outcast, exclusive_outcast
  uint64_t boundary_offset = 0;
  uint64_t boundary_bytes = 0;
  uint64_t copy_bytes = 0;  // of one parallel copy
  uint32_t max_instances_per_task = 128;
  uint32_t serial = 0;  // of the launch, for its statistics
};

static_assert(sizeof(LaunchPool) == 32);
static_assert(sizeof(LaunchHeader) == 200);
static_assert(offsetof(LaunchHeader, workspace_address) == 24);
static_assert(offsetof(LaunchHeader, pools) == 72);
static_assert(offsetof(LaunchHeader, max_instances_per_task) == 192);

// Why a launch ended early.
enum class FaultKind : uint32_t {
  kNone = 0,
  kBadBlock = 1,        // the block does not fit the program
  kBudgetMismatch = 2,  // host and engine computed different budgets
  kBadAddress = 3,      // a tensor does not lie inside live device memory
  kNegativeOffset = 4,  // a view starts before its base
  kDivisionByZero = 5,
  kOverflow = 6,   // of an expression
  kWorkspace = 7,  // an instance does not fit an empty task
  kAborted = 8,
  kZeroStep = 9,
  kReadOutside = 10,  // a scalar read of a cell that the tensor does not have
  kUnbound = 11,      // a name is used that no branch or loop has bound
  kBadIndex = 12,     // a gather or scatter index out of range
};

// Written by the engine at the start of the statistics block. Times are ticks of the device's clock.
struct LaunchStatistics {
  uint64_t launches = 0;  // of this handle, since the block was zeroed
  uint64_t begin_ticks = 0;
  uint64_t end_ticks = 0;
  double ticks_per_second = 0;
  uint32_t fault = 0;  // FaultKind
  uint32_t fault_place = 0;
  int64_t fault_value = 0;
  uint64_t root_instances = 0;
  uint64_t device_tasks = 0;
  uint64_t leaf_tiles = 0;
  uint64_t alloc_failures = 0;
  std::array<uint64_t, 3> peak_bytes{};                                // this launch
  std::array<uint64_t, 3> largest_peak_bytes{};                        // over the launches of this handle
  std::array<std::array<uint64_t, 3>, kMostCopies> copy_peak_bytes{};  // this launch, per copy of the workspace
  uint64_t serial = 0;                                                 // of this launch, from its header
};

static_assert(sizeof(LaunchStatistics) == 328);
static_assert(sizeof(LaunchStatistics) <= kTaskBlockHeader);

// One device task, or the sum of several.
struct TaskEntry {
  uint64_t tasks = 0;           // 1; more in the entry that sums
  uint64_t root_instances = 0;  // stitched into it
  uint64_t alloc_failures = 0;  // 1: closed because a pool could not serve the next instance
  uint32_t failed_pool = 0;     // the next four are of the last failure
  uint32_t reserved = 0;
  uint64_t requested = 0;  // bytes that the instance takes from that pool
  uint64_t available = 0;
  uint64_t capacity = 0;
};

// The pools of one copy during the tasks of an entry, in bytes.
struct TaskPools {
  std::array<uint64_t, 3> current{};  // held when the (last) task was closed
  std::array<uint64_t, 3> peak{};     // the most that was held
};

static_assert(sizeof(TaskEntry) == 56);
static_assert(sizeof(TaskPools) == 48);

constexpr uint64_t TaskEntryBytes(uint32_t parallelism) noexcept {
  return sizeof(TaskEntry) + parallelism * sizeof(TaskPools);
}
constexpr uint64_t TaskBlockBytes(uint32_t parallelism) noexcept {
  return kTaskBlockHeader + (kMostTaskEntries + 1) * TaskEntryBytes(parallelism);
}

// Written when the launch has ended. Times are ticks of the device's clock.
struct ProfileHeader {
  uint32_t leaves = 0;
  uint32_t operations = 0;
  uint32_t cores = 0;
  uint32_t reserved = 0;
  uint64_t runs = 0;     // entries
  uint64_t dropped = 0;  // runs that found no room; they are in the sums
};

// All tiles of one leaf of the plan.
struct LeafEntry {
  uint32_t first_operation = 0;
  uint32_t operations = 0;
  uint64_t instances = 0;
  uint64_t tiles = 0;
  uint64_t ticks = 0;
};

// One operation in all tiles of its leaf.
struct OpEntry {
  uint32_t code = 0;   // OpCode
  uint32_t place = 0;  // index into DebugInfo::places
  uint64_t ticks = 0;
  uint64_t bytes = 0;  // read from memory and written to it
};

// Neighbouring tiles of one leaf of one instance, one after another on one core.
struct RunEntry {
  uint64_t begin_ticks = 0;
  uint64_t end_ticks = 0;
  uint64_t bytes = 0;
  uint32_t leaf = 0;
  uint32_t task = 0;
  uint32_t number = 0;  // of the leaf in the task
  uint32_t core = 0;
  uint64_t tiles = 0;
};

static_assert(sizeof(ProfileHeader) == 32);
static_assert(sizeof(LeafEntry) == 32);
static_assert(sizeof(OpEntry) == 24);
static_assert(sizeof(RunEntry) == 48);

constexpr uint64_t ProfileBytes(uint64_t leaves, uint64_t operations, uint64_t runs) noexcept {
  return sizeof(ProfileHeader) + leaves * sizeof(LeafEntry) + operations * sizeof(OpEntry) + runs * sizeof(RunEntry);
}

}  // namespace pypto::program
