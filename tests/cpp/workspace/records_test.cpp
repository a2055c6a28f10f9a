// Texts of the workspace records, character by character.
#include "pypto/workspace/records.h"

#include <gtest/gtest.h>

#include "workspace/workspace_test_support.h"

namespace pypto::workspace {
namespace {

constexpr PoolUsage kUsage = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}};

TEST(Records, Pool) {
  EXPECT_EQ(PoolRecord("k", 2, kUsage),
            "[Workspace Runtime Pool] kernel=k, parallelId=2, rootInner={current=1,peak=4,capacity=7}, "
            "assembleOutcast={current=2,peak=5,capacity=8}, exclusiveOutcast={current=3,peak=6,capacity=9}");
}

TEST(Records, Tuning) {
  EXPECT_EQ(TuningRecord("k", 0, 128, {128, 128, 128}, {64, 1, 1}),
            "[Workspace Runtime Tuning] kernel=k, taskId=0, stitchCount=128, "
            "configuredDepths={rootInner=128,assembleOutcast=128,exclusive=128}, "
            "recommendedDepths={rootInner=64,assembleOutcast=1,exclusive=1}");
}

TEST(Records, Summary) {
  EXPECT_EQ(SummaryRecord("k", 0, kUsage),
            "[Workspace Runtime Summary] kernel=k, parallelId=0, rootInner={peak=4,capacity=7}, "
            "assembleOutcast={peak=5,capacity=8}, exclusiveOutcast={peak=6,capacity=9}");
}

TEST(Records, Recommendation) {
  const Budget budget = ResolveBudget(WorkedExample(), BudgetOptions(), 0).value();
  EXPECT_EQ(RecommendationRecord("k", Recommend(budget, {{32'768, 4096, 4096}})),
            "[Workspace Runtime Recommendation] kernel=k, "
            "actualDepths={rootInner=128,assembleOutcast=128,exclusive=128}, "
            "recommendedDepths={rootInner=64,assembleOutcast=1,exclusive=1}, "
            "rawPerParallelBytes={rootInner=512,assembleOutcast=4096,exclusive=4096}, "
            "nextDepthTotalBytes={rootInner=0,assembleOutcast=0,exclusive=0}, parallelism=1");
}

TEST(Records, AllocFailure) {
  EXPECT_EQ(AllocFailureRecord("k", 3, Pool::kRootInner, 512, 0, 32'768),
            "[Workspace Runtime Alloc Failure] kernel=k, taskId=3, pool=rootInner, requested=512, available=0, "
            "capacity=32768");
  EXPECT_NE(AllocFailureRecord("k", 3, Pool::kExclusiveOutcast, 512, 0, 1).find("pool=exclusiveOutcast"),
            std::string::npos);
}

}  // namespace
}  // namespace pypto::workspace
