// The allocator of device memory by itself: size classes, spans, reuse, giving pages back, translation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

#include "pypto/mock_acl/device_memory.h"

namespace pypto::mock {
namespace {

constexpr uint64_t kMib = uint64_t{1} << 20;
constexpr uint64_t kSmallBudget = 64 * kMib;

uint64_t Take(DeviceMemory& memory, uint64_t bytes) { return memory.Allocate(bytes, bytes, PagePolicy::kNormalOnly); }

TEST(DeviceMemory, TranslationIsExactToTheByte) {
  DeviceMemory memory(kSmallBudget, false);
  for (const uint64_t bytes : {uint64_t{1}, uint64_t{100}, uint64_t{5000}, 300 * 1024 + uint64_t{7}, 5 * kMib}) {
    const uint64_t address = Take(memory, bytes);
    ASSERT_NE(address, 0u);
    std::byte* alias = memory.Translate(address, bytes);
    ASSERT_NE(alias, nullptr) << bytes;
    EXPECT_EQ(memory.Translate(address + bytes - 1, 1), alias + bytes - 1);
    EXPECT_EQ(memory.Translate(address, bytes + 1), nullptr);
    EXPECT_EQ(memory.Translate(address + bytes, 1), nullptr);
    EXPECT_EQ(memory.Translate(address + 1, UINT64_MAX), nullptr);
    EXPECT_EQ(memory.Translate(address - 1, 1), nullptr);
  }
  EXPECT_EQ(memory.Translate(0, 1), nullptr);
  EXPECT_EQ(memory.Translate(UINT64_MAX, 1), nullptr);
}

TEST(DeviceMemory, EverySizeGetsABlockThatHoldsIt) {
  DeviceMemory memory(uint64_t{1} << 30, false);
  for (uint64_t bytes = 1; bytes < 3 * kMib; bytes += 1 + bytes / 3) {
    const uint64_t address = Take(memory, bytes);
    ASSERT_NE(address, 0u) << bytes;
    EXPECT_NE(memory.Translate(address, bytes), nullptr) << bytes;
    const auto block = memory.Find(address + bytes / 2);
    ASSERT_TRUE(block) << bytes;
    EXPECT_EQ(block->address, address);
    EXPECT_EQ(block->bytes, bytes);
  }
}

TEST(DeviceMemory, SmallBlocksAreReusedAtOnce) {
  DeviceMemory memory(kSmallBudget, false);
  const uint64_t first = Take(memory, 700);
  EXPECT_EQ(memory.Free(first), FreeOutcome::kFreed);
  EXPECT_EQ(memory.Free(first), FreeOutcome::kAlreadyFree);
  EXPECT_EQ(Take(memory, 690), first);
}

TEST(DeviceMemory, FreedLargeBlocksAreJoinedAgain) {
  DeviceMemory memory(kSmallBudget, false);
  std::vector<uint64_t> blocks;
  for (int i = 0; i < 8; ++i) blocks.push_back(Take(memory, 7 * kMib));
  for (const int i : {1, 3, 5, 7, 0, 2, 4, 6})
    EXPECT_EQ(memory.Free(blocks[static_cast<size_t>(i)]), FreeOutcome::kFreed);
  EXPECT_NE(Take(memory, 60 * kMib), 0u);
}

TEST(DeviceMemory, EmptySpansMakeRoomForLargeBlocks) {
  DeviceMemory memory(kSmallBudget, false);
  std::vector<uint64_t> blocks;
  // A span of every class, and the rest of the address space taken.
  for (uint64_t bytes = 64; bytes < kMib; bytes += bytes / 8 + 64) blocks.push_back(Take(memory, bytes));
  ASSERT_THAT(blocks, testing::Not(testing::Contains(0u)));
  std::vector<uint64_t> fill;
  while (const uint64_t address = memory.AllocateInternal(9 * kMib)) fill.push_back(address);
  const uint64_t kept = blocks.back();
  blocks.pop_back();
  for (const uint64_t block : blocks) EXPECT_EQ(memory.Free(block), FreeOutcome::kFreed);
  EXPECT_NE(Take(memory, 50 * kMib), 0u);
  EXPECT_GT(fill.size(), 10u);
  EXPECT_NE(memory.Translate(kept, 1), nullptr);
  EXPECT_EQ(memory.Free(kept), FreeOutcome::kFreed);
  EXPECT_NE(Take(memory, 64), 0u) << "classes whose spans were taken start new ones";
}

TEST(DeviceMemory, PagesOfFreedLargeBlocksAreGivenBackOffTheHotPath) {
  DeviceMemory memory(uint64_t{1} << 30, false);
  const uint64_t first = Take(memory, 10 * kMib - 64);
  EXPECT_EQ(memory.Free(first), FreeOutcome::kFreed);
  EXPECT_EQ(memory.dirty_bytes(), 10 * kMib);
  EXPECT_EQ(Take(memory, 10 * kMib - 64), first) << "dirty chunks are used again first";
  EXPECT_EQ(memory.dirty_bytes(), 0u);
  EXPECT_EQ(memory.Free(first), FreeOutcome::kFreed);
  const uint64_t calls = GiveBackCalls();
  memory.Purge();
  EXPECT_EQ(memory.dirty_bytes(), 0u);
  EXPECT_EQ(GiveBackCalls(), calls + 1);
}

TEST(DeviceMemory, AllocatingAndFreeingGivesNothingBack) {
  DeviceMemory memory(uint64_t{1} << 30, false);
  const uint64_t calls = GiveBackCalls();
  for (int i = 0; i < 3; ++i) {
    const uint64_t large = Take(memory, 200 * kMib);
    const uint64_t other = Take(memory, 200 * kMib);
    EXPECT_EQ(memory.Free(large), FreeOutcome::kFreed);
    EXPECT_EQ(memory.Free(other), FreeOutcome::kFreed);
    EXPECT_LE(memory.dirty_bytes(), 404 * kMib) << "no more than was alive at a time";
  }
  EXPECT_EQ(GiveBackCalls(), calls);
  memory.Purge();
  EXPECT_EQ(GiveBackCalls(), calls + 1) << "neighbours go in one call";
  EXPECT_EQ(memory.dirty_bytes(), 0u);
}

TEST(DeviceMemory, InternalBlocksAreNeitherCountedNorFreeable) {
  DeviceMemory memory(kSmallBudget, false);
  const uint64_t internal = memory.AllocateInternal(1000);
  EXPECT_NE(memory.Translate(internal, 1000), nullptr);
  EXPECT_EQ(memory.live_blocks(), 0u);
  EXPECT_EQ(memory.free_bytes(), kSmallBudget);
  EXPECT_EQ(memory.Free(internal), FreeOutcome::kUnknown);
  EXPECT_FALSE(memory.Find(internal));
  memory.FreeInternal(internal);
  EXPECT_EQ(memory.Translate(internal, 1), nullptr);
}

TEST(DeviceMemory, ClearDropsEverything) {
  DeviceMemory memory(kSmallBudget, false);
  const uint64_t small = Take(memory, 100);
  const uint64_t large = Take(memory, 10 * kMib);
  memory.Clear();
  EXPECT_EQ(memory.live_bytes(), 0u);
  EXPECT_EQ(memory.free_bytes(), kSmallBudget);
  EXPECT_EQ(memory.Translate(small, 1), nullptr);
  EXPECT_EQ(memory.Free(large), FreeOutcome::kUnknown);
  EXPECT_NE(Take(memory, 60 * kMib), 0u);
  EXPECT_NE(Take(memory, 100), 0u);
}

TEST(DeviceMemory, RandomTrafficKeepsContentsAndAccounts) {
  DeviceMemory memory(512 * kMib, false);
  std::mt19937_64 random(5);
  std::map<uint64_t, std::pair<uint64_t, uint8_t>> live;  // address -> bytes, fill
  uint64_t sum = 0;
  for (int i = 0; i < 20000; ++i) {
    if (live.size() < 60 || random() % 2 == 0) {
      const uint64_t bytes = random() % (random() % 50 == 0 ? 4 * kMib : 3000) + 1;
      const uint64_t address = Take(memory, bytes);
      ASSERT_NE(address, 0u);
      const auto next = live.lower_bound(address);
      if (next != live.end()) {
        ASSERT_LE(address + bytes, next->first);
      }
      const auto fill = static_cast<uint8_t>(random());
      memory.Translate(address, bytes)[0] = std::byte{fill};
      memory.Translate(address, bytes)[bytes - 1] = std::byte{fill};
      live[address] = {bytes, fill};
      sum += bytes;
    } else {
      auto victim = live.lower_bound(random() % UINT64_MAX);
      if (victim == live.end()) victim = live.begin();
      const auto [bytes, fill] = victim->second;
      const std::byte* alias = memory.Translate(victim->first, bytes);
      ASSERT_EQ(std::to_integer<uint8_t>(alias[0]), fill);
      ASSERT_EQ(std::to_integer<uint8_t>(alias[bytes - 1]), fill);
      ASSERT_EQ(memory.Free(victim->first), FreeOutcome::kFreed);
      live.erase(victim);
      sum -= bytes;
    }
    ASSERT_EQ(memory.live_bytes(), sum);
  }
  EXPECT_EQ(memory.live_blocks(), live.size());
}

}  // namespace
}  // namespace pypto::mock
