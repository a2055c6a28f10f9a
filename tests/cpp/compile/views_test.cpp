// Views: free where nobody can tell, copies where somebody can.
#include "compile/kernel.h"

namespace pypto::compile::testing {
namespace {

TEST(Views, AChainOfViewsIsFree) {
  Kernel k;
  const TensorId x = k.Param("x", {4, 8, 16});
  const TensorId out = k.Param("out", {3, 8});
  const TensorId plane = k.Reshape(k.Slice(x, {1, 8, 16}, k.Consts({2, 0, 0})), {8, 16});
  const TensorId window = k.Slice(plane, {3, 8}, k.Consts({4, 5}));
  k.Move(out, k.Neg(window));
  const auto image = k.CompileImage();
  const program::Plan& plan = image->plan;
  ASSERT_EQ(plan.roots.size(), 1U);
  ASSERT_EQ(plan.roots[0].leaves.size(), 1U);
  const program::Leaf& leaf = plan.roots[0].leaves[0];
  ASSERT_EQ(leaf.ops.size(), 1U);
  const program::Access& read = leaf.accesses[leaf.ops[0].inputs[0].index];
  EXPECT_EQ(Constant(plan, read.offset), 2 * 8 * 16 + 4 * 16 + 5);
  ASSERT_EQ(read.strides.size(), 2U);
  EXPECT_EQ(Constant(plan, read.strides[0]), 16);
  EXPECT_EQ(Constant(plan, read.strides[1]), 1);
}

TEST(Views, AWriteToTheBaseBetweenViewAndUseMakesACopy) {
  Kernel k;
  const TensorId x = k.Param("x", {8, 8});
  const TensorId out = k.Param("out", {4, 8});
  const TensorId before = k.Slice(x, {4, 8}, k.Consts({0, 0}));
  k.Move(x, k.Full(1, {8, 8}));
  k.Move(out, before);
  const auto image = k.CompileImage();
  // The copy crosses from the leaf that reads x to the one that writes out, or is written there at once.
  EXPECT_EQ(CountOps(image->plan, OpCode::kCopy), 1U);
  const program::RootFunction& root = image->plan.roots[0];
  ASSERT_EQ(root.leaves.size(), 2U);
  EXPECT_EQ(root.leaves[0].ops[0].code, OpCode::kCopy);
  EXPECT_EQ(root.leaves[1].ops[0].code, OpCode::kFill);
}

TEST(Views, AWriteAfterTheLastUseMakesNoCopy) {
  Kernel k;
  const TensorId x = k.Param("x", {8, 8});
  const TensorId out = k.Param("out", {4, 8});
  k.Move(out, k.Neg(k.Slice(x, {4, 8}, k.Consts({0, 0}))));
  k.Move(x, k.Full(1, {8, 8}));
  EXPECT_EQ(CountOps(k.CompileImage()->plan, OpCode::kCopy), 0U);
}

TEST(Views, AWriteLaterInALoopReachesUsesInNextIterations) {
  Kernel k;
  const TensorId x = k.Param("x", {8, 8});
  const TensorId out = k.Param("out", {32, 8});
  const TensorId before = k.Slice(x, {8, 8}, k.Consts({0, 0}));
  k.Loop(0, 32, 8, [&](ExprId i) {
    k.Assemble(out, k.Neg(before), {i, k.C(0)});
    k.Move(x, k.Full(1, {8, 8}));
  });
  const auto image = k.CompileImage();
  // The copy is made in front of the loop and seen by all its iterations.
  ASSERT_EQ(image->plan.roots.size(), 2U);
  EXPECT_EQ(image->plan.roots[0].leaves[0].ops[0].code, OpCode::kCopy);
  EXPECT_EQ(CountClass(image->plan, TensorClass::kExclusiveOutcast), 1U);
}

TEST(Views, AWriteLaterInTheLoopOfTheViewItselfMakesNoCopy) {
  Kernel k;
  const TensorId x = k.Param("x", {8, 8});
  const TensorId out = k.Param("out", {32, 8});
  k.Loop(0, 32, 8, [&](ExprId i) {
    k.Assemble(out, k.Neg(k.Slice(x, {8, 8}, k.Consts({0, 0}))), {i, k.C(0)});
    k.Move(x, k.Full(1, {8, 8}));
  });
  EXPECT_EQ(CountOps(k.CompileImage()->plan, OpCode::kCopy), 0U);
}

TEST(Views, AReshapeOfAStridedWindowIsACopyUnlessOnlyOnesComeAndGo) {
  for (const bool copies : {false, true}) {
    Kernel k;
    const TensorId x = k.Param("x", {8, 8});
    const TensorId out = copies ? k.Param("out", {16}) : k.Param("out", {4, 1, 4});
    const TensorId window = k.Slice(x, {4, 4}, k.Consts({0, 2}));
    const TensorId shaped = copies ? k.Reshape(window, {16}) : k.Reshape(window, {4, 1, 4});
    k.Move(out, k.Neg(shaped));
    EXPECT_EQ(CountOps(k.CompileImage()->plan, OpCode::kCopy), copies ? 1U : 0U);
  }
}

TEST(Views, CellsThatAReshapeDeclaresValidReadZeroWhereTheBaseHasNone) {
  Kernel k;
  const TensorId x = k.Param("x", {6, 4});
  const TensorId out = k.Param("out", {16});
  const TensorId tail = k.Slice(x, {4, 4}, k.Consts({4, 0}));  // two rows lie past the end
  k.Move(out, k.Neg(k.Reshape(tail, {16}, k.Consts({16}))));
  const auto image = k.CompileImage();
  EXPECT_EQ(CountOps(image->plan, OpCode::kFill), 1U);
  EXPECT_EQ(CountOps(image->plan, OpCode::kCopy), 1U);
}

TEST(Views, StartsThatMayBeNegativeAreChecked) {
  Kernel k;
  const TensorId x = k.Param("x", {kDynamic, 8});
  const TensorId out = k.Param("out", {64, 8});
  const ExprId shift = k.Int("shift");
  k.LoopOver(k.C(0), k.C(64), 8, [&](ExprId i) {
    const TensorId safe = k.Slice(x, {8, 8}, {i, k.C(0)});
    const TensorId unsafe = k.Slice(x, {8, 8}, {k.exprs().Sub(i, shift), k.C(0)});
    k.Assemble(out, k.Add(safe, unsafe), {i, k.C(0)});
  });
  const auto image = k.CompileImage();
  size_t checked = 0;
  for (const program::Access& access : image->plan.roots[0].leaves[0].accesses) checked += access.non_negative.size();
  EXPECT_EQ(checked, 1U);
}

}  // namespace
}  // namespace pypto::compile::testing
