// Where blocks lie over many device tasks: apart, aligned, inside their copy, and unmoved where possible.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>

#include "device/launcher.h"
#include "device/plan_maker.h"
#include "pypto/device/pools.h"

namespace pypto::device::testing {
namespace {

using program::TensorClass;

// Storages of the given sizes in bytes, and a launch that has room for `depth` of each at a time.
class Placement {
 public:
  Placement(const std::vector<std::pair<TensorClass, int64_t>>& storages, uint32_t depth, int64_t boundary,
            uint32_t copies = 1) {
    PlanMaker maker;
    const uint32_t x = maker.Parameter(DType::kInt8, {4});
    std::vector<int64_t> units(3);
    for (const auto& [tensor_class, bytes] : storages) {
      list_.push_back(maker.Storage(tensor_class, DType::kInt8, {bytes}));
      units[static_cast<size_t>(Pools::PoolOf(tensor_class))] += (bytes + 511) / 512 * 512;
      bytes_.push_back(static_cast<uint64_t>(bytes));
    }
    LeafMaker leaf = maker.Leaf({4}, {4});
    leaf.Op(OpCode::kCopy, {leaf.Access(x)}, leaf.Access(x));
    maker.Root({leaf});
    maker.SetWorkspace(units, boundary);
    auto& depths = maker.plan().options.stitch_function_num_per_pool;
    for (size_t i = 0; i < 3; ++i) depths[i] = units[i] > 0 ? depth : 0;
    maker.plan().options.parallelism = copies;
    launcher_ = std::make_unique<Launcher>(maker.Finish());
    launcher_->Bind({{std::vector<double>(4)}});
    launcher_->Run();
    const auto& program = static_cast<const LoadedExecutable&>(launcher_->executable());
    Fault fault;
    EXPECT_TRUE(launch_.Open(program, launcher_->block(), launcher_->memory(), &fault));
    EXPECT_TRUE(launch_.Evaluate(program, &fault));
    EXPECT_TRUE(launch_.Bind(program, launch_.shape(), launcher_->memory(), &fault)) << fault.text;
    pools_.Begin(program.plan(), &launch_);
  }

  uint32_t storage(size_t index) const { return list_[index]; }
  size_t count() const { return list_.size(); }
  Pools& pools() { return pools_; }
  LaunchState& launch() { return launch_; }

  bool Fits(size_t index, uint32_t copy) const {
    const auto pool = Pools::PoolOf(ClassOf(index));
    return workspace::BlockBytes(bytes_[index]) <= pools_.arena(copy, pool).available();
  }
  TensorClass ClassOf(size_t index) const {
    return static_cast<const LoadedExecutable&>(launcher_->executable()).plan().storages[list_[index]].tensor_class;
  }

  // Takes a block, checks where it lies and marks its bytes.
  void Take(size_t index, uint32_t copy) {
    const uint64_t begin = pools_.BeginInstance(copy);
    const Place place = pools_.Take(list_[index], copy);
    const Span span{place.offset + (place.slot == kInnerSlot ? begin : 0), bytes_[index]};
    Check(span, copy);
    for (const Span& other : taken_) ASSERT_FALSE(Overlap(span, other));
    for (const auto& [outcast, block] : held_) ASSERT_FALSE(Overlap(span, block.span));
    if (ClassOf(index) == TensorClass::kRootInner) {
      taken_.push_back(span);
      return;
    }
    if (held_.contains(list_[index])) taken_.push_back(held_[list_[index]].span);
    held_[list_[index]] = {span, ++marks_};
    Mark(held_[list_[index]]);
  }
  void Drop(size_t held_index) {
    const uint32_t outcast = pools_.held()[held_index];
    taken_.push_back(held_[outcast].span);
    held_.erase(outcast);
    pools_.Drop(held_index);
  }
  // Ends a task; gives the bytes that moved.
  uint64_t End() {
    std::vector<BlockMove> moves;
    EXPECT_TRUE(pools_.EndTask(&moves));
    MoveBlocks(moves, launch_.workspace());
    taken_.clear();
    uint64_t moved = 0;
    for (const BlockMove& move : moves) moved += move.bytes;
    EXPECT_EQ(pools_.held().size(), held_.size());
    std::vector<Span> spans;
    for (auto& [outcast, block] : held_) {
      const Span now{pools_.PlaceOf(outcast).offset, block.span.bytes};
      EXPECT_TRUE(moved > 0 || now.offset == block.span.offset);
      block.span = now;
      EXPECT_TRUE(IsMarked(block)) << "the contents of a live block changed";
      for (const Span& other : spans) EXPECT_FALSE(Overlap(now, other));
      spans.push_back(now);
    }
    for (uint32_t copy = 0; copy < launch_.budget().parallelism; ++copy) {
      EXPECT_EQ(pools_.held_bytes(copy), (PoolBytes{0, 0, 0}));
      for (size_t pool = 0; pool < 3; ++pool) {
        EXPECT_LE(pools_.peaks(copy)[pool], launch_.budget().pools[pool].capacity);
      }
    }
    return moved;
  }
  uint64_t LiveBytes(uint32_t copy) const {
    uint64_t bytes = 0;
    for (const auto& [outcast, block] : held_) {
      const bool here = block.span.offset / launch_.budget().bytes_per_copy == copy;
      bytes += here ? workspace::BlockBytes(block.span.bytes) : 0;
    }
    return bytes;
  }

 private:
  struct Span {
    uint64_t offset = 0;
    uint64_t bytes = 0;
  };
  struct Held {
    Span span;
    uint64_t mark = 0;
  };
  static bool Overlap(const Span& a, const Span& b) {
    return a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
  }
  void Check(const Span& span, uint32_t copy) const {
    const workspace::Budget& budget = launch_.budget();
    ASSERT_EQ(span.offset % 512, 0u);
    ASSERT_GE(span.offset, budget.copy_offset(copy));
    ASSERT_LE(span.offset + span.bytes, budget.copy_offset(copy) + budget.boundary_offset + budget.boundary_bytes);
  }
  void Mark(const Held& block) {
    std::memset(launch_.workspace() + block.span.offset, static_cast<int>(block.mark & 0xff), block.span.bytes);
  }
  bool IsMarked(const Held& block) const {
    const std::byte* data = launch_.workspace() + block.span.offset;
    for (uint64_t i = 0; i < block.span.bytes; ++i) {
      if (data[i] != static_cast<std::byte>(block.mark & 0xff)) return false;
    }
    return true;
  }

  std::vector<uint32_t> list_;
  std::vector<uint64_t> bytes_;
  std::unique_ptr<Launcher> launcher_;
  LaunchState launch_;
  Pools pools_;
  std::vector<Span> taken_;        // of this task, not live any more
  std::map<uint32_t, Held> held_;  // live
  uint64_t marks_ = 0;
};

TEST(Placement, RandomTasksKeepBlocksApartAndWhole) {
  uint64_t tasks = 0;
  uint64_t moves = 0;
  for (uint32_t seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    const auto pick = [&random](int64_t low, int64_t high) {
      return std::uniform_int_distribution<int64_t>(low, high)(random);
    };
    std::vector<std::pair<TensorClass, int64_t>> storages;
    for (int64_t count = pick(2, 9); count > 0; --count) {
      storages.emplace_back(static_cast<TensorClass>(pick(1, 3)), pick(1, 6000));
    }
    const auto boundary = static_cast<uint64_t>(pick(1, 30)) * 512;
    const auto copies = static_cast<uint32_t>(pick(1, 3));
    Placement placement(storages, static_cast<uint32_t>(pick(1, 4)), static_cast<int64_t>(boundary), copies);
    for (int task = 0; task < 40; ++task) {
      for (int64_t steps = pick(1, 12); steps > 0; --steps) {
        const auto index = static_cast<size_t>(pick(0, static_cast<int64_t>(placement.count()) - 1));
        const auto copy = static_cast<uint32_t>(pick(0, copies - 1));
        if (placement.Fits(index, copy)) placement.Take(index, copy);
        const auto held = static_cast<int64_t>(placement.pools().held().size());
        if (held > 0 && pick(0, 2) == 0) placement.Drop(static_cast<size_t>(pick(0, held - 1)));
        ASSERT_FALSE(HasFatalFailure()) << "seed " << seed;
      }
      for (uint32_t copy = 0; copy < copies; ++copy) {
        while (placement.LiveBytes(copy) > boundary) placement.Drop(0);
      }
      moves += placement.End() > 0 ? 1 : 0;
      ++tasks;
      ASSERT_FALSE(HasFailure()) << "seed " << seed << ", task " << task;
    }
  }
  EXPECT_GT(moves, 0u);
  EXPECT_LT(moves, tasks / 2);
}

TEST(Placement, TwoGenerationsTakeTurnsWithoutMoves) {
  // depth 1 and boundary memory of one block: old and new share the two places there are.
  Placement placement({{TensorClass::kExclusiveOutcast, 4096}, {TensorClass::kRootInner, 512}}, 1, 4096);
  for (int task = 0; task < 20; ++task) {
    placement.Take(0, 0);
    placement.Take(1, 0);
    EXPECT_EQ(placement.End(), 0u) << task;
  }
}

TEST(Placement, BlocksMoveWhenNoHoleIsLargeEnough) {
  // Two small blocks in the middle of what a large pool needs as one piece.
  Placement placement({{TensorClass::kAssembleOutcast, 2048},
                       {TensorClass::kAssembleOutcast, 512},
                       {TensorClass::kAssembleOutcast, 2048},
                       {TensorClass::kAssembleOutcast, 512}},
                      1, 1024);
  for (size_t i = 0; i < 4; ++i) placement.Take(i, 0);
  placement.Drop(0);
  const auto third = std::find(placement.pools().held().begin(), placement.pools().held().end(), placement.storage(2));
  placement.Drop(static_cast<size_t>(third - placement.pools().held().begin()));
  EXPECT_EQ(placement.End(), 1024u);
  for (const size_t i : {0u, 2u}) placement.Take(i, 0);
}

TEST(Placement, MoreLiveBytesThanBoundaryMemoryAreRefused) {
  Placement placement({{TensorClass::kExclusiveOutcast, 1024}}, 2, 512);
  placement.Take(0, 0);
  std::vector<BlockMove> moves;
  EXPECT_FALSE(placement.pools().EndTask(&moves));
}

}  // namespace
}  // namespace pypto::device::testing
