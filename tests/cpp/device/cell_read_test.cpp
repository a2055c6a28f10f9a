// Cells that control flow reads: when they wait for a task, and what lies outside.
#include <gtest/gtest.h>

#include "device/launcher.h"
#include "device/plan_maker.h"

namespace pypto::device::testing {
namespace {

using program::ControlNode;
using program::FaultKind;

// One is added to `written`, then cell `index` of `read` decides whether it is added again.
struct Counter {
  PlanMaker maker;
  uint32_t written = maker.Parameter(DType::kInt32, {4});
  uint32_t other = maker.Parameter(DType::kInt32, {4});
  uint32_t index = maker.IntScalar();

  LaunchResult Run(uint32_t read, int64_t at) {
    maker.plan().slots = {{"s", program::ScalarKind::kInt}};
    maker.plan().reads_tensors = true;
    LeafMaker leaf = maker.Leaf({4}, {4});
    leaf.Op(OpCode::kAdd, {leaf.Access(written), LeafMaker::Int(1)}, leaf.Access(written));
    const uint32_t root = maker.Root({leaf});
    LeafMaker seen = maker.Leaf({4}, {4});
    seen.Op(OpCode::kAdd, {seen.Access(other), LeafMaker::Int(0)}, seen.Access(other));
    const uint32_t touch = maker.Root({seen});
    ControlNode cell;
    cell.kind = ControlNode::Kind::kRead;
    cell.place = 2;
    cell.read = {read, maker.Const(0), {maker.Const(1)}, {maker.exprs().Scalar(index)}, {maker.Const(4)}, {}};
    const ExprId many = *maker.exprs().Make(program::ExprOp::kLt, maker.Const(5), maker.exprs().Slot(0));
    maker.SetControl(
        {PlanMaker::Run(touch), PlanMaker::Run(root), cell, PlanMaker::If(many, {PlanMaker::Run(root)}, {})});
    Launcher launcher(maker.Finish());
    launcher.Bind({{{1, 2, 5, 9}}, {{6, 6, 0, 6}}, {{}, at, 0}});
    return launcher.Run();
  }
};

TEST(CellRead, WaitsForTheInstanceThatWritesTheTensor) {
  Counter t;
  const LaunchResult result = t.Run(t.written, 2);
  EXPECT_EQ(result.outcome.acl_code, 0) << result.outcome.message;
  EXPECT_EQ(result.statistics.device_tasks, 2u);
  EXPECT_EQ(result.values[0], (std::vector<double>{3, 4, 7, 11}));
}

TEST(CellRead, TakesTheValueOfItsPlace) {
  Counter t;
  const LaunchResult result = t.Run(t.written, 1);
  EXPECT_EQ(result.values[0], (std::vector<double>{2, 3, 6, 10}));
}

TEST(CellRead, OutsideOfTheValidCellsIsAFault) {
  for (const int64_t at : {int64_t{-1}, int64_t{4}, INT64_MAX}) {
    Counter t;
    const LaunchResult result = t.Run(t.written, at);
    EXPECT_EQ(result.outcome.acl_code, 507015);
    EXPECT_EQ(result.statistics.fault, static_cast<uint32_t>(FaultKind::kReadOutside));
    EXPECT_EQ(result.statistics.fault_value, at);
    EXPECT_EQ(result.outcome.message, "kernel 'kernel': scalar read of 't0' at index [" + std::to_string(at) +
                                          "]: its valid extents are [4] (kernel.py, line 12 of its def)");
  }
}

TEST(CellRead, ADivisionByZeroInItsIndexIsAFault) {
  Counter t;
  const ExprId bad = *t.maker.exprs().Make(program::ExprOp::kDiv, t.maker.Const(1), t.maker.exprs().Scalar(t.index));
  ControlNode check;
  check.kind = ControlNode::Kind::kCheck;
  check.checked = bad;
  check.place = 1;
  t.maker.SetControl({check});
  LeafMaker leaf = t.maker.Leaf({4}, {4});
  leaf.Op(OpCode::kAdd, {leaf.Access(t.written), LeafMaker::Int(1)}, leaf.Access(t.written));
  t.maker.Root({leaf});
  Launcher launcher(t.maker.Finish());
  launcher.Bind({{{1, 2, 5, 9}}, {{6, 6, 0, 6}}, {{}, 0, 0}});
  const LaunchResult result = launcher.Run();
  EXPECT_EQ(result.statistics.fault, static_cast<uint32_t>(FaultKind::kDivisionByZero));
  EXPECT_NE(result.outcome.message.find("in a value that loops or branches carry"), std::string::npos);
}

TEST(CellRead, ACheckThatFailsSaysItsText) {
  PlanMaker maker;
  const uint32_t x = maker.Parameter(DType::kFp32, {4});
  const uint32_t scalar = maker.IntScalar();
  LeafMaker leaf = maker.Leaf({4}, {4});
  leaf.Op(OpCode::kNeg, {leaf.Access(x)}, leaf.Access(x));
  const uint32_t root = maker.Root({leaf});
  ControlNode check;
  check.kind = ControlNode::Kind::kCheck;
  check.checked = maker.exprs().Scalar(scalar);
  check.text = "'y' is used and was never bound";
  check.place = 3;
  maker.SetControl({check, PlanMaker::Run(root)});
  Launcher launcher(maker.Finish());
  for (const int64_t bound : {1, 0}) {
    launcher.Bind({{{1, 2, 3, 4}}, {{}, bound, 0}});
    const LaunchResult result = launcher.Run();
    EXPECT_EQ(result.outcome.acl_code, bound == 1 ? 0 : 507015);
    if (bound == 1) continue;
    EXPECT_EQ(result.statistics.fault, static_cast<uint32_t>(FaultKind::kUnbound));
    EXPECT_EQ(result.outcome.message,
              "kernel 'kernel': 'y' is used and was never bound (kernel.py, line 13 of its def)");
  }
}

}  // namespace
}  // namespace pypto::device::testing
