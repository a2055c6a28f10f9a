// Records of tensors: life, views, addresses, and the texts of wrong ones.
#include "pypto/runtime/tensor_registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <thread>

namespace pypto::runtime {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kBase = 0x10000;

class TensorRegistryTest : public ::testing::Test {
 protected:
  TensorRegistryTest() { registry_.SetSession(11); }
  TensorRef Add(uint64_t address = kBase) {
    const std::array<int64_t, 2> shape = {8, 16};
    return registry_.AddTensor(address, 512, shape, program::DType::kFp32);
  }
  std::string WhyDead(const ResidentTensor& tensor) {
    return registry_.CheckTensor("argument 'x' of k", tensor).ToString();
  }
  TensorRegistry registry_{1};
};

TEST_F(TensorRegistryTest, ALiveTensorPasses) {
  const TensorRef tensor = Add();
  EXPECT_TRUE(registry_.CheckTensor("x", *tensor).ok());
  EXPECT_TRUE(tensor->is_alive());
  EXPECT_EQ(DescribeTensor(*tensor), "DeviceTensor [8, 16] FP32 at 0x10000");
}

TEST_F(TensorRegistryTest, FreedClosedForeignAndReusedSayWhy) {
  const TensorRef freed = Add();
  registry_.RemoveTensor(*freed);
  EXPECT_FALSE(freed->is_alive());
  EXPECT_THAT(WhyDead(*freed), HasSubstr("argument 'x' of k is a DeviceTensor [8, 16] FP32 at 0x10000 that was freed"));
  const TensorRef again = Add();
  EXPECT_THAT(WhyDead(*freed), HasSubstr("its address belongs to another allocation now"));
  TensorRegistry other(2);
  other.SetSession(12);
  EXPECT_THAT(other.CheckTensor("x", *again).ToString(), HasSubstr("of another worker"));
  EXPECT_EQ(registry_.KillAll().count, 1u);
  registry_.SetSession(13);  // opened again
  EXPECT_THAT(WhyDead(*again), HasSubstr("whose worker was closed"));
}

// The entry of the one that went last stays in place for the next: it must not be seen.
TEST_F(TensorRegistryTest, AVacantEntryIsNoAllocation) {
  const TensorRef first = Add(kBase);
  const TensorRef gone = Add(kBase + 0x1000);
  registry_.RemoveTensor(*gone);
  EXPECT_EQ(registry_.size(), 1u);
  EXPECT_EQ(registry_.NameOf(kBase + 0x1000), "raw buffer");
  EXPECT_FALSE(registry_.RemoveRaw(kBase + 0x1000).ok());
  EXPECT_FALSE(registry_.CheckRange("copy", kBase + 0x1000, 1).ok());
  registry_.RemoveTensor(*gone);  // again
  EXPECT_EQ(registry_.size(), 1u);
  // Its memory is part of a larger one by now.
  registry_.AddRaw(kBase + 0x800, 0x1000);
  registry_.RemoveTensor(*first);
  EXPECT_TRUE(registry_.CheckRange("copy", kBase + 0x1000, 16).ok());
  EXPECT_FALSE(registry_.CheckRange("copy", kBase, 16).ok());
  registry_.AddRaw(kBase - 0x800, 0x1000);  // over the one that went last
  EXPECT_TRUE(registry_.CheckRange("copy", kBase + 8, 16).ok());
  EXPECT_EQ(registry_.size(), 2u);
  EXPECT_TRUE(registry_.RemoveRaw(kBase + 0x800).ok());
  EXPECT_EQ(registry_.KillAll().count, 1u);
  EXPECT_EQ(registry_.size(), 0u);
}

TEST_F(TensorRegistryTest, OneThatComesAndGoesBesideMany) {
  std::vector<TensorRef> kept;
  for (uint64_t i = 0; i < 100; ++i) kept.push_back(Add(kBase + i * 0x1000));
  for (int i = 0; i < 3; ++i) {
    const uint64_t address = kBase + 0x800 + static_cast<uint64_t>(i / 2) * 0x4000;
    const TensorRef tensor = Add(address);
    EXPECT_TRUE(registry_.CheckRange("copy", address, 512).ok());
    EXPECT_EQ(registry_.size(), 101u);
    registry_.RemoveTensor(*tensor);
    EXPECT_FALSE(registry_.CheckRange("copy", address, 512).ok());
    EXPECT_EQ(registry_.size(), 100u);
  }
  EXPECT_EQ(registry_.KillAll().count, 100u);
}

TEST_F(TensorRegistryTest, ViewsShareTheLifeOfTheirBase) {
  TensorRef base = Add();
  const TensorRef view = registry_.MakeView(*base, 2, 5);
  const TensorRef of_view = registry_.MakeView(*view, 1, 2);
  EXPECT_EQ(view->address(), kBase + 2 * 64);
  EXPECT_EQ(view->bytes(), 3u * 64);
  EXPECT_EQ(view->shape()[0], 3);
  EXPECT_EQ(of_view->address(), kBase + 3 * 64);
  EXPECT_TRUE(view->is_view());
  base = TensorRef();
  EXPECT_TRUE(view->is_alive());  // keeps the base
  EXPECT_FALSE(registry_.HasDropped());
  EXPECT_TRUE(registry_.CheckTensor("x", *of_view).ok());
}

TEST_F(TensorRegistryTest, FreeingTheBaseKillsItsViews) {
  const TensorRef base = Add();
  const TensorRef view = registry_.MakeView(*base, 0, 1);
  registry_.RemoveTensor(*base);
  EXPECT_FALSE(view->is_alive());
  EXPECT_THAT(WhyDead(*view), HasSubstr("a view ends with its base"));
}

TEST_F(TensorRegistryTest, DroppingTheLastReferenceQueuesTheFree) {
  TensorRef tensor = Add();
  TensorRef view = registry_.MakeView(*tensor, 0, 2);
  std::thread([dropped = std::move(tensor)]() mutable { dropped = TensorRef(); }).join();
  EXPECT_TRUE(registry_.TakeDropped().empty());
  std::thread([dropped = std::move(view)]() mutable { dropped = TensorRef(); }).join();
  EXPECT_TRUE(registry_.HasDropped());
  EXPECT_EQ(registry_.TakeDropped(), std::vector<uint64_t>{kBase});
  EXPECT_FALSE(registry_.HasDropped());
  EXPECT_EQ(registry_.size(), 0u);
}

TEST_F(TensorRegistryTest, KillAllCountsOnlyWhatSomebodyHolds) {
  {
    const TensorRef dropped = Add(kBase + 0x1000);
  }
  const TensorRef held = Add();
  registry_.AddRaw(0x90000, 100);
  const TensorRegistry::Held left = registry_.KillAll();
  EXPECT_EQ(left.count, 2u);
  EXPECT_EQ(left.bytes, 612u);
  EXPECT_FALSE(held->is_alive());
}

TEST_F(TensorRegistryTest, RecordsOutliveTheRegistry) {
  TensorRef tensor;
  {
    TensorRegistry registry(3);
    registry.SetSession(14);
    const std::array<int64_t, 1> shape = {4};
    tensor = registry.AddTensor(kBase, 16, shape, program::DType::kFp32);
    registry.KillAll();
  }
  EXPECT_EQ(tensor->state(), TensorState::kWorkerClosed);
  EXPECT_EQ(tensor->bytes(), 16u);
}

TEST_F(TensorRegistryTest, RangesInsideOneAllocation) {
  registry_.AddRaw(kBase, 100);
  EXPECT_TRUE(registry_.CheckRange("copy", kBase, 100).ok());
  EXPECT_TRUE(registry_.CheckRange("copy", kBase + 40, 60).ok());
  EXPECT_THAT(registry_.CheckRange("copy", kBase + 40, 61).ToString(),
              HasSubstr("leaves the raw allocation [0x10000, 0x10064) of 100 bytes: 60 bytes are left"));
  EXPECT_THAT(registry_.CheckRange("copy", kBase + 40, UINT64_MAX).ToString(), HasSubstr("[0x10000, 0x10064)"));
  EXPECT_THAT(registry_.CheckRange("copy", kBase + 100, 1).ToString(), HasSubstr("lies in no live allocation"));
  EXPECT_THAT(registry_.CheckRange("copy", kBase - 1, 1).ToString(), HasSubstr("lies in no live allocation"));
}

TEST_F(TensorRegistryTest, OnlyTheStartOfARawAllocationCanBeFreed) {
  registry_.AddRaw(kBase, 100);
  const TensorRef tensor = Add(0x80000);
  EXPECT_THAT(registry_.RemoveRaw(kBase + 4).ToString(), HasSubstr("only the start of an allocation"));
  EXPECT_THAT(registry_.RemoveRaw(0x80000).ToString(), HasSubstr("free_tensor"));
  EXPECT_THAT(registry_.RemoveRaw(0x70000).ToString(), HasSubstr("no live allocation"));
  EXPECT_TRUE(registry_.RemoveRaw(kBase).ok());
  EXPECT_EQ(registry_.RemoveRaw(kBase).code(), base::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace pypto::runtime
