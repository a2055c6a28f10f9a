// Element-wise kernels over rows of 4-byte elements.
#pragma once

#include "pypto/device/simd/math.inl.h"

namespace pypto::device::simd::PYPTO_SIMD_SET {
namespace {

// Integers wrap: sums and products are formed on unsigned lanes.
PYPTO_SIMD_INLINE VecI Wrapped(VecU x) { return reinterpret_cast<VecI>(x); }
PYPTO_SIMD_INLINE VecU Unsigned(VecI x) { return reinterpret_cast<VecU>(x); }

struct OpNeg {
  PYPTO_SIMD_INLINE VecF Apply(VecF x) { return AsFloat(AsBits(x) ^ 0x80000000U); }
  PYPTO_SIMD_INLINE VecI Apply(VecI x) { return Wrapped(0U - Unsigned(x)); }
};
struct OpAbs {
  PYPTO_SIMD_INLINE VecF Apply(VecF x) { return Abs(x); }
  PYPTO_SIMD_INLINE VecI Apply(VecI x) { return x < 0 ? Wrapped(0U - Unsigned(x)) : x; }
};
struct OpExp {
  PYPTO_SIMD_INLINE VecF Apply(VecF x) { return Exp(x); }
};
struct OpLog {
  PYPTO_SIMD_INLINE VecF Apply(VecF x) { return Log(x); }
};
struct OpSqrt {
  PYPTO_SIMD_INLINE VecF Apply(VecF x) { return Sqrt(x); }
};
struct OpRsqrt {
  PYPTO_SIMD_INLINE VecF Apply(VecF x) { return 1.0F / Sqrt(x); }
};
struct OpReciprocal {
  PYPTO_SIMD_INLINE VecF Apply(VecF x) { return 1.0F / x; }
};
struct OpTanh {
  PYPTO_SIMD_INLINE VecF Apply(VecF x) { return Tanh(x); }
};
struct OpErf {
  PYPTO_SIMD_INLINE VecF Apply(VecF x) { return Erf(x); }
};

struct OpAdd {
  PYPTO_SIMD_INLINE VecF Apply(VecF a, VecF b) { return a + b; }
  PYPTO_SIMD_INLINE VecI Apply(VecI a, VecI b) { return Wrapped(Unsigned(a) + Unsigned(b)); }
};
struct OpSub {
  PYPTO_SIMD_INLINE VecF Apply(VecF a, VecF b) { return a - b; }
  PYPTO_SIMD_INLINE VecI Apply(VecI a, VecI b) { return Wrapped(Unsigned(a) - Unsigned(b)); }
};
struct OpMul {
  PYPTO_SIMD_INLINE VecF Apply(VecF a, VecF b) { return a * b; }
  PYPTO_SIMD_INLINE VecI Apply(VecI a, VecI b) { return Wrapped(Unsigned(a) * Unsigned(b)); }
};
struct OpDiv {
  PYPTO_SIMD_INLINE VecF Apply(VecF a, VecF b) { return a / b; }
};
struct OpMaximum {
  PYPTO_SIMD_INLINE VecF Apply(VecF a, VecF b) { return Maximum(a, b); }
  PYPTO_SIMD_INLINE VecI Apply(VecI a, VecI b) { return Maximum(a, b); }
};
struct OpMinimum {
  PYPTO_SIMD_INLINE VecF Apply(VecF a, VecF b) { return Minimum(a, b); }
  PYPTO_SIMD_INLINE VecI Apply(VecI a, VecI b) { return Minimum(a, b); }
};

template <typename T, typename Op>
void UnaryRows(const RowArgs* args) {
  for (int64_t row = 0; row < args->rows; ++row) {
    T* out = static_cast<T*>(args->out) + row * args->out_row;
    const T* a = static_cast<const T*>(args->a) + row * args->a_row;
    const int64_t n = args->n;
    if (args->a_step == 0) {
      const Vec<T> value = Op::Apply(Splat(*a));
      for (int64_t i = 0; i < n; ++i) out[i] = value[0];
      continue;
    }
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) Store(out + i, Op::Apply(Load(a + i)));
    if (i < n) StorePart(out + i, Op::Apply(LoadPart(a + i, n - i)), n - i);
  }
}

// kA and kB: whether the operand has one value per element, not one per row.
template <typename T, typename Op, bool kA, bool kB>
PYPTO_SIMD_INLINE void BinaryRow(T* out, const T* a, const T* b, int64_t n) {
  const Vec<T> first_a = Splat(*a);
  const Vec<T> first_b = Splat(*b);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    Store(out + i, Op::Apply(kA ? Load(a + i) : first_a, kB ? Load(b + i) : first_b));
  }
  if (i < n) {
    const Vec<T> x = kA ? LoadPart(a + i, n - i) : first_a;
    const Vec<T> y = kB ? LoadPart(b + i, n - i) : first_b;
    StorePart(out + i, Op::Apply(x, y), n - i);
  }
}

template <typename T, typename Op>
void BinaryRows(const RowArgs* args) {
  const int shape = (args->a_step != 0 ? 2 : 0) + (args->b_step != 0 ? 1 : 0);
  for (int64_t row = 0; row < args->rows; ++row) {
    T* out = static_cast<T*>(args->out) + row * args->out_row;
    const T* a = static_cast<const T*>(args->a) + row * args->a_row;
    const T* b = static_cast<const T*>(args->b) + row * args->b_row;
    switch (shape) {
      case 0: BinaryRow<T, Op, false, false>(out, a, b, args->n); break;
      case 1: BinaryRow<T, Op, false, true>(out, a, b, args->n); break;
      case 2: BinaryRow<T, Op, true, false>(out, a, b, args->n); break;
      default: BinaryRow<T, Op, true, true>(out, a, b, args->n); break;
    }
  }
}

}  // namespace
}  // namespace pypto::device::simd::PYPTO_SIMD_SET
