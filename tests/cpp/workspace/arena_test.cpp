// PoolArena and BoundaryArena: borders, and laws over random sequences.
#include "pypto/workspace/arena.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <map>
#include <numeric>

#include "workspace/workspace_test_support.h"

namespace pypto::workspace {
namespace {

constexpr uint64_t kHuge = std::numeric_limits<uint64_t>::max();

TEST(BlockBytes, RoundsUpTo512) {
  EXPECT_EQ(BlockBytes(0), 0U);
  EXPECT_EQ(BlockBytes(1), 512U);
  EXPECT_EQ(BlockBytes(512), 512U);
  EXPECT_EQ(BlockBytes(513), 1024U);
  EXPECT_EQ(BlockBytes(kHuge), kHuge);
  EXPECT_EQ(BlockBytes(kHuge - 511), kHuge - 511);
}

TEST(PoolArena, BlocksFollowEachOther) {
  PoolArena arena(4096, 2048);
  uint64_t offset = 0;
  EXPECT_EQ(arena.Allocate(64, &offset), Outcome::kOk);
  EXPECT_EQ(offset, 4096U);
  EXPECT_EQ(arena.Allocate(513, &offset), Outcome::kOk);
  EXPECT_EQ(offset, 4608U);
  EXPECT_EQ(arena.current(), 1536U);
  EXPECT_EQ(arena.available(), 512U);
}

TEST(PoolArena, ExactlyFullThenExhausted) {
  PoolArena arena(0, 1024);
  uint64_t offset = 99;
  EXPECT_EQ(arena.Allocate(1024, &offset), Outcome::kOk);
  EXPECT_EQ(arena.available(), 0U);
  offset = 99;
  EXPECT_EQ(arena.Allocate(1, &offset), Outcome::kExhausted);
  EXPECT_EQ(offset, 99U);
  EXPECT_EQ(arena.current(), 1024U);
  EXPECT_EQ(arena.Allocate(0, &offset), Outcome::kOk);
}

TEST(PoolArena, OneByteTooMuchIsExhausted) {
  PoolArena arena(0, 1024);
  uint64_t offset = 0;
  EXPECT_EQ(arena.Allocate(1025, &offset), Outcome::kExhausted);
  EXPECT_EQ(arena.Allocate(kHuge, &offset), Outcome::kExhausted);
  EXPECT_EQ(PoolArena().Allocate(1, &offset), Outcome::kExhausted);
  EXPECT_EQ(arena.peak(), 0U);
}

TEST(PoolArena, ResetReturnsEverythingAndKeepsThePeak) {
  PoolArena arena(PoolBudget{2, 512, 512, 1024, true});
  uint64_t offset = 0;
  EXPECT_EQ(arena.Allocate(1024, &offset), Outcome::kOk);
  arena.Reset();
  EXPECT_EQ(arena.current(), 0U);
  EXPECT_EQ(arena.peak(), 1024U);
  EXPECT_EQ(arena.Allocate(512, &offset), Outcome::kOk);
  EXPECT_EQ(offset, 512U);
  arena.ResetPeak();
  EXPECT_EQ(arena.peak(), 512U);
}

class BoundaryArenaTest : public testing::Test {
 protected:
  uint64_t Place(uint64_t block, uint64_t bytes) {
    uint64_t offset = 0;
    EXPECT_EQ(arena_.Place(block, bytes, &offset, &moves_), Outcome::kOk);
    return offset;
  }
  BoundaryArena arena_{1024, 4096};
  std::vector<BlockMove> moves_;
};

TEST_F(BoundaryArenaTest, TheFirstHoleThatIsLargeEnough) {
  EXPECT_EQ(Place(1, 512), 1024U);
  EXPECT_EQ(Place(2, 1024), 1536U);
  EXPECT_EQ(Place(3, 512), 2560U);
  EXPECT_TRUE(arena_.Release(1));
  EXPECT_TRUE(arena_.Release(2));
  EXPECT_EQ(Place(4, 1536), 1024U);
  EXPECT_TRUE(arena_.Release(4));
  EXPECT_EQ(Place(5, 2048), 3072U);  // the hole of 1536 is too small, the tail fits exactly
  EXPECT_TRUE(moves_.empty());
  EXPECT_EQ(arena_.current(), 2560U);
  EXPECT_EQ(arena_.block_count(), 2U);
}

TEST_F(BoundaryArenaTest, MovesOnlyWhenNoHoleIsLargeEnough) {
  Place(1, 1024);
  Place(2, 1024);
  Place(3, 1024);
  EXPECT_TRUE(arena_.Release(1));
  EXPECT_TRUE(arena_.Release(3));
  EXPECT_EQ(Place(4, 2048), 3072U);  // fits behind block 2
  EXPECT_TRUE(moves_.empty());
  EXPECT_TRUE(arena_.Release(4));
  EXPECT_EQ(Place(5, 2560), 2048U);
  ASSERT_EQ(moves_.size(), 1U);
  EXPECT_EQ(moves_[0].block, 2U);
  EXPECT_EQ(moves_[0].from, 2048U);
  EXPECT_EQ(moves_[0].to, 1024U);
  EXPECT_EQ(moves_[0].bytes, 1024U);
  uint64_t offset = 0;
  EXPECT_TRUE(arena_.Find(2, &offset));
  EXPECT_EQ(offset, 1024U);
}

TEST_F(BoundaryArenaTest, ExhaustedChangesNothing) {
  Place(1, 1024);
  Place(2, 1024);
  EXPECT_TRUE(arena_.Release(1));
  uint64_t offset = 7;
  for (const uint64_t bytes : {uint64_t{3073}, kHuge}) {
    EXPECT_EQ(arena_.Place(3, bytes, &offset, &moves_), Outcome::kExhausted);
  }
  EXPECT_TRUE(moves_.empty());
  EXPECT_EQ(offset, 7U);
  EXPECT_EQ(arena_.current(), 1024U);
  EXPECT_TRUE(arena_.Find(2, &offset));
  EXPECT_EQ(offset, 2048U);
  EXPECT_FALSE(arena_.Find(3, &offset));
  EXPECT_EQ(Place(4, 3072), 2048U);  // the free bytes exactly, by compaction
  EXPECT_EQ(moves_.size(), 1U);
}

TEST_F(BoundaryArenaTest, AdoptedBlocksStayWhereTheyAre) {
  EXPECT_TRUE(arena_.Adopt(1, 2048, 1000));
  EXPECT_EQ(arena_.current(), 1024U);
  EXPECT_FALSE(arena_.Adopt(2, 2560, 512));
  EXPECT_FALSE(arena_.Adopt(2, 1536, 1024));
  EXPECT_FALSE(arena_.Adopt(2, 512, 512));
  EXPECT_FALSE(arena_.Adopt(2, 5120, 512));
  EXPECT_FALSE(arena_.Adopt(2, 4608, 513));
  EXPECT_FALSE(arena_.Adopt(2, 1024, kHuge));
  EXPECT_TRUE(arena_.Adopt(2, 3072, 512));
  EXPECT_TRUE(arena_.Adopt(3, 4608, 512));
  EXPECT_TRUE(arena_.Adopt(4, 1536, 512));
  EXPECT_EQ(Place(5, 512), 1024U);
}

TEST_F(BoundaryArenaTest, ReleaseAndClear) {
  Place(1, 512);
  EXPECT_FALSE(arena_.Release(2));
  EXPECT_TRUE(arena_.Release(1));
  EXPECT_FALSE(arena_.Release(1));
  EXPECT_EQ(arena_.peak(), 512U);
  Place(2, 1024);
  arena_.Clear();
  EXPECT_EQ(arena_.current(), 0U);
  EXPECT_EQ(arena_.block_count(), 0U);
  EXPECT_EQ(arena_.peak(), 1024U);
}

TEST(PoolArenaLaws, NoOverlapAlignedNeverAboveTheCapacity) {
  RandomInputs inputs(11);
  for (int round = 0; round < 300; ++round) {
    const uint64_t start = inputs.Number(0, 100) * kBlockAlignment;
    const uint64_t capacity = inputs.Number(0, 64) * kBlockAlignment;
    PoolArena arena(start, capacity);
    uint64_t next = start;
    uint64_t peak = 0;
    for (int step = 0; step < 100; ++step) {
      const uint64_t bytes = inputs.Number(0, 4000);
      uint64_t offset = 0;
      const bool fits = BlockBytes(bytes) <= start + capacity - next;
      ASSERT_EQ(arena.Allocate(bytes, &offset) == Outcome::kOk, fits);
      if (fits) {
        EXPECT_EQ(offset, next);
        EXPECT_EQ(offset % kBlockAlignment, 0U);
        next += BlockBytes(bytes);
      }
      peak = std::max(peak, next - start);
      EXPECT_LE(arena.current(), capacity);
      EXPECT_EQ(arena.peak(), peak);
      if (inputs.Number(0, 9) == 0) {
        arena.Reset();
        next = start;
      }
    }
  }
}

// Plays random placements and releases with real bytes behind them: every block keeps its contents over moves.
class BoundaryModel {
 public:
  explicit BoundaryModel(uint64_t capacity) : arena_(512, capacity), memory_(512 + capacity) {}

  void Place(uint64_t id, uint64_t bytes) {
    const uint64_t size = BlockBytes(bytes);
    const bool fits = size <= arena_.capacity() - arena_.current();
    const bool hole = LargestHole() >= size;
    uint64_t offset = 0;
    ASSERT_EQ(arena_.Place(id, bytes, &offset, &moves_) == Outcome::kOk, fits);
    EXPECT_TRUE(moves_.empty() || (fits && !hole));
    if (!fits) return;
    for (const BlockMove& move : moves_) {
      EXPECT_LT(move.to, move.from);
      std::memmove(memory_.data() + move.to, memory_.data() + move.from, move.bytes);
    }
    std::memset(memory_.data() + offset, static_cast<int>(id % 251), size);
    blocks_[id] = size;
    Check();
  }

  void ReleaseAny(uint64_t choice) {
    if (blocks_.empty()) return;
    const auto it = std::next(blocks_.begin(), static_cast<std::ptrdiff_t>(choice % blocks_.size()));
    EXPECT_TRUE(arena_.Release(it->first));
    blocks_.erase(it);
    Check();
  }

 private:
  std::map<uint64_t, uint64_t> ByOffset() const {
    std::map<uint64_t, uint64_t> by_offset;
    for (const auto& [id, size] : blocks_) {
      uint64_t offset = 0;
      EXPECT_TRUE(arena_.Find(id, &offset));
      if (size != 0) by_offset[offset] = size;
    }
    return by_offset;
  }

  uint64_t LargestHole() const {
    uint64_t end = arena_.offset();
    uint64_t largest = 0;
    for (const auto& [offset, size] : ByOffset()) {
      largest = std::max(largest, offset - end);
      end = offset + size;
    }
    return std::max(largest, arena_.offset() + arena_.capacity() - end);
  }

  void Check() const {
    uint64_t sum = 0;
    uint64_t end = arena_.offset();
    for (const auto& [offset, size] : ByOffset()) {
      EXPECT_EQ(offset % kBlockAlignment, 0U);
      EXPECT_GE(offset, end);
      end = offset + size;
      sum += size;
    }
    EXPECT_LE(end, arena_.offset() + arena_.capacity());
    EXPECT_EQ(arena_.current(), sum);
    EXPECT_EQ(arena_.block_count(), blocks_.size());
    for (const auto& [id, size] : blocks_) {
      uint64_t offset = 0;
      EXPECT_TRUE(arena_.Find(id, &offset));
      for (uint64_t i = 0; i < size; i += 256) ASSERT_EQ(memory_[offset + i], id % 251);
    }
  }

  BoundaryArena arena_;
  std::vector<uint8_t> memory_;
  std::map<uint64_t, uint64_t> blocks_;
  std::vector<BlockMove> moves_;
};

TEST(BoundaryArenaLaws, BlocksKeepTheirContents) {
  RandomInputs inputs(12);
  for (int round = 0; round < 60; ++round) {
    BoundaryModel model(inputs.Number(0, 40) * kBlockAlignment);
    for (uint64_t id = 0; id < 150; ++id) {
      ASSERT_NO_FATAL_FAILURE(model.Place(id, inputs.Number(0, 6000)));
      for (uint64_t i = inputs.Number(0, 2); i > 0; --i) model.ReleaseAny(inputs.Number(0, 1000));
    }
  }
}

}  // namespace
}  // namespace pypto::workspace
