// Page-locked host memory: large blocks are kept when they are freed and go back when asked.
#include "pypto/mock_acl/host_memory.h"

#include <gtest/gtest.h>

#include <cstring>

#include "pypto/mock_acl/reservation.h"

namespace pypto::mock {
namespace {

constexpr uint64_t kMib = uint64_t{1} << 20;

TEST(HostMemory, LargeBlocksBeginAtHugePages) {
  HostMemory memory;
  void* pointer = memory.Allocate(3 * kMib);
  ASSERT_NE(pointer, nullptr);
  EXPECT_EQ(reinterpret_cast<uint64_t>(pointer) % kHugePageBytes, 0u);
  std::memset(pointer, 1, 3 * kMib);
  EXPECT_EQ(memory.live_bytes(), 3 * kMib);
  EXPECT_TRUE(memory.Pinned(static_cast<char*>(pointer) + kMib, 2 * kMib));
  EXPECT_FALSE(memory.Pinned(static_cast<char*>(pointer) + kMib, 2 * kMib + 1));
  EXPECT_TRUE(memory.Free(pointer));
  EXPECT_FALSE(memory.Free(pointer));
  EXPECT_FALSE(memory.Pinned(pointer, 1));
}

TEST(HostMemory, FreedLargeBlocksAreReusedAndGiveNothingBack) {
  HostMemory memory;
  const uint64_t calls = GiveBackCalls();
  void* first = memory.Allocate(8 * kMib);
  EXPECT_TRUE(memory.Free(first));
  EXPECT_EQ(memory.kept_bytes(), 8 * kMib);
  EXPECT_EQ(memory.Allocate(7 * kMib), first) << "a little smaller";
  EXPECT_EQ(memory.kept_bytes(), 0u);
  EXPECT_TRUE(memory.Free(first));
  void* small = memory.Allocate(2 * kMib);
  EXPECT_NE(small, first) << "a block four times as large is no waste to make";
  EXPECT_TRUE(memory.Free(small));
  EXPECT_EQ(memory.kept_bytes(), 10 * kMib);
  EXPECT_EQ(GiveBackCalls(), calls);
  memory.Purge();
  EXPECT_EQ(memory.kept_bytes(), 0u);
  EXPECT_EQ(GiveBackCalls(), calls + 2);
  EXPECT_EQ(memory.live_bytes(), 0u);
}

TEST(HostMemory, ReusedBlocksAreFilledAgain) {
  HostMemory memory;
  auto* pointer = static_cast<uint8_t*>(memory.Allocate(2 * kMib));
  std::memset(pointer, 7, 2 * kMib);
  EXPECT_TRUE(memory.Free(pointer));
  ASSERT_EQ(memory.Allocate(2 * kMib), pointer);
  EXPECT_EQ(pointer[0], 0xff);
  EXPECT_EQ(pointer[kMib - 1], 0xff);
}

TEST(HostMemory, ClearTakesKeptAndLiveBlocks) {
  HostMemory memory;
  memory.Free(memory.Allocate(4 * kMib));
  memory.Allocate(4 * kMib);
  memory.Allocate(100);
  memory.Clear();
  EXPECT_EQ(memory.kept_bytes(), 0u);
  EXPECT_EQ(memory.live_blocks(), 0u);
}

TEST(HostMemory, ASizeBeyondMemoryIsNull) {
  HostMemory memory;
  EXPECT_EQ(memory.Allocate(UINT64_MAX), nullptr);
  EXPECT_EQ(memory.Allocate(UINT64_MAX / 2), nullptr);
  EXPECT_EQ(memory.live_blocks(), 0u);
}

}  // namespace
}  // namespace pypto::mock
