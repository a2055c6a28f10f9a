// Laws of the budget that hold for any input, over random ones with fixed seeds.
#include <gtest/gtest.h>

#include "pypto/workspace/recommendation.h"
#include "workspace/workspace_test_support.h"

namespace pypto::workspace {
namespace {

constexpr int kRounds = 2000;

class BudgetLaws : public testing::TestWithParam<uint32_t> {
 protected:
  // A requirement, options and their budget.
  void Next() {
    requirement_ = inputs_.NextRequirement(inputs_.Number(0, 1) == 0 ? 40 : 100'000);
    options_ = inputs_.NextOptions(requirement_);
    auto budget = ResolveBudget(requirement_, options_, inputs_.Number(0, 1 << 20));
    ASSERT_TRUE(budget.ok()) << budget.status().ToString();
    budget_ = *budget;
  }

  RandomInputs inputs_{GetParam()};
  Requirement requirement_;
  BudgetOptions options_;
  Budget budget_;
};

TEST_P(BudgetLaws, PartsFollowEachOtherAlignedAndWithoutOverlap) {
  for (int round = 0; round < kRounds; ++round) {
    ASSERT_NO_FATAL_FAILURE(Next());
    uint64_t offset = 0;
    for (int i = 0; i < kPoolCount; ++i) {
      const PoolBudget& pool = budget_.pools[i];
      EXPECT_EQ(pool.offset, offset);
      EXPECT_EQ(pool.offset % kBlockAlignment, 0U);
      EXPECT_EQ(pool.capacity, pool.depth * pool.unit);
      EXPECT_EQ(pool.unit, requirement_.unit_bytes[i]);
      offset += pool.capacity;
    }
    EXPECT_EQ(budget_.boundary_offset, offset);
    EXPECT_GE(budget_.bytes_per_copy, offset + budget_.boundary_bytes);
    EXPECT_LT(budget_.bytes_per_copy, offset + budget_.boundary_bytes + kTotalAlignment);
    EXPECT_EQ(budget_.bytes_per_copy % kTotalAlignment, 0U);
    EXPECT_EQ(budget_.tensor_bytes, budget_.bytes_per_copy * options_.parallelism);
  }
}

TEST_P(BudgetLaws, TheTotalIsTheSumOfTheItems) {
  for (int round = 0; round < kRounds; ++round) {
    ASSERT_NO_FATAL_FAILURE(Next());
    uint64_t sum = 0;
    for (const LineItem& item : DescribeBudget(budget_)) sum += item.bytes;
    EXPECT_EQ(sum, budget_.total_bytes);
  }
}

TEST_P(BudgetLaws, ByMemoryTakesTheDepthOfALinearSearch) {
  for (int round = 0; round < kRounds / 10; ++round) {
    const Requirement requirement = inputs_.NextRequirement(inputs_.Number(1, 200));
    BudgetOptions options;
    options.parallelism = static_cast<uint32_t>(inputs_.Number(1, kMaxParallelism));
    const uint64_t minimum = MinimumTensorBytes(requirement, options.parallelism).value();
    options.max_workspace_kb = minimum / 1024 + inputs_.Number(1, 2000);
    const Budget budget = ResolveBudget(requirement, options, 0).value();

    uint32_t largest = 0;
    for (uint32_t depth = 1; depth <= kMaxDepth; ++depth) {
      BudgetOptions by_count = ByCount(depth);
      by_count.parallelism = options.parallelism;
      const uint64_t bytes = ResolveBudget(requirement, by_count, 0)->tensor_bytes;
      if (bytes <= options.max_workspace_kb * 1024) largest = depth;
    }
    for (const PoolBudget& pool : budget.pools) EXPECT_EQ(pool.depth, largest);
    EXPECT_LE(budget.tensor_bytes, options.max_workspace_kb * 1024);
  }
}

TEST_P(BudgetLaws, RaisingOneDepthGrowsTheTotalByNextDepthBytes) {
  for (int round = 0; round < kRounds; ++round) {
    ASSERT_NO_FATAL_FAILURE(Next());
    for (int i = 0; i < kPoolCount; ++i) {
      BudgetOptions raised;
      raised.parallelism = options_.parallelism;
      raised.num_per_pool = ActualDepths(budget_);
      if (++raised.num_per_pool[i] > kMaxDepth) continue;
      const Budget grown = ResolveBudget(requirement_, raised, budget_.engine_bytes).value();
      EXPECT_EQ(grown.total_bytes - budget_.total_bytes, NextDepthBytes(budget_, static_cast<Pool>(i)));
    }
  }
}

TEST_P(BudgetLaws, RecommendedDepthsHoldThePeaksAndCostNoMore) {
  for (int round = 0; round < kRounds; ++round) {
    ASSERT_NO_FATAL_FAILURE(Next());
    PoolPeaks peaks;
    for (int i = 0; i < kPoolCount; ++i) {
      peaks.bytes[i] = inputs_.Number(0, budget_.pools[i].capacity / kBlockAlignment) * kBlockAlignment;
    }
    BudgetOptions recommended = options_;
    recommended.num_per_pool = RecommendDepths(budget_, peaks);
    if (recommended.num_per_pool == std::array<uint32_t, 3>{}) continue;  // no pool is needed
    const Budget again = ResolveBudget(requirement_, recommended, budget_.engine_bytes).value();
    EXPECT_LE(again.total_bytes, budget_.total_bytes);
    for (int i = 0; i < kPoolCount; ++i) {
      EXPECT_GE(again.pools[i].capacity, peaks.bytes[i]);
      if (again.pools[i].depth <= 1) continue;
      EXPECT_LT(again.pools[i].capacity - again.pools[i].unit, peaks.bytes[i]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, BudgetLaws, testing::Values(1, 2, 3));

}  // namespace
}  // namespace pypto::workspace
