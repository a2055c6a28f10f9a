// Where reads of cells, changes of slots and checks stand in the control tree.
#include "compile/kernel.h"
#include "compile/machine.h"

namespace pypto::compile::testing {
namespace {

using program::ControlNode;
using Kind = ControlNode::Kind;

std::vector<Kind> KindsOf(const std::vector<ControlNode>& nodes) {
  std::vector<Kind> kinds;
  for (const ControlNode& node : nodes) kinds.push_back(node.kind);
  return kinds;
}

struct Counter {
  Kernel k;
  TensorId in = k.Param("in", {4}, DType::kInt32);
  TensorId out = k.Param("out", {4}, DType::kInt32);

  // out[at] := value
  void Put(ExprId value, ExprId at) { k.Assemble(out, k.FillInt(value, {1}), {at}); }
};

TEST(Slots, AReadStandsInFrontOfTheRootThatUsesIt) {
  Counter t;
  t.Put(t.k.C(1), t.k.C(0));
  const ExprId cell = t.k.Read(t.in, {t.k.C(2)});
  t.Put(cell, t.k.C(1));
  const auto image = t.k.CompileImage();
  EXPECT_EQ(KindsOf(image->plan.control), (std::vector{Kind::kRead, Kind::kRoot}));
  EXPECT_TRUE(image->plan.reads_tensors);
}

TEST(Slots, AReadOfWhatTheRunHasWrittenStartsANewRoot) {
  Counter t;
  t.Put(t.k.C(1), t.k.C(0));
  const ExprId cell = t.k.Read(t.out, {t.k.C(0)});
  t.Put(cell, t.k.C(1));
  const auto image = t.k.CompileImage();
  EXPECT_EQ(KindsOf(image->plan.control), (std::vector{Kind::kRoot, Kind::kRead, Kind::kRoot}));
}

TEST(Slots, ATensorThatControlFlowReadsIsAnOutcast) {
  Counter t;
  const TensorId sum = t.k.Declare("sum", {4}, DType::kInt32);
  t.k.Move(sum, t.k.Op(OpCode::kAdd, {Kernel::T(t.in), Kernel::T(t.in)}));
  t.Put(t.k.Read(sum, {t.k.C(3)}), t.k.C(0));
  const auto image = t.k.CompileImage();
  EXPECT_EQ(ClassNamed(image->plan, "sum"), TensorClass::kExclusiveOutcast);
  EXPECT_EQ(image->plan.roots[0].live_after, (std::vector{StorageNamed(image->plan, "sum")}));
}

TEST(Slots, ACarriedNumberChangesBehindTheRootThatUsesIt) {
  Counter t;
  const uint32_t slot = t.k.builder.AddSlot("n", program::ScalarKind::kInt);
  t.k.Set(slot, t.k.C(1));
  t.k.Loop(0, 4, 1, [&](ExprId index) {
    t.Put(t.k.exprs().Slot(slot), index);
    t.k.Set(slot, t.k.exprs().Mul(t.k.exprs().Slot(slot), t.k.C(3)));
  });
  const auto image = t.k.CompileImage();
  ASSERT_EQ(KindsOf(image->plan.control), (std::vector{Kind::kSet, Kind::kLoop}));
  EXPECT_EQ(KindsOf(image->plan.control[1].body), (std::vector{Kind::kRoot, Kind::kSet}));
  EXPECT_FALSE(image->plan.reads_tensors);
  Memory memory = {{0, 0, 0, 0}, {0, 0, 0, 0}};
  EXPECT_TRUE(RunPlan(image->plan, {}, memory).complaints.empty());
  EXPECT_EQ(memory[1], (std::vector<double>{1, 3, 9, 27}));
}

TEST(Slots, AReadInABranchTakesPlaceOnlyThere) {
  Counter t;
  const ExprId first = t.k.Read(t.in, {t.k.C(0)});
  const ExprId small = *t.k.exprs().Make(program::ExprOp::kLt, first, t.k.C(4));
  t.k.If(small, [&] { t.Put(t.k.Read(t.in, {first}), t.k.C(1)); });
  const auto image = t.k.CompileImage();
  ASSERT_EQ(KindsOf(image->plan.control), (std::vector{Kind::kRead, Kind::kRead, Kind::kRoot}));
  EXPECT_EQ(image->plan.control[0].condition, program::kNoExpr);
  EXPECT_NE(image->plan.control[1].condition, program::kNoExpr);
  Memory memory = {{100, 0, 0, 0}, {0, 0, 0, 0}};
  EXPECT_TRUE(RunPlan(image->plan, {}, memory).complaints.empty());
}

}  // namespace
}  // namespace pypto::compile::testing
