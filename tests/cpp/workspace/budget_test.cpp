// ResolveBudget and ValidateDepth: the modes, their limits, the error texts, the worked example.
#include "pypto/workspace/budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "workspace/allocation_counter.h"
#include "workspace/workspace_test_support.h"

namespace pypto::workspace {
namespace {

using base::StatusCode;
using testing::HasSubstr;

uint64_t TotalOf(const Requirement& requirement, const BudgetOptions& options) {
  const auto budget = ResolveBudget(requirement, options, 0);
  EXPECT_TRUE(budget.ok()) << budget.status().ToString();
  return budget.ok() ? budget->total_bytes : 0;
}

base::Status ErrorOf(const Requirement& requirement, const BudgetOptions& options, uint64_t engine_bytes = 0) {
  auto budget = ResolveBudget(requirement, options, engine_bytes);
  EXPECT_FALSE(budget.ok());
  return std::move(budget).status();
}

TEST(WorkedExample, Totals) {
  EXPECT_EQ(TotalOf(WorkedExample(), ByCount(128)), 1'146'880U);
  EXPECT_EQ(TotalOf(WorkedExample(), BudgetOptions()), 1'146'880U);
  EXPECT_EQ(TotalOf(WorkedExample(), PerPool(128, 128, 128)), 1'146'880U);
  EXPECT_EQ(TotalOf(WorkedExample(), PerPool(64, 1, 1)), 65'536U);
  EXPECT_EQ(TotalOf(WorkedExample(), PerPool(1, 1, 1)), 32'768U);
}

TEST(WorkedExample, LayoutOfOneCopy) {
  const Budget budget = ResolveBudget(WorkedExample(), PerPool(64, 1, 1), 100).value();
  EXPECT_EQ(budget.mode, BudgetMode::kPerPool);
  EXPECT_EQ(budget.pools[0], (PoolBudget{64, 512, 0, 32'768, true}));
  EXPECT_EQ(budget.pools[1], (PoolBudget{1, 4096, 32'768, 4096, true}));
  EXPECT_EQ(budget.pools[2], (PoolBudget{1, 4096, 36'864, 4096, true}));
  EXPECT_EQ(budget.pool(Pool::kExclusiveOutcast), budget.pools[2]);
  EXPECT_EQ(budget.boundary_offset, 40'960U);
  EXPECT_EQ(budget.boundary_bytes, 8192U);
  EXPECT_EQ(budget.bytes_per_copy, 65'536U);
  EXPECT_EQ(budget.tensor_bytes, 65'536U);
  EXPECT_EQ(budget.engine_bytes, 100U);
  EXPECT_EQ(budget.total_bytes, 65'636U);
}

TEST(WorkedExample, ZeroDepthForANeededPool) {
  const base::Status status = ErrorOf(WorkedExample(), PerPool(64, 0, 1));
  EXPECT_EQ(status.code(), StatusCode::kWorkspace);
  EXPECT_THAT(status.ToString(), HasSubstr("assemble_outcast"));
  EXPECT_THAT(status.ToString(), HasSubstr("one depth needs 4096 bytes"));
  EXPECT_THAT(status.ToString(), HasSubstr("must be at least 1"));
}

TEST(Mode, PerPoolWinsThenMemoryThenCount) {
  EXPECT_EQ(ModeOf({}), BudgetMode::kByCount);
  EXPECT_EQ(ModeOf(ByMemory(1)), BudgetMode::kByMemory);
  EXPECT_EQ(ModeOf(PerPool(0, 0, 1)), BudgetMode::kPerPool);
  BudgetOptions both = PerPool(1, 1, 1);
  both.max_workspace_kb = 1;  // far below the minimum: has no effect
  both.stitch_function_max_num = 7;
  const Budget budget = ResolveBudget(WorkedExample(), both, 0).value();
  EXPECT_EQ(budget.mode, BudgetMode::kPerPool);
  EXPECT_EQ(budget.total_bytes, 32'768U);
  both.num_per_pool = {};
  EXPECT_EQ(ModeOf(both), BudgetMode::kByMemory);
}

TEST(Mode, InstancesPerTask) {
  EXPECT_EQ(ResolveBudget(WorkedExample(), ByCount(7), 0)->max_instances_per_task, 7U);
  EXPECT_EQ(ResolveBudget(WorkedExample(), ByMemory(64), 0)->max_instances_per_task, 1024U);
  EXPECT_EQ(ResolveBudget(WorkedExample(), PerPool(1, 1, 1), 0)->max_instances_per_task, 1024U);
}

TEST(ByCount, RangeIsOneToThousandTwentyFour) {
  EXPECT_EQ(ResolveBudget(WorkedExample(), ByCount(1), 0)->pools[1].capacity, 4096U);
  EXPECT_EQ(ResolveBudget(WorkedExample(), ByCount(1024), 0)->pools[1].capacity, 4096U * 1024);
  for (const uint32_t wrong : {0U, 1025U, std::numeric_limits<uint32_t>::max()}) {
    const base::Status status = ErrorOf(WorkedExample(), ByCount(wrong));
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(status.ToString(), HasSubstr("stitch_function_max_num=" + std::to_string(wrong)));
  }
}

TEST(Parallelism, RangeIsOneToEight) {
  for (const uint32_t parallelism : {1U, 8U}) {
    BudgetOptions options = ByCount(128);
    options.parallelism = parallelism;
    const Budget budget = ResolveBudget(WorkedExample(), options, 5).value();
    EXPECT_EQ(budget.bytes_per_copy, 1'146'880U);
    EXPECT_EQ(budget.tensor_bytes, 1'146'880U * parallelism);
    EXPECT_EQ(budget.total_bytes, 1'146'880U * parallelism + 5);
    EXPECT_EQ(budget.copy_offset(parallelism - 1), 1'146'880U * (parallelism - 1));
  }
  for (const uint32_t wrong : {0U, 9U}) {
    BudgetOptions options;
    options.parallelism = wrong;
    EXPECT_EQ(ErrorOf(WorkedExample(), options).code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(MinimumTensorBytes(WorkedExample(), wrong).status().code(), StatusCode::kInvalidArgument);
  }
}

TEST(ByMemory, TheLimitMustBeAboveTheMinimum) {
  for (const uint64_t kb : {1U, 31U, 32U}) {
    const base::Status status = ErrorOf(WorkedExample(), ByMemory(kb));
    EXPECT_EQ(status.code(), StatusCode::kWorkspace);
    EXPECT_EQ(status.ToString(), "[workspaceSize] max_workspace_kb=" + std::to_string(kb) +
                                     "KB must be greater than the minimum runnable workspace=32KB.");
  }
  const Budget budget = ResolveBudget(WorkedExample(), ByMemory(33), 1 << 20).value();
  EXPECT_EQ(budget.mode, BudgetMode::kByMemory);
  EXPECT_EQ(budget.tensor_bytes, 32'768U);
}

TEST(ByMemory, TheMinimumCountsParallelCopies) {
  BudgetOptions options = ByMemory(128);
  options.parallelism = 4;
  EXPECT_EQ(MinimumTensorBytes(WorkedExample(), 4).value(), 131'072U);
  EXPECT_THAT(ErrorOf(WorkedExample(), options).ToString(), HasSubstr("minimum runnable workspace=128KB."));
  options.max_workspace_kb = 129;
  EXPECT_EQ(ResolveBudget(WorkedExample(), options, 0)->tensor_bytes, 131'072U);
}

TEST(ByMemory, TheLargestDepthThatFits) {
  // 8192 + k × 8704, rounded up to 32 KiB, has to be at most the limit.
  EXPECT_EQ(ResolveBudget(WorkedExample(), ByMemory(33), 0)->pools[0].depth, 2U);
  EXPECT_EQ(ResolveBudget(WorkedExample(), ByMemory(63), 0)->pools[0].depth, 2U);
  EXPECT_EQ(ResolveBudget(WorkedExample(), ByMemory(64), 0)->pools[0].depth, 6U);
  EXPECT_EQ(ResolveBudget(WorkedExample(), ByMemory(65), 0)->pools[0].depth, 6U);
  const Budget largest = ResolveBudget(WorkedExample(), ByMemory(kMaxWorkspaceKb), 0).value();
  for (const PoolBudget& pool : largest.pools) EXPECT_EQ(pool.depth, 1024U);
}

TEST(ByMemory, RangeOfTheLimit) {
  EXPECT_EQ(ErrorOf(WorkedExample(), ByMemory(kMaxWorkspaceKb + 1)).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(ErrorOf(WorkedExample(), ByMemory(std::numeric_limits<uint64_t>::max())).code(),
            StatusCode::kInvalidArgument);
}

TEST(ByMemory, AKernelWithoutWorkspaceTakesAnyLimit) {
  const Budget budget = ResolveBudget(Requirement(), ByMemory(1), 0).value();
  EXPECT_EQ(budget.tensor_bytes, 0U);
  EXPECT_EQ(budget.pools[0].depth, 1024U);
}

TEST(ByMemory, TheEngineIsLeftOutOfTheLimit) {
  const Budget budget = ResolveBudget(WorkedExample(), ByMemory(64), 1U << 30).value();
  EXPECT_EQ(budget.tensor_bytes, 65'536U);
  EXPECT_EQ(budget.total_bytes, 65'536U + (1U << 30));
}

TEST(PerPool, DepthsReserveExactly) {
  const Budget budget = ResolveBudget(WorkedExample(), PerPool(1024, 1, 3), 0).value();
  EXPECT_EQ(budget.pools[0].capacity, 512U * 1024);
  EXPECT_EQ(budget.pools[1].capacity, 4096U);
  EXPECT_EQ(budget.pools[2].capacity, 3U * 4096);
}

TEST(PerPool, ZeroIsRightForAPoolThatIsNotNeeded) {
  const Requirement requirement = {{512, 0, 0}, {true, false, false}, 0};
  EXPECT_EQ(TotalOf(requirement, PerPool(1, 0, 0)), 32'768U);
  EXPECT_TRUE(ValidateDepth(requirement, {1, 0, 0}).ok());
  EXPECT_TRUE(ValidateDepth(Requirement(), {0, 0, 0}).ok());
}

TEST(PerPool, APoolOfAnyPathIsNeededEvenIfItsUnitIsZeroNow) {
  const Requirement requirement = {{512, 0, 0}, {true, false, true}, 0};
  const base::Status status = ErrorOf(requirement, PerPool(1, 0, 0));
  EXPECT_EQ(status.code(), StatusCode::kWorkspace);
  EXPECT_THAT(status.ToString(), HasSubstr("exclusive_outcast: one depth needs 0 bytes"));
}

TEST(PerPool, ValidateDepthRange) {
  EXPECT_TRUE(ValidateDepth(WorkedExample(), {1, 1, 1}).ok());
  EXPECT_TRUE(ValidateDepth(WorkedExample(), {1024, 1024, 1024}).ok());
  for (int i = 0; i < kPoolCount; ++i) {
    std::array<uint32_t, 3> depths = {1, 1, 1};
    depths[i] = 1025;
    const base::Status status = ValidateDepth(WorkedExample(), depths);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(status.ToString(), HasSubstr("Invalid stitch_function_num_per_pool: element " + std::to_string(i)));
    depths[i] = 0;
    EXPECT_THAT(ValidateDepth(WorkedExample(), depths).ToString(),
                HasSubstr(std::string(PoolName(static_cast<Pool>(i)))));
  }
}

TEST(Overflow, SizesNearTheLimitAreErrors) {
  const uint64_t near = (uint64_t{1} << 63) - 512;
  const Requirement one = {{near, 0, 0}, {true, false, false}, 0};
  for (const BudgetOptions& options : {ByCount(1), ByCount(2), PerPool(1, 0, 0), ByMemory(kMaxWorkspaceKb)}) {
    EXPECT_EQ(ErrorOf(one, options).code(), StatusCode::kWorkspace);
    EXPECT_THAT(ErrorOf(one, options).ToString(), HasSubstr("does not fit 63 bits"));
  }
  const Requirement pools = {{near, near, near}, {true, true, true}, near};
  EXPECT_EQ(ErrorOf(pools, ByCount(1)).code(), StatusCode::kWorkspace);
  const Requirement boundary = {{0, 0, 0}, {false, false, false}, near};
  EXPECT_EQ(ErrorOf(boundary, ByCount(1)).code(), StatusCode::kWorkspace);
  EXPECT_EQ(MinimumTensorBytes(boundary, 1).status().code(), StatusCode::kWorkspace);
}

TEST(Overflow, TheLargestSizesThatFit) {
  const uint64_t largest = (uint64_t{1} << 63) - 32'768;
  const Requirement boundary = {{0, 0, 0}, {false, false, false}, largest};
  EXPECT_EQ(TotalOf(boundary, ByCount(1)), largest);
  EXPECT_TRUE(ResolveBudget(boundary, ByCount(1), 32'767).ok());
  EXPECT_EQ(ErrorOf(boundary, ByCount(1), 32'768).code(), StatusCode::kWorkspace);
  EXPECT_EQ(ErrorOf(boundary, ByCount(1), std::numeric_limits<uint64_t>::max()).code(), StatusCode::kWorkspace);
  BudgetOptions two = ByCount(1);
  two.parallelism = 2;
  EXPECT_EQ(ErrorOf(boundary, two).code(), StatusCode::kWorkspace);
  const Requirement half = {{0, 0, 0}, {false, false, false}, uint64_t{1} << 61};
  EXPECT_EQ(TotalOf(half, two), uint64_t{1} << 62);
}

TEST(Requirement, ContradictionsAreInternalErrors) {
  EXPECT_EQ(ErrorOf({{100, 0, 0}, {true, false, false}, 0}, {}).code(), StatusCode::kInternal);
  EXPECT_EQ(ErrorOf({{512, 0, 0}, {false, false, false}, 0}, {}).code(), StatusCode::kInternal);
  EXPECT_EQ(ErrorOf({{0, 0, 0}, {false, false, false}, 1}, {}).code(), StatusCode::kInternal);
}

TEST(ResolveBudget, AllocatesNothingOnSuccess) {
  const Requirement requirement = WorkedExample();
  for (const BudgetOptions& options : {ByCount(128), ByMemory(1000), PerPool(64, 1, 1)}) {
    const uint64_t before = AllocationCount();
    const auto budget = ResolveBudget(requirement, options, 4096);
    EXPECT_EQ(AllocationCount(), before);
    EXPECT_TRUE(budget.ok());
  }
}

TEST(DescribeBudget, LinesOfTheWorkedExample) {
  const auto items = DescribeBudget(ResolveBudget(WorkedExample(), PerPool(64, 1, 1), 4096).value());
  std::vector<std::string> texts;
  for (const LineItem& item : items) texts.push_back(item.text);
  EXPECT_THAT(texts, testing::ElementsAre("root_inner: 64 × 512 B = 32 KiB", "assemble_outcast: 1 × 4 KiB = 4 KiB",
                                          "exclusive_outcast: 1 × 4 KiB = 4 KiB", "boundary: 8 KiB",
                                          "rounding to 32 KiB: 16 KiB", "engine: 4 KiB"));
}

TEST(DescribeBudget, CopiesAreNamed) {
  BudgetOptions options = PerPool(64, 1, 1);
  options.parallelism = 2;
  const auto items = DescribeBudget(ResolveBudget(WorkedExample(), options, 0).value());
  EXPECT_EQ(items[0].name, "root_inner");
  EXPECT_EQ(items[0].bytes, 65'536U);
  EXPECT_EQ(items[0].text, "root_inner: 64 × 512 B × 2 copies = 64 KiB");
  EXPECT_EQ(items[3].text, "boundary: 8 KiB × 2 copies = 16 KiB");
}

TEST(FormatBytes, TheLargestUnitThatDivides) {
  EXPECT_EQ(FormatBytes(0), "0 B");
  EXPECT_EQ(FormatBytes(512), "512 B");
  EXPECT_EQ(FormatBytes(1025), "1025 B");
  EXPECT_EQ(FormatBytes(1'146'880), "1120 KiB");
  EXPECT_EQ(FormatBytes(1U << 20), "1 MiB");
  EXPECT_EQ(FormatBytes(uint64_t{1} << 40), "1024 GiB");
}

TEST(IgnoredOptions, NamedInPerPoolModeOnly) {
  EXPECT_EQ(DescribeIgnoredOptions(ByMemory(100)), "");
  EXPECT_EQ(DescribeIgnoredOptions(PerPool(1, 2, 3)), "");
  BudgetOptions options = PerPool(1, 2, 3);
  options.max_workspace_kb = 100;
  EXPECT_EQ(DescribeIgnoredOptions(options),
            "stitch_function_num_per_pool=[1, 2, 3] rules; ignored: max_workspace_kb=100");
  options.stitch_function_max_num = 64;
  EXPECT_THAT(DescribeIgnoredOptions(options), HasSubstr("stitch_function_max_num=64, max_workspace_kb=100"));
}

TEST(PoolName, Names) {
  EXPECT_EQ(PoolName(Pool::kRootInner), "root_inner");
  EXPECT_EQ(PoolName(Pool::kAssembleOutcast), "assemble_outcast");
  EXPECT_EQ(PoolName(Pool::kExclusiveOutcast), "exclusive_outcast");
}

}  // namespace
}  // namespace pypto::workspace
