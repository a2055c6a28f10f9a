// Canonical sums: linear forms in and out of the pool, addition and multiplication.
#include "pypto/program/expr_linear.h"

#include <algorithm>

#include "pypto/base/checked.h"

namespace pypto::program {
namespace {

using base::CheckedAdd;
using base::CheckedMul;

// More nodes than this below one sum, and the sum counts as an atom.
constexpr int kMaxSumNodes = 256;
// Products of two sums are multiplied out up to this many terms.
constexpr size_t kMaxExpandedTerms = 16;
// Factors of one product that are kept in canonical order.
constexpr size_t kMaxFactors = 16;

size_t TermCount(const LinearForm& form) { return form.terms.size() + (form.constant != 0 ? 1 : 0); }

}  // namespace

int64_t Saturate(__int128 value) {
  if (value > INT64_MAX) return INT64_MAX;
  if (value < INT64_MIN) return INT64_MIN;
  return static_cast<int64_t>(value);
}

bool LinearForm::Normalise() {
  std::sort(terms.begin(), terms.end());
  size_t kept = 0;
  for (size_t i = 0; i < terms.size();) {
    auto [atom, coefficient] = terms[i];
    for (++i; i < terms.size() && terms[i].first == atom; ++i) {
      const auto sum = CheckedAdd(coefficient, terms[i].second);
      if (!sum) return false;
      coefficient = *sum;
    }
    if (coefficient != 0) terms[kept++] = {atom, coefficient};
  }
  terms.resize(kept);
  return true;
}

bool LinearForm::AddScaled(const LinearForm& other, int64_t scale) {
  const auto scaled = CheckedMul(other.constant, scale);
  if (!scaled) return false;
  const auto sum = CheckedAdd(constant, *scaled);
  if (!sum) return false;
  constant = *sum;
  for (const auto& [atom, coefficient] : other.terms) {
    const auto product = CheckedMul(coefficient, scale);
    if (!product) return false;
    terms.emplace_back(atom, *product);
  }
  return Normalise();
}

LinearForm ExprPool::LinearOf(ExprId id) const {
  LinearForm form;
  std::vector<std::pair<ExprId, int64_t>> work = {{id, 1}};
  for (int steps = 0; !work.empty(); ++steps) {
    if (steps > kMaxSumNodes) return LinearForm::Atom(id);
    const auto [current, scale] = work.back();
    work.pop_back();
    const ExprNode& node = nodes_[current];
    if (node.op == ExprOp::kConst) {
      const auto product = CheckedMul(node.value, scale);
      const auto sum = product ? CheckedAdd(form.constant, *product) : product;
      if (!sum) return LinearForm::Atom(id);
      form.constant = *sum;
      continue;
    }
    if (node.op == ExprOp::kAdd) {
      work.emplace_back(node.a, scale);
      work.emplace_back(node.b, scale);
      continue;
    }
    if (node.op == ExprOp::kMul) {
      const bool left = nodes_[node.a].op == ExprOp::kConst;
      const ExprId factor = left ? node.a : node.b;
      if (nodes_[factor].op == ExprOp::kConst) {
        const auto product = CheckedMul(nodes_[factor].value, scale);
        if (!product) return LinearForm::Atom(id);
        work.emplace_back(left ? node.b : node.a, *product);
        continue;
      }
    }
    form.terms.emplace_back(current, scale);
  }
  return form.Normalise() ? form : LinearForm::Atom(id);
}

ExprId ExprPool::FromLinear(const LinearForm& form) {
  ExprId sum = kNoExpr;
  for (const auto& [atom, coefficient] : form.terms) {
    const ExprId term = coefficient == 1 ? atom : Intern({ExprOp::kMul, atom, Const(coefficient), 0, 0});
    sum = sum == kNoExpr ? term : Intern({ExprOp::kAdd, sum, term, 0, 0});
  }
  if (sum == kNoExpr) return Const(form.constant);
  return form.constant == 0 ? sum : Intern({ExprOp::kAdd, sum, Const(form.constant), 0, 0});
}

ExprId ExprPool::Add(ExprId a, ExprId b) {
  LinearForm form = LinearOf(a);
  if (!form.AddScaled(LinearOf(b), 1)) return Intern({ExprOp::kAdd, std::min(a, b), std::max(a, b), 0, 0});
  return FromLinear(form);
}

ExprId ExprPool::Sub(ExprId a, ExprId b) {
  LinearForm form = LinearOf(a);
  if (!form.AddScaled(LinearOf(b), -1)) return Intern({ExprOp::kAdd, a, Neg(b), 0, 0});
  return FromLinear(form);
}

ExprId ExprPool::Neg(ExprId a) {
  LinearForm form;
  if (!form.AddScaled(LinearOf(a), -1)) return Intern({ExprOp::kMul, a, Const(-1), 0, 0});
  return FromLinear(form);
}

ExprId ExprPool::Mul(ExprId a, ExprId b) { return MulForms(LinearOf(a), LinearOf(b), a, b); }

ExprId ExprPool::MulForms(const LinearForm& a, const LinearForm& b, ExprId fallback_a, ExprId fallback_b) {
  LinearForm result;
  bool fits = true;
  if (a.is_constant() || b.is_constant()) {
    fits = b.is_constant() ? result.AddScaled(a, b.constant) : result.AddScaled(b, a.constant);
  } else if (TermCount(a) * TermCount(b) <= kMaxExpandedTerms) {
    fits = result.AddScaled(b, a.constant);
    for (const auto& [atom_a, coefficient_a] : a.terms) {
      if (fits) fits = result.AddScaled({0, {{atom_a, coefficient_a}}}, b.constant);
      for (const auto& [atom_b, coefficient_b] : b.terms) {
        const auto coefficient = CheckedMul(coefficient_a, coefficient_b);
        if (!fits || !coefficient) return Intern({ExprOp::kMul, fallback_a, fallback_b, 0, 0});
        fits = result.AddScaled({0, {{ProductOf(atom_a, atom_b), *coefficient}}}, 1);
      }
    }
  } else {
    return ProductOf(fallback_a, fallback_b);
  }
  if (!fits) {
    // A constant factor stands second.
    if (nodes_[fallback_a].op == ExprOp::kConst) std::swap(fallback_a, fallback_b);
    return Intern({ExprOp::kMul, fallback_a, fallback_b, 0, 0});
  }
  return FromLinear(result);
}

// The product of two expressions that are not constants: its factors in ascending order, as a chain.
ExprId ExprPool::ProductOf(ExprId a, ExprId b) {
  std::vector<ExprId> factors;
  std::vector<ExprId> work = {a, b};
  while (!work.empty() && factors.size() + work.size() <= kMaxFactors) {
    const ExprId current = work.back();
    work.pop_back();
    const ExprNode& node = nodes_[current];
    const bool product =
        node.op == ExprOp::kMul && nodes_[node.a].op != ExprOp::kConst && nodes_[node.b].op != ExprOp::kConst;
    if (product) {
      work.push_back(node.a);
      work.push_back(node.b);
    } else {
      factors.push_back(current);
    }
  }
  factors.insert(factors.end(), work.begin(), work.end());
  std::sort(factors.begin(), factors.end());
  ExprId product = factors[0];
  for (size_t i = 1; i < factors.size(); ++i) product = Intern({ExprOp::kMul, product, factors[i], 0, 0});
  return product;
}

}  // namespace pypto::program
