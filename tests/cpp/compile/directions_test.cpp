// Directions of parameters.
#include "compile/kernel.h"

namespace pypto::compile::testing {
namespace {

using program::Direction;

// x [B, 64] is read, out [B, 64] written by `body`; gives out as planned.
class Directions : public ::testing::Test {
 protected:
  Directions() {
    x = k.Param("x", {kDynamic, 64}, DType::kFp32, {"B", ""});
    out = k.Param("out", {kDynamic, 64}, DType::kFp32, {"B", ""});
    rows = k.DimOf(x, 0);
  }

  // Rows [at, at + count) of x go to the same rows of out. Returns the line of the write.
  int CopyRows(ExprId at, int64_t count) {
    return k.Assemble(out, k.Neg(k.Slice(x, {count, 64}, {at, k.C(0)})), {at, k.C(0)});
  }

  program::PlanParameter Out() { return k.CompileImage()->plan.parameters[1]; }

  ExprId Mul(ExprId a, int64_t b) { return k.exprs().Mul(a, k.C(b)); }

  Kernel k;
  TensorId x;
  TensorId out;
  ExprId rows;
};

TEST_F(Directions, BlocksUpToTheDimCover) {
  k.LoopOver(k.C(0), rows, 32, [&](ExprId i) { CopyRows(i, 32); });
  EXPECT_EQ(Out().direction, Direction::kOut);
}

TEST_F(Directions, CountedBlocksCover) {
  k.LoopOver(k.C(0), k.exprs().CeilDiv(rows, 32), 1, [&](ExprId i) { CopyRows(Mul(i, 32), 32); });
  EXPECT_EQ(Out().direction, Direction::kOut);
}

TEST_F(Directions, OverlappingBlocksCover) {
  k.LoopOver(k.C(0), rows, 16, [&](ExprId i) { CopyRows(i, 32); });
  EXPECT_EQ(Out().direction, Direction::kOut);
}

TEST_F(Directions, AnUnrolledLoopAndItsRestCoverTogether) {
  const ExprId batches = Mul(*k.exprs().Make(program::ExprOp::kDiv, rows, k.C(8)), 8);
  k.LoopOver(k.C(0), batches, 8, [&](ExprId i) { CopyRows(i, 8); });
  k.LoopOver(batches, rows, 1, [&](ExprId i) { CopyRows(i, 1); });
  EXPECT_EQ(Out().direction, Direction::kOut);
}

TEST_F(Directions, NestedLoopsOverTwoDimsCover) {
  k.LoopOver(k.C(0), rows, 8, [&](ExprId i) {
    k.Loop(0, 64, 16, [&](ExprId j) { k.Assemble(out, k.Neg(k.Slice(x, {8, 16}, {i, j})), {i, j}); });
  });
  EXPECT_EQ(Out().direction, Direction::kOut);
}

TEST_F(Directions, ANestedLoopInsideEachBlockCovers) {
  k.LoopOver(k.C(0), rows, 32,
             [&](ExprId i) { k.LoopOver(i, k.exprs().Add(i, k.C(32)), 8, [&](ExprId j) { CopyRows(j, 8); }); });
  EXPECT_EQ(Out().direction, Direction::kOut);
}

TEST_F(Directions, GapsDoNotCover) {
  int line = 0;
  k.LoopOver(k.C(0), rows, 32, [&](ExprId i) { line = CopyRows(i, 31); });
  const program::PlanParameter parameter = Out();
  EXPECT_EQ(parameter.direction, Direction::kInOut);
  EXPECT_EQ(parameter.partial_reason, "line " + std::to_string(line) + " writes only part of it");
}

TEST_F(Directions, ALateStartDoesNotCover) {
  k.LoopOver(k.C(1), rows, 1, [&](ExprId i) { CopyRows(i, 1); });
  EXPECT_EQ(Out().direction, Direction::kInOut);
}

TEST_F(Directions, AnEarlyStopDoesNotCover) {
  k.LoopOver(k.C(0), k.exprs().Sub(rows, k.C(1)), 1, [&](ExprId i) { CopyRows(i, 1); });
  EXPECT_EQ(Out().direction, Direction::kInOut);
}

TEST_F(Directions, ABoundThatIsNotTheDimDoesNotCover) {
  const ExprId other = k.Int("other");
  k.LoopOver(k.C(0), other, 32, [&](ExprId i) { CopyRows(i, 32); });
  EXPECT_EQ(Out().direction, Direction::kInOut);
}

TEST_F(Directions, PartOfTheColumnsDoesNotCover) {
  k.LoopOver(k.C(0), rows, 8, [&](ExprId i) { k.Assemble(out, k.Neg(k.Slice(x, {8, 32}, {i, k.C(0)})), {i, k.C(0)}); });
  EXPECT_EQ(Out().direction, Direction::kInOut);
}

TEST_F(Directions, FewerValidRowsThanTheBlockDoNotCover) {
  k.LoopOver(k.C(0), rows, 32, [&](ExprId i) {
    const TensorId short_block = k.Slice(x, {32, 64}, {i, k.C(0)}, k.Consts({16, 64}));
    k.Assemble(out, k.Neg(short_block), {i, k.C(0)});
  });
  EXPECT_EQ(Out().direction, Direction::kInOut);
}

TEST_F(Directions, ABranchProvesNothing) {
  const ExprId flag = k.Int("flag");
  k.LoopOver(k.C(0), rows, 32, [&](ExprId i) { k.If(flag, [&] { CopyRows(i, 32); }); });
  EXPECT_EQ(Out().direction, Direction::kInOut);
}

TEST_F(Directions, ABranchAroundTheLoopProvesNothing) {
  k.If(k.Int("flag"), [&] { k.LoopOver(k.C(0), rows, 32, [&](ExprId i) { CopyRows(i, 32); }); });
  EXPECT_EQ(Out().direction, Direction::kInOut);
}

TEST_F(Directions, BothBranchesThatWriteAllCover) {
  const auto all = [&] { k.LoopOver(k.C(0), rows, 32, [&](ExprId i) { CopyRows(i, 32); }); };
  k.If(k.Int("flag"), all, all);
  EXPECT_EQ(Out().direction, Direction::kOut);
}

TEST_F(Directions, OneOfTwoBranchesThatWritesPartProvesNothing) {
  const auto all = [&] { k.LoopOver(k.C(0), rows, 32, [&](ExprId i) { CopyRows(i, 32); }); };
  k.If(k.Int("flag"), all, [&] { CopyRows(k.C(0), 32); });
  EXPECT_EQ(Out().direction, Direction::kInOut);
}

TEST_F(Directions, RegionsThroughAnotherShapeCover) {
  const TensorId flat = *k.builder.Alias(out, {Mul(rows, 64)});
  k.LoopOver(k.C(0), rows, 1, [&](ExprId i) {
    const TensorId row = k.Reshape(k.Neg(k.Slice(x, {1, 64}, {i, k.C(0)})), {64});
    k.Assemble(flat, row, {Mul(i, 64)});
  });
  EXPECT_EQ(Out().direction, Direction::kOut);
}

TEST_F(Directions, GapsInAnotherShapeDoNotCover) {
  const TensorId flat = *k.builder.Alias(out, {Mul(rows, 64)});
  k.LoopOver(k.C(0), rows, 1, [&](ExprId i) {
    const TensorId row = k.Reshape(k.Neg(k.Slice(x, {1, 32}, {i, k.C(0)})), {32});
    k.Assemble(flat, row, {Mul(i, 64)});
  });
  EXPECT_EQ(Out().direction, Direction::kInOut);
}

TEST_F(Directions, HalvesInTwoShapesProveNothing) {
  const TensorId other = *k.builder.Alias(out, {rows, k.C(8), k.C(8)});
  k.LoopOver(k.C(0), rows, 1, [&](ExprId i) {
    const TensorId row = k.Neg(k.Slice(x, {1, 32}, {i, k.C(0)}));
    k.Assemble(out, row, {i, k.C(0)});
    k.Assemble(other, k.Reshape(row, {1, 4, 8}), {i, k.C(4), k.C(0)});
  });
  EXPECT_EQ(Out().direction, Direction::kInOut);
}

TEST_F(Directions, ALoopThatMayNotRunProvesNothing) {
  const ExprId times = k.Int("times");
  k.LoopOver(k.C(0), times, 1, [&](ExprId) { k.LoopOver(k.C(0), rows, 32, [&](ExprId i) { CopyRows(i, 32); }); });
  EXPECT_EQ(Out().direction, Direction::kInOut);
}

TEST_F(Directions, AReadOfWhatIsWrittenAlreadyKeepsOut) {
  k.LoopOver(k.C(0), rows, 32, [&](ExprId i) { CopyRows(i, 32); });
  k.LoopOver(k.C(0), rows, 32,
             [&](ExprId i) { k.Assemble(out, k.Neg(k.Slice(out, {32, 64}, {i, k.C(0)})), {i, k.C(0)}); });
  EXPECT_EQ(Out().direction, Direction::kOut);
}

TEST_F(Directions, AReadBeforeTheWholeIsWrittenIsInOut) {
  k.LoopOver(k.C(0), rows, 32, [&](ExprId i) {
    CopyRows(i, 32);
    k.Assemble(out, k.Neg(k.Slice(out, {32, 64}, {i, k.C(0)})), {i, k.C(0)});
  });
  const program::PlanParameter parameter = Out();
  EXPECT_EQ(parameter.direction, Direction::kInOut);
  EXPECT_NE(parameter.partial_reason.find("reads it before it is written"), std::string::npos);
}

TEST(DirectionsOfStatic, WholeMovesPiecesAndUnused) {
  Kernel k;
  const TensorId x = k.Param("x", {8, 8});
  const TensorId whole = k.Param("whole", {8, 8});
  const TensorId halves = k.Param("halves", {8, 8});
  const TensorId quarter = k.Param("quarter", {8, 8});
  const TensorId updated = k.Param("updated", {8, 8});
  k.Param("unused", {8, 8});
  k.Move(whole, x);
  const TensorId half = k.Slice(x, {4, 8}, k.Consts({0, 0}));
  k.Assemble(halves, half, k.Consts({4, 0}));
  k.Assemble(halves, half, k.Consts({0, 0}));
  k.Assemble(quarter, half, k.Consts({0, 0}));
  k.Move(updated, k.Add(updated, 1.0));
  const auto image = k.CompileImage();
  const std::vector<Direction> expected = {Direction::kIn,    Direction::kOut,   Direction::kOut,
                                           Direction::kInOut, Direction::kInOut, Direction::kUnused};
  ASSERT_EQ(image->plan.parameters.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(image->plan.parameters[i].direction, expected[i]) << i;
}

TEST(DirectionsOfStatic, ScalarsKeepTheirKind) {
  Kernel k;
  k.Param("x", {8, 8});
  k.Int("n");
  ASSERT_TRUE(k.builder.AddScalarParameter("eps", program::ScalarKind::kFloat).ok());
  const auto image = k.CompileImage();
  ASSERT_EQ(image->plan.parameters.size(), 3U);
  EXPECT_FALSE(image->plan.parameters[1].is_tensor);
  EXPECT_EQ(image->plan.parameters[1].scalar_kind, program::ScalarKind::kInt);
  EXPECT_EQ(image->plan.parameters[2].scalar_kind, program::ScalarKind::kFloat);
  EXPECT_EQ(image->plan.parameters[2].scalar, 1U);
}

}  // namespace
}  // namespace pypto::compile::testing
