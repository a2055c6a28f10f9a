// Reductions over any axis, and what is normalised with them.
#include <gtest/gtest.h>

#include <cmath>

#include "device/plan_maker.h"
#include "device/reference.h"

namespace pypto::device::testing {
namespace {

struct Case {
  std::vector<int64_t> extents;
  std::vector<int64_t> tile;  // the axis gets its whole extent
};
const std::vector<Case> kCases = {
    {{1}, {1}},
    {{5}, {5}},
    {{513}, {513}},
    {{5000}, {5000}},
    {{1, 1}, {1, 1}},
    {{7, 130}, {3, 64}},
    {{130, 7}, {50, 3}},
    {{64, 1}, {64, 1}},
    {{1, 64}, {1, 64}},
    {{3, 40, 33}, {2, 16, 20}},
    {{4, 3, 2, 70}, {2, 2, 1, 33}},
};

// Roundings that a sum of n terms of size at most `size` may add up to, in the order of the engine.
double SumError(size_t n, double size) { return std::ldexp(static_cast<double>(n) * size * 40, -24); }

void CheckReduce(OpCode code, DType dtype, const Case& c, size_t axis, bool from_local) {
  PlanMaker maker;
  Dims reduced = c.extents;
  reduced[axis] = 1;
  std::vector<int64_t> tile = c.tile;
  tile[axis] = c.extents[axis];
  size_t count = 1;
  for (const int64_t extent : c.extents) count *= static_cast<size_t>(extent);
  const uint32_t x = maker.Parameter(dtype, c.extents);
  const uint32_t out = maker.Parameter(dtype, reduced);
  LeafMaker leaf = maker.Leaf(c.extents, tile);
  ValueRef input = leaf.Access(x);
  if (from_local) input = leaf.Op(OpCode::kNeg, {input}, leaf.Local(dtype));
  leaf.Reduce(code, input, static_cast<int>(axis), leaf.Access(out));
  const bool sum = code == OpCode::kSum;
  const double error = sum && program::IsFloat(dtype) ? SumError(static_cast<size_t>(c.extents[axis]), 9) : 0;
  const size_t results = count / static_cast<size_t>(c.extents[axis]);
  CheckAgainstReference(SingleLeaf(&maker, leaf),
                        {{RandomValues(dtype, count, -9, 9, axis + 1)}, {std::vector<double>(results)}}, {},
                        sum ? 1 : 0, error);
}

TEST(Reduction, EveryAxisDtypeAndOperation) {
  for (const DType dtype : {DType::kFp32, DType::kBf16, DType::kInt32, DType::kFp16}) {
    for (const OpCode code : {OpCode::kSum, OpCode::kAmax, OpCode::kAmin}) {
      if (code == OpCode::kSum && dtype == DType::kFp16) continue;
      for (const Case& c : kCases) {
        for (size_t axis = 0; axis < c.extents.size(); ++axis) {
          CheckReduce(code, dtype, c, axis, false);
          CheckReduce(code, dtype, c, axis, true);
        }
      }
    }
  }
}

TEST(Reduction, LongSumsStayAccurate) {
  for (const size_t axis : {size_t{0}, size_t{1}}) {
    PlanMaker maker;
    const Dims dims = axis == 0 ? Dims{100000, 3} : Dims{3, 100000};
    const uint32_t x = maker.Parameter(DType::kFp32, dims);
    const uint32_t out = maker.Parameter(DType::kFp32, axis == 0 ? Dims{1, 3} : Dims{3, 1});
    LeafMaker leaf = maker.Leaf(dims, dims);
    leaf.Reduce(OpCode::kSum, leaf.Access(x), static_cast<int>(axis), leaf.Access(out));
    // All terms have one sign: the error is relative to the result.
    CheckAgainstReference(SingleLeaf(&maker, leaf),
                          {{RandomValues(DType::kFp32, 300000, 0.5, 1.5, 5)}, {std::vector<double>(3)}}, {}, 40);
  }
}

TEST(Reduction, OnlyValidCellsCount) {
  for (const DType dtype : {DType::kFp32, DType::kBf16, DType::kInt32}) {
    for (const OpCode code : {OpCode::kSum, OpCode::kAmax, OpCode::kAmin}) {
      for (const int64_t valid : {0, 1, 5, 40}) {
        for (const int axis : {0, 1}) {
          PlanMaker maker;
          const uint32_t x = maker.Parameter(dtype, {40, 40});
          const uint32_t out = maker.Parameter(dtype, axis == 0 ? Dims{1, 40} : Dims{40, 1});
          const uint32_t scalar = maker.IntScalar();
          LeafMaker leaf = maker.Leaf({40, 40}, {40, 40});
          const ValueRef in = leaf.Access(x);
          leaf.SetValid(in, axis, maker.exprs().Scalar(scalar));
          leaf.Reduce(code, in, axis, leaf.Access(out));
          CheckAgainstReference(SingleLeaf(&maker, leaf),
                                {{RandomValues(dtype, 1600, 1, 9, 6)}, {std::vector<double>(40)}, {{}, valid, 0}}, {},
                                4);
        }
      }
    }
  }
}

TEST(Reduction, NanPropagatesAndInfinitiesAreOrdered) {
  const double nan = std::nan("");
  for (const OpCode code : {OpCode::kAmax, OpCode::kAmin, OpCode::kSum}) {
    for (size_t place = 0; place < 40; ++place) {
      PlanMaker maker;
      const uint32_t x = maker.Parameter(DType::kFp32, {3, 40});
      const uint32_t rows = maker.Parameter(DType::kFp32, {3, 1});
      const uint32_t columns = maker.Parameter(DType::kFp32, {1, 40});
      LeafMaker leaf = maker.Leaf({3, 40}, {3, 40});
      leaf.Reduce(code, leaf.Access(x), 1, leaf.Access(rows));
      leaf.Reduce(code, leaf.Access(x), 0, leaf.Access(columns));
      std::vector<double> values = RandomValues(DType::kFp32, 120, -3, 3, 7);
      values[40 + place] = nan;
      const auto got =
          RunImage(SingleLeaf(&maker, leaf), {{values}, {std::vector<double>(3)}, {std::vector<double>(40)}});
      EXPECT_TRUE(std::isnan(got[1][1]));
      EXPECT_FALSE(std::isnan(got[1][0]));
      for (size_t i = 0; i < 40; ++i) EXPECT_EQ(std::isnan(got[2][i]), i == place);
    }
  }
  PlanMaker maker;
  const uint32_t x = maker.Parameter(DType::kFp16, {1, 3});
  const uint32_t out = maker.Parameter(DType::kFp16, {1, 1});
  LeafMaker leaf = maker.Leaf({1, 3}, {1, 3});
  leaf.Reduce(OpCode::kAmax, leaf.Access(x), 1, leaf.Access(out));
  EXPECT_EQ(RunImage(SingleLeaf(&maker, leaf), {{{-HUGE_VAL, -HUGE_VAL, -HUGE_VAL}}, {{0}}})[1][0], -HUGE_VAL);
}

TEST(Reduction, IntegerSumsWrap) {
  PlanMaker maker;
  const uint32_t x = maker.Parameter(DType::kInt32, {1, 3});
  const uint32_t out = maker.Parameter(DType::kInt32, {1, 1});
  LeafMaker leaf = maker.Leaf({1, 3}, {1, 3});
  leaf.Reduce(OpCode::kSum, leaf.Access(x), 1, leaf.Access(out));
  EXPECT_EQ(RunImage(SingleLeaf(&maker, leaf), {{{2147483647, 2, 5}}, {{0}}})[1][0], -2147483642);
}

// softmax along the last dim, in one leaf.
TEST(Reduction, SoftmaxInOneLeaf) {
  for (const int64_t columns : {1, 7, 64, 1000}) {
    PlanMaker maker;
    const uint32_t x = maker.Parameter(DType::kFp32, {37, columns});
    const uint32_t out = maker.Parameter(DType::kFp32, {37, columns});
    LeafMaker leaf = maker.Leaf({37, columns}, {8, columns});
    const ValueRef in = leaf.Access(x);
    const ValueRef top = leaf.Reduce(OpCode::kAmax, in, 1, leaf.Local(DType::kFp32, {37, 1}));
    const ValueRef power =
        leaf.Op(OpCode::kExp, {leaf.Op(OpCode::kSub, {in, top}, leaf.Local(DType::kFp32))}, leaf.Local(DType::kFp32));
    const ValueRef sum = leaf.Reduce(OpCode::kSum, power, 1, leaf.Local(DType::kFp32, {37, 1}));
    leaf.Op(OpCode::kDiv, {power, sum}, leaf.Access(out));
    const auto count = static_cast<size_t>(37 * columns);
    CheckAgainstReference(SingleLeaf(&maker, leaf),
                          {{RandomValues(DType::kFp32, count, -20, 20, 8)}, {std::vector<double>(count)}}, {}, 20);
  }
}

}  // namespace
}  // namespace pypto::device::testing
