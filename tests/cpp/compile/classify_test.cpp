// Tensor classes and what is not computed at all.
#include "compile/kernel.h"

namespace pypto::compile::testing {
namespace {

TEST(Classify, WhatNobodyReadsIsNeitherComputedNorCounted) {
  Kernel k;
  const TensorId x = k.Param("x", {8, 8});
  const TensorId unused = k.Param("unused", {8, 8});
  const TensorId out = k.Param("out", {8, 8});
  const TensorId dead = k.Declare("dead", {64, 64});
  k.Assemble(dead, k.Exp(k.Add(unused, x)), k.Consts({0, 0}));
  const TensorId chain = k.Neg(k.Matmul(x, unused));
  k.Mul(chain, 2.0);
  k.Move(out, k.Add(x, 1.0));
  const auto image = k.CompileImage();
  const program::Plan& plan = image->plan;
  EXPECT_FALSE(HasStorage(plan, "dead"));
  EXPECT_EQ(CountOps(plan, OpCode::kExp), 0U);
  EXPECT_EQ(CountOps(plan, OpCode::kMatmul), 0U);
  EXPECT_EQ(plan.parameters[1].direction, program::Direction::kUnused);
  EXPECT_EQ(plan.workspace.present, (std::array<bool, 3>{}));
}

TEST(Classify, AStateThatOnlyFeedsItselfIsDead) {
  Kernel k;
  const TensorId x = k.Param("x", {8, 8});
  const TensorId out = k.Param("out", {8, 8});
  const TensorId state = k.Declare("state", {8, 8});
  k.Move(state, x);
  k.Loop(0, 4, 1, [&](ExprId) { k.Move(state, k.Add(state, x)); });
  k.Move(out, x);
  EXPECT_EQ(k.CompileImage()->plan.roots.size(), 1U);
}

TEST(Classify, ADeclaredTensorOfOneInstanceIsRootInner) {
  Kernel k;
  const TensorId x = k.Param("x", {64, 16});
  const TensorId out = k.Param("out", {64, 16});
  k.Loop(0, 64, 8, [&](ExprId i) {
    const TensorId both = k.Declare("both", {8, 16});
    k.Assemble(both, k.Exp(k.Slice(x, {4, 16}, {i, k.C(0)})), k.Consts({0, 0}));
    k.Assemble(both, k.Neg(k.Slice(x, {4, 16}, {k.exprs().Add(i, k.C(4)), k.C(0)})), k.Consts({4, 0}));
    k.Assemble(out, k.Mul(both, 2.0), {i, k.C(0)});
  });
  const auto image = k.CompileImage();
  EXPECT_EQ(ClassNamed(image->plan, "both"), TensorClass::kRootInner);
  EXPECT_EQ(Constant(image->plan, image->plan.workspace.unit_bytes[0]), 512);
  EXPECT_FALSE(image->plan.workspace.present[1]);
}

TEST(Classify, ADeclaredTensorThatIsOnlyANameIsLeafLocal) {
  Kernel k;
  const TensorId x = k.Param("x", {64, 16});
  const TensorId out = k.Param("out", {64, 16});
  const TensorId middle = k.Declare("middle", {64, 16});
  k.Move(middle, k.Exp(x));
  k.Move(middle, k.Add(middle, 1.0));
  k.Move(out, k.Neg(middle));
  const auto image = k.CompileImage();
  EXPECT_FALSE(HasStorage(image->plan, "middle"));
  ASSERT_EQ(image->plan.roots[0].leaves.size(), 1U);
  EXPECT_EQ(image->plan.roots[0].leaves[0].ops.size(), 3U);
}

TEST(Classify, ATensorDeclaredOutsideTheLoopIsSeenBySeveralInstances) {
  Kernel k;
  const TensorId x = k.Param("x", {64, 16});
  const TensorId out = k.Param("out", {64, 16});
  const TensorId whole = k.Declare("whole", {8, 16});
  const TensorId pieces = k.Declare("pieces", {8, 16});
  k.Loop(0, 64, 8, [&](ExprId i) {
    k.Move(whole, k.Exp(k.Slice(x, {8, 16}, {i, k.C(0)})));
    k.Assemble(pieces, k.Neg(whole), k.Consts({0, 0}));
    k.Assemble(out, pieces, {i, k.C(0)});
  });
  const auto image = k.CompileImage();
  EXPECT_EQ(ClassNamed(image->plan, "whole"), TensorClass::kExclusiveOutcast);
  EXPECT_EQ(ClassNamed(image->plan, "pieces"), TensorClass::kAssembleOutcast);
}

TEST(Classify, ARegionWriteMakesAnAssembleOutcastWhateverElseWritesIt) {
  Kernel k;
  const TensorId x = k.Param("x", {16, 16});
  const TensorId out = k.Param("out", {16, 16});
  const TensorId both = k.Declare("both", {16, 16});
  k.Move(both, k.Exp(x));
  k.Loop(0, 16, 16, [&](ExprId i) { k.Assemble(both, x, {i, k.C(0)}); });
  k.Loop(0, 1, 1, [&](ExprId) { k.Move(out, both); });
  const auto image = k.CompileImage();
  EXPECT_EQ(ClassNamed(image->plan, "both"), TensorClass::kAssembleOutcast);
  EXPECT_EQ(image->plan.roots[0].writes[0].kind, program::WriteKind::kWhole);
  EXPECT_EQ(image->plan.roots[1].writes[0].kind, program::WriteKind::kRegion);
}

TEST(Classify, ATemporaryReadByAnotherRootFunctionIsAnExclusiveOutcast) {
  Kernel k;
  const TensorId x = k.Param("x", {16, 16});
  const TensorId out = k.Param("out", {16, 16});
  const TensorId early = k.Exp(x);
  k.Loop(0, 16, 4, [&](ExprId i) { k.Assemble(out, k.Slice(early, {4, 16}, {i, k.C(0)}), {i, k.C(0)}); });
  const auto image = k.CompileImage();
  EXPECT_EQ(CountClass(image->plan, TensorClass::kExclusiveOutcast), 1U);
  EXPECT_EQ(Constant(image->plan, image->plan.workspace.unit_bytes[2]), 1024);
}

TEST(Classify, ACarriedTensorReadsTheOldGenerationAndBeginsANewOne) {
  Kernel k;
  const TensorId x = k.Param("x", {16, 16});
  const TensorId out = k.Param("out", {16, 16});
  const TensorId sum = k.Declare("sum", {16, 16});
  k.Move(sum, k.Full(0, {16, 16}));
  k.Loop(0, 4, 1, [&](ExprId) {
    k.Move(sum, k.Add(sum, x));
    k.Move(out, k.Matmul(sum, x));  // takes the new value, not the memory of either generation
  });
  const auto image = k.CompileImage();
  const program::Plan& plan = image->plan;
  EXPECT_EQ(ClassNamed(plan, "sum"), TensorClass::kExclusiveOutcast);
  const uint32_t sum_storage = StorageNamed(plan, "sum");
  const program::RootFunction& body = plan.roots[1];
  EXPECT_TRUE(std::count(body.reads.begin(), body.reads.end(), sum_storage) == 1);
  bool whole = false;
  for (const program::OutcastWrite& write : body.writes) {
    if (write.storage == sum_storage) whole = write.kind == program::WriteKind::kWhole;
  }
  EXPECT_TRUE(whole);
  for (const program::Leaf& leaf : body.leaves) {
    if (leaf.kind != program::LeafKind::kCube) continue;
    EXPECT_NE(leaf.accesses[0].storage, sum_storage);
  }
}

TEST(Classify, AWholeWriteUnderAConditionGoesIntoThePresentBuffer) {
  Kernel k;
  const TensorId x = k.Param("x", {16, 16});
  const TensorId out = k.Param("out", {16, 16});
  const TensorId sum = k.Declare("sum", {16, 16});
  k.Loop(0, 4, 1, [&](ExprId i) {
    const ExprId first = *k.exprs().Make(program::ExprOp::kEq, i, k.C(0));
    k.If(first, [&] { k.Move(sum, x); }, [&] { k.Move(sum, k.Add(sum, x)); });
  });
  k.Move(out, sum);
  const auto image = k.CompileImage();
  const program::Plan& plan = image->plan;
  EXPECT_EQ(ClassNamed(plan, "sum"), TensorClass::kExclusiveOutcast);
  ASSERT_EQ(plan.roots[0].writes.size(), 1U);
  EXPECT_EQ(plan.roots[0].writes[0].kind, program::WriteKind::kRegion);
}

}  // namespace
}  // namespace pypto::compile::testing
