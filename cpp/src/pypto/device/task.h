// What a device task consists of: root instances and their leaves, resolved down to places in memory, and which leaf
// waits for which.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "pypto/device/leaf_program.h"
#include "pypto/program/launch_block.h"

namespace pypto::device {

// Memory of a launch is named by slots, so that a task does not depend on addresses.
inline constexpr uint32_t kZeroSlot = 0;       // one zero cell: a tensor that nobody has written
inline constexpr uint32_t kWorkspaceSlot = 1;  // the whole workspace
inline constexpr uint32_t kInnerSlot = 2;      // root-inner memory of the instance at hand
inline constexpr uint32_t kFirstParameterSlot = 3;

// Where an access points: the element at coordinates 0, and the distance of neighbours in elements.
struct AccessRecord {
  int64_t offset = 0;                // bytes from the start of the slot
  const int64_t* strides = nullptr;  // rank of them
  uint32_t slot = kZeroSlot;
};

// A leaf of one instance. Extents that operations work on are already clipped to what is valid.
struct LeafRecord {
  const LeafProgram* program = nullptr;
  const AccessRecord* accesses = nullptr;
  const int64_t* bounds = nullptr;    // per operation, rank of them: end of the computed region. A matrix product has
                                      // its K behind them, a whole operation the valid extents of its inputs
  const uint64_t* numbers = nullptr;  // one element in each
  Extents grid{};                     // tiles per dim
  int64_t tiles = 0;                  // or pieces of them, in a product that is cut into such
  bool uncut = false;                 // all operations work on their whole extents, on memory that is there
  uint64_t inner = 0;                 // where root-inner memory of its instance alone begins in the workspace
};

// Tiles of the plan among [first, last): of the pieces of one, the first counts.
inline int64_t PlannedTiles(const LeafRecord& record, int64_t first, int64_t last) noexcept {
  const int64_t pieces = record.program->matmul.pieces;
  if (pieces == 1) return last - first;
  const int64_t down = record.grid[record.program->rank - 2];
  const auto before = [&](int64_t piece) {
    return piece / down * ((down + pieces - 1) / pieces) + (piece % down + pieces - 1) / pieces;
  };
  return before(last) - before(first);
}

// Coordinates at which tile number `tile` begins: the last dim fastest; in a product its rows fastest, so that
// neighbours share columns of B.
inline void PlaceTile(const LeafRecord& record, int64_t tile, int64_t* begin) noexcept {
  const LeafProgram& leaf = *record.program;
  const auto place = [&](int dim) {
    begin[dim] = tile % record.grid[dim] * leaf.tile[dim];
    tile /= record.grid[dim];
  };
  int dim = leaf.rank - 1;
  if (leaf.kind == program::LeafKind::kCube) {
    place(dim - 1);
    place(dim);
    dim -= 2;
  }
  for (; dim >= 0; --dim) place(dim);
}

// Memory for records that are all dropped at once. Owned by a Task. Thread rule: one thread at a time.
class RecordArena {
 public:
  // Uninitialised; for trivial types aligned to at most 8.
  template <typename T>
  T* Take(size_t count) {
    return reinterpret_cast<T*>(TakeBytes((count * sizeof(T) + 7) & ~size_t{7}));
  }
  void Clear() noexcept { chunk_ = used_ = 0; }
  size_t capacity() const noexcept { return capacity_; }

 private:
  static constexpr size_t kFirstChunkBytes = 2 * 1024;  // each further one is twice as large
  static constexpr size_t kChunkBytes = 256 * 1024;
  std::byte* TakeBytes(size_t bytes);

  struct Chunk {
    std::unique_ptr<std::byte[]> data;
    size_t bytes = 0;
  };
  std::vector<Chunk> chunks_;
  size_t chunk_ = 0;
  size_t used_ = 0;  // of the present chunk
  size_t capacity_ = 0;
};

// Which nodes of a task wait for which. Nodes are its leaves, or its instances, in program order, then joins: nodes
// without work that stand for all their predecessors.
struct TaskGraph {
  uint32_t nodes = 0;
  uint32_t working = 0;                // nodes that are no joins
  std::vector<uint32_t> first;         // per node, and one more: where its successors begin
  std::vector<uint32_t> successors;    // all later in program order, joins aside
  std::vector<uint32_t> predecessors;  // per node: how many
  std::vector<uint32_t> ready;         // nodes without predecessors
  std::vector<uint8_t> segments;       // per node, or empty: a core goes on with what its own work made ready when both
                                       // are of one segment

  void Clear() noexcept {
    nodes = working = 0;
    first.clear();
    successors.clear();
    predecessors.clear();
    ready.clear();
    segments.clear();
  }
};

// Bytes of the workspace that change their place between tasks.
struct BlockMove {
  uint64_t from = 0;
  uint64_t to = 0;
  uint64_t bytes = 0;
};

// Makes the moves, in order.
void MoveBlocks(const std::vector<BlockMove>& moves, std::byte* workspace);

// Of one launch.
struct LaunchCounts {
  uint64_t root_instances = 0;
  uint64_t device_tasks = 0;
  uint64_t leaf_tiles = 0;
  uint64_t alloc_failures = 0;
};

using PoolBytes = std::array<uint64_t, 3>;  // per pool

// A task when it is closed.
struct TaskFigures {
  uint32_t instances = 0;
  std::array<PoolBytes, program::kMostCopies> held{};  // by the pools of every copy
  bool failed = false;                                 // closed because a pool could not serve the next instance
  uint32_t failed_pool = 0;
  uint64_t requested = 0;
  uint64_t available = 0;
  uint64_t capacity = 0;
};

// One stitched window. Its leaves are in program order.
struct Task {
  RecordArena arena;
  std::vector<LeafRecord> leaves;
  std::vector<uint32_t> instances;  // number of the first leaf of each
  std::vector<BlockMove> moves;     // to be done, in order, before it runs
  TaskGraph graph;                  // when `shared`
  LaunchCounts counts;              // of the launch, up to the end of this task
  TaskFigures figures;
  double work_ns = 0;        // rough time of all its tiles on one core
  bool shared = false;       // worth more than one core
  bool by_instance = false;  // then: the nodes of its graph are instances, each the work of one core
  uint64_t inner_begin = 0;  // root-inner memory of a core that runs one instance after another: where that of core
  uint64_t inner_bytes = 0;  // 0 begins in the workspace, and how much each core has

  // Leaves [first, second) of an instance.
  std::pair<uint32_t, uint32_t> LeavesOf(uint32_t instance) const noexcept {
    const auto end = static_cast<uint32_t>(instance + 1 < instances.size() ? instances[instance + 1] : leaves.size());
    return {instances[instance], end};
  }

  void Clear() noexcept;
  // Heap memory that it holds.
  size_t capacity() const noexcept;
};

}  // namespace pypto::device
