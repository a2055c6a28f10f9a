// Interval analysis: what an expression can be proven to lie in.
#include <algorithm>

#include "pypto/program/expr_linear.h"

namespace pypto::program {
namespace {

using Interval = std::pair<int64_t, int64_t>;
constexpr Interval kWide = {INT64_MIN, INT64_MAX};
// Bounds of loop indices and quotients that are put in for one analysis.
constexpr int kMaxSubstitutions = 8;

__int128 Wide(int64_t value) { return value; }

Interval MulInterval(Interval a, Interval b) {
  const __int128 corners[] = {Wide(a.first) * b.first, Wide(a.first) * b.second, Wide(a.second) * b.first,
                              Wide(a.second) * b.second};
  return {Saturate(*std::min_element(std::begin(corners), std::end(corners))),
          Saturate(*std::max_element(std::begin(corners), std::end(corners)))};
}

Interval DivInterval(Interval a, Interval b) {
  if (b.first >= 1) {
    return {a.first < 0 ? a.first / b.first : a.first / b.second,
            a.second < 0 ? a.second / b.second : a.second / b.first};
  }
  if (a == kWide || a.first == INT64_MIN) return kWide;
  const int64_t magnitude = std::max(a.second, -a.first);
  return {-magnitude, magnitude};
}

Interval ModInterval(Interval a, Interval b) {
  // |a % b| < |b| and |a % b| <= |a|, with the sign of a.
  const __int128 divisor =
      std::max(b.second < 0 ? -Wide(b.second) : Wide(b.second), b.first < 0 ? -Wide(b.first) : Wide(b.first));
  const __int128 limit = std::max<__int128>(divisor - 1, 0);
  return {a.first >= 0 ? 0 : Saturate(std::max(-limit, Wide(a.first))),
          a.second <= 0 ? 0 : Saturate(std::min(limit, Wide(a.second)))};
}

}  // namespace

Interval ExprPool::PlainRange(const LinearForm& form) const {
  // An open end stays open: it stands for any value, not for the number it is written as. A closed one is cut to
  // kNear, so that no sum of them reaches kFar.
  constexpr __int128 kFar = __int128{1} << 120;
  constexpr __int128 kNear = __int128{1} << 100;
  __int128 low = form.constant;
  __int128 high = form.constant;
  for (const auto& [atom, coefficient] : form.terms) {
    const auto [atom_low, atom_high] = ranges_[atom];
    const int64_t least = coefficient > 0 ? atom_low : atom_high;
    const int64_t most = coefficient > 0 ? atom_high : atom_low;
    const bool open_below = least == (coefficient > 0 ? INT64_MIN : INT64_MAX);
    const bool open_above = most == (coefficient > 0 ? INT64_MAX : INT64_MIN);
    low += open_below ? -kFar : std::clamp(Wide(coefficient) * least, -kFar, kNear);
    high += open_above ? kFar : std::clamp(Wide(coefficient) * most, -kNear, kFar);
    low = std::max(low, -kFar);
    high = std::min(high, kFar);
  }
  return {Saturate(low), Saturate(high)};
}

// Puts a bound in place of one loop index, or of one quotient a / c by c * (a / c) in [a - (c - 1), a]. Nothing when
// the form holds neither.
std::optional<LinearForm> ExprPool::Substitute(const LinearForm& form, bool lower) const {
  for (auto it = form.terms.rbegin(); it != form.terms.rend(); ++it) {
    const auto [atom, coefficient] = *it;
    const ExprNode& node = nodes_[atom];
    LinearForm rest = form;
    rest.terms.erase(rest.terms.begin() + (form.terms.rend() - it) - 1);
    const bool low_end = (coefficient > 0) == lower;
    if (node.op == ExprOp::kLoopIndex) {
      const auto bounds = loop_bounds_.find(node.a);
      if (bounds == loop_bounds_.end()) continue;
      const ExprId bound = low_end ? bounds->second.first : bounds->second.second;
      if (bound < atom && rest.AddScaled(LinearOf(bound), coefficient)) return rest;
    } else if (node.op == ExprOp::kDiv && nodes_[node.b].op == ExprOp::kConst) {
      const int64_t divisor = nodes_[node.b].value;
      if (divisor <= 0 || ranges_[node.a].first < 0 || coefficient % divisor != 0) continue;
      const int64_t times = coefficient / divisor;
      LinearForm bound = LinearOf(node.a);
      if (low_end && !bound.AddScaled({divisor - 1, {}}, -1)) continue;
      if (rest.AddScaled(bound, times)) return rest;
    }
  }
  return std::nullopt;
}

Interval ExprPool::RangeOf(const LinearForm& form) const {
  Interval range = PlainRange(form);
  for (const bool lower : {true, false}) {
    std::optional<LinearForm> current = Substitute(form, lower);
    for (int i = 0; current && i < kMaxSubstitutions; ++i) {
      const Interval other = PlainRange(*current);
      if (lower) range.first = std::max(range.first, other.first);
      if (!lower) range.second = std::min(range.second, other.second);
      current = Substitute(*current, lower);
    }
  }
  return range;
}

Interval ExprPool::RangeOfNode(const ExprNode& node, ExprId id) const {
  const auto range = [&](ExprId child) { return ranges_[child]; };
  switch (node.op) {
    case ExprOp::kConst: return {node.value, node.value};
    case ExprOp::kSymbol: return {0, INT64_MAX};
    case ExprOp::kSlot: {
      const auto bounds = slot_bounds_.find(node.a);
      return bounds == slot_bounds_.end() ? kWide : bounds->second;
    }
    case ExprOp::kScalar: return kWide;
    case ExprOp::kLoopIndex: {
      const auto bounds = loop_bounds_.find(node.a);
      if (bounds == loop_bounds_.end()) return kWide;
      const int64_t low = range(bounds->second.first).first;
      return {low, std::max(low, range(bounds->second.second).second)};
    }
    case ExprOp::kAdd: {
      const Interval sum = PlainRange(LinearForm{0, {{node.a, 1}, {node.b, 1}}});
      const Interval tight = RangeOf(LinearOf(id));
      return {std::max(sum.first, tight.first), std::min(sum.second, tight.second)};
    }
    case ExprOp::kMul: return MulInterval(range(node.a), range(node.b));
    case ExprOp::kDiv: return DivInterval(range(node.a), range(node.b));
    case ExprOp::kMod: return ModInterval(range(node.a), range(node.b));
    case ExprOp::kMin: {
      return {std::min(range(node.a).first, range(node.b).first), std::min(range(node.a).second, range(node.b).second)};
    }
    case ExprOp::kMax: {
      return {std::max(range(node.a).first, range(node.b).first), std::max(range(node.a).second, range(node.b).second)};
    }
    case ExprOp::kSelect: {
      return {std::min(range(node.b).first, range(node.c).first), std::max(range(node.b).second, range(node.c).second)};
    }
    default: return GivesFloat(node.op) ? kWide : Interval{0, 1};
  }
}

}  // namespace pypto::program
