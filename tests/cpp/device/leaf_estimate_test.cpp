// How long the engine thinks that a tile takes.
#include <gtest/gtest.h>

#include "device/plan_maker.h"
#include "pypto/device/executable.h"

namespace pypto::device::testing {
namespace {

// Rows of a tensor of 64 x 256 are set at 32 indices.
double TileOfIndexPut(int64_t tile_columns) {
  constexpr int64_t kRows = 64;
  constexpr int64_t kColumns = 256;
  constexpr int64_t kPicked = 32;
  PlanMaker maker;
  const uint32_t target = maker.Parameter(DType::kFp32, {kRows, kColumns});
  const uint32_t values = maker.Parameter(DType::kFp32, {kPicked, kColumns});
  const uint32_t index = maker.Parameter(DType::kInt32, {kPicked});
  const uint32_t out = maker.Parameter(DType::kFp32, {kRows, kColumns});
  LeafMaker leaf = maker.Leaf({kRows, kColumns}, {kRows, tile_columns});
  leaf.leaf().kind = program::LeafKind::kWhole;
  const auto all = [&](int64_t rows, int64_t columns) {
    return std::vector<ExprId>{maker.Const(rows), maker.Const(columns)};
  };
  leaf.Op(OpCode::kIndexPut,
          {leaf.Access(target),
           leaf.Strided(values, maker.Const(0), {kColumns, 1}, {kPicked, kColumns}, all(kPicked, kColumns)),
           LeafMaker::Int(0), leaf.Strided(index, maker.Const(0), {1, 0}, {kPicked, 1}, all(kPicked, 1))},
          leaf.Access(out));
  leaf.leaf().ops[0].axis = 0;
  leaf.leaf().ops[0].compute_dtype = DType::kFp32;
  const auto executable = LoadedExecutable::Build(SingleLeaf(&maker, leaf));
  EXPECT_TRUE(executable.ok());
  return (*executable)->roots()[0].leaves[0].tile_ns;
}

TEST(LeafEstimate, ATileThatCutsWrittenRowsWritesPartOfThem) {
  const double whole = TileOfIndexPut(256);
  EXPECT_GT(whole, 0);
  EXPECT_DOUBLE_EQ(TileOfIndexPut(128), whole / 2);
  EXPECT_DOUBLE_EQ(TileOfIndexPut(64), whole / 4);
}

}  // namespace
}  // namespace pypto::device::testing
