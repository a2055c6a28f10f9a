// Copies between root-inner tensors that need not run, and those that must.
#include "pypto/device/inner_alias.h"

#include <gtest/gtest.h>

#include "device/launcher.h"
#include "device/plan_maker.h"
#include "device/reference.h"

namespace pypto::device::testing {
namespace {

enum class Later { kNothing, kSourceWritten, kTargetWritten };

// inner = x + 1; joined = flag ? inner * 2 : inner; perhaps one of both is written again; out = joined + inner.
std::shared_ptr<const program::Image> Branch(Later later) {
  PlanMaker maker;
  const uint32_t x = maker.Parameter(DType::kFp32, {32});
  const uint32_t out = maker.Parameter(DType::kFp32, {32});
  const uint32_t flag = maker.IntScalar();
  const uint32_t inner = maker.Storage(program::TensorClass::kRootInner, DType::kFp32, {32});
  const uint32_t joined = maker.Storage(program::TensorClass::kRootInner, DType::kFp32, {32});
  const program::ExprId zero = maker.Const(0);
  const program::ExprId value = maker.exprs().Scalar(flag);
  LeafMaker first = maker.Leaf({32}, {32});
  first.Op(OpCode::kAdd, {first.Access(x), LeafMaker::Float(1)}, first.Access(inner));
  LeafMaker yes = maker.Leaf({32}, {32});
  yes.Op(OpCode::kMul, {yes.Access(inner), LeafMaker::Float(2)}, yes.Access(joined));
  yes.leaf().guard = *maker.exprs().Make(program::ExprOp::kNe, value, zero);
  LeafMaker no = maker.Leaf({32}, {32});
  no.Op(OpCode::kCopy, {no.Access(inner)}, no.Access(joined));
  no.leaf().guard = *maker.exprs().Make(program::ExprOp::kEq, value, zero);
  std::vector<LeafMaker> leaves = {first, yes, no};
  if (later != Later::kNothing) {
    LeafMaker again = maker.Leaf({32}, {32});
    const uint32_t target = later == Later::kSourceWritten ? inner : joined;
    again.Op(OpCode::kAdd, {again.Access(x), LeafMaker::Float(100)}, again.Access(target));
    leaves.push_back(again);
  }
  LeafMaker last = maker.Leaf({32}, {32});
  last.Op(OpCode::kAdd, {last.Access(joined), last.Access(inner)}, last.Access(out));
  leaves.push_back(last);
  const uint32_t root = maker.Root(leaves);
  maker.SetControl({PlanMaker::Run(root)});
  maker.SetWorkspace({1024, 0, 0}, 0);
  return maker.Finish();
}

void Check(Later later, int64_t flag, double expected, uint64_t tiles) {
  for (const uint64_t seed : {0, 3}) {
    Launcher launcher(Branch(later), 2, seed);
    launcher.Bind({{std::vector<double>(32, 3)}, {std::vector<double>(32)}, {{}, flag, 0}});
    for (int round = 0; round < 2; ++round) {
      const LaunchResult result = launcher.Run();
      ASSERT_EQ(result.outcome.acl_code, 0) << result.outcome.message;
      EXPECT_EQ(result.values[1], std::vector<double>(32, expected));
      EXPECT_EQ(result.statistics.leaf_tiles, tiles);
    }
  }
}

TEST(InnerAlias, ACopyOfWhatStaysAsItIsDoesNotRun) {
  Check(Later::kNothing, 0, 4 + 4, 2);
  Check(Later::kNothing, 1, 8 + 4, 3);
}

TEST(InnerAlias, ACopyRunsWhereEitherSideIsWrittenAgain) {
  Check(Later::kSourceWritten, 0, 4 + 103, 4);
  Check(Later::kSourceWritten, 1, 8 + 103, 4);
  Check(Later::kTargetWritten, 0, 103 + 4, 4);
}

enum class Use { kFactor, kNegativeFactor, kReadByOthers, kTargetWrittenAgain, kLongSum };

// product = a x b; scaled = product * factor; out = scaled + 1, and perhaps more.
LaunchResult Scale(Use use, int64_t rows, uint32_t cores) {
  const int64_t terms = use == Use::kLongSum ? 1100 : 24;
  constexpr int64_t kColumns = 40;
  PlanMaker maker;
  const uint32_t a = maker.Parameter(DType::kFp32, {rows, terms});
  const uint32_t b = maker.Parameter(DType::kFp32, {terms, kColumns});
  const uint32_t out = maker.Parameter(DType::kFp32, {rows, kColumns});
  const uint32_t product = maker.Storage(program::TensorClass::kRootInner, DType::kFp32, {rows, kColumns});
  const uint32_t scaled = maker.Storage(program::TensorClass::kRootInner, DType::kFp32, {rows, kColumns});
  const double factor = use == Use::kNegativeFactor ? -0.3 : 0.3;
  const Dims all = {rows, kColumns};
  LeafMaker sums = maker.Cube(all, {rows, 16}, terms);
  sums.Op(OpCode::kMatmul,
          {sums.Strided(a, maker.Const(0), {terms, 1}, {rows, terms}, {}),
           sums.Strided(b, maker.Const(0), {kColumns, 1}, {terms, kColumns}, {})},
          sums.Access(product));
  LeafMaker scale = maker.Leaf(all, all);
  scale.Op(OpCode::kMul, {scale.Access(product), LeafMaker::Float(factor)}, scale.Access(scaled));
  std::vector<LeafMaker> leaves = {sums, scale};
  if (use == Use::kTargetWrittenAgain) {
    LeafMaker again = maker.Leaf(all, all);
    again.Op(OpCode::kAdd, {again.Access(scaled), LeafMaker::Float(5)}, again.Access(scaled));
    leaves.push_back(again);
  }
  LeafMaker last = maker.Leaf(all, all);
  last.Op(OpCode::kAdd, {last.Access(scaled), use == Use::kReadByOthers ? last.Access(product) : LeafMaker::Float(1)},
          last.Access(out));
  leaves.push_back(last);
  maker.SetControl({PlanMaker::Run(maker.Root(leaves))});
  const int64_t bytes = (rows * kColumns * 4 + 511) / 512 * 512;
  maker.SetWorkspace({2 * bytes, 0, 0}, 0);
  return CheckAgainstReference(maker.Finish(),
                               {{RandomValues(DType::kFp32, static_cast<size_t>(rows * terms), -1, 1, 1)},
                                {RandomValues(DType::kFp32, static_cast<size_t>(terms * kColumns), -1, 1, 2)},
                                {std::vector<double>(static_cast<size_t>(rows * kColumns))}},
                               {}, 4, 1e-3, cores);
}

TEST(InnerAlias, AProductIsMultipliedByANumberAsItIsStored) {
  for (const int64_t rows : {1, 4, 13, 40}) {
    for (const uint32_t cores : {1U, 3U}) {
      EXPECT_EQ(Scale(Use::kFactor, rows, cores).statistics.leaf_tiles, 3U + 1U);
      EXPECT_EQ(Scale(Use::kLongSum, rows, cores).statistics.leaf_tiles, 3U + 1U);
    }
  }
}

TEST(InnerAlias, AProductThatOthersReadIsMultipliedAfterwards) {
  EXPECT_EQ(Scale(Use::kReadByOthers, 4, 1).statistics.leaf_tiles, 3U + 2U);
  EXPECT_EQ(Scale(Use::kNegativeFactor, 4, 1).statistics.leaf_tiles, 3U + 2U);
  EXPECT_EQ(Scale(Use::kTargetWrittenAgain, 4, 1).statistics.leaf_tiles, 3U + 3U);
}

TEST(InnerAlias, OtherLeavesAreNone) {
  PlanMaker maker;
  const uint32_t x = maker.Parameter(DType::kFp32, {32});
  const uint32_t out = maker.Parameter(DType::kFp32, {32});
  LeafMaker leaf = maker.Leaf({32}, {32});
  leaf.Op(OpCode::kCopy, {leaf.Access(x)}, leaf.Access(out));
  Launcher launcher(SingleLeaf(&maker, leaf));  // parameters keep their memory
  launcher.Bind({{std::vector<double>(32, 3)}, {std::vector<double>(32)}});
  EXPECT_EQ(launcher.Run().values[1], std::vector<double>(32, 3));
}

}  // namespace
}  // namespace pypto::device::testing
