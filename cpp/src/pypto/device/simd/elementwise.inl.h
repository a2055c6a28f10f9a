// Element-wise kernels over rows of 4-byte elements.
#pragma once

#include "pypto/device/simd/math.inl.h"

namespace pypto::device::simd::PYPTO_SIMD_SET {
namespace {

// Integers wrap: sums and products are formed on unsigned lanes.
PYPTO_SIMD_INLINE VecI Wrapped(VecU x) { return reinterpret_cast<VecI>(x); }
PYPTO_SIMD_INLINE VecU Unsigned(VecI x) { return reinterpret_cast<VecU>(x); }

// Comparisons give 0 or 1.
PYPTO_SIMD_INLINE VecI Flags(VecI lanes) { return 0 - lanes; }

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
struct OpExp2 {
  PYPTO_SIMD_INLINE VecF Apply(VecF x) { return Exp2(x); }
};
struct OpLog {
  PYPTO_SIMD_INLINE VecF Apply(VecF x) { return Log(x); }
};
struct OpSqrt {
  PYPTO_SIMD_INLINE VecF Apply(VecF x) { return Sqrt(x); }
};
// Error below 1.5 ulp.
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
  PYPTO_SIMD_INLINE int64_t Value(int64_t a, int64_t b) { return a > b ? a : b; }
};
struct OpMinimum {
  PYPTO_SIMD_INLINE VecF Apply(VecF a, VecF b) { return Minimum(a, b); }
  PYPTO_SIMD_INLINE VecI Apply(VecI a, VecI b) { return Minimum(a, b); }
  PYPTO_SIMD_INLINE int64_t Value(int64_t a, int64_t b) { return a < b ? a : b; }
};

// An argument that converts to T alone, so that a kernel is found for exactly the elements it is written for.
template <typename T, typename U>
inline constexpr bool kSameType = false;
template <typename T>
inline constexpr bool kSameType<T, T> = true;
template <typename T>
struct Exactly {
  T value;
  template <typename U>
    requires kSameType<T, U>
  PYPTO_SIMD_MEMBER operator U() const {
    return value;
  }
};

// A kernel works on vectors (Apply) or on single elements (Value).
template <typename Op, typename... T>
concept OnVectors = requires(Vec<T>... x) { Op::Apply(x...); };
template <typename Op, typename... T>
concept OnElements = requires(Exactly<T>... x) { Op::Value(x...); };

// Kernels that are compiled apart as loops over vectors.
template <typename Op>
concept OnManyVectors = requires(float* x) { Op::ApplyMany(x, x, 1); };

template <typename T, typename Op>
void UnaryVectors(const RowArgs* args) {
  using R = typename ElementOf<decltype(Op::Apply(Vec<T>{}))>::Type;
  for (int64_t row = 0; row < args->rows; ++row) {
    R* out = static_cast<R*>(args->out) + row * args->out_row;
    const T* a = static_cast<const T*>(args->a) + row * args->a_row;
    const int64_t n = args->n;
    if (args->a_step == 0) {
      const Vec<R> value = Op::Apply(Splat(*a));
      for (int64_t i = 0; i < n; ++i) out[i] = value[0];
      continue;
    }
    int64_t i = 0;
    if constexpr (OnManyVectors<Op>) {
      Op::ApplyMany(a, out, n / kLanes);
      i = n / kLanes * kLanes;
    }
    for (; i + kLanes <= n; i += kLanes) Store(out + i, Op::Apply(Load(a + i)));
    if (i < n) StorePart(out + i, Op::Apply(LoadPart(a + i, n - i)), n - i);
  }
}

template <typename T, typename Op>
void UnaryElements(const RowArgs* args) {
  using R = decltype(Op::Value(Exactly<T>{}));
  for (int64_t row = 0; row < args->rows; ++row) {
    R* out = static_cast<R*>(args->out) + row * args->out_row;
    const T* a = static_cast<const T*>(args->a) + row * args->a_row;
    for (int64_t i = 0; i < args->n; ++i) out[i] = Op::Value(Exactly<T>{a[i * args->a_step]});
  }
}

// kA and kB: whether the operand has one value per element, not one per row.
template <typename T, typename Op, bool kA, bool kB>
PYPTO_SIMD_INLINE void BinaryRow(auto* out, const T* a, const T* b, int64_t n) {
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
void BinaryVectors(const RowArgs* args) {
  using R = typename ElementOf<decltype(Op::Apply(Vec<T>{}, Vec<T>{}))>::Type;
  const int shape = (args->a_step != 0 ? 2 : 0) + (args->b_step != 0 ? 1 : 0);
  for (int64_t row = 0; row < args->rows; ++row) {
    R* out = static_cast<R*>(args->out) + row * args->out_row;
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

template <typename T, typename Op, int64_t kAStep, int64_t kBStep>
void BinaryElementsRow(auto* out, const T* a, const T* b, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = Op::Value(Exactly<T>{a[i * kAStep]}, Exactly<T>{b[i * kBStep]});
}

template <typename T, typename Op>
void BinaryElements(const RowArgs* args) {
  using R = decltype(Op::Value(Exactly<T>{}, Exactly<T>{}));
  const int shape = (args->a_step != 0 ? 2 : 0) + (args->b_step != 0 ? 1 : 0);
  for (int64_t row = 0; row < args->rows; ++row) {
    R* out = static_cast<R*>(args->out) + row * args->out_row;
    const T* a = static_cast<const T*>(args->a) + row * args->a_row;
    const T* b = static_cast<const T*>(args->b) + row * args->b_row;
    switch (shape) {
      case 0: BinaryElementsRow<T, Op, 0, 0>(out, a, b, args->n); break;
      case 1: BinaryElementsRow<T, Op, 0, 1>(out, a, b, args->n); break;
      case 2: BinaryElementsRow<T, Op, 1, 0>(out, a, b, args->n); break;
      default: BinaryElementsRow<T, Op, 1, 1>(out, a, b, args->n); break;
    }
  }
}

template <typename T>
void SelectRows(const RowArgs* args) {
  for (int64_t row = 0; row < args->rows; ++row) {
    T* out = static_cast<T*>(args->out) + row * args->out_row;
    const int32_t* a = static_cast<const int32_t*>(args->a) + row * args->a_row;
    const T* b = static_cast<const T*>(args->b) + row * args->b_row;
    const T* c = static_cast<const T*>(args->c) + row * args->c_row;
    const int64_t n = args->n;
    if (args->a_step == 1 && args->b_step == 1 && args->c_step == 1) {
      for (int64_t i = 0; i < n; ++i) out[i] = a[i] != 0 ? b[i] : c[i];
      continue;
    }
    for (int64_t i = 0; i < n; ++i) out[i] = a[i * args->a_step] != 0 ? b[i * args->b_step] : c[i * args->c_step];
  }
}

template <typename T, typename Op>
constexpr RowsFunction UnaryFunction() {
  if constexpr (OnVectors<Op, T>) {
    return UnaryVectors<T, Op>;
  } else if constexpr (OnElements<Op, T>) {
    return UnaryElements<T, Op>;
  } else {
    return nullptr;
  }
}

template <typename T, typename Op>
constexpr RowsFunction BinaryFunction() {
  if constexpr (OnVectors<Op, T, T>) {
    return BinaryVectors<T, Op>;
  } else if constexpr (OnElements<Op, T, T>) {
    return BinaryElements<T, Op>;
  } else {
    return nullptr;
  }
}

}  // namespace
}  // namespace pypto::device::simd::PYPTO_SIMD_SET
