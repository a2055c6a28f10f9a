// Loops, branches and guards.
#include <gtest/gtest.h>

#include <limits>

#include "device/plan_maker.h"
#include "device/reference.h"

namespace pypto::device::testing {
namespace {

// out[i] = x[i] * factor, one row of 8.
LeafMaker RowLeaf(PlanMaker* maker, uint32_t x, uint32_t out, ExprId row, ValueRef factor) {
  LeafMaker leaf = maker->Leaf({1, 8}, {1, 8});
  const ValueRef from = leaf.Window(x, {row, maker->Const(0)});
  leaf.Op(OpCode::kMul, {from, factor}, leaf.Window(out, {row, maker->Const(0)}));
  return leaf;
}

struct Rows {
  PlanMaker maker;
  uint32_t x = maker.Parameter(DType::kFp32, {Sym(0), 8});
  uint32_t out = maker.Parameter(DType::kFp32, {Sym(0), 8});

  LaunchResult Check(std::vector<program::ControlNode> control, int64_t rows, const std::vector<Argument>& more = {}) {
    maker.SetControl(std::move(control));
    const auto count = static_cast<size_t>(rows * 8);
    std::vector<Argument> arguments = {{RandomValues(DType::kFp32, count, -9, 9, 1)}, {std::vector<double>(count)}};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return CheckAgainstReference(maker.Finish(), arguments, {rows});
  }
};

TEST(ControlFlow, LoopOverADynamicDim) {
  for (const int64_t rows : {0, 1, 5, 300}) {
    Rows t;
    const uint32_t loop = t.maker.NewLoop();
    const uint32_t root = t.maker.Root({RowLeaf(&t.maker, t.x, t.out, t.maker.LoopIndex(loop), LeafMaker::Int(2))});
    const auto result = t.Check(
        {PlanMaker::Loop(loop, t.maker.Const(0), t.maker.Symbol(0), t.maker.Const(1), {PlanMaker::Run(root)})}, rows);
    EXPECT_EQ(result.statistics.root_instances, static_cast<uint64_t>(rows));
    EXPECT_EQ(result.statistics.leaf_tiles, static_cast<uint64_t>(rows));
  }
}

TEST(ControlFlow, StepsOfAnySignAndSize) {
  struct Bounds {
    int64_t start, stop, step;
    uint64_t instances;
  };
  for (const Bounds& b : {Bounds{9, -1, -1, 10}, Bounds{9, 0, -3, 3}, Bounds{0, 10, 4, 3}, Bounds{3, 3, 1, 0},
                          Bounds{5, 2, 1, 0}, Bounds{2, 5, -1, 0}}) {
    Rows t;
    const uint32_t loop = t.maker.NewLoop();
    const uint32_t root = t.maker.Root({RowLeaf(&t.maker, t.x, t.out, t.maker.LoopIndex(loop), LeafMaker::Int(3))});
    const auto result = t.Check({PlanMaker::Loop(loop, t.maker.Const(b.start), t.maker.Const(b.stop),
                                                 t.maker.Const(b.step), {PlanMaker::Run(root)})},
                                10);
    EXPECT_EQ(result.statistics.root_instances, b.instances);
  }
}

TEST(ControlFlow, AnIndexAtTheEndOfItsRangeEndsTheLoop) {
  Rows t;
  const uint32_t start = t.maker.IntScalar();
  const uint32_t stop = t.maker.IntScalar();
  const uint32_t loop = t.maker.NewLoop();
  const uint32_t root = t.maker.Root({RowLeaf(&t.maker, t.x, t.out, t.maker.Const(0), LeafMaker::Int(3))});
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  t.maker.SetControl({PlanMaker::Loop(loop, t.maker.exprs().Scalar(start), t.maker.exprs().Scalar(stop),
                                      t.maker.Const(5), {PlanMaker::Run(root)})});
  Launcher launcher(t.maker.Finish());
  launcher.Bind({{std::vector<double>(8)}, {std::vector<double>(8)}, {{}, kMax - 7, 0}, {{}, kMax, 0}}, {1});
  const LaunchResult result = launcher.Run();
  EXPECT_EQ(result.outcome.acl_code, 0);
  EXPECT_EQ(result.statistics.root_instances, 2u);
}

TEST(ControlFlow, NestedLoopsUseOuterIndices) {
  Rows t;
  const uint32_t outer = t.maker.NewLoop();
  const uint32_t inner = t.maker.NewLoop();
  program::ExprPool& e = t.maker.exprs();
  const ExprId row = e.Add(e.Mul(t.maker.LoopIndex(outer), t.maker.Const(4)), t.maker.LoopIndex(inner));
  const uint32_t root = t.maker.Root({RowLeaf(&t.maker, t.x, t.out, row, LeafMaker::Expr(row))});
  // The inner loop runs as often as the outer index says.
  const ExprId stop = e.Add(t.maker.LoopIndex(outer), t.maker.Const(1));
  const auto inner_loop = PlanMaker::Loop(inner, t.maker.Const(0), stop, t.maker.Const(1), {PlanMaker::Run(root)});
  const auto result =
      t.Check({PlanMaker::Loop(outer, t.maker.Const(0), t.maker.Const(4), t.maker.Const(1), {inner_loop})}, 16);
  EXPECT_EQ(result.statistics.root_instances, 10u);
}

TEST(ControlFlow, BranchesOnIndicesAndScalars) {
  for (const int64_t flag : {0, 1, -3}) {
    Rows t;
    const uint32_t scalar = t.maker.IntScalar();
    const uint32_t loop = t.maker.NewLoop();
    program::ExprPool& e = t.maker.exprs();
    const ExprId index = t.maker.LoopIndex(loop);
    const uint32_t twice = t.maker.Root({RowLeaf(&t.maker, t.x, t.out, index, LeafMaker::Int(2))});
    const uint32_t minus = t.maker.Root({RowLeaf(&t.maker, t.x, t.out, index, LeafMaker::Int(-1))});
    const uint32_t third = t.maker.Root({RowLeaf(&t.maker, t.x, t.out, index, LeafMaker::Int(3))});
    const ExprId odd = *e.Make(program::ExprOp::kMod, index, t.maker.Const(2));
    t.Check({PlanMaker::Loop(
                loop, t.maker.Const(0), t.maker.Const(9), t.maker.Const(1),
                {PlanMaker::If(odd, {PlanMaker::Run(twice)},
                               {PlanMaker::If(e.Scalar(scalar), {PlanMaker::Run(minus)}, {PlanMaker::Run(third)})})})},
            9, {{{}, flag, 0}});
  }
}

TEST(ControlFlow, GuardsSkipLeavesAndWhatTheyCompute) {
  for (const int64_t divisor : {0, 3}) {
    Rows t;
    const uint32_t scalar = t.maker.IntScalar();
    program::ExprPool& e = t.maker.exprs();
    const ExprId d = e.Scalar(scalar);
    // Dividing by the scalar fails only where the guard let it run.
    const ExprId row = *e.Make(program::ExprOp::kDiv, t.maker.Const(6), d);
    LeafMaker guarded = RowLeaf(&t.maker, t.x, t.out, row, LeafMaker::Int(5));
    guarded.leaf().guard = *e.Make(program::ExprOp::kNe, d, t.maker.Const(0));
    LeafMaker plain = RowLeaf(&t.maker, t.x, t.out, t.maker.Const(1), LeafMaker::Int(7));
    const uint32_t root = t.maker.Root({guarded, plain});
    t.maker.SetControl({PlanMaker::Run(root)});
    Launcher launcher(t.maker.Finish());
    launcher.Bind({{std::vector<double>(24, 1)}, {std::vector<double>(24)}, {{}, divisor, 0}}, {3});
    const LaunchResult result = launcher.Run();
    EXPECT_EQ(result.outcome.acl_code, 0) << result.outcome.message;
    EXPECT_EQ(result.values[1][8], 7);
    EXPECT_EQ(result.values[1][16], divisor == 0 ? 0 : 5);
    EXPECT_EQ(result.statistics.leaf_tiles, divisor == 0 ? 1u : 2u);
  }
}

TEST(ControlFlow, ShortCircuitsShieldFromFailures) {
  // s != 0 and 6 / s > 1, as the condition of a branch; the select takes the sound side.
  Rows t;
  const uint32_t scalar = t.maker.IntScalar();
  program::ExprPool& e = t.maker.exprs();
  const ExprId s = e.Scalar(scalar);
  const ExprId ratio = *e.Make(program::ExprOp::kDiv, t.maker.Const(6), s);
  const ExprId nonzero = *e.Make(program::ExprOp::kNe, s, t.maker.Const(0));
  const ExprId both = *e.Make(program::ExprOp::kAnd, nonzero, *e.Make(program::ExprOp::kLt, t.maker.Const(1), ratio));
  const ExprId chosen = *e.Make(program::ExprOp::kSelect, nonzero, ratio, t.maker.Const(2));
  const uint32_t yes = t.maker.Root({RowLeaf(&t.maker, t.x, t.out, t.maker.Const(0), LeafMaker::Int(5))});
  const uint32_t no = t.maker.Root({RowLeaf(&t.maker, t.x, t.out, chosen, LeafMaker::Int(9))});
  t.maker.SetControl({PlanMaker::If(both, {PlanMaker::Run(yes)}, {PlanMaker::Run(no)})});
  Launcher launcher(t.maker.Finish());
  launcher.Bind({{std::vector<double>(24, 1)}, {std::vector<double>(24)}, {{}, 0, 0}}, {3});
  const LaunchResult result = launcher.Run();
  EXPECT_EQ(result.outcome.acl_code, 0) << result.outcome.message;
  EXPECT_EQ(result.values[1][16], 9);
}

TEST(ControlFlow, TailsOfRowBlocks) {
  for (const int64_t rows : {1, 31, 32, 33, 100}) {
    PlanMaker maker;
    const uint32_t x = maker.Parameter(DType::kFp16, {Sym(0), 20});
    const uint32_t out = maker.Parameter(DType::kFp16, {Sym(0), 20});
    const uint32_t loop = maker.NewLoop();
    const ExprId start = maker.exprs().Mul(maker.LoopIndex(loop), maker.Const(32));
    LeafMaker leaf = maker.Leaf({32, 20}, {8, 20});
    leaf.Op(OpCode::kExp, {leaf.Window(x, {start, maker.Const(0)})}, leaf.Window(out, {start, maker.Const(0)}));
    const uint32_t root = maker.Root({leaf});
    maker.SetControl({PlanMaker::Loop(loop, maker.Const(0), maker.exprs().CeilDiv(maker.Symbol(0), 32), maker.Const(1),
                                      {PlanMaker::Run(root)})});
    const auto count = static_cast<size_t>(rows * 20);
    CheckAgainstReference(maker.Finish(), {{RandomValues(DType::kFp16, count, -3, 3, 2)}, {std::vector<double>(count)}},
                          {rows}, 1);
  }
}

TEST(ControlFlow, InstancesTakeEffectInProgramOrder) {
  PlanMaker maker;
  const uint32_t x = maker.Parameter(DType::kFp32, {16});
  const uint32_t loop = maker.NewLoop();
  LeafMaker leaf = maker.Leaf({16}, {4});
  const ValueRef old = leaf.Access(x);
  const ValueRef twice = leaf.Op(OpCode::kAdd, {old, old}, leaf.Local(DType::kFp32));
  leaf.Op(OpCode::kAdd, {twice, LeafMaker::Expr(maker.LoopIndex(loop))}, leaf.Access(x));
  const uint32_t root = maker.Root({leaf});
  maker.SetControl({PlanMaker::Loop(loop, maker.Const(0), maker.Const(9), maker.Const(1), {PlanMaker::Run(root)})});
  CheckAgainstReference(maker.Finish(), {{RandomValues(DType::kFp32, 16, 0, 3, 3)}});
}

}  // namespace
}  // namespace pypto::device::testing
