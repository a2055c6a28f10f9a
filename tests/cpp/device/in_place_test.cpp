// Outcasts that are made anew where they lie, and those that take other memory.
#include "pypto/device/in_place.h"

#include <gtest/gtest.h>

#include "device/plan_maker.h"
#include "device/reference.h"
#include "pypto/device/executable.h"

namespace pypto::device::testing {
namespace {

using program::TensorClass;

enum class Step { kSameCells, kOtherCells, kRowOfSeveralTiles, kReadAfterwards, kReadBefore, kReadByOthers };

struct Carried {
  std::shared_ptr<const program::Image> image;
  uint32_t acc = 0;
};

constexpr int64_t kRows = 16;
constexpr int64_t kColumns = 16;

// acc = x, or x's first column; acc = acc * 0.5 + x five times, perhaps read by others each time; out += acc.
Carried Carry(Step kind) {
  PlanMaker maker;
  const bool row = kind == Step::kRowOfSeveralTiles;
  const uint32_t x = maker.Parameter(DType::kFp32, {kRows, kColumns});
  const uint32_t out = maker.Parameter(DType::kFp32, {kRows, kColumns});
  const uint32_t seen = maker.Parameter(DType::kFp32, {kRows, kColumns});
  const uint32_t acc = maker.Storage(TensorClass::kExclusiveOutcast, DType::kFp32, {kRows, row ? 1 : kColumns});
  const ExprId zero = maker.Const(0);
  LeafMaker first = maker.Leaf({kRows, row ? 1 : kColumns}, {kRows, row ? 1 : kColumns});
  first.Op(OpCode::kCopy, {first.Window(x, {zero, zero})}, first.Access(acc));
  const uint32_t begin = maker.Root({first}, {acc}, {acc});
  const uint32_t loop = maker.NewLoop();

  LeafMaker step = maker.Leaf({kRows, kColumns}, {4, row ? 8 : kColumns});
  const bool turned = kind == Step::kOtherCells;
  const ValueRef old = turned ? step.Strided(acc, zero, {1, kColumns}, {kRows, kColumns}, {}) : step.Access(acc);
  if (row) {
    step.Op(OpCode::kAdd, {old, step.Access(x)}, step.Access(out));
    step.Op(OpCode::kMul, {old, LeafMaker::Float(0.5)}, step.Access(acc));
  } else {
    const ValueRef half = step.Op(OpCode::kMul, {old, LeafMaker::Float(0.5)}, step.Local(DType::kFp32));
    step.Op(OpCode::kAdd, {half, step.Access(x)}, step.Access(acc));
  }
  std::vector<LeafMaker> leaves = {step};
  if (kind == Step::kReadBefore || kind == Step::kReadAfterwards) {
    LeafMaker other = maker.Leaf({kRows, kColumns}, {kRows, kColumns});
    other.Op(OpCode::kAdd, {other.Access(acc), other.Access(seen)}, other.Access(seen));
    leaves.insert(kind == Step::kReadBefore ? leaves.begin() : leaves.end(), other);
  }
  const uint32_t body = maker.Root(leaves, {acc}, {acc});
  std::vector<program::ControlNode> turn = {PlanMaker::Run(body)};
  if (kind == Step::kReadByOthers) {
    LeafMaker look = maker.Leaf({kRows, kColumns}, {kRows, kColumns});
    look.Op(OpCode::kAdd, {look.Access(acc), look.Access(seen)}, look.Access(seen));
    turn.push_back(PlanMaker::Run(maker.Root({look}, {}, {acc})));
  }
  LeafMaker last = maker.Leaf({kRows, kColumns}, {kRows, kColumns});
  last.Op(OpCode::kAdd, {last.Access(acc), last.Access(out)}, last.Access(out));
  const uint32_t end = maker.Root({last});
  maker.SetControl(
      {PlanMaker::Run(begin), PlanMaker::Loop(loop, zero, maker.Const(5), maker.Const(1), turn), PlanMaker::Run(end)});
  maker.SetWorkspace({0, 0, 4096}, 4096);
  maker.plan().options.stitch_function_num_per_pool = {0, 0, 3};
  return {maker.Finish(), acc};
}

bool Updates(const Carried& carried) {
  const auto executable = LoadedExecutable::Build(carried.image);
  EXPECT_TRUE(executable.ok());
  return (*executable)->roots()[1].outcasts.updates[carried.acc];
}

void Check(Step kind, bool updates) {
  const Carried carried = Carry(kind);
  EXPECT_EQ(Updates(carried), updates);
  constexpr size_t kCells = kRows * kColumns;
  for (const uint32_t cores : {1u, 2u}) {
    CheckAgainstReference(
        carried.image,
        {{RandomValues(DType::kFp32, kCells, -1, 1, 1)}, {std::vector<double>(kCells)}, {std::vector<double>(kCells)}},
        {}, 0, 0, cores);
  }
}

TEST(InPlace, TheSameCellsAreMadeAnewWhereTheyLie) { Check(Step::kSameCells, true); }

TEST(InPlace, WhatIsReadBeforeOrAfterwardsByTheSameFunctionIsSeenRight) {
  Check(Step::kReadBefore, true);
  Check(Step::kReadAfterwards, true);
}

TEST(InPlace, OtherReadersKeepWhatTheyRead) { Check(Step::kReadByOthers, true); }

TEST(InPlace, OtherCellsTakeOtherMemory) { Check(Step::kOtherCells, false); }

TEST(InPlace, CellsThatSeveralTilesReadTakeOtherMemory) { Check(Step::kRowOfSeveralTiles, false); }

}  // namespace
}  // namespace pypto::device::testing
