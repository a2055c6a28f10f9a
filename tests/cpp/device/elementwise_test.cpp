// Element-wise operations: every one, every dtype, broadcasting, strides, tails, chains.
#include <gtest/gtest.h>

#include <cmath>

#include "device/plan_maker.h"
#include "device/reference.h"
#include "pypto/device/executable.h"

namespace pypto::device::testing {
namespace {

const std::vector<DType> kFloats = {DType::kFp32, DType::kFp16, DType::kBf16};

struct Shape {
  std::vector<int64_t> extents;
  std::vector<int64_t> tile;
};
const std::vector<Shape> kShapes = {
    {{1}, {1}},
    {{7}, {7}},
    {{16}, {16}},
    {{1000}, {300}},
    {{3, 5}, {2, 5}},
    {{17, 33}, {4, 16}},
    {{1, 1}, {1, 1}},
    {{64, 1}, {64, 1}},
    {{4, 6, 5}, {3, 2, 5}},
    {{2, 3, 4, 5}, {1, 2, 4, 3}},
    {{5, 700}, {5, 700}},
    {{16, 16}, {16, 16}},
};

size_t Count(const Dims& dims) {
  size_t count = 1;
  for (const int64_t dim : dims) count *= static_cast<size_t>(dim);
  return count;
}

// How far results may lie from correctly rounded ones: 2 ulp for approximated functions in FP32, which is at most one
// step after rounding to a half type.
double Allowed(OpCode code, DType dtype) {
  switch (code) {
    case OpCode::kExp:
    case OpCode::kLog:
    case OpCode::kTanh:
    case OpCode::kErf: return dtype == DType::kFp32 ? 2 : 1;
    default: return 0;
  }
}

void CheckUnary(OpCode code, DType dtype, const Shape& shape, double low, double high) {
  PlanMaker maker;
  const uint32_t x = maker.Parameter(dtype, shape.extents);
  const uint32_t out = maker.Parameter(dtype, shape.extents);
  LeafMaker leaf = maker.Leaf(shape.extents, shape.tile);
  leaf.Op(code, {leaf.Access(x)}, leaf.Access(out));
  const size_t count = Count(shape.extents);
  CheckAgainstReference(SingleLeaf(&maker, leaf),
                        {{RandomValues(dtype, count, low, high, count)}, {std::vector<double>(count)}}, {},
                        Allowed(code, dtype));
}

TEST(Elementwise, UnaryOperationsInEveryFloatingDtype) {
  for (const DType dtype : kFloats) {
    for (const Shape& shape : kShapes) {
      for (const OpCode code :
           {OpCode::kNeg, OpCode::kExp, OpCode::kReciprocal, OpCode::kTanh, OpCode::kErf, OpCode::kAbs}) {
        CheckUnary(code, dtype, shape, -5, 5);
      }
      for (const OpCode code : {OpCode::kSqrt, OpCode::kRsqrt, OpCode::kLog}) CheckUnary(code, dtype, shape, 0.001, 50);
    }
  }
}

TEST(Elementwise, NegationOfIntegersWraps) {
  for (const Shape& shape : kShapes) CheckUnary(OpCode::kNeg, DType::kInt32, shape, -1000, 1000);
  PlanMaker maker;
  const uint32_t x = maker.Parameter(DType::kInt32, {3});
  const uint32_t out = maker.Parameter(DType::kInt32, {3});
  LeafMaker leaf = maker.Leaf({3}, {3});
  leaf.Op(OpCode::kNeg, {leaf.Access(x)}, leaf.Access(out));
  const auto values = RunImage(SingleLeaf(&maker, leaf), {{{-2147483648.0, 5, 0}}, {{0, 0, 0}}});
  EXPECT_EQ(values[1], (std::vector<double>{-2147483648.0, -5, 0}));
}

const std::vector<OpCode> kBinary = {OpCode::kAdd, OpCode::kSub,     OpCode::kMul,
                                     OpCode::kDiv, OpCode::kMaximum, OpCode::kMinimum};

void CheckBinary(OpCode code, DType dtype, const Shape& shape, const Dims& a, const Dims& b) {
  PlanMaker maker;
  const DType result = code == OpCode::kDiv && !program::IsFloat(dtype) ? DType::kFp32 : dtype;
  const uint32_t x = maker.Parameter(dtype, a);
  const uint32_t y = maker.Parameter(dtype, b);
  const uint32_t out = maker.Parameter(result, shape.extents);
  LeafMaker leaf = maker.Leaf(shape.extents, shape.tile);
  leaf.Op(code, {leaf.Access(x), leaf.Access(y)}, leaf.Access(out));
  CheckAgainstReference(SingleLeaf(&maker, leaf), {{RandomValues(dtype, Count(a), -9, 9, 1)},
                                                   {RandomValues(dtype, Count(b), 1, 10, 2)},
                                                   {std::vector<double>(Count(shape.extents))}});
}

TEST(Elementwise, BinaryOperationsAreExactInEveryDtype) {
  for (const DType dtype : {DType::kFp32, DType::kFp16, DType::kBf16, DType::kInt32}) {
    for (const OpCode code : kBinary) {
      for (const Shape& shape : kShapes) CheckBinary(code, dtype, shape, shape.extents, shape.extents);
    }
  }
}

TEST(Elementwise, OperandsOfExtentOneAreBroadcast) {
  for (const DType dtype : {DType::kFp32, DType::kBf16, DType::kInt32}) {
    for (const OpCode code : {OpCode::kSub, OpCode::kDiv}) {
      for (const Shape& shape : kShapes) {
        for (unsigned mask = 0; mask < 1u << shape.extents.size(); ++mask) {
          Dims narrow = shape.extents;
          for (size_t dim = 0; dim < narrow.size(); ++dim) narrow[dim] = (mask >> dim & 1) != 0 ? 1 : narrow[dim];
          CheckBinary(code, dtype, shape, narrow, shape.extents);
          CheckBinary(code, dtype, shape, shape.extents, narrow);
        }
      }
    }
  }
}

TEST(Elementwise, LowerRankOperandsAlignAtTheEnd) {
  CheckBinary(OpCode::kAdd, DType::kFp16, {{4, 5, 6}, {2, 5, 6}}, {5, 6}, {4, 5, 6});
  CheckBinary(OpCode::kAdd, DType::kFp32, {{4, 5, 6}, {4, 3, 4}}, {4, 5, 6}, {6});
}

TEST(Elementwise, NumbersAndScalarsAreOperands) {
  for (const DType dtype : kFloats) {
    PlanMaker maker;
    const uint32_t x = maker.Parameter(dtype, {9, 40});
    const uint32_t out = maker.Parameter(dtype, {9, 40});
    const uint32_t real = maker.FloatScalar();
    const uint32_t whole = maker.IntScalar();
    LeafMaker leaf = maker.Leaf({9, 40}, {4, 40});
    const ValueRef a = leaf.Op(OpCode::kMul, {leaf.Access(x), LeafMaker::Float(0.1)}, leaf.Local(dtype));
    const ValueRef b = leaf.Op(OpCode::kSub, {LeafMaker::Scalar(real), a}, leaf.Local(dtype));
    const ValueRef c = leaf.Op(OpCode::kAdd, {b, LeafMaker::Expr(maker.exprs().Scalar(whole))}, leaf.Local(dtype));
    leaf.Op(OpCode::kMaximum, {c, LeafMaker::Int(3)}, leaf.Access(out));
    CheckAgainstReference(
        SingleLeaf(&maker, leaf),
        {{RandomValues(dtype, 360, -50, 50, 3)}, {std::vector<double>(360)}, {{}, 0, 1.7}, {{}, 2, 0}});
  }
}

TEST(Elementwise, IntegersWrapAndDivideToFp32) {
  PlanMaker maker;
  const uint32_t x = maker.Parameter(DType::kInt32, {4});
  const uint32_t sum = maker.Parameter(DType::kInt32, {4});
  const uint32_t product = maker.Parameter(DType::kInt32, {4});
  const uint32_t quotient = maker.Parameter(DType::kFp32, {4});
  LeafMaker leaf = maker.Leaf({4}, {4});
  const ValueRef in = leaf.Access(x);
  leaf.Op(OpCode::kAdd, {in, LeafMaker::Int(1)}, leaf.Access(sum));
  leaf.Op(OpCode::kMul, {in, in}, leaf.Access(product));
  leaf.Op(OpCode::kDiv, {in, LeafMaker::Int(2)}, leaf.Access(quotient));
  leaf.leaf().ops.back().compute_dtype = DType::kInt32;
  const std::vector<double> input = {2147483647, 65536, -3, 7};
  const auto values = RunImage(SingleLeaf(&maker, leaf), {{input}, {input}, {input}, {input}});
  EXPECT_EQ(values[1], (std::vector<double>{-2147483648.0, 65537, -2, 8}));
  EXPECT_EQ(values[2], (std::vector<double>{1, 0, 9, 49}));
  EXPECT_EQ(values[3], (std::vector<double>{1073741824.0, 32768, -1.5, 3.5}));
}

TEST(Elementwise, NanAndInfinitiesPropagate) {
  const double nan = std::nan("");
  const std::vector<double> a = {nan, 1, nan, HUGE_VAL, -HUGE_VAL, 2};
  const std::vector<double> b = {1, nan, nan, 1, 1, 3};
  for (const DType dtype : kFloats) {
    for (const OpCode code : kBinary) {
      PlanMaker maker;
      const uint32_t x = maker.Parameter(dtype, {6});
      const uint32_t y = maker.Parameter(dtype, {6});
      const uint32_t out = maker.Parameter(dtype, {6});
      LeafMaker leaf = maker.Leaf({6}, {6});
      leaf.Op(code, {leaf.Access(x), leaf.Access(y)}, leaf.Access(out));
      CheckAgainstReference(SingleLeaf(&maker, leaf), {{a}, {b}, {a}});
    }
  }
}

TEST(Elementwise, TransposedAndStridedOperands) {
  for (const DType dtype : {DType::kFp32, DType::kFp16, DType::kInt32}) {
    PlanMaker maker;
    const uint32_t x = maker.Parameter(dtype, {37, 21});
    const uint32_t y = maker.Parameter(dtype, {21, 80});
    const uint32_t out = maker.Parameter(dtype, {21, 37});
    LeafMaker leaf = maker.Leaf({21, 37}, {8, 16});
    const ValueRef turned = leaf.Strided(x, maker.Const(0), {1, 21}, {21, 37}, {});
    const ValueRef every_second = leaf.Strided(y, maker.Const(3), {80, 2}, {21, 37}, {});
    leaf.Op(OpCode::kAdd, {turned, every_second}, leaf.Access(out));
    CheckAgainstReference(
        SingleLeaf(&maker, leaf),
        {{RandomValues(dtype, 777, -9, 9, 4)}, {RandomValues(dtype, 1680, -9, 9, 5)}, {std::vector<double>(777)}});
  }
}

TEST(Elementwise, OutputsMayBeStridedToo) {
  for (const DType dtype : {DType::kFp32, DType::kBf16}) {
    PlanMaker maker;
    const uint32_t x = maker.Parameter(dtype, {6, 10});
    const uint32_t out = maker.Parameter(dtype, {10, 12});
    LeafMaker leaf = maker.Leaf({6, 10}, {4, 10});
    leaf.Op(OpCode::kNeg, {leaf.Access(x)}, leaf.Strided(out, maker.Const(1), {2, 12}, {6, 10}, {}));
    CheckAgainstReference(SingleLeaf(&maker, leaf),
                          {{RandomValues(dtype, 60, -9, 9, 6)}, {RandomValues(dtype, 120, 20, 30, 7)}});
  }
}

TEST(Elementwise, OnlyValidCellsAreReadAndWritten) {
  for (const DType dtype : {DType::kFp32, DType::kFp16}) {
    for (const int64_t rows : {0, 1, 5, 31, 32, 33}) {
      PlanMaker maker;
      const uint32_t x = maker.Parameter(dtype, {Sym(0), 24});
      const uint32_t out = maker.Parameter(dtype, {Sym(0), 24});
      LeafMaker leaf = maker.Leaf({64, 32}, {8, 16});
      const ValueRef in = leaf.Access(x);
      const ValueRef local = leaf.Local(dtype);
      leaf.SetValid(local, 0, maker.exprs().Clamp(maker.Symbol(0), maker.Const(64)));
      leaf.SetValid(local, 1, maker.Const(24));
      leaf.Op(OpCode::kMul, {in, LeafMaker::Int(2)}, local);
      leaf.Op(OpCode::kAdd, {local, in}, leaf.Access(out));
      const auto count = static_cast<size_t>(rows * 24);
      CheckAgainstReference(SingleLeaf(&maker, leaf),
                            {{RandomValues(dtype, count, -9, 9, 8)}, {std::vector<double>(count)}}, {rows});
    }
  }
}

TEST(Elementwise, CommonValidRegionIsComputed) {
  PlanMaker maker;
  const uint32_t x = maker.Parameter(DType::kFp32, {20});
  const uint32_t out = maker.Parameter(DType::kFp32, {20});
  LeafMaker leaf = maker.Leaf({20}, {20});
  const ValueRef in = leaf.Access(x);
  leaf.SetValid(in, 0, maker.Const(13));
  leaf.Op(OpCode::kNeg, {in}, leaf.Access(out));
  std::vector<double> expected(20, 7);
  for (size_t i = 0; i < 13; ++i) expected[i] = -1;
  const auto values = RunImage(SingleLeaf(&maker, leaf), {{std::vector<double>(20, 1)}, {std::vector<double>(20, 7)}});
  EXPECT_EQ(values[1], expected);
}

TEST(Elementwise, ChainsRoundAtEveryResult) {
  for (const DType dtype : kFloats) {
    PlanMaker maker;
    const uint32_t x = maker.Parameter(dtype, {33, 70});
    const uint32_t row = maker.Parameter(dtype, {1, 70});
    const uint32_t out = maker.Parameter(dtype, {33, 70});
    LeafMaker leaf = maker.Leaf({33, 70}, {8, 70});
    const ValueRef scaled = leaf.Op(OpCode::kMul, {leaf.Access(x), LeafMaker::Float(1.3)}, leaf.Local(dtype));
    const ValueRef shifted = leaf.Op(OpCode::kAdd, {scaled, leaf.Access(row)}, leaf.Local(dtype));
    const ValueRef bounded = leaf.Op(OpCode::kMinimum, {shifted, LeafMaker::Float(4.3)}, leaf.Local(dtype));
    const ValueRef small = leaf.Op(OpCode::kDiv, {bounded, LeafMaker::Int(3)}, leaf.Local(dtype));
    const ValueRef root =
        leaf.Op(OpCode::kSqrt, {leaf.Op(OpCode::kAbs, {small}, leaf.Local(dtype))}, leaf.Local(dtype));
    leaf.Op(OpCode::kSub, {root, scaled}, leaf.Access(out));
    CheckAgainstReference(
        SingleLeaf(&maker, leaf),
        {{RandomValues(dtype, 2310, -9, 9, 9)}, {RandomValues(dtype, 70, -9, 9, 10)}, {std::vector<double>(2310)}});
  }
}

TEST(Elementwise, InPlace) {
  for (const DType dtype : kFloats) {
    PlanMaker maker;
    const uint32_t x = maker.Parameter(dtype, {1030});
    LeafMaker leaf = maker.Leaf({1030}, {1030});
    leaf.Op(OpCode::kAdd, {leaf.Access(x), LeafMaker::Int(1)}, leaf.Access(x));
    CheckAgainstReference(SingleLeaf(&maker, leaf), {{RandomValues(dtype, 1030, -9, 9, 11)}});
  }
}

TEST(Elementwise, ACellSharedByTilesIsWrittenOnce) {
  PlanMaker maker;
  const uint32_t x = maker.Parameter(DType::kFp32, {8, 1});
  const uint32_t narrow = maker.Parameter(DType::kFp32, {8, 1});
  const uint32_t wide = maker.Parameter(DType::kFp32, {8, 64});
  LeafMaker leaf = maker.Leaf({8, 64}, {4, 16});
  const ValueRef local = leaf.Op(OpCode::kAdd, {leaf.Access(x), LeafMaker::Int(1)}, leaf.Local(DType::kFp32, {8, 1}));
  leaf.Op(OpCode::kCopy, {local}, leaf.Access(narrow));
  leaf.Op(OpCode::kCopy, {local}, leaf.Access(wide));
  CheckAgainstReference(
      SingleLeaf(&maker, leaf),
      {{RandomValues(DType::kFp32, 8, -9, 9, 12)}, {std::vector<double>(8)}, {std::vector<double>(512)}});
}

TEST(Elementwise, SixDims) {
  const Shape shape = {{2, 1, 3, 2, 5, 4}, {1, 1, 2, 2, 3, 4}};
  CheckBinary(OpCode::kAdd, DType::kFp16, shape, shape.extents, {2, 1, 1, 2, 1, 4});
}

// Tiles far larger than a cache are worked on in blocks; rows, columns or neither may be split.
TEST(Elementwise, LargeTilesWithLocalsRunInBlocks) {
  for (const DType dtype : {DType::kFp32, DType::kBf16, DType::kInt32}) {
    for (const Shape& shape : {Shape{{70, 613}, {70, 613}}, Shape{{64, 1024}, {16, 256}}, Shape{{70, 613}, {33, 400}},
                               Shape{{9001}, {9001}}, Shape{{3, 5, 1111}, {3, 5, 1111}}, Shape{{9000, 1}, {9000, 1}}}) {
      PlanMaker maker;
      const uint32_t x = maker.Parameter(dtype, shape.extents);
      const uint32_t y = maker.Parameter(dtype, shape.extents);
      const uint32_t out = maker.Parameter(dtype, shape.extents);
      LeafMaker leaf = maker.Leaf(shape.extents, shape.tile);
      const ValueRef sum = leaf.Op(OpCode::kAdd, {leaf.Access(x), leaf.Access(y)}, leaf.Local(dtype));
      const ValueRef product = leaf.Op(OpCode::kMul, {sum, leaf.Access(y)}, leaf.Local(dtype));
      leaf.Op(OpCode::kSub, {product, sum}, leaf.Access(out));
      const size_t count = Count(shape.extents);
      CheckAgainstReference(SingleLeaf(&maker, leaf), {{RandomValues(dtype, count, -9, 9, 1)},
                                                       {RandomValues(dtype, count, -9, 9, 2)},
                                                       {std::vector<double>(count)}});
    }
  }
}

// A stored cell that all rows share, read before it is stored: rows stay together.
TEST(Elementwise, CellsThatBlocksWouldShareKeepTheTileWhole) {
  PlanMaker maker;
  const uint32_t x = maker.Parameter(DType::kFp32, {64, 512});
  const uint32_t bias = maker.Parameter(DType::kFp32, {1, 512});
  const uint32_t out = maker.Parameter(DType::kFp32, {64, 512});
  LeafMaker leaf = maker.Leaf({64, 512}, {64, 512});
  const ValueRef next =
      leaf.Op(OpCode::kAdd, {leaf.Access(bias), LeafMaker::Float(1)}, leaf.Local(DType::kFp32, {1, 512}));
  leaf.Op(OpCode::kMul, {leaf.Access(x), next}, leaf.Access(out));
  leaf.Op(OpCode::kMaximum, {next, next}, leaf.Access(bias));
  CheckAgainstReference(SingleLeaf(&maker, leaf), {{RandomValues(DType::kFp32, 64 * 512, -9, 9, 1)},
                                                   {RandomValues(DType::kFp32, 512, -9, 9, 2)},
                                                   {std::vector<double>(64 * 512)}});
}

// Rows are reduced whole, columns too, whatever the block.
TEST(Elementwise, BlocksLeaveReducedDimsWhole) {
  for (const int axis : {0, 1}) {
    const std::vector<int64_t> extents = {48, 700};
    PlanMaker maker;
    const uint32_t x = maker.Parameter(DType::kInt32, extents);
    const uint32_t out = maker.Parameter(DType::kInt32, extents);
    LeafMaker leaf = maker.Leaf(extents, extents);
    const std::vector<int64_t> one = axis == 0 ? std::vector<int64_t>{1, 700} : std::vector<int64_t>{48, 1};
    const ValueRef twice = leaf.Op(OpCode::kAdd, {leaf.Access(x), leaf.Access(x)}, leaf.Local(DType::kInt32));
    const ValueRef total = leaf.Reduce(OpCode::kSum, twice, axis, leaf.Local(DType::kInt32, one));
    leaf.Op(OpCode::kSub, {twice, total}, leaf.Access(out));
    CheckAgainstReference(SingleLeaf(&maker, leaf),
                          {{RandomValues(DType::kInt32, 48 * 700, -9, 9, 3)}, {std::vector<double>(48 * 700)}});
  }
}

// Loads and stores that only hand a value on, with readers before and after stores of the same memory.
TEST(Elementwise, CopiesBetweenMemoryAndTileChangeNothing) {
  for (const DType dtype : kFloats) {
    for (const bool early : {false, true}) {
      const std::vector<int64_t> extents = {9, 300};
      PlanMaker maker;
      const uint32_t x = maker.Parameter(dtype, extents);
      const uint32_t out = maker.Parameter(dtype, extents);
      LeafMaker leaf = maker.Leaf(extents, {4, 300});
      const ValueRef value = leaf.Cast(leaf.Access(x), leaf.Local(dtype));
      const ValueRef squared = leaf.Op(OpCode::kMul, {value, value}, leaf.Local(dtype));
      const ValueRef result = leaf.Op(OpCode::kSub, {squared, value}, leaf.Local(dtype));
      if (early) leaf.Op(OpCode::kCopy, {squared}, leaf.Access(x));
      const ValueRef sum = leaf.Op(OpCode::kAdd, {result, value}, leaf.Local(dtype));
      leaf.Cast(sum, leaf.Access(out));
      CheckAgainstReference(SingleLeaf(&maker, leaf),
                            {{RandomValues(dtype, 2700, -9, 9, 1)}, {std::vector<double>(2700)}});
    }
  }
}

// A value that is stored and read on: before the store, behind it, and across a store of other memory or the same one.
// out = x + triangle(full(-5)), as a causal mask is made; the lower or the upper side stays.
TEST(Elementwise, ATriangleOfANumberIsFilledOnce) {
  constexpr int64_t kRows = 70;
  constexpr int64_t kColumns = 300;
  for (const bool upper : {false, true}) {
    for (const int64_t diagonal : {-80, -3, 0, 129, 400}) {
      PlanMaker maker;
      const uint32_t x = maker.Parameter(DType::kFp32, {kRows, kColumns});
      const uint32_t out = maker.Parameter(DType::kFp32, {kRows, kColumns});
      LeafMaker leaf = maker.Leaf({kRows, kColumns}, {32, 128});
      const ValueRef full = leaf.Op(OpCode::kFill, {LeafMaker::Float(-5)}, leaf.Local(DType::kFp32));
      const ValueRef side = leaf.Op(OpCode::kTriangle, {full, LeafMaker::Int(diagonal), LeafMaker::Int(upper ? 1 : 0)},
                                    leaf.Local(DType::kFp32));
      leaf.Op(OpCode::kAdd, {leaf.Access(x), side}, leaf.Access(out));
      const auto image = SingleLeaf(&maker, leaf);
      EXPECT_EQ((*LoadedExecutable::Build(image))->roots()[0].leaves[0].ops.size(), 2U);
      const std::vector<double> values = RandomValues(DType::kFp32, kRows * kColumns, -1, 1, 1);
      std::vector<double> expected;
      for (int64_t i = 0; i < kRows * kColumns; ++i) {
        const int64_t beside = i % kColumns - i / kColumns;
        const float mask = (upper ? beside >= diagonal : beside <= diagonal) ? -5.0F : 0.0F;
        expected.push_back(static_cast<float>(values[static_cast<size_t>(i)]) + mask);
      }
      EXPECT_EQ(RunImage(image, {{values}, {std::vector<double>(values.size())}})[1], expected) << diagonal;
    }
  }
}

// out[i][j] = x[j][i], runs of 64 elements: a tile takes four runs that are neighbours in x, whatever the plan says.
TEST(Elementwise, RunsThatChangePlacesAreTakenByFours) {
  constexpr int64_t kOuter = 48;
  constexpr int64_t kRows = 96;
  constexpr int64_t kRun = 64;
  const auto tile = [](const std::vector<int64_t>& planned, int64_t outer) {
    PlanMaker maker;
    const uint32_t x = maker.Parameter(DType::kBf16, {kRows, outer, kRun});
    const uint32_t out = maker.Parameter(DType::kBf16, {outer, kRows, kRun});
    LeafMaker leaf = maker.Leaf({outer, kRows, kRun}, planned);
    const ValueRef from = leaf.Strided(x, maker.Const(0), {kRun, outer * kRun, 1}, {outer, kRows, kRun}, {});
    leaf.Op(OpCode::kCopy, {from}, leaf.Access(out));
    const auto image = SingleLeaf(&maker, leaf);
    const std::vector<double> values = RandomValues(DType::kBf16, static_cast<size_t>(outer * kRows * kRun), -9, 9, 1);
    const auto got = RunImage(image, {{values}, {std::vector<double>(values.size())}})[1];
    for (int64_t i = 0; i < outer * kRows * kRun; ++i) {
      const int64_t row = i / kRun % kRows;
      const int64_t from_at = (row * outer + i / kRun / kRows) * kRun + i % kRun;
      if (got[static_cast<size_t>(i)] != values[static_cast<size_t>(from_at)]) ADD_FAILURE() << "element " << i;
    }
    const Extents chosen = (*LoadedExecutable::Build(image))->roots()[0].leaves[0].tile;
    return std::vector<int64_t>(chosen.begin(), chosen.begin() + 3);
  };
  EXPECT_EQ(tile({16, 8, kRun}, kOuter), (std::vector<int64_t>{4, 32, kRun}));
  EXPECT_EQ(tile({1, 48, kRun}, kOuter), (std::vector<int64_t>{4, 12, kRun}));
  EXPECT_EQ(tile({3, 8, kRun}, kOuter), (std::vector<int64_t>{4, 6, kRun}));
  EXPECT_EQ(tile({1, 10, kRun}, kOuter), (std::vector<int64_t>{1, 10, kRun}));  // tiles at the edge
  EXPECT_EQ(tile({3, 8, kRun}, 9), (std::vector<int64_t>{3, 8, kRun}));         // no fours
}

TEST(Elementwise, StoredValuesAreReadOn) {
  std::vector<double> values(12000);  // sums of their halves are exact in FP32
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i * 7 % 19) - 9;
  for (const int again : {0, 1, 2}) {
    const std::vector<int64_t> extents = {40, 300};
    PlanMaker maker;
    const uint32_t x = maker.Parameter(DType::kFp32, extents);
    const uint32_t kept = maker.Parameter(DType::kFp32, extents);
    const uint32_t sums = maker.Parameter(DType::kFp32, {40, 1});
    const uint32_t out = maker.Parameter(DType::kFp32, extents);
    LeafMaker leaf = maker.Leaf(extents, {16, 300});
    const auto local = [&leaf] { return leaf.Local(DType::kFp32); };
    const ValueRef value = leaf.Op(OpCode::kMul, {leaf.Access(x), LeafMaker::Float(0.5)}, local());
    const ValueRef before = leaf.Op(OpCode::kAdd, {value, LeafMaker::Float(1)}, local());
    leaf.Cast(value, leaf.Access(kept));
    const ValueRef total = leaf.Reduce(OpCode::kSum, value, 1, leaf.Local(DType::kFp32, {40, 1}));
    leaf.Op(OpCode::kCopy, {total}, leaf.Access(sums));
    if (again == 1) leaf.Op(OpCode::kAdd, {before, LeafMaker::Float(3)}, leaf.Access(kept));
    if (again == 2) leaf.Op(OpCode::kAdd, {before, LeafMaker::Float(3)}, leaf.Access(x));
    const ValueRef both = leaf.Op(OpCode::kMul, {value, before}, local());
    leaf.Op(OpCode::kSub, {both, total}, leaf.Access(out));
    CheckAgainstReference(
        SingleLeaf(&maker, leaf),
        {{values}, {std::vector<double>(12000)}, {std::vector<double>(40)}, {std::vector<double>(12000)}});
  }
}

}  // namespace
}  // namespace pypto::device::testing
