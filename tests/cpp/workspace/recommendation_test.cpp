// Recommended depths and next-depth bytes at their borders.
#include "pypto/workspace/recommendation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "workspace/workspace_test_support.h"

namespace pypto::workspace {
namespace {

using testing::ElementsAre;

Budget Of(const Requirement& requirement, const BudgetOptions& options) {
  return ResolveBudget(requirement, options, 0).value();
}

TEST(Recommend, TheWorkedExample) {
  PoolPeaks peaks;
  peaks.Include({64 * 512, 4096, 0});
  peaks.Include({512, 0, 4096});
  const Recommendation result = Recommend(Of(WorkedExample(), {}), peaks);
  EXPECT_THAT(result.actual_depths, ElementsAre(128, 128, 128));
  EXPECT_THAT(result.recommended_depths, ElementsAre(64, 1, 1));
  EXPECT_THAT(result.raw_per_parallel_bytes, ElementsAre(512, 4096, 4096));
  // 1,122,304 of 1,146,880 bytes are used: one more depth of any pool fits the rounding.
  EXPECT_THAT(result.next_depth_total_bytes, ElementsAre(0, 0, 0));
  EXPECT_EQ(result.parallelism, 1U);
}

TEST(Recommend, PartsOfAUnitCountAsAWholeDepth) {
  const Budget budget = Of(WorkedExample(), {});
  EXPECT_THAT(RecommendDepths(budget, {{512, 4096, 4096}}), ElementsAre(1, 1, 1));
  EXPECT_THAT(RecommendDepths(budget, {{1024, 4608, 8192}}), ElementsAre(2, 2, 2));
}

TEST(Recommend, AtLeastOneWhereNeededElseZero) {
  const Requirement requirement = {{512, 0, 0}, {true, false, true}, 0};
  const Budget budget = Of(requirement, {});
  EXPECT_THAT(RecommendDepths(budget, {}), ElementsAre(1, 0, 1));
  EXPECT_EQ(NextDepthBytes(budget, Pool::kAssembleOutcast), 0U);
  EXPECT_EQ(NextDepthBytes(budget, Pool::kExclusiveOutcast), 0U);
}

TEST(NextDepthBytes, TheRoundingMakesItZeroOrAWholeStep) {
  // 512 + 4096 + 4096 + 8192 = 16,896 of 32,768.
  const Budget budget = Of(WorkedExample(), PerPool(1, 1, 1));
  EXPECT_EQ(NextDepthBytes(budget, Pool::kRootInner), 0U);
  const Budget full = Of({{512, 0, 0}, {true, false, false}, 0}, PerPool(64, 0, 0));
  EXPECT_EQ(full.total_bytes, 32'768U);
  EXPECT_EQ(NextDepthBytes(full, Pool::kRootInner), 32'768U);
}

TEST(NextDepthBytes, CountsAllCopies) {
  BudgetOptions options = PerPool(64, 0, 0);
  options.parallelism = 3;
  const Budget full = Of({{512, 0, 0}, {true, false, false}, 0}, options);
  EXPECT_EQ(NextDepthBytes(full, Pool::kRootInner), 3U * 32'768);
}

TEST(NextDepthBytes, AtThousandTwentyFourAsIfOneMoreWereAllowed) {
  const Budget full = Of({{32'768, 0, 0}, {true, false, false}, 0}, PerPool(1024, 0, 0));
  EXPECT_EQ(NextDepthBytes(full, Pool::kRootInner), 32'768U);
}

TEST(MaxDepths, ElementWise) { EXPECT_THAT(MaxDepths({1, 5, 0}, {4, 2, 0}), ElementsAre(4, 5, 0)); }

}  // namespace
}  // namespace pypto::workspace
