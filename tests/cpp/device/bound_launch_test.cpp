// Launches whose block comes again: run as a short list of calls, and only while everything is as it was.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "device/allocation_counter.h"
#include "device/launcher.h"
#include "device/plan_maker.h"

namespace pypto::device::testing {
namespace {

// out = (x + y) * 2 over 16×16, two tiles.
std::shared_ptr<const program::Image> AddImage() {
  PlanMaker maker("add");
  const uint32_t x = maker.Parameter(DType::kFp32, {16, 16});
  const uint32_t y = maker.Parameter(DType::kFp32, {16, 16});
  const uint32_t out = maker.Parameter(DType::kFp32, {16, 16});
  LeafMaker leaf = maker.Leaf({16, 16}, {8, 16});
  const ValueRef sum = leaf.Op(OpCode::kAdd, {leaf.Access(x), leaf.Access(y)}, leaf.Local(DType::kFp32));
  leaf.Op(OpCode::kMul, {sum, LeafMaker::Float(2)}, leaf.Access(out));
  return SingleLeaf(&maker, leaf);
}

std::vector<double> Filled(double value) { return std::vector<double>(256, value); }

class BoundLaunchTest : public ::testing::Test {
 protected:
  BoundLaunchTest() { launcher_.Bind({{Filled(1)}, {Filled(2)}, {Filled(0)}}); }
  // Often enough to be bound.
  void Warm() {
    for (int i = 0; i < 4; ++i) ASSERT_EQ(launcher_.Run().outcome.acl_code, 0);
  }
  void Fill(size_t parameter, float value) {
    auto* data = reinterpret_cast<float*>(launcher_.memory().Host(launcher_.slot(parameter)));
    std::fill(data, data + 256, value);
  }
  Launcher launcher_{AddImage()};
};

TEST_F(BoundLaunchTest, ReadsWhatMemoryHoldsNow) {
  for (int i = 1; i < 8; ++i) {
    Fill(0, static_cast<float>(i));
    const LaunchResult result = launcher_.Run();
    EXPECT_EQ(result.values[2], Filled(2 * (i + 2)));
    EXPECT_EQ(result.statistics.launches, static_cast<uint64_t>(i));
    EXPECT_EQ(result.statistics.leaf_tiles, 2u);
    EXPECT_EQ(result.statistics.root_instances, 1u);
    EXPECT_EQ(result.statistics.device_tasks, 1u);
    EXPECT_GE(result.statistics.end_ticks, result.statistics.begin_ticks);
  }
  EXPECT_EQ(launcher_.engine().counters().replayed, 6u);
}

TEST_F(BoundLaunchTest, FollowsOtherAddresses) {
  Warm();
  const uint64_t other = launcher_.memory().Allocate(1024);
  const uint64_t before = std::exchange(launcher_.slot(1), other);
  for (int i = 0; i < 4; ++i) {
    Fill(1, static_cast<float>(10 + i));
    EXPECT_EQ(launcher_.Run().values[2], Filled(2 * (11 + i)));
  }
  launcher_.slot(1) = before;
  EXPECT_EQ(launcher_.Run().values[2], Filled(6));
}

TEST_F(BoundLaunchTest, MemoryThatIsGoneIsAFault) {
  Warm();
  launcher_.memory().Free(launcher_.slot(1));
  const LaunchOutcome outcome = launcher_.RunAgain();
  EXPECT_NE(outcome.acl_code, 0);
  EXPECT_NE(outcome.message.find("does not lie inside live device memory"), std::string::npos) << outcome.message;
}

TEST_F(BoundLaunchTest, AHeaderThatDiffersIsChecked) {
  Warm();
  EXPECT_NE(launcher_.Run([](program::LaunchHeader* header) { header->parallelism = 7; }).outcome.acl_code, 0);
  EXPECT_EQ(launcher_.Run().outcome.acl_code, 0);
}

TEST_F(BoundLaunchTest, TheSerialNumberIsThatOfTheLaunch) {
  Warm();
  for (const uint32_t serial : {5u, 6u}) {
    const auto change = [serial](program::LaunchHeader* header) { header->serial = serial; };
    EXPECT_EQ(launcher_.Run(change).statistics.serial, serial);
  }
}

TEST_F(BoundLaunchTest, AnAbortedLaunchDoesNothing) {
  Warm();
  Fill(2, -1);
  const std::atomic<bool> abort{true};
  launcher_.abort = &abort;
  const LaunchResult result = launcher_.Run();
  EXPECT_NE(result.outcome.acl_code, 0);
  EXPECT_EQ(result.values[2], Filled(-1));
}

TEST_F(BoundLaunchTest, NothingIsAllocatedFromTheSecondLaunchOn) {
  ASSERT_EQ(launcher_.Run().outcome.acl_code, 0);
  const uint64_t before = AllocationCount();
  for (int i = 0; i < 5; ++i) ASSERT_EQ(launcher_.RunAgain().acl_code, 0);
  EXPECT_EQ(AllocationCount(), before);
}

}  // namespace
}  // namespace pypto::device::testing
