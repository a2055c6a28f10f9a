// Folding of quotients, remainders, minima, comparisons, logic and selections while they are made.
#include <algorithm>

#include "pypto/program/expr_linear.h"

namespace pypto::program {

// Works on one pool during one call of Make. Thread rule: that of the pool.
class ExprFolder {
 public:
  explicit ExprFolder(ExprPool& pool) : pool_(pool) {}
  ExprId Div(ExprId a, ExprId b);
  ExprId Mod(ExprId a, ExprId b);
  ExprId MinMax(ExprOp op, ExprId a, ExprId b);
  ExprId Equal(ExprOp op, ExprId a, ExprId b);
  ExprId Less(ExprOp op, ExprId a, ExprId b);
  ExprId Logic(ExprOp op, ExprId a, ExprId b);
  ExprId Not(ExprId a);
  ExprId Select(ExprId condition, ExprId yes, ExprId no);

 private:
  // a = divisor * quotient + rest, with 0 <= constant of rest < divisor.
  struct Split {
    LinearForm quotient;
    LinearForm rest;
  };
  Split SplitBy(ExprId a, int64_t divisor) const;
  // Range of a - b.
  std::pair<int64_t, int64_t> Difference(ExprId a, ExprId b) const;
  bool Within(ExprId id, int64_t low, int64_t high) const {
    return pool_.ranges_[id].first >= low && pool_.ranges_[id].second <= high;
  }
  ExprId Truth(ExprId a);
  ExprId Bool(bool value) { return pool_.Const(value ? 1 : 0); }
  const ExprNode& node(ExprId id) const { return pool_.nodes_[id]; }
  bool HasChild(ExprOp op, ExprId parent, ExprId child) const {
    return node(parent).op == op && (node(parent).a == child || node(parent).b == child);
  }
  ExprPool& pool_;
};

std::pair<int64_t, int64_t> ExprFolder::Difference(ExprId a, ExprId b) const {
  LinearForm form = pool_.LinearOf(a);
  if (!form.AddScaled(pool_.LinearOf(b), -1)) return {INT64_MIN, INT64_MAX};
  return pool_.RangeOf(form);
}

ExprFolder::Split ExprFolder::SplitBy(ExprId a, int64_t divisor) const {
  const LinearForm form = pool_.LinearOf(a);
  Split split;
  const int64_t remainder = ((form.constant % divisor) + divisor) % divisor;
  split.rest.constant = remainder;
  const auto whole = __int128{form.constant} - remainder;
  split.quotient.constant = static_cast<int64_t>(whole / divisor);
  for (const auto& term : form.terms) {
    if (term.second % divisor == 0) {
      split.quotient.terms.emplace_back(term.first, term.second / divisor);
    } else {
      split.rest.terms.push_back(term);
    }
  }
  return split;
}

ExprId ExprFolder::Div(ExprId a, ExprId b) {
  const auto divisor = pool_.ConstantValue(b);
  const auto dividend = pool_.ConstantValue(a);
  const bool divides = pool_.ranges_[b].first > 0 || pool_.ranges_[b].second < 0;
  if (divisor == 1) return a;
  if (dividend && divisor && !(*dividend == INT64_MIN && *divisor == -1)) return pool_.Const(*dividend / *divisor);
  if (dividend == 0 && divides) return a;
  if (a == b && divides) return pool_.Const(1);
  if (divisor && *divisor > 1 && *divisor <= INT64_MAX / 2) {
    const ExprNode inner = node(a);
    if (inner.op == ExprOp::kDiv) {
      const auto inner_divisor = pool_.ConstantValue(inner.b);
      int64_t product = 0;
      if (inner_divisor && *inner_divisor > 0 && !__builtin_mul_overflow(*inner_divisor, *divisor, &product)) {
        return Div(inner.a, pool_.Const(product));
      }
    }
    const Split split = SplitBy(a, *divisor);
    if (split.rest.is_constant() && split.rest.constant == 0) return pool_.FromLinear(split.quotient);
    const bool moves = !split.quotient.is_constant() || split.quotient.constant != 0;
    if (moves && pool_.ranges_[a].first >= 0 && pool_.RangeOf(split.rest).first >= 0) {
      return pool_.Add(pool_.FromLinear(split.quotient), Div(pool_.FromLinear(split.rest), b));
    }
    if (Within(a, 1 - *divisor, *divisor - 1)) return pool_.Const(0);
  }
  return pool_.Intern({ExprOp::kDiv, a, b, 0, 0});
}

ExprId ExprFolder::Mod(ExprId a, ExprId b) {
  const auto divisor = pool_.ConstantValue(b);
  const auto dividend = pool_.ConstantValue(a);
  const bool divides = pool_.ranges_[b].first > 0 || pool_.ranges_[b].second < 0;
  if (divisor == 1 || divisor == -1) return pool_.Const(0);
  if (dividend && divisor) return pool_.Const(*dividend % *divisor);
  if ((dividend == 0 || a == b) && divides) return pool_.Const(0);
  if (divisor && *divisor > 1 && *divisor <= INT64_MAX / 2) {
    if (Within(a, 1 - *divisor, *divisor - 1)) return a;
    const Split split = SplitBy(a, *divisor);
    if (split.rest.is_constant() && split.rest.constant == 0) return pool_.Const(0);
    const bool moves = !split.quotient.is_constant() || split.quotient.constant != 0;
    if (moves && pool_.ranges_[a].first >= 0 && pool_.RangeOf(split.rest).first >= 0) {
      return Mod(pool_.FromLinear(split.rest), b);
    }
  }
  return pool_.Intern({ExprOp::kMod, a, b, 0, 0});
}

ExprId ExprFolder::MinMax(ExprOp op, ExprId a, ExprId b) {
  const bool is_min = op == ExprOp::kMin;
  const ExprOp other = is_min ? ExprOp::kMax : ExprOp::kMin;
  if (a == b) return a;
  const auto [low, high] = Difference(a, b);
  if (high <= 0) return is_min ? a : b;
  if (low >= 0) return is_min ? b : a;
  if (HasChild(op, a, b)) return a;
  if (HasChild(op, b, a)) return b;
  if (HasChild(other, a, b)) return b;
  if (HasChild(other, b, a)) return a;
  // A constant stands second, and one constant takes in another.
  if (pool_.ConstantValue(a) || (!pool_.ConstantValue(b) && b < a)) std::swap(a, b);
  const ExprNode inner = node(a);
  if (inner.op == op && pool_.ConstantValue(b) && pool_.ConstantValue(inner.b)) {
    return MinMax(op, inner.a, MinMax(op, inner.b, b));
  }
  return pool_.Intern({op, a, b, 0, 0});
}

ExprId ExprFolder::Equal(ExprOp op, ExprId a, ExprId b) {
  const bool equal = op == ExprOp::kEq;
  if (a == b) return Bool(equal);
  const auto [low, high] = Difference(a, b);
  if (low == 0 && high == 0) return Bool(equal);
  if (low > 0 || high < 0) return Bool(!equal);
  if (pool_.ConstantValue(a) || (!pool_.ConstantValue(b) && b < a)) std::swap(a, b);
  return pool_.Intern({op, a, b, 0, 0});
}

ExprId ExprFolder::Less(ExprOp op, ExprId a, ExprId b) {
  const int64_t limit = op == ExprOp::kLt ? -1 : 0;  // true where a - b is at most this
  const auto [low, high] = Difference(a, b);
  if (high <= limit) return Bool(true);
  if (low > limit) return Bool(false);
  return pool_.Intern({op, a, b, 0, 0});
}

// a as 0 or 1.
ExprId ExprFolder::Truth(ExprId a) { return Within(a, 0, 1) ? a : Equal(ExprOp::kNe, a, pool_.Const(0)); }

ExprId ExprFolder::Logic(ExprOp op, ExprId a, ExprId b) {
  const bool is_and = op == ExprOp::kAnd;
  for (const auto& [constant, rest] : {std::pair{a, b}, std::pair{b, a}}) {
    const auto [low, high] = pool_.ranges_[constant];
    if (low == 0 && high == 0) return is_and ? Bool(false) : Truth(rest);
    if (low > 0 || high < 0) {
      if (!is_and) return Bool(true);
      if (Within(rest, 0, 1)) return rest;
      if (const auto value = pool_.ConstantValue(rest)) return Bool(*value != 0);
    }
  }
  if (a == b) return Truth(a);
  return pool_.Intern({op, a, b, 0, 0});
}

ExprId ExprFolder::Not(ExprId a) {
  const ExprNode inner = node(a);
  const auto value = pool_.ConstantValue(a);
  if (value) return Bool(*value == 0);
  switch (inner.op) {
    case ExprOp::kNot: return Truth(inner.a);
    case ExprOp::kEq: return Equal(ExprOp::kNe, inner.a, inner.b);
    case ExprOp::kNe: return Equal(ExprOp::kEq, inner.a, inner.b);
    case ExprOp::kLt: return Less(ExprOp::kLe, inner.b, inner.a);
    case ExprOp::kLe: return Less(ExprOp::kLt, inner.b, inner.a);
    default: break;
  }
  const auto [low, high] = pool_.ranges_[a];
  if (low > 0 || high < 0) return Bool(false);
  return pool_.Intern({ExprOp::kNot, a, 0, 0, 0});
}

ExprId ExprFolder::Select(ExprId condition, ExprId yes, ExprId no) {
  if (yes == no) return yes;
  const auto value = pool_.ConstantValue(condition);
  if (value) return *value != 0 ? yes : no;
  const auto [low, high] = pool_.ranges_[condition];
  if (low > 0 || high < 0) return yes;
  return pool_.Intern({ExprOp::kSelect, condition, yes, no, 0});
}

base::Result<ExprId> ExprPool::Make(ExprOp op, ExprId a, ExprId b, ExprId c) {
  const int count = ChildCount(op);
  if (count < 1 || a >= size() || (count > 1 && b >= size()) || (count > 2 && c >= size())) {
    return base::MakeStatus(base::StatusCode::kInvalidArgument, "expression of kind %u with operands %u, %u, %u",
                            static_cast<unsigned>(op), a, b, c);
  }
  ExprFolder fold(*this);
  switch (op) {
    case ExprOp::kAdd: return Add(a, b);
    case ExprOp::kMul: return Mul(a, b);
    case ExprOp::kDiv:
    case ExprOp::kMod:
      if (IsConstant(b, 0)) {
        return base::Status(base::StatusCode::kInvalidArgument, "symbolic scalar: division by zero");
      }
      return op == ExprOp::kDiv ? fold.Div(a, b) : fold.Mod(a, b);
    case ExprOp::kMin:
    case ExprOp::kMax: return fold.MinMax(op, a, b);
    case ExprOp::kEq:
    case ExprOp::kNe: return fold.Equal(op, a, b);
    case ExprOp::kLt:
    case ExprOp::kLe: return fold.Less(op, a, b);
    case ExprOp::kAnd:
    case ExprOp::kOr: return fold.Logic(op, a, b);
    case ExprOp::kNot: return fold.Not(a);
    case ExprOp::kSelect: return fold.Select(a, b, c);
    default: return Intern({op, a, count > 1 ? b : 0, 0, 0});
  }
}

ExprId ExprPool::Min(ExprId a, ExprId b) { return ExprFolder(*this).MinMax(ExprOp::kMin, a, b); }
ExprId ExprPool::Max(ExprId a, ExprId b) { return ExprFolder(*this).MinMax(ExprOp::kMax, a, b); }

ExprId ExprPool::CeilDiv(ExprId a, int64_t divisor) {
  return ExprFolder(*this).Div(Add(a, Const(divisor - 1)), Const(divisor));
}

ExprId ExprPool::AlignUp(ExprId a, int64_t alignment) { return Mul(CeilDiv(a, alignment), Const(alignment)); }

ExprId ExprPool::Clamp(ExprId value, ExprId limit) { return Min(Max(value, Const(0)), limit); }

}  // namespace pypto::program
