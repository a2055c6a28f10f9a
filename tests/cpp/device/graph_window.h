// A window of leaves that touch what a test says, and the graph made of it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "pypto/device/graph_builder.h"

namespace pypto::device::testing {

struct Touched {
  uint32_t leaf;
  uint32_t space;
  bool reads;
  bool writes;
  Region region;
};

class Window {
 public:
  explicit Window(uint32_t leaves, double tile_ns = 1e6) {
    program_.tile_ns = tile_ns;
    for (uint32_t i = 0; i < leaves; ++i) {
      LeafRecord record;
      record.program = &program_;
      record.tiles = 1;
      task_.leaves.push_back(record);
      task_.work_ns += tile_ns;
    }
    builder_.Begin();
  }
  void SetTiles(uint32_t leaf, int64_t tiles) { task_.leaves[leaf].tiles = tiles; }
  // All leaves become products; `leaf` has a grid of tiles.
  void SetProduct(uint32_t leaf, int64_t down, int64_t across) {
    program_.kind = program::LeafKind::kCube;
    program_.rank = 2;
    task_.leaves[leaf].grid = {down, across};
    task_.leaves[leaf].tiles = down * across;
  }
  void Touch(uint32_t leaf, uint32_t space, bool reads, bool writes, const Region& region) {
    builder_.Touch(leaf, space, reads, writes, region);
    touched_.push_back({leaf, space, reads, writes, region});
  }
  // Row `row` of a matrix of 64-byte rows, or `rows` of them.
  static Region Row(int64_t row, int64_t rows = 1) {
    Region::Dim dims[] = {{4, 16 * rows}};
    return MakeRegion(row * 64, 4, dims, 1);
  }
  static Region Columns(int64_t column, int64_t columns, int64_t width, int64_t rows) {
    Region::Dim dims[] = {{width * 4, rows}, {4, columns}};
    return MakeRegion(column * 4, 4, dims, 2);
  }

  // Up to four uses of every leaf, of rows, columns and all of `spaces` matrices.
  template <typename Pick>
  void TouchAtRandom(int64_t spaces, const Pick& pick) {
    for (uint32_t leaf = 0; leaf < task_.leaves.size(); ++leaf) {
      for (int64_t uses = pick(1, 4); uses > 0; --uses) {
        const int64_t kind = pick(0, 5);
        const Region region = kind == 0   ? Row(0, 32)
                              : kind <= 3 ? Row(pick(0, 31), pick(1, 2))
                                          : Columns(pick(0, 12), pick(1, 4), 16, pick(2, 32));
        const bool writes = pick(0, 2) == 0;
        Touch(leaf, static_cast<uint32_t>(pick(0, spaces - 1)), !writes || pick(0, 1) == 0, writes, region);
      }
    }
  }

  // Leaf after leaf becomes an instance of `leaves` leaves.
  void MakeInstances(uint32_t leaves) {
    for (uint32_t i = 0; i < task_.leaves.size(); i += leaves) task_.instances.push_back(i);
  }
  // As Touch, in memory of the leaf's instance alone.
  void TouchInner(uint32_t leaf, uint32_t space, bool writes, const Region& region) {
    builder_.Touch(leaf, space, !writes, writes, region, true);
  }
  const Task& Build(uint32_t cores = 4, bool shaken = true, bool has_rooms = false) {
    builder_.Finish(cores, shaken, has_rooms, &task_);
    return task_;
  }
  size_t edges() const { return task_.graph.successors.size(); }

  // waits[a][b]: a runs before b begins.
  std::vector<std::vector<bool>> Closure() const {
    const uint32_t nodes = task_.graph.nodes;
    std::vector<std::vector<bool>> before(nodes, std::vector<bool>(nodes));
    for (uint32_t from = 0; from < nodes; ++from) {
      std::vector<uint32_t> open{from};
      while (!open.empty()) {
        const uint32_t at = open.back();
        open.pop_back();
        for (uint32_t i = task_.graph.first[at]; i < task_.graph.first[at + 1]; ++i) {
          const uint32_t next = task_.graph.successors[i];
          if (before[from][next]) continue;
          before[from][next] = true;
          open.push_back(next);
        }
      }
    }
    return before;
  }

  // Every two leaves that touch the same bytes are ordered as in the program; nothing waits for a later leaf.
  void Check() const {
    const auto before = Closure();
    for (const Touched& a : touched_) {
      for (const Touched& b : touched_) {
        if (a.leaf >= b.leaf || a.space != b.space || !(a.writes || b.writes)) continue;
        if (!Overlap(a.region, b.region)) continue;
        ASSERT_TRUE(before[a.leaf][b.leaf]) << a.leaf << " before " << b.leaf;
      }
    }
    for (uint32_t later = 0; later < task_.leaves.size(); ++later) {
      for (uint32_t earlier = 0; earlier <= later; ++earlier) ASSERT_FALSE(before[later][earlier]);
    }
    std::vector<uint32_t> predecessors(task_.graph.nodes);
    for (const uint32_t to : task_.graph.successors) ++predecessors[to];
    EXPECT_EQ(predecessors, task_.graph.predecessors);
    std::vector<uint32_t> ready;
    for (uint32_t i = 0; i < task_.graph.nodes; ++i) {
      if (predecessors[i] == 0) ready.push_back(i);
    }
    std::vector<uint32_t> told = task_.graph.ready;
    std::sort(told.begin(), told.end());
    EXPECT_EQ(ready, told);
  }

 private:
  LeafProgram program_;
  Task task_;
  GraphBuilder builder_;
  std::vector<Touched> touched_;
};

}  // namespace pypto::device::testing
