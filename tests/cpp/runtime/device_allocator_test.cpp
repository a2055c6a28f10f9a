// The pool: what it takes from the library, what it keeps, and what it says when memory is used up.
#include "pypto/runtime/device_allocator.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "pypto/acl/layers/fault_injection.h"
#include "runtime/fake_acl.h"

namespace pypto::runtime {
namespace {

using base::StatusCode;
using testing::FakeAcl;

constexpr uint64_t kKiB = uint64_t{1} << 10;
constexpr uint64_t kMiB = uint64_t{1} << 20;

class DeviceAllocatorTest : public ::testing::Test {
 protected:
  ~DeviceAllocatorTest() override {
    EXPECT_TRUE(allocator_.ReleaseAll().ok());
    EXPECT_TRUE(fake_.blocks.empty());
  }
  uint64_t Take(uint64_t bytes, MemoryKind kind = MemoryKind::kResident) {
    auto address = allocator_.Allocate(bytes, kind, "a block");
    EXPECT_TRUE(address.ok()) << address.status().ToString();
    return address.ok() ? *address : 0;
  }

  FakeAcl fake_;
  std::unique_ptr<acl::Table> table_ = fake_.MakeTable(true);
  acl::FaultInjectionLayer* faults_ = table_->AddLayer(std::make_unique<acl::FaultInjectionLayer>());
  Counters counters_;
  DeviceAllocator allocator_{*table_, true, &counters_};
};

TEST_F(DeviceAllocatorTest, SmallBlocksShareAChunk) {
  const uint64_t a = Take(100);
  const uint64_t b = Take(5000);
  EXPECT_EQ(counters_.device_mallocs, 1u);
  EXPECT_EQ(a % 512, 0u);
  EXPECT_EQ(b % 512, 0u);
  EXPECT_GE(b, a + 512);
  EXPECT_EQ(allocator_.bytes(MemoryKind::kResident), 5100u);
  EXPECT_TRUE(allocator_.ReleaseAll().ok());
}

TEST_F(DeviceAllocatorTest, AFreedBlockIsUsedAgainWithoutTheLibrary) {
  for (const uint64_t bytes : {uint64_t{64}, uint64_t{700 * 1024}, 3 * kMiB, 40 * kMiB}) {
    const uint64_t first = Take(bytes);
    const uint64_t mallocs = counters_.device_mallocs;
    ASSERT_TRUE(allocator_.Free(first).ok());
    EXPECT_EQ(Take(bytes), first);
    EXPECT_EQ(counters_.device_mallocs, mallocs);
    EXPECT_EQ(counters_.device_frees, 0u);
    ASSERT_TRUE(allocator_.Free(first).ok());
  }
  EXPECT_TRUE(allocator_.ReleaseAll().ok());
  EXPECT_TRUE(fake_.blocks.empty());
}

TEST_F(DeviceAllocatorTest, TrimGivesBackWhatNobodyUses) {
  const uint64_t small = Take(512);
  const uint64_t other = Take(512);
  const uint64_t large = Take(5 * kMiB);
  ASSERT_TRUE(allocator_.Free(large).ok());
  ASSERT_TRUE(allocator_.Free(other).ok());
  EXPECT_GT(allocator_.cached_bytes(), 5 * kMiB);
  ASSERT_TRUE(allocator_.Trim().ok());
  EXPECT_EQ(fake_.blocks.size(), 1u);  // the chunk of `small`
  ASSERT_TRUE(allocator_.Free(small).ok());
  ASSERT_TRUE(allocator_.Trim().ok());
  EXPECT_TRUE(fake_.blocks.empty());
  EXPECT_EQ(allocator_.cached_bytes(), 0u);
}

TEST_F(DeviceAllocatorTest, WorkspaceIsNeverKept) {
  const uint64_t workspace = Take(5 * kMiB, MemoryKind::kWorkspace);
  EXPECT_EQ(allocator_.bytes(MemoryKind::kWorkspace), 5 * kMiB);
  ASSERT_TRUE(allocator_.Free(workspace).ok());
  EXPECT_TRUE(fake_.blocks.empty());
}

TEST_F(DeviceAllocatorTest, WithoutPoolingEachBlockIsTheLibrarysOwn) {
  DeviceAllocator plain(*table_, false, &counters_);
  const auto a = plain.Allocate(100, MemoryKind::kResident, "a");
  ASSERT_TRUE(a.ok());
  EXPECT_EQ(fake_.memory_used, 100u);
  ASSERT_TRUE(plain.Free(*a).ok());
  EXPECT_EQ(fake_.memory_used, 0u);
  EXPECT_EQ(counters_.device_frees, 1u);
}

TEST_F(DeviceAllocatorTest, ThePoolIsEmptiedBeforeGivingUp) {
  fake_.memory_limit = 10 * kMiB;
  ASSERT_TRUE(allocator_.Free(Take(6 * kMiB)).ok());
  EXPECT_EQ(fake_.blocks.size(), 1u);
  const uint64_t larger = Take(9 * kMiB);
  EXPECT_NE(larger, 0u);
  EXPECT_EQ(fake_.blocks.size(), 1u);
}

TEST_F(DeviceAllocatorTest, UsedUpSaysAskedFreeTotalAndHolders) {
  fake_.memory_limit = 32 * kMiB;
  static_cast<void>(allocator_.Allocate(8 * kMiB, MemoryKind::kResident, "tensor [2048, 1024] DT_FP32"));
  const auto failed = allocator_.Allocate(100 * kMiB, MemoryKind::kResident, "too large");
  ASSERT_FALSE(failed.ok());
  const base::Status& status = failed.status();
  EXPECT_EQ(status.code(), StatusCode::kOutOfDeviceMemory);
  ASSERT_NE(status.memory_shortage(), nullptr);
  EXPECT_EQ(status.memory_shortage()->asked, 100 * kMiB);
  EXPECT_EQ(status.memory_shortage()->total, 32 * kMiB);
  EXPECT_EQ(status.memory_shortage()->free, fake_.memory_limit - fake_.memory_used);
  EXPECT_NE(status.memory_shortage()->largest_holders.find("tensor [2048, 1024] DT_FP32 (8388608 bytes)"),
            std::string::npos);
  EXPECT_NE(status.ToString().find("asked for 104857600 bytes"), std::string::npos);
  EXPECT_NE(Take(kMiB), 0u);  // still usable
}

TEST_F(DeviceAllocatorTest, ASmallDeviceIsUsedToTheEnd) {
  fake_.memory_limit = kMiB;  // less than a chunk
  uint64_t taken = 0;
  for (const uint64_t bytes : {uint64_t{100}, 200 * kKiB, 300 * kKiB, 100 * kKiB, uint64_t{4000}}) {
    EXPECT_NE(Take(bytes), 0u);
    taken += bytes;
  }
  EXPECT_EQ(allocator_.bytes(MemoryKind::kResident), taken);
  const auto failed = allocator_.Allocate(600 * kKiB, MemoryKind::kResident, "too large");
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.status().memory_shortage()->asked, 600 * kKiB);
  EXPECT_LT(failed.status().memory_shortage()->free, 600 * kKiB);
  EXPECT_EQ(failed.status().memory_shortage()->total, kMiB);
  EXPECT_NE(Take(64 * kKiB), 0u);
}

TEST_F(DeviceAllocatorTest, ALargeBlockNeedsNoWholePageWhenThereIsNone) {
  fake_.memory_limit = 3 * kMiB;
  const uint64_t block = Take(2 * kMiB + 4096);
  EXPECT_NE(block, 0u);
  EXPECT_TRUE(allocator_.Free(block).ok());
  EXPECT_NE(Take(2 * kMiB + 4096), 0u);
}

TEST_F(DeviceAllocatorTest, FreeMemoryThatDoesNotHelpIsExplained) {
  fake_.memory_limit = 2 * kMiB;
  faults_->Fail(acl::CallId::aclrtMalloc, 0, acl_abi::kErrorRtMemoryAllocation, 100);
  const auto failed = allocator_.Allocate(4096, MemoryKind::kResident, "a block");
  faults_->Clear();
  ASSERT_FALSE(failed.ok());
  EXPECT_NE(failed.status().ToString().find("asked for 4096 bytes, 2097152 of 2097152 bytes are free on the device, in "
                                            "pieces that are too small or lack what the device adds to a block"),
            std::string::npos)
      << failed.status().ToString();
}

TEST_F(DeviceAllocatorTest, AbsurdSizesAreOutOfMemoryAndNoOverflow) {
  fake_.memory_limit = 32 * kMiB;
  const auto failed = allocator_.Allocate(UINT64_MAX - 5, MemoryKind::kResident, "absurd");
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.status().code(), StatusCode::kOutOfDeviceMemory);
}

TEST_F(DeviceAllocatorTest, ARefusedFreeIsTriedAgain) {
  const uint64_t block = Take(5 * kMiB, MemoryKind::kWorkspace);
  faults_->Fail(acl::CallId::aclrtFree, 0, acl_abi::kErrorRtDriverInternal);
  EXPECT_FALSE(allocator_.Free(block).ok());
  EXPECT_EQ(allocator_.bytes(MemoryKind::kWorkspace), 0u);
  EXPECT_EQ(fake_.blocks.size(), 1u);
  EXPECT_TRUE(allocator_.Trim().ok());
  EXPECT_TRUE(fake_.blocks.empty());
}

TEST_F(DeviceAllocatorTest, ReleaseAllFreesWhatIsInUseToo) {
  for (int i = 0; i < 20; ++i) static_cast<void>(Take(uint64_t{1} << i));
  faults_->Fail(acl::CallId::aclrtFree, 0, acl_abi::kErrorRtDriverInternal);
  EXPECT_FALSE(allocator_.ReleaseAll().ok());
  EXPECT_TRUE(fake_.blocks.empty());
  EXPECT_EQ(allocator_.cached_bytes(), 0u);
}

TEST_F(DeviceAllocatorTest, RandomBlocksNeverOverlap) {
  std::mt19937_64 random(7);
  std::map<uint64_t, uint64_t> live;
  for (int step = 0; step < 4000; ++step) {
    if (live.empty() || random() % 3 != 0) {
      const uint64_t bytes = 1 + random() % (random() % 8 == 0 ? 3 * kMiB : 8192);
      const uint64_t address = Take(bytes);
      const auto next = live.lower_bound(address);
      ASSERT_TRUE(next == live.end() || address + bytes <= next->first);
      ASSERT_TRUE(next == live.begin() || std::prev(next)->first + std::prev(next)->second <= address);
      live.emplace(address, bytes);
    } else {
      const auto victim = std::next(live.begin(), static_cast<std::ptrdiff_t>(random() % live.size()));
      ASSERT_TRUE(allocator_.Free(victim->first).ok());
      live.erase(victim);
    }
  }
  uint64_t sum = 0;
  for (const auto& [address, bytes] : live) sum += bytes;
  EXPECT_EQ(allocator_.bytes(MemoryKind::kResident), sum);
  EXPECT_TRUE(allocator_.ReleaseAll().ok());
  EXPECT_TRUE(fake_.blocks.empty());
}

}  // namespace
}  // namespace pypto::runtime
