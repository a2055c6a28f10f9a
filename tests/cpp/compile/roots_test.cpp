// Root functions and the control tree.
#include "compile/kernel.h"

namespace pypto::compile::testing {
namespace {

using program::ControlNode;

TEST(Roots, RunsBetweenLoopsAndInnermostBodies) {
  Kernel k;
  const TensorId x = k.Param("x", {8, 8});
  const TensorId out = k.Param("out", {8, 8});
  const TensorId state = k.Declare("state", {8, 8});
  k.Move(state, k.Neg(x));
  k.Loop(
      0, 4, 1,
      [&](ExprId) {
        k.Move(state, k.Add(state, 1.0));
        k.Loop(0, 3, 1, [&](ExprId) { k.Move(state, k.Add(state, x)); }, "inner");
        k.Move(state, k.Add(state, 2.0));
      },
      "outer");
  k.Move(out, state);
  const auto image = k.CompileImage();
  const program::Plan& plan = image->plan;
  ASSERT_EQ(plan.roots.size(), 5U);
  ASSERT_EQ(plan.control.size(), 3U);
  EXPECT_EQ(plan.control[0].kind, ControlNode::Kind::kRoot);
  EXPECT_EQ(plan.control[1].kind, ControlNode::Kind::kLoop);
  ASSERT_EQ(plan.control[1].body.size(), 3U);
  EXPECT_EQ(plan.control[1].body[1].kind, ControlNode::Kind::kLoop);
  EXPECT_EQ(plan.roots[plan.control[1].body[1].body[0].root].name, "inner");
  EXPECT_EQ(plan.roots[0].name, "kernel");
}

TEST(Roots, ARunWithoutOperationsIsNone) {
  Kernel k;
  const TensorId x = k.Param("x", {8, 8});
  const TensorId out = k.Param("out", {8, 8});
  const TensorId view = k.Slice(x, {4, 8}, k.Consts({0, 0}));
  k.Loop(0, 8, 4, [&](ExprId i) {
    k.Declare("unused", {8, 8});
    k.Loop(0, 1, 1, [&](ExprId) { k.Assemble(out, k.Neg(view), {i, k.C(0)}); });
  });
  k.Loop(0, 4, 1, [&](ExprId) { k.Neg(x); });
  const auto image = k.CompileImage();
  EXPECT_EQ(image->plan.roots.size(), 1U);
  ASSERT_EQ(image->plan.control.size(), 1U);
  EXPECT_EQ(image->plan.control[0].body.size(), 1U);
}

TEST(Roots, ABranchWithoutALoopIsGuardsOfItsRootFunction) {
  Kernel k;
  const TensorId x = k.Param("x", {8, 8});
  const TensorId out = k.Param("out", {8, 8});
  const ExprId flag = k.Int("flag");
  const ExprId other = k.Int("other");
  k.If(
      flag,
      [&] {
        k.Move(out, k.Neg(x));
        k.If(other, [&] { k.Move(out, k.Add(out, 1.0)); });
      },
      [&] { k.Move(out, k.Exp(x)); });
  const auto image = k.CompileImage();
  const program::Plan& plan = image->plan;
  ASSERT_EQ(plan.roots.size(), 1U);
  ASSERT_EQ(plan.control.size(), 1U);
  ASSERT_EQ(plan.roots[0].leaves.size(), 3U);
  std::vector<ExprId> guards;
  for (const program::Leaf& leaf : plan.roots[0].leaves) guards.push_back(leaf.guard);
  const auto guard_of = [&](program::ExprOp op) {
    return std::count_if(guards.begin(), guards.end(), [&](ExprId id) { return plan.exprs.node(id).op == op; });
  };
  EXPECT_EQ(guard_of(program::ExprOp::kScalar), 1);
  EXPECT_EQ(guard_of(program::ExprOp::kAnd), 1);  // nested conditions are and-ed
}

TEST(Roots, AnElseLeafRunsWhereTheConditionIsZero) {
  Kernel k;
  const TensorId x = k.Param("x", {8, 8});
  const TensorId out = k.Param("out", {8, 8});
  k.If(k.Int("flag"), [&] { k.Move(out, k.Neg(x)); }, [&] { k.Move(out, k.Exp(x)); });
  const auto image = k.CompileImage();
  const program::Plan& plan = image->plan;
  ASSERT_EQ(plan.roots[0].leaves.size(), 2U);
  for (const program::Leaf& leaf : plan.roots[0].leaves) {
    for (const int64_t flag : {0, 5}) {
      const std::vector<int64_t> scalars = {flag};
      const bool runs = *program::Evaluate(plan.exprs, leaf.guard, {{}, scalars, {}}) != 0;
      EXPECT_EQ(runs, (leaf.ops[0].code == OpCode::kNeg) == (flag != 0));
    }
  }
}

TEST(Roots, ABranchWithALoopIsControlFlow) {
  Kernel k;
  const TensorId x = k.Param("x", {8, 8});
  const TensorId out = k.Param("out", {8, 8});
  k.If(
      k.Int("flag"),
      [&] { k.Loop(0, 8, 4, [&](ExprId i) { k.Assemble(out, k.Slice(x, {4, 8}, {i, k.C(0)}), {i, k.C(0)}); }); },
      [&] { k.Move(out, k.Exp(x)); });
  const auto image = k.CompileImage();
  const program::Plan& plan = image->plan;
  ASSERT_EQ(plan.control.size(), 1U);
  EXPECT_EQ(plan.control[0].kind, ControlNode::Kind::kIf);
  ASSERT_EQ(plan.control[0].body.size(), 1U);
  EXPECT_EQ(plan.control[0].body[0].kind, ControlNode::Kind::kLoop);
  ASSERT_EQ(plan.control[0].otherwise.size(), 1U);
  for (const program::RootFunction& root : plan.roots) {
    for (const program::Leaf& leaf : root.leaves) EXPECT_EQ(leaf.guard, program::kNoExpr);
  }
}

TEST(Roots, AKnownConditionLeavesOneBranch) {
  Kernel k;
  const TensorId x = k.Param("x", {8, 8});
  const TensorId out = k.Param("out", {8, 8});
  k.If(k.C(0), [&] { k.Move(out, k.Neg(x)); }, [&] { k.Move(out, k.Exp(x)); });
  const auto image = k.CompileImage();
  ASSERT_EQ(image->plan.roots[0].leaves.size(), 1U);
  EXPECT_EQ(image->plan.roots[0].leaves[0].ops[0].code, OpCode::kExp);
  EXPECT_EQ(image->plan.roots[0].leaves[0].guard, program::kNoExpr);
  EXPECT_EQ(image->plan.parameters[1].direction, program::Direction::kOut);
}

TEST(Roots, LoopMarksAreKept) {
  Kernel k;
  const TensorId x = k.Param("x", {8, 8});
  const TensorId out = k.Param("out", {8, 8});
  ASSERT_TRUE(k.builder.BeginLoop("marked", k.C(0), k.C(8), k.C(4), true, true).ok());
  const ExprId i = k.exprs().LoopIndex(0);
  k.Assemble(out, k.Slice(x, {4, 8}, {i, k.C(0)}), {i, k.C(0)});
  ASSERT_TRUE(k.builder.EndLoop().ok());
  const auto image = k.CompileImage();
  ASSERT_EQ(image->plan.control.size(), 1U);
  EXPECT_TRUE(image->plan.control[0].parallel);
  EXPECT_TRUE(image->plan.control[0].submit_before);
  EXPECT_EQ(Constant(image->plan, image->plan.control[0].step), 4);
}

}  // namespace
}  // namespace pypto::compile::testing
