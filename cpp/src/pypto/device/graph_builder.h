// Finds which leaf of a task waits for which, from the bytes that they touch.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "pypto/device/region.h"
#include "pypto/device/task.h"

namespace pypto::device {

// Two leaves are ordered when they touch the same bytes and one of them writes. A space is memory that overlaps no
// other one: a parameter, or a block of the workspace. Owned by the stitcher and kept between tasks. Thread rule: one
// thread at a time.
class GraphBuilder {
 public:
  // Begins a task.
  void Begin() noexcept {
    uses_.clear();
    spaces_used_ = 0;
  }
  // Leaf number `leaf` touches `region` of `space`; leaves are told in program order. `inner`: no other instance
  // touches the space.
  void Touch(uint32_t leaf, uint32_t space, bool reads, bool writes, const Region& region, bool inner = false) {
    uses_.push_back({leaf, leaf, space, reads, writes, inner, region});
    if (space >= spaces_used_) spaces_used_ = space + 1;
  }
  // Fills task->graph, task->shared and task->by_instance. `cores` that could work on it. When `shaken`, whatever has
  // two tiles is shared, leaf by leaf. `has_rooms`: every core may have root-inner memory of its own.
  void Finish(uint32_t cores, bool shaken, bool has_rooms, Task* task);

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr size_t kChunkUses = 16;

  struct Use {
    uint32_t leaf = 0;
    uint32_t node = 0;  // of the graph: the leaf or its instance
    uint32_t space = 0;
    bool reads = false;
    bool writes = false;
    bool inner = false;
    Region region;
  };
  // Where a group of regions lies: between low and high, and within [row_low, row_high) of every period `row`.
  struct Bounds {
    int64_t low = INT64_MAX;
    int64_t high = INT64_MIN;
    int64_t row = -1;  // -1: no region yet, 0: no common period
    int64_t row_low = 0;
    int64_t row_high = 0;
    void Add(const Region& region);
    bool MayOverlap(const Region& region) const;
  };
  struct Chunk {
    Bounds bounds;
    uint32_t count = 0;
    uint32_t next = kNone;
    std::array<uint32_t, kChunkUses> uses;
  };
  struct List {
    Bounds bounds;
    uint32_t first = kNone;
    uint32_t last = kNone;
  };
  struct Space {
    List writers;
    List readers;
    uint32_t last_read = kNone;  // use that read it last; none since a write
    uint32_t join = kNone;       // node that stands for the writers that last_read overlaps
  };

  void Order(uint32_t use);
  void OrderRead(uint32_t use);
  void OrderAgainst(List* list, const Use& use, bool drop_covered);
  void Insert(List* list, uint32_t use);
  void AddEdge(uint32_t from, uint32_t to);
  bool FindWriters(const List& list, const Use& use);
  double OrderInstances(const Task& task);
  double OrderLeaves(const Task& task, uint32_t cores);
  double Span() const;
  void Clear();
  void Emit(uint32_t working, Task* task);
  void CutChains(uint32_t cores, Task* task);

  std::vector<Use> uses_;
  uint32_t spaces_used_ = 0;
  std::vector<Space> spaces_;
  std::vector<Chunk> chunks_;
  struct Edge {
    uint32_t from;
    uint32_t to;
  };
  std::vector<Edge> edges_;
  struct Node {
    uint32_t marked = kNone;  // the node that an edge leads to already
    double own_ns = 0;
    double begin_ns = 0;  // when all that it waits for has ended, with as many cores as one likes
  };
  std::vector<Node> nodes_;
  std::vector<uint32_t> found_;
  std::vector<double> tails_;  // per node: from its begin to the end of the longest chain behind it
};

}  // namespace pypto::device
