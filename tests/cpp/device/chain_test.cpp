// Chains of element-wise operations: the same bits as one operation after another, whatever the rows, tails and dtypes.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "device/plan_maker.h"
#include "device/reference.h"
#include "pypto/device/executable.h"

namespace pypto::device::testing {
namespace {

// The last ones are there for FP32 only.
constexpr OpCode kUnary[] = {OpCode::kNeg,  OpCode::kExp,   OpCode::kTanh,    OpCode::kErf, OpCode::kAbs,
                             OpCode::kRelu, OpCode::kRsqrt, OpCode::kSigmoid, OpCode::kSin, OpCode::kCos};
constexpr OpCode kBinary[] = {OpCode::kAdd,     OpCode::kSub,     OpCode::kMul, OpCode::kDiv,
                              OpCode::kMaximum, OpCode::kMinimum, OpCode::kPow};

// Random operations over x, y [rows, columns], a row and a column; `gap`: distance of neighbouring elements of x, y and
// the output, above 1 chains do not fit.
std::shared_ptr<const program::Image> RandomChain(DType dtype, uint64_t seed, int64_t rows, int64_t columns,
                                                  int64_t gap) {
  std::mt19937_64 random(seed);
  PlanMaker maker;
  const uint32_t x = maker.Parameter(dtype, {rows, columns * gap});
  const uint32_t y = maker.Parameter(dtype, {rows, columns * gap});
  const uint32_t row = maker.Parameter(dtype, {1, columns});
  const uint32_t column = maker.Parameter(dtype, {rows, 1});
  const uint32_t out = maker.Parameter(dtype, {rows, columns * gap});
  LeafMaker leaf = maker.Leaf({rows, columns}, {std::min<int64_t>(rows, 9), columns});
  const auto spread = [&](uint32_t storage) {
    return leaf.Strided(storage, maker.Const(0), {columns * gap, gap}, {rows, columns}, {});
  };
  constexpr double kNumbers[] = {0.7, 0.5, -4};  // no BF16 value, one, and a product with it is one
  const ValueRef number = LeafMaker::Float(kNumbers[seed % 3]);
  std::vector<ValueRef> values = {spread(x), spread(y), leaf.Access(row), leaf.Access(column), number};
  for (int i = 0; i < 12; ++i) {
    const auto any = [&] { return values[random() % values.size()]; };
    const ValueRef first = values[random() % 2 == 0 ? values.size() - 1 : random() % 2];
    const bool last = i == 11;
    const ValueRef to = last ? spread(out) : leaf.Local(dtype);
    const ValueRef a = first.kind == ValueRef::Kind::kFloat ? values[0] : first;
    if (random() % 5 == 0) {
      const bool compares = dtype != DType::kBf16 && random() % 2 == 0;
      const ValueRef below = compares ? leaf.Op(OpCode::kLt, {a, any()}, leaf.Local(DType::kBool))
                                      : leaf.Op(OpCode::kSignbit, {a}, leaf.Local(DType::kBool));
      const bool between = random() % 2 == 0;
      const ValueRef yes = between ? leaf.Op(OpCode::kNeg, {a}, leaf.Local(dtype)) : any();
      leaf.Op(OpCode::kWhere, {below, yes, random() % 3 == 0 ? yes : any()}, to);
    } else if (random() % 3 == 0) {
      leaf.Op(kUnary[random() % (std::size(kUnary) - (dtype == DType::kFp32 ? 0 : 3))], {a}, to);
    } else {
      const ValueRef b = any();
      const bool swapped = random() % 2 == 0 && b.kind != ValueRef::Kind::kFloat;
      leaf.Op(kBinary[random() % std::size(kBinary)],
              swapped ? std::vector<ValueRef>{b, a} : std::vector<ValueRef>{a, b}, to);
    }
    if (!last) values.push_back(to);
  }
  return SingleLeaf(&maker, leaf);
}

std::vector<double> Spaced(const std::vector<double>& values, int64_t gap) {
  std::vector<double> spaced(values.size() * static_cast<size_t>(gap), 0.0);
  for (size_t i = 0; i < values.size(); ++i) spaced[i * static_cast<size_t>(gap)] = values[i];
  return spaced;
}

// Every `step`-th value, as the bits of doubles; all NaN are one.
std::vector<uint64_t> Dense(const std::vector<double>& values, size_t count, size_t step) {
  std::vector<uint64_t> dense;
  for (size_t i = 0; i < count; ++i) {
    const double value = values[i * step];
    dense.push_back(std::bit_cast<uint64_t>(std::isnan(value) ? std::nan("") : value));
  }
  return dense;
}

// What the output holds.
std::vector<uint64_t> Result(DType dtype, uint64_t seed, int64_t rows, int64_t columns, int64_t gap, uint32_t cores) {
  const auto count = static_cast<size_t>(rows * columns);
  const auto step = static_cast<size_t>(gap);
  Launcher launcher(RandomChain(dtype, seed, rows, columns, gap), cores);
  launcher.Bind({{Spaced(RandomValues(dtype, count, -3, 3, 1), gap)},
                 {Spaced(RandomValues(dtype, count, -3, 3, 2), gap)},
                 {RandomValues(dtype, static_cast<size_t>(columns), -3, 3, 3)},
                 {RandomValues(dtype, static_cast<size_t>(rows), -3, 3, 4)},
                 {std::vector<double>(count * step, 0.0)}});
  return Dense(launcher.Run().values[4], count, step);
}

TEST(Chain, GivesTheBitsOfSingleOperations) {
  for (const DType dtype : {DType::kFp32, DType::kFp16, DType::kBf16}) {
    for (const auto& [rows, columns] :
         std::vector<std::pair<int64_t, int64_t>>{{1, 1}, {20, 16}, {19, 70}, {3, 333}, {40, 128}, {2, 5000}}) {
      for (uint64_t seed = 0; seed < 12; ++seed) {
        const auto chained = Result(dtype, seed, rows, columns, 1, 1);
        ASSERT_EQ(chained, Result(dtype, seed, rows, columns, 2, 1))
            << program::InfoOf(dtype).name << " seed " << seed << ": " << rows << " x " << columns;
        ASSERT_EQ(chained, Result(dtype, seed, rows, columns, 1, 3));
      }
    }
  }
}

// Reductions along rows between element-wise operations that read what they give.
std::shared_ptr<const program::Image> RandomNorms(DType dtype, uint64_t seed, int64_t rows, int64_t columns,
                                                  int64_t gap) {
  std::mt19937_64 random(seed);
  PlanMaker maker;
  const uint32_t x = maker.Parameter(dtype, {rows, columns * gap});
  const uint32_t row = maker.Parameter(dtype, {1, columns});
  const uint32_t out = maker.Parameter(dtype, {rows, columns * gap});
  LeafMaker leaf = maker.Leaf({rows, columns}, {std::min<int64_t>(rows, 9), columns});
  const auto spread = [&](uint32_t storage) {
    return leaf.Strided(storage, maker.Const(0), {columns * gap, gap}, {rows, columns}, {});
  };
  constexpr OpCode kSteps[] = {OpCode::kAdd, OpCode::kSub, OpCode::kMul, OpCode::kMaximum};
  constexpr OpCode kReductions[] = {OpCode::kSum, OpCode::kAmax, OpCode::kAmin};
  const bool floats = program::IsFloat(dtype);
  const DType wide = floats ? DType::kFp32 : dtype;
  std::vector<ValueRef> cells = {spread(x), leaf.Access(row)};
  if (floats && dtype != wide) cells[0] = leaf.Cast(cells[0], leaf.Local(wide), 0, false);
  if (floats && dtype != wide) cells[1] = leaf.Cast(cells[1], leaf.Local(wide, {1, columns}), 0, false);
  std::vector<ValueRef> per_row = {floats ? LeafMaker::Float(0.7) : LeafMaker::Int(3)};
  const auto any = [&](const std::vector<ValueRef>& of) { return of[random() % of.size()]; };
  for (int i = 0; i < 12; ++i) {
    const ValueRef value = cells.size() == 2 || random() % 2 == 0 ? cells[0] : cells.back();
    if (random() % 4 == 0) {
      per_row.push_back(leaf.Reduce(kReductions[random() % 3], value, 1, leaf.Local(wide, {rows, 1})));
    } else {
      const ValueRef other = random() % 2 == 0 ? any(per_row) : any(cells);
      cells.push_back(leaf.Op(kSteps[random() % 4], {value, other}, leaf.Local(wide)));
    }
  }
  const ValueRef result =
      leaf.Op(OpCode::kSub, {cells.back(), per_row.back()}, dtype == wide ? spread(out) : leaf.Local(wide));
  if (dtype != wide) leaf.Cast(result, spread(out), 0, false);
  return SingleLeaf(&maker, leaf);
}

std::vector<uint64_t> NormResult(DType dtype, uint64_t seed, int64_t rows, int64_t columns, int64_t gap,
                                 uint32_t cores) {
  const auto count = static_cast<size_t>(rows * columns);
  Launcher launcher(RandomNorms(dtype, seed, rows, columns, gap), cores);
  launcher.Bind({{Spaced(RandomValues(dtype, count, -2, 2, 1), gap)},
                 {RandomValues(dtype, static_cast<size_t>(columns), -2, 2, 3)},
                 {std::vector<double>(count * static_cast<size_t>(gap), 0.0)}});
  return Dense(launcher.Run().values[2], count, static_cast<size_t>(gap));
}

TEST(Chain, ReducesRowsToTheBitsOfSingleOperations) {
  for (const DType dtype : {DType::kFp32, DType::kFp16, DType::kBf16, DType::kInt32}) {
    for (const auto& [rows, columns] : std::vector<std::pair<int64_t, int64_t>>{
             {1, 1}, {20, 16}, {19, 70}, {3, 333}, {40, 128}, {5, 512}, {4, 1024}, {2, 5000}}) {
      for (uint64_t seed = 0; seed < 12; ++seed) {
        const auto chained = NormResult(dtype, seed, rows, columns, 1, 1);
        ASSERT_EQ(chained, NormResult(dtype, seed, rows, columns, 2, 1))
            << program::InfoOf(dtype).name << " seed " << seed << ": " << rows << " x " << columns;
        ASSERT_EQ(chained, NormResult(dtype, seed, rows, columns, 1, 3));
      }
    }
  }
}

// Plans use a local again once nothing reads what it holds.
TEST(Chain, LocalsHoldOneValueAfterAnother) {
  for (const DType dtype : {DType::kFp32, DType::kBf16}) {
    PlanMaker maker;
    const uint32_t x = maker.Parameter(dtype, {40, 300});
    const uint32_t out = maker.Parameter(dtype, {40, 300});
    LeafMaker leaf = maker.Leaf({40, 300}, {8, 300});
    const ValueRef first = leaf.Local(dtype);
    const ValueRef second = leaf.Local(dtype);
    const ValueRef row = leaf.Local(dtype, {40, 1});
    leaf.Op(OpCode::kMul, {leaf.Access(x), LeafMaker::Float(0.5)}, first);
    leaf.Reduce(OpCode::kAmax, first, 1, row);
    leaf.Op(OpCode::kSub, {first, row}, second);
    leaf.Op(OpCode::kAdd, {second, first}, first);
    leaf.Reduce(OpCode::kAmin, first, 1, row);
    leaf.Op(OpCode::kMaximum, {first, second}, second);
    leaf.Op(OpCode::kMul, {second, row}, first);
    leaf.Op(OpCode::kSub, {first, second}, leaf.Access(out));
    CheckAgainstReference(SingleLeaf(&maker, leaf),
                          {{RandomValues(dtype, 40 * 300, -9, 9, 1)}, {std::vector<double>(40 * 300)}});
  }
}

// A softmax whose sum and result come behind work on single cells: exp is read while it is in registers. `gap`: above 1
// chains do not fit.
std::shared_ptr<const program::Image> LateReaders(DType dtype, int64_t gap) {
  PlanMaker maker;
  const uint32_t x = maker.Parameter(DType::kFp32, {40, 128 * gap});
  const uint32_t before = maker.Parameter(DType::kFp32, {40, 1});
  const uint32_t total = maker.Parameter(DType::kFp32, {40, 1});
  const uint32_t out = maker.Parameter(dtype, {40, 128 * gap});
  LeafMaker leaf = maker.Leaf({40, 128}, {40, 128});
  const auto spread = [&](uint32_t storage) {
    return leaf.Strided(storage, maker.Const(0), {128 * gap, gap}, {40, 128}, {});
  };
  const auto column = [&] { return leaf.Local(DType::kFp32, {40, 1}); };
  const ValueRef cells = spread(x);
  const ValueRef largest = leaf.Reduce(OpCode::kAmax, cells, 1, column());
  const ValueRef shifted = leaf.Op(OpCode::kSub, {cells, largest}, leaf.Local(DType::kFp32));
  const ValueRef share =
      leaf.Op(OpCode::kExp, {shifted}, dtype == DType::kFp32 ? spread(out) : leaf.Local(DType::kFp32));
  const ValueRef scaled = leaf.Op(OpCode::kMul, {leaf.Access(before), largest}, column());
  const ValueRef sum = leaf.Reduce(OpCode::kSum, share, 1, column());
  leaf.Op(OpCode::kAdd, {scaled, sum}, leaf.Access(total));
  if (dtype != DType::kFp32) leaf.Cast(share, spread(out), 0, false);
  return SingleLeaf(&maker, leaf);
}

TEST(Chain, TakesReadersThatComeLater) {
  for (const DType dtype : {DType::kFp32, DType::kBf16}) {
    Launcher chained(LateReaders(dtype, 1));
    const LeafProgram& made = static_cast<const LoadedExecutable&>(chained.executable()).roots()[0].leaves[0];
    const auto exp =
        std::find_if(made.ops.begin(), made.ops.end(), [](const OpProgram& op) { return op.code == OpCode::kExp; });
    ASSERT_LT(exp + 1, made.ops.end());
    EXPECT_EQ((exp + 1)->action, Action::kReduce);
    const auto at = static_cast<uint32_t>(exp - made.ops.begin());
    // A cast stays behind what reads and writes tensors of the caller, which may lie over one another.
    EXPECT_TRUE(std::any_of(made.chains.begin(), made.chains.end(),
                            [at](const ChainProgram& chain) { return chain.first < at && chain.last == at + 2; }));
    std::vector<std::vector<double>> results;
    for (const int64_t gap : {1, 2}) {
      Launcher launcher(LateReaders(dtype, gap));
      launcher.Bind({{Spaced(RandomValues(DType::kFp32, 40 * 128, -3, 3, 1), gap)},
                     {RandomValues(DType::kFp32, 40, -3, 3, 2)},
                     {std::vector<double>(40)},
                     {std::vector<double>(static_cast<size_t>(40 * 128 * gap), 0.0)}});
      const auto values = launcher.Run().values;
      results.push_back(values[2]);
      const auto bits = Dense(values[3], 40 * 128, static_cast<size_t>(gap));
      for (const uint64_t cell : bits) results.back().push_back(std::bit_cast<double>(cell));
    }
    EXPECT_EQ(results[0], results[1]);
  }
}

// What is written in between is seen: an operation does not pass one that touches its memory.
TEST(Chain, ReadersStayBehindWhatTheyWaitFor) {
  PlanMaker maker;
  const uint32_t x = maker.Parameter(DType::kFp32, {40, 128});
  const uint32_t y = maker.Parameter(DType::kFp32, {40, 128});
  const uint32_t out = maker.Parameter(DType::kFp32, {40, 128});
  LeafMaker leaf = maker.Leaf({40, 128}, {40, 128});
  const ValueRef first = leaf.Op(OpCode::kExp, {leaf.Access(x)}, leaf.Local(DType::kFp32));
  const ValueRef largest = leaf.Reduce(OpCode::kAmax, leaf.Access(y), 1, leaf.Local(DType::kFp32, {40, 1}));
  leaf.Op(OpCode::kMul, {leaf.Access(x), largest}, leaf.Access(y));
  leaf.Op(OpCode::kAdd, {first, leaf.Access(y)}, leaf.Access(out));
  CheckAgainstReference(SingleLeaf(&maker, leaf),
                        {{RandomValues(DType::kFp32, 40 * 128, -3, 3, 1)},
                         {RandomValues(DType::kFp32, 40 * 128, -3, 3, 2)},
                         {std::vector<double>(40 * 128)}},
                        {}, 2, 1e-5);
}

// Large operands are asked for ahead; a chain has room for so many only.
TEST(Chain, AsksForNoMoreTensorsThanItHolds) {
  PlanMaker maker;
  constexpr int64_t kParts = 70;
  const uint32_t x = maker.Parameter(DType::kFp32, {64 * kParts, 64});
  const uint32_t out = maker.Parameter(DType::kFp32, {64, 64});
  LeafMaker leaf = maker.Leaf({64, 64}, {8, 64});
  ValueRef sum = leaf.Window(x, {maker.Const(0), maker.Const(0)});
  for (int64_t part = 1; part < kParts; ++part) {
    const ValueRef to = part + 1 < kParts ? leaf.Local(DType::kFp32) : leaf.Access(out);
    sum = leaf.Op(OpCode::kAdd, {sum, leaf.Window(x, {maker.Const(64 * part), maker.Const(0)})}, to);
  }
  CheckAgainstReference(SingleLeaf(&maker, leaf),
                        {{RandomValues(DType::kFp32, 64 * 64 * kParts, -9, 9, 1)}, {std::vector<double>(64 * 64)}});
}

TEST(Chain, RowsWithoutCellsReduceToWhatIsNeutral) {
  for (const DType dtype : {DType::kFp32, DType::kBf16, DType::kInt32}) {
    for (const int64_t rows : {1, 3}) {
      PlanMaker maker;
      const uint32_t x = maker.Parameter(dtype, {rows, 40});
      const uint32_t sums = maker.Parameter(dtype, {rows, 1});
      const uint32_t largest = maker.Parameter(dtype, {rows, 1});
      const uint32_t valid = maker.IntScalar();
      LeafMaker leaf = maker.Leaf({rows, 40}, {rows, 40});
      const ValueRef all = leaf.Access(x);
      leaf.SetValid(all, 1, maker.exprs().Scalar(valid));
      const ValueRef sum = leaf.Reduce(OpCode::kSum, all, 1, leaf.Local(dtype, {rows, 1}));
      const ValueRef most = leaf.Reduce(OpCode::kAmax, all, 1, leaf.Local(dtype, {rows, 1}));
      leaf.Op(OpCode::kAdd, {sum, LeafMaker::Int(0)}, leaf.Access(sums));
      leaf.Op(OpCode::kAdd, {most, LeafMaker::Int(0)}, leaf.Access(largest));
      const auto image = SingleLeaf(&maker, leaf);
      for (const int64_t cells : {0, 1, 40}) {
        Launcher launcher(image);
        const std::vector<double> column(static_cast<size_t>(rows));
        launcher.Bind(
            {{RandomValues(dtype, static_cast<size_t>(rows * 40), -9, 9, 1)}, {column}, {column}, {{}, cells, 0}});
        const LaunchResult result = launcher.Run();
        ASSERT_EQ(result.outcome.acl_code, 0) << result.outcome.message;
        for (int64_t row = 0; row < rows; ++row) {
          double total = 0;
          double best = dtype == DType::kInt32 ? -2147483648.0 : -std::numeric_limits<double>::infinity();
          for (int64_t i = 0; i < cells; ++i) {
            const double value = result.values[0][static_cast<size_t>(row * 40 + i)];
            total += value;
            best = std::max(best, value);
          }
          const double got = result.values[2][static_cast<size_t>(row)];
          EXPECT_NEAR(result.values[1][static_cast<size_t>(row)], total, 0.5 + std::abs(total) / 100);
          EXPECT_TRUE(got == best || (cells == 0 && got < -1e38)) << got;
        }
      }
    }
  }
}

TEST(Chain, ConvertsBetweenDtypes) {
  constexpr DType kAll[] = {DType::kFp32, DType::kFp16, DType::kBf16, DType::kInt32, DType::kInt8, DType::kBool};
  for (const DType from : kAll) {
    for (const DType to : kAll) {
      for (const bool saturate : {false, true}) {
        if (saturate && program::IsFloat(to)) continue;
        for (const int64_t columns : {1, 64, 77, 600}) {
          PlanMaker maker;
          const uint32_t x = maker.Parameter(from, {5, columns});
          const uint32_t out = maker.Parameter(to, {5, columns});
          LeafMaker leaf = maker.Leaf({5, columns}, {5, columns});
          leaf.Cast(leaf.Access(x), leaf.Access(out), 0, saturate);
          const auto count = static_cast<size_t>(5 * columns);
          const bool flags = from == DType::kBool;
          CheckAgainstReference(
              SingleLeaf(&maker, leaf),
              {{RandomValues(from, count, flags ? 0 : -200, flags ? 1 : 300, count)}, {std::vector<double>(count)}});
        }
      }
    }
  }
}

TEST(Chain, HoldsWhatOneCellComputesForAll) {
  for (const DType dtype : {DType::kFp32, DType::kBf16}) {
    PlanMaker maker;
    const uint32_t x = maker.Parameter(dtype, {64, 300});
    const uint32_t out = maker.Parameter(dtype, {64, 300});
    LeafMaker leaf = maker.Leaf({64, 300}, {8, 300});
    const ValueRef most = leaf.Reduce(OpCode::kAmax, leaf.Access(x), 1, leaf.Local(dtype, {64, 1}));
    const ValueRef less = leaf.Op(OpCode::kSub, {leaf.Access(x), most}, leaf.Local(dtype));
    const ValueRef scale = leaf.Op(OpCode::kMul, {most, LeafMaker::Float(0.25)}, leaf.Local(dtype, {64, 1}));
    const ValueRef bias = leaf.Op(OpCode::kAdd, {scale, LeafMaker::Float(1)}, leaf.Local(dtype, {64, 1}));
    leaf.Op(OpCode::kMul, {less, bias}, leaf.Access(out));
    CheckAgainstReference(SingleLeaf(&maker, leaf),
                          {{RandomValues(dtype, 64 * 300, -9, 9, 1)}, {std::vector<double>(64 * 300)}});
  }
}

// Results beyond the caches go past them.
TEST(Chain, StreamsLargeResults) {
  PlanMaker maker;
  constexpr int64_t kRows = 512;
  constexpr int64_t kColumns = 8192;
  constexpr auto kCount = static_cast<size_t>(kRows * kColumns);
  const uint32_t x = maker.Parameter(DType::kInt8, {kRows, kColumns});
  const uint32_t out = maker.Parameter(DType::kFp32, {kRows, kColumns});
  LeafMaker leaf = maker.Leaf({kRows, kColumns}, {64, 512});
  const ValueRef wide = leaf.Cast(leaf.Access(x), leaf.Local(DType::kFp32));
  leaf.Op(OpCode::kMul, {wide, LeafMaker::Float(0.5)}, leaf.Access(out));
  std::vector<double> values(kCount);
  for (size_t i = 0; i < kCount; ++i) values[i] = static_cast<double>(i % 251) - 125;
  const auto results = RunImage(SingleLeaf(&maker, leaf), {{values}, {std::vector<double>(kCount)}});
  for (size_t i = 0; i < kCount; ++i) ASSERT_EQ(results[1][i], values[i] / 2) << i;
}

}  // namespace
}  // namespace pypto::device::testing
