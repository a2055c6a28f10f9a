// Casts, copies and fills.
#include <gtest/gtest.h>

#include <cmath>

#include "device/plan_maker.h"
#include "device/reference.h"

namespace pypto::device::testing {
namespace {

const std::vector<DType> kAll = {DType::kFp32, DType::kFp16, DType::kBf16, DType::kInt32, DType::kInt8, DType::kBool};

std::vector<double> CastValues(DType from, DType to, const std::vector<double>& input, int mode = 0,
                               bool saturate = false) {
  PlanMaker maker;
  const auto count = static_cast<int64_t>(input.size());
  const uint32_t x = maker.Parameter(from, {count});
  const uint32_t out = maker.Parameter(to, {count});
  LeafMaker leaf = maker.Leaf({count}, {count});
  leaf.Cast(leaf.Access(x), leaf.Access(out), mode, saturate);
  return RunImage(SingleLeaf(&maker, leaf), {{input}, {std::vector<double>(input.size())}})[1];
}

TEST(Cast, EveryPairOfDtypesAndEveryMode) {
  for (const DType from : kAll) {
    for (const DType to : kAll) {
      for (int mode = 0; mode <= 6; ++mode) {
        for (const bool saturate : {false, true}) {
          PlanMaker maker;
          const uint32_t x = maker.Parameter(from, {5, 131});
          const uint32_t out = maker.Parameter(to, {5, 131});
          LeafMaker leaf = maker.Leaf({5, 131}, {2, 131});
          leaf.Cast(leaf.Access(x), leaf.Access(out), mode, saturate);
          CheckAgainstReference(
              SingleLeaf(&maker, leaf),
              {{RandomValues(from, 655, from == DType::kBool ? 0 : -300, 300, 1)}, {std::vector<double>(655)}});
        }
      }
    }
  }
}

TEST(Cast, ThroughLocalsAndFromTransposedViews) {
  for (const DType from : kAll) {
    for (const DType to : kAll) {
      PlanMaker maker;
      const uint32_t x = maker.Parameter(from, {20, 9});
      const uint32_t out = maker.Parameter(to, {9, 20});
      LeafMaker leaf = maker.Leaf({9, 20}, {4, 7});
      const ValueRef copied =
          leaf.Op(OpCode::kCopy, {leaf.Strided(x, maker.Const(0), {1, 9}, {9, 20}, {})}, leaf.Local(from));
      const ValueRef cast = leaf.Cast(copied, leaf.Local(to));
      leaf.Op(OpCode::kCopy, {cast}, leaf.Access(out));
      CheckAgainstReference(
          SingleLeaf(&maker, leaf),
          {{RandomValues(from, 180, from == DType::kBool ? 0 : -200, 200, 2)}, {std::vector<double>(180)}});
    }
  }
}

TEST(Cast, HalvesToIntegers) {
  const std::vector<double> x = {0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.49999997, 2.7, -2.7};
  EXPECT_EQ(CastValues(DType::kFp32, DType::kInt32, x), (std::vector<double>{0, 1, 2, 0, -1, -2, 0, 2, -2}));
  EXPECT_EQ(CastValues(DType::kFp32, DType::kInt32, x, 1), (std::vector<double>{0, 2, 2, 0, -2, -2, 0, 3, -3}));
  EXPECT_EQ(CastValues(DType::kFp32, DType::kInt32, x, 2), (std::vector<double>{1, 2, 3, -1, -2, -3, 0, 3, -3}));
  EXPECT_EQ(CastValues(DType::kFp32, DType::kInt32, x, 3), (std::vector<double>{0, 1, 2, -1, -2, -3, 0, 2, -3}));
  EXPECT_EQ(CastValues(DType::kFp32, DType::kInt32, x, 4), (std::vector<double>{1, 2, 3, 0, -1, -2, 1, 3, -2}));
}

TEST(Cast, OutOfRangeWrapsOrSaturates) {
  const std::vector<double> x = {2147483648.0, -2147483904.0, 4294967296.0 + 512, 1e20,      -1e20,
                                 300,          -129,          HUGE_VAL,           -HUGE_VAL, std::nan("")};
  EXPECT_EQ(
      CastValues(DType::kFp32, DType::kInt32, x),
      (std::vector<double>{-2147483648.0, 2147483392.0, 512, 1661992960.0 - 1661992960.0, 0, 300, -129, 0, 0, 0}));
  EXPECT_EQ(CastValues(DType::kFp32, DType::kInt32, x, 0, true),
            (std::vector<double>{2147483647.0, -2147483648.0, 2147483647.0, 2147483647.0, -2147483648.0, 300, -129,
                                 2147483647.0, -2147483648.0, 0}));
  EXPECT_EQ(CastValues(DType::kFp32, DType::kInt8, x, 0, true),
            (std::vector<double>{127, -128, 127, 127, -128, 127, -128, 127, -128, 0}));
  EXPECT_EQ(CastValues(DType::kFp32, DType::kInt8, {300, -129, 127.9, 128})[0], 44);
  EXPECT_EQ(CastValues(DType::kInt32, DType::kInt8, {300, -129, 127, 128}), (std::vector<double>{44, 127, 127, -128}));
  EXPECT_EQ(CastValues(DType::kInt32, DType::kInt8, {300, -129, 127, 128}, 0, true),
            (std::vector<double>{127, -128, 127, 127}));
}

TEST(Cast, ToBoolIsNotZero) {
  EXPECT_EQ(CastValues(DType::kFp32, DType::kBool, {0, -0.0, 0.25, -3, std::nan(""), HUGE_VAL}),
            (std::vector<double>{0, 0, 1, 1, 1, 1}));
  EXPECT_EQ(CastValues(DType::kInt32, DType::kBool, {0, 256, -1}), (std::vector<double>{0, 1, 1}));
  EXPECT_EQ(CastValues(DType::kBool, DType::kFp16, {0, 1}), (std::vector<double>{0, 1}));
}

TEST(Cast, NarrowFloatsKeepSpecialValues) {
  for (const DType to : {DType::kFp16, DType::kBf16}) {
    const std::vector<double> x = {HUGE_VAL, -HUGE_VAL, 65520, 65519, 5.9604645e-8, 2.9802322e-8, 1e-40, -0.0, 3.4e38};
    const std::vector<double> got = CastValues(DType::kFp32, to, x);
    for (size_t i = 0; i < x.size(); ++i) {
      EXPECT_EQ(got[i], RoundTo(to, RoundTo(DType::kFp32, x[i]))) << x[i];
    }
    EXPECT_TRUE(std::isnan(CastValues(DType::kFp32, to, {std::nan("")})[0]));
  }
}

TEST(Cast, HalvesSaturateToTheirLargestValue) {
  const std::vector<double> x = {HUGE_VAL, -HUGE_VAL, 65520, -65536, 65519, 3.4e38, -0.0, 1.5};
  for (int mode = 0; mode <= 6; ++mode) {
    EXPECT_EQ(CastValues(DType::kFp32, DType::kFp16, x, mode, true),
              (std::vector<double>{65504, -65504, 65504, -65504, 65504, 65504, 0, 1.5}));
    EXPECT_EQ(CastValues(DType::kFp32, DType::kBf16, {HUGE_VAL, -HUGE_VAL}, mode, true),
              (std::vector<double>{0x1.fep127, -0x1.fep127}));
    EXPECT_EQ(CastValues(DType::kBf16, DType::kBf16, {HUGE_VAL}, mode, true)[0], HUGE_VAL);
  }
  EXPECT_TRUE(std::isnan(CastValues(DType::kFp32, DType::kFp16, {std::nan("")}, 0, true)[0]));
  EXPECT_EQ(CastValues(DType::kInt32, DType::kFp16, {70000, -70000, 7}, 0, true),
            (std::vector<double>{65504, -65504, 7}));
}

TEST(Cast, EveryFp16SurvivesTheRoundTrip) {
  std::vector<double> all;
  for (int exponent = 0; exponent < 31; ++exponent) {
    for (int significand = 0; significand < 1024; ++significand) {
      const double value = exponent == 0 ? std::ldexp(significand, -24) : std::ldexp(1024 + significand, exponent - 25);
      all.push_back(value);
      all.push_back(-value);
    }
  }
  EXPECT_EQ(CastValues(DType::kFp32, DType::kFp16, CastValues(DType::kFp16, DType::kFp32, all)), all);
}

TEST(Fill, EveryDtypeFromNumbersAndExpressions) {
  for (const DType dtype : kAll) {
    PlanMaker maker;
    const uint32_t a = maker.Parameter(dtype, {6, 50});
    const uint32_t b = maker.Parameter(dtype, {6, 50});
    const uint32_t scalar = maker.IntScalar();
    LeafMaker leaf = maker.Leaf({6, 50}, {4, 32});
    leaf.Op(OpCode::kFill, {program::IsFloat(dtype) ? LeafMaker::Float(0.3) : LeafMaker::Int(3)}, leaf.Access(a));
    const ValueRef local = leaf.Op(OpCode::kFill, {LeafMaker::Expr(maker.exprs().Scalar(scalar))}, leaf.Local(dtype));
    leaf.Op(OpCode::kCopy, {local}, leaf.Access(b));
    CheckAgainstReference(SingleLeaf(&maker, leaf),
                          {{std::vector<double>(300)}, {std::vector<double>(300)}, {{}, 77, 0}});
  }
}

TEST(Copy, TransposesWithoutConversion) {
  for (const DType dtype : kAll) {
    PlanMaker maker;
    const uint32_t x = maker.Parameter(dtype, {3, 40, 50});
    const uint32_t out = maker.Parameter(dtype, {50, 3, 40});
    LeafMaker leaf = maker.Leaf({50, 3, 40}, {16, 3, 16});
    leaf.Op(OpCode::kPermute, {leaf.Strided(x, maker.Const(0), {1, 2000, 50}, {50, 3, 40}, {})}, leaf.Access(out));
    CheckAgainstReference(SingleLeaf(&maker, leaf), {{RandomValues(dtype, 6000, 0, dtype == DType::kBool ? 2 : 100, 3)},
                                                     {std::vector<double>(6000)}});
  }
}

}  // namespace
}  // namespace pypto::device::testing
