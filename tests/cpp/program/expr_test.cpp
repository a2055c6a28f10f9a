// Expressions: canonical forms, folding, ranges, evaluation and text.
#include "pypto/program/expr.h"

#include <gtest/gtest.h>

#include <random>

namespace pypto::program {
namespace {

std::string Text(const ExprPool& pool, ExprId id) {
  return pool.ToText(id, [](const ExprNode& leaf) {
    const char* names[] = {"", "xyz", "stu", "ijk"};
    return std::string(1, names[static_cast<int>(leaf.op)][leaf.a]);
  });
}

TEST(ExprPoolTest, EqualExpressionsShareOneId) {
  ExprPool pool;
  const ExprId x = pool.Symbol(0);
  const ExprId y = pool.Symbol(1);
  EXPECT_EQ(pool.Add(x, y), pool.Add(y, x));
  EXPECT_EQ(pool.Mul(x, y), pool.Mul(y, x));
  EXPECT_EQ(pool.Min(x, y), pool.Min(y, x));
  EXPECT_NE(pool.Symbol(0), pool.Scalar(0));
  const size_t before = pool.size();
  EXPECT_EQ(pool.Add(x, y), pool.Add(x, y));
  EXPECT_EQ(pool.size(), before);
}

TEST(ExprPoolTest, SumsOfProductsWithConstantsAreCanonical) {
  ExprPool pool;
  const ExprId i = pool.LoopIndex(0);
  const ExprId n = pool.Symbol(0);
  const ExprId step = pool.Const(32);
  const ExprId next = pool.Mul(pool.Add(i, pool.Const(1)), step);
  EXPECT_TRUE(pool.IsConstant(pool.Sub(next, pool.Mul(i, step)), 32));
  // Strides of dynamic dims: (i + 1) * n - i * n.
  EXPECT_EQ(pool.Sub(pool.Mul(pool.Add(i, pool.Const(1)), n), pool.Mul(n, i)), n);
  EXPECT_TRUE(pool.IsConstant(pool.Sub(n, n), 0));
  EXPECT_EQ(pool.Neg(pool.Neg(n)), n);
}

TEST(ExprPoolTest, OverflowingCoefficientsStayUnsimplified) {
  ExprPool pool;
  const ExprId x = pool.Symbol(0);
  const ExprId huge = pool.Mul(x, pool.Const(INT64_MAX));
  const ExprId sum = pool.Add(huge, huge);
  const std::array<int64_t, 1> nothing = {0};
  const ExprEnvironment zero{nothing, {}, {}};
  EXPECT_EQ(*Evaluate(pool, sum, zero), 0);
  const ExprId product = pool.Mul(huge, pool.Const(4));
  EXPECT_EQ(*Evaluate(pool, product, zero), 0);
  const ExprId far = pool.Add(pool.Const(INT64_MAX), pool.Const(1));
  EXPECT_FALSE(pool.ConstantValue(far).has_value());
  EXPECT_EQ(Evaluate(pool, far, zero).status().code(), base::StatusCode::kInvalidArgument);
  const std::array<int64_t, 1> one = {1};
  EXPECT_FALSE(Evaluate(pool, sum, {one, {}, {}}).ok());
}

TEST(ExprPoolTest, FoldsWhereRangesProve) {
  ExprPool pool;
  const ExprId n = pool.Symbol(0);
  const ExprId zero = pool.Const(0);
  EXPECT_EQ(pool.Max(n, zero), n);
  EXPECT_EQ(pool.Min(pool.Add(n, pool.Const(5)), pool.Const(5)), pool.Const(5));
  EXPECT_EQ(pool.Min(pool.Min(n, pool.Const(7)), pool.Const(9)), pool.Min(n, pool.Const(7)));
  EXPECT_EQ(pool.Min(pool.Min(n, pool.Const(7)), pool.Const(5)), pool.Min(n, pool.Const(5)));
  const ExprId clamped = pool.Clamp(pool.Sub(n, pool.Const(3)), pool.Const(8));
  EXPECT_EQ(pool.Clamp(clamped, pool.Const(8)), clamped);
  EXPECT_EQ(pool.Range(clamped), (std::pair<int64_t, int64_t>{0, 8}));
  EXPECT_TRUE(pool.IsConstant(*pool.Make(ExprOp::kLt, n, zero), 0));
  EXPECT_TRUE(pool.IsConstant(*pool.Make(ExprOp::kLe, n, pool.Add(n, pool.Const(1))), 1));
  EXPECT_TRUE(pool.IsConstant(*pool.Make(ExprOp::kEq, n, n), 1));
  EXPECT_EQ(*pool.Make(ExprOp::kSelect, pool.Const(3), n, zero), n);
}

TEST(ExprPoolTest, QuotientsOfMultiplesAreExact) {
  ExprPool pool;
  const ExprId n = pool.Symbol(0);
  const ExprId c = pool.Const(32);
  EXPECT_EQ(*pool.Make(ExprOp::kDiv, pool.Mul(n, c), c), n);
  EXPECT_EQ(*pool.Make(ExprOp::kDiv, pool.Add(pool.Mul(n, c), pool.Const(31)), c), n);
  EXPECT_EQ(pool.CeilDiv(pool.Mul(n, c), 32), n);
  EXPECT_EQ(pool.AlignUp(pool.Mul(n, c), 32), pool.Mul(n, c));
  EXPECT_TRUE(pool.IsConstant(*pool.Make(ExprOp::kMod, pool.Mul(n, c), c), 0));
  EXPECT_TRUE(pool.IsConstant(*pool.Make(ExprOp::kMod, pool.Add(pool.Mul(n, c), pool.Const(40)), c), 8));
  const ExprId quarter = *pool.Make(ExprOp::kDiv, n, pool.Const(4));
  EXPECT_EQ(*pool.Make(ExprOp::kDiv, quarter, pool.Const(8)), *pool.Make(ExprOp::kDiv, n, c));
  const auto refused = pool.Make(ExprOp::kDiv, n, pool.Const(0));
  EXPECT_EQ(refused.status().code(), base::StatusCode::kInvalidArgument);
  EXPECT_FALSE(pool.Make(ExprOp::kMod, n, pool.Const(0)).ok());
  EXPECT_FALSE(pool.Make(ExprOp::kMin, n, kNoExpr).ok());
  EXPECT_FALSE(pool.Make(static_cast<ExprOp>(99), n, n).ok());
}

TEST(ExprPoolTest, LoopBoundsNarrowWhatIsValid) {
  ExprPool pool;
  const ExprId n = pool.Symbol(0);
  pool.SetLoopBounds(0, pool.Const(0), pool.Sub(n, pool.Const(1)));
  const ExprId i = pool.LoopIndex(0);
  // Rows i of n: always one row.
  EXPECT_TRUE(pool.IsConstant(pool.Clamp(pool.Sub(n, i), pool.Const(1)), 1));
  // Blocks of 8 out of n / 8 whole ones: never a tail.
  const ExprId blocks = *pool.Make(ExprOp::kDiv, n, pool.Const(8));
  pool.SetLoopBounds(1, pool.Const(0), pool.Sub(blocks, pool.Const(1)));
  const ExprId b = pool.LoopIndex(1);
  EXPECT_TRUE(pool.IsConstant(pool.Clamp(pool.Sub(n, pool.Mul(b, pool.Const(8))), pool.Const(8)), 8));
  // Blocks of 8 from a loop that rounds up may have one.
  pool.SetLoopBounds(2, pool.Const(0), pool.Sub(pool.CeilDiv(n, 8), pool.Const(1)));
  const ExprId c = pool.LoopIndex(2);
  const ExprId tail = pool.Sub(n, pool.Mul(c, pool.Const(8)));
  EXPECT_EQ(pool.Range(tail).first, 1);
  EXPECT_EQ(pool.Clamp(tail, pool.Const(8)), pool.Min(tail, pool.Const(8)));
}

TEST(ExprPoolTest, TextForms) {
  ExprPool pool;
  const ExprId x = pool.Symbol(0);
  const ExprId y = pool.Scalar(1);
  EXPECT_EQ(Text(pool, pool.Add(x, pool.Const(8))), "(x+8)");
  EXPECT_EQ(Text(pool, pool.Sub(pool.Const(8), x)), "(8-x)");
  EXPECT_EQ(Text(pool, pool.Sub(x, pool.Mul(y, pool.Const(3)))), "(x-(t*3))");
  EXPECT_EQ(Text(pool, pool.Min(x, pool.Const(5))), "RUNTIME_Min(x, 5)");
  EXPECT_EQ(Text(pool, *pool.Make(ExprOp::kAnd, y, pool.Const(20))), "(t&&20)");
  EXPECT_EQ(Text(pool, *pool.Make(ExprOp::kDiv, x, pool.Const(3))), "(x/3)");
  EXPECT_EQ(Text(pool, *pool.Make(ExprOp::kNot, y)), "(!t)");
  EXPECT_EQ(Text(pool, *pool.Make(ExprOp::kSelect, y, x, pool.Const(2))), "(t?x:2)");
  EXPECT_EQ(pool.ToText(x, nullptr), "symbol0");
  EXPECT_EQ(Text(pool, kNoExpr), "none");
  // Shared parts are written out, but not without end.
  ExprId deep = x;
  for (int i = 0; i < 200; ++i) deep = *pool.Make(ExprOp::kMod, *pool.Make(ExprOp::kDiv, deep, y), deep);
  EXPECT_LT(Text(pool, deep).size(), 8192u);
}

TEST(ExprPoolTest, FromNodesChecksOrderAndKinds) {
  const auto bad_child = ExprPool::FromNodes({{ExprOp::kNot, 0, 0, 0, 0}});
  EXPECT_EQ(bad_child.status().code(), base::StatusCode::kProgramFormat);
  const auto bad_kind = ExprPool::FromNodes({{static_cast<ExprOp>(18), 0, 0, 0, 0}});
  EXPECT_EQ(bad_kind.status().code(), base::StatusCode::kProgramFormat);
  ExprPool pool;
  const ExprId sum = pool.Add(pool.Symbol(0), pool.Const(4));
  auto copy = ExprPool::FromNodes({pool.nodes().begin(), pool.nodes().end()});
  ASSERT_TRUE(copy.ok());
  EXPECT_EQ(copy->Add(copy->Symbol(0), copy->Const(4)), sum);
  EXPECT_EQ(copy->Range(sum).first, 4);
}

TEST(ExprEvaluateTest, FaultsAndMissingValues) {
  ExprPool pool;
  const ExprId x = pool.Symbol(0);
  const ExprId y = pool.Scalar(0);
  const ExprId quotient = *pool.Make(ExprOp::kDiv, x, y);
  const std::array<int64_t, 1> seven = {7};
  const std::array<int64_t, 1> zero = {0};
  const std::array<int64_t, 1> minus = {-2};
  EXPECT_EQ(*Evaluate(pool, quotient, {seven, minus, {}}), -3);
  EXPECT_EQ(*Evaluate(pool, *pool.Make(ExprOp::kMod, y, pool.Const(5)), {seven, minus, {}}), -2);
  EXPECT_NE(Evaluate(pool, quotient, {seven, zero, {}}).status().message().find("division by zero"), std::string::npos);
  EXPECT_EQ(Evaluate(pool, quotient, {seven, {}, {}}).status().code(), base::StatusCode::kOutOfRange);
  EXPECT_EQ(Evaluate(pool, 1000, {seven, {}, {}}).status().code(), base::StatusCode::kOutOfRange);
  const std::array<int64_t, 1> least = {INT64_MIN};
  const std::array<int64_t, 1> minus_one = {-1};
  EXPECT_FALSE(Evaluate(pool, quotient, {least, minus_one, {}}).ok());
  EXPECT_EQ(*Evaluate(pool, *pool.Make(ExprOp::kMod, x, y), {least, minus_one, {}}), 0);
}

// A random expression, built both in the pool and as a tree that is evaluated as written.
struct Naive {
  ExprOp op;
  int64_t value = 0;
  std::vector<Naive> children;
};

struct Values {
  std::array<int64_t, 3> symbols;
  std::array<int64_t, 3> scalars;
  std::array<int64_t, 2> loops;
};

std::optional<int64_t> Compute(const Naive& tree, const Values& values) {
  std::array<int64_t, 3> v{};
  for (size_t i = 0; i < tree.children.size(); ++i) {
    const auto child = Compute(tree.children[i], values);
    if (!child) return std::nullopt;
    v[i] = *child;
  }
  int64_t out = 0;
  switch (tree.op) {
    case ExprOp::kConst: return tree.value;
    case ExprOp::kSymbol: return values.symbols[static_cast<size_t>(tree.value)];
    case ExprOp::kScalar: return values.scalars[static_cast<size_t>(tree.value)];
    case ExprOp::kLoopIndex: return values.loops[static_cast<size_t>(tree.value)];
    case ExprOp::kAdd: return __builtin_add_overflow(v[0], v[1], &out) ? std::nullopt : std::optional(out);
    case ExprOp::kMul: return __builtin_mul_overflow(v[0], v[1], &out) ? std::nullopt : std::optional(out);
    case ExprOp::kDiv:
      return v[1] == 0 || (v[0] == INT64_MIN && v[1] == -1) ? std::nullopt : std::optional(v[0] / v[1]);
    case ExprOp::kMod: return v[1] == 0 ? std::nullopt : std::optional(v[1] == -1 ? 0 : v[0] % v[1]);
    case ExprOp::kMin: return std::min(v[0], v[1]);
    case ExprOp::kMax: return std::max(v[0], v[1]);
    case ExprOp::kEq: return v[0] == v[1];
    case ExprOp::kNe: return v[0] != v[1];
    case ExprOp::kLt: return v[0] < v[1];
    case ExprOp::kLe: return v[0] <= v[1];
    case ExprOp::kAnd: return v[0] && v[1];
    case ExprOp::kOr: return v[0] || v[1];
    case ExprOp::kNot: return !v[0];
    case ExprOp::kSelect: return v[0] ? v[1] : v[2];
    default: return std::nullopt;
  }
}

class RandomExpr {
 public:
  explicit RandomExpr(uint64_t seed) : engine_(seed) {
    pool.SetLoopBounds(0, pool.Const(0), pool.Sub(pool.Symbol(0), pool.Const(1)));
    pool.SetLoopBounds(1, pool.Const(-3), pool.Const(9));
  }

  std::pair<ExprId, Naive> Make(int depth) {
    if (depth == 0 || Pick(8) == 0) return Leaf();
    const auto op = static_cast<ExprOp>(static_cast<int>(ExprOp::kAdd) + Pick(14));
    const int count = op == ExprOp::kNot ? 1 : op == ExprOp::kSelect ? 3 : 2;
    Naive tree{op, 0, {}};
    std::array<ExprId, 3> ids{kNoExpr, kNoExpr, kNoExpr};
    for (int i = 0; i < count; ++i) {
      auto [id, child] = Make(depth - 1);
      ids[static_cast<size_t>(i)] = id;
      tree.children.push_back(std::move(child));
    }
    auto made = pool.Make(op, ids[0], ids[1], ids[2]);
    if (!made.ok()) return Leaf();  // a divisor that is known to be zero
    return {*made, std::move(tree)};
  }

  // Values that keep what the pool was told: dims are not negative, loop indices lie in their bounds.
  Values Draw() {
    Values values{};
    for (auto& v : values.symbols) v = Pick(40) == 0 ? Pick(1 << 30) : Pick(70);
    const int64_t far[] = {INT64_MAX, INT64_MIN, INT64_MAX - 1, int64_t{1} << 40, -(int64_t{1} << 62)};
    for (auto& v : values.scalars) v = Pick(30) == 0 ? far[Pick(5)] : Pick(60) - 30;
    if (Pick(50) == 0) values.symbols[1] = INT64_MAX;
    values.symbols[0] += 1;
    values.loops[0] = Pick(static_cast<int>(std::min<int64_t>(values.symbols[0], 1 << 20)));
    values.loops[1] = Pick(13) - 3;
    return values;
  }

  ExprPool pool;

 private:
  int Pick(int count) { return static_cast<int>(engine_() % static_cast<uint64_t>(count)); }
  std::pair<ExprId, Naive> Leaf() {
    switch (Pick(5)) {
      case 0: {
        const int index = Pick(3);
        return {pool.Symbol(static_cast<uint32_t>(index)), {ExprOp::kSymbol, index, {}}};
      }
      case 1: {
        const int index = Pick(3);
        return {pool.Scalar(static_cast<uint32_t>(index)), {ExprOp::kScalar, index, {}}};
      }
      case 2: {
        const int index = Pick(2);
        return {pool.LoopIndex(static_cast<uint32_t>(index)), {ExprOp::kLoopIndex, index, {}}};
      }
      default: {
        const int64_t sample[] = {0, 1, -1, 2, 3, 4, 8, 32, -8, 5, 7, 31};
        const int64_t value = sample[Pick(12)];
        return {pool.Const(value), {ExprOp::kConst, value, {}}};
      }
    }
  }
  std::mt19937_64 engine_;
};

TEST(ExprPropertyTest, SimplifiedEqualsNaiveAndLiesInRange) {
  int compared = 0;
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    RandomExpr random(seed);
    const auto [id, tree] = random.Make(1 + static_cast<int>(seed % 6));
    for (int draw = 0; draw < 12; ++draw) {
      const Values values = random.Draw();
      const auto expected = Compute(tree, values);
      if (!expected) continue;
      const auto got = Evaluate(random.pool, id, {values.symbols, values.scalars, values.loops});
      // Multiplied out, an intermediate may leave 64 bits; that is a fault, never a wrong value.
      if (!got.ok()) continue;
      ++compared;
      ASSERT_EQ(*got, *expected) << "seed " << seed << ": " << random.pool.ToText(id, nullptr);
      const auto [low, high] = random.pool.Range(id);
      ASSERT_LE(low, *got) << "seed " << seed << ": " << random.pool.ToText(id, nullptr);
      ASSERT_GE(high, *got) << "seed " << seed << ": " << random.pool.ToText(id, nullptr);
    }
  }
  EXPECT_GT(compared, 30000);
}

// Quotients and remainders of sums by constants, where multiples of the divisor move out of them.
TEST(ExprPropertyTest, QuotientsOfSumsTruncate) {
  std::mt19937_64 random(11);
  const auto pick = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1));
  };
  for (int round = 0; round < 8000; ++round) {
    ExprPool pool;
    const int64_t divisor = pick(2, 9);
    const int64_t of_scalar = divisor * pick(-1, 1) * pick(0, 1) + (pick(0, 3) == 0 ? pick(-2, 2) : 0);
    const int64_t of_symbol = pick(0, 1) * (divisor * pick(-1, 2) + pick(-1, 2));
    const int64_t constant = pick(-40, 40);
    ExprId sum = pool.Add(pool.Mul(pool.Scalar(0), pool.Const(of_scalar)), pool.Const(constant));
    sum = pool.Add(sum, pool.Mul(pool.Symbol(0), pool.Const(of_symbol)));
    // Of known range, so that sums with negative factors are known not to be negative.
    const int64_t limit = pick(1, 10);
    const int64_t of_limited = pick(-2, 2);
    sum = pool.Add(sum, pool.Mul(pool.Min(pool.Symbol(1), pool.Const(limit)), pool.Const(of_limited)));
    const ExprId quotient = *pool.Make(ExprOp::kDiv, sum, pool.Const(divisor));
    const ExprId remainder = *pool.Make(ExprOp::kMod, sum, pool.Const(divisor));
    for (int draw = 0; draw < 10; ++draw) {
      const std::array<int64_t, 1> scalar = {pick(-20, 20)};
      const std::array<int64_t, 2> symbol = {pick(0, 20), pick(0, 12)};
      const int64_t value =
          of_scalar * scalar[0] + of_symbol * symbol[0] + constant + of_limited * std::min(symbol[1], limit);
      ASSERT_EQ(*Evaluate(pool, quotient, {symbol, scalar, {}}), value / divisor) << pool.ToText(quotient, nullptr);
      ASSERT_EQ(*Evaluate(pool, remainder, {symbol, scalar, {}}), value % divisor) << pool.ToText(remainder, nullptr);
    }
  }
}

// The smaller and the larger of two sums, and their order, decided by ranges or not.
TEST(ExprPropertyTest, ComparisonsOfSumsHold) {
  std::mt19937_64 random(12);
  const auto pick = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1));
  };
  int folded = 0;
  for (int round = 0; round < 3000; ++round) {
    ExprPool pool;
    const std::array<int64_t, 4> c = {pick(-1, 2), pick(-3, 3), pick(-1, 2), pick(-3, 3)};
    const ExprId n = pool.Symbol(0);
    const ExprId a = pool.Add(pool.Mul(n, pool.Const(c[0])), pool.Const(c[1]));
    const ExprId b = pool.Add(pool.Mul(n, pool.Const(c[2])), pool.Const(c[3]));
    const ExprId least = pool.Min(a, b);
    const ExprId most = pool.Max(a, b);
    const ExprId less = *pool.Make(ExprOp::kLt, a, b);
    const ExprId equal = *pool.Make(ExprOp::kEq, a, b);
    folded += pool.ConstantValue(less).has_value() ? 1 : 0;
    for (int64_t value = 0; value < 8; ++value) {
      const std::array<int64_t, 1> symbol = {value};
      const ExprEnvironment environment{symbol, {}, {}};
      const int64_t x = c[0] * value + c[1];
      const int64_t y = c[2] * value + c[3];
      ASSERT_EQ(*Evaluate(pool, least, environment), std::min(x, y)) << pool.ToText(least, nullptr);
      ASSERT_EQ(*Evaluate(pool, most, environment), std::max(x, y)) << pool.ToText(most, nullptr);
      ASSERT_EQ(*Evaluate(pool, less, environment), x < y) << pool.ToText(less, nullptr);
      ASSERT_EQ(*Evaluate(pool, equal, environment), x == y) << pool.ToText(equal, nullptr);
    }
  }
  EXPECT_GT(folded, 500);
}

TEST(ExprPropertyTest, CopiesFromNodesAgree) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    RandomExpr random(seed);
    const ExprId id = random.Make(5).first;
    const auto nodes = random.pool.nodes();
    auto copy = ExprPool::FromNodes({nodes.begin(), nodes.end()});
    ASSERT_TRUE(copy.ok());
    ASSERT_TRUE(std::equal(nodes.begin(), nodes.end(), copy->nodes().begin(), copy->nodes().end()));
    const Values values = random.Draw();
    const ExprEnvironment environment{values.symbols, values.scalars, values.loops};
    const auto a = Evaluate(random.pool, id, environment);
    const auto b = Evaluate(*copy, id, environment);
    ASSERT_EQ(a.ok(), b.ok());
    if (a.ok()) {
      ASSERT_EQ(*a, *b);
    }
  }
}

TEST(CloseUnderChildrenTest, AscendingAndComplete) {
  ExprPool pool;
  const ExprId x = pool.Symbol(0);
  pool.Symbol(1);
  const ExprId sum = pool.Add(x, pool.Const(4));
  const ExprId roots[] = {sum, x};
  EXPECT_EQ(CloseUnderChildren(pool.nodes(), roots), (std::vector<ExprId>{x, pool.Const(4), sum}));
}

}  // namespace
}  // namespace pypto::program
