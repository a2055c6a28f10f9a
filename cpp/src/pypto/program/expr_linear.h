// Linear forms of expressions: constant + sum of coefficient * atom, with overflow-checked coefficients. Private to the
// program library.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "pypto/program/expr.h"

namespace pypto::program {

// An atom is an expression that is neither a constant, a sum, nor a product with a constant.
struct LinearForm {
  int64_t constant = 0;
  std::vector<std::pair<ExprId, int64_t>> terms;  // ascending atoms, no zero coefficient

  bool is_constant() const { return terms.empty(); }
  static LinearForm Atom(ExprId id) { return {0, {{id, 1}}}; }
  // Adds scale * other; false, and unchanged in meaning no longer, when a coefficient overflows.
  bool AddScaled(const LinearForm& other, int64_t scale);
  // Sorts the terms and joins equal atoms; false when a coefficient overflows.
  bool Normalise();
};

// The mathematical result brought into 64 bits; the ends stand for "unbounded".
int64_t Saturate(__int128 value);

}  // namespace pypto::program
