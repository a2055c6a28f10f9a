// Element-wise kernels on integers, and those that floats and integers share: comparisons, logic, powers.
#pragma once

#include "pypto/device/simd/division.inl.h"
#include "pypto/device/simd/functions.inl.h"

namespace pypto::device::simd::PYPTO_SIMD_SET {
namespace {

// The same expression on vectors of FP32 and INT32 and on INT64.
#define PYPTO_COMPARISON(id, op)                                                     \
  struct Op##id {                                                                    \
    PYPTO_SIMD_INLINE VecI Apply(VecF a, VecF b) { return Flags(a op b); }           \
    PYPTO_SIMD_INLINE VecI Apply(VecI a, VecI b) { return Flags(a op b); }           \
    PYPTO_SIMD_INLINE int32_t Value(int64_t a, int64_t b) { return a op b ? 1 : 0; } \
  };
PYPTO_COMPARISON(Eq, ==)
PYPTO_COMPARISON(Ne, !=)
PYPTO_COMPARISON(Lt, <)
PYPTO_COMPARISON(Le, <=)
PYPTO_COMPARISON(Gt, >)
PYPTO_COMPARISON(Ge, >=)
#undef PYPTO_COMPARISON

#define PYPTO_BITWISE(id, op)                                                \
  struct Op##id {                                                            \
    PYPTO_SIMD_INLINE VecI Apply(VecI a, VecI b) { return a op b; }          \
    PYPTO_SIMD_INLINE int64_t Value(int64_t a, int64_t b) { return a op b; } \
  };
PYPTO_BITWISE(BitwiseAnd, &)
PYPTO_BITWISE(BitwiseOr, |)
PYPTO_BITWISE(BitwiseXor, ^)
#undef PYPTO_BITWISE

struct OpBitwiseNot {
  PYPTO_SIMD_INLINE VecI Apply(VecI x) { return ~x; }
  PYPTO_SIMD_INLINE int64_t Value(int64_t x) { return ~x; }
};
struct OpLogicalNot {
  PYPTO_SIMD_INLINE VecI Apply(VecF x) { return Flags(x == 0.0F); }
  PYPTO_SIMD_INLINE VecI Apply(VecI x) { return Flags(x == 0); }
  PYPTO_SIMD_INLINE int32_t Value(int64_t x) { return x == 0 ? 1 : 0; }
};
struct OpLogicalAnd {
  PYPTO_SIMD_INLINE VecI Apply(VecF a, VecF b) { return Flags((a != 0.0F) & (b != 0.0F)); }
  PYPTO_SIMD_INLINE VecI Apply(VecI a, VecI b) { return Flags((a != 0) & (b != 0)); }
};
struct OpIsFinite {
  PYPTO_SIMD_INLINE VecI Apply(VecF x) { return Flags(Abs(x) < __builtin_inff()); }
  PYPTO_SIMD_INLINE VecI Apply(VecI) { return Splat(1); }
  PYPTO_SIMD_INLINE int32_t Value(int64_t) { return 1; }
};
struct OpAddAny {
  PYPTO_SIMD_INLINE VecF Apply(VecF a, VecF b) { return a + b; }
  PYPTO_SIMD_INLINE VecI Apply(VecI a, VecI b) { return Wrapped(Unsigned(a) + Unsigned(b)); }
  PYPTO_SIMD_INLINE int64_t Value(int64_t a, int64_t b) {
    return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  }
};
struct OpSameIndex {
  PYPTO_SIMD_INLINE int64_t Value(int32_t a, int32_t b) { return a == b ? 1 : 0; }
  PYPTO_SIMD_INLINE int64_t Value(int64_t a, int64_t b) { return a == b ? 1 : 0; }
};
struct OpScaleBits {
  PYPTO_SIMD_INLINE float Value(int64_t x) { return __builtin_bit_cast(float, static_cast<uint32_t>(x) & 0xffffe000U); }
};

// Shifts by all bits or more leave nothing, or the sign. Narrow dtypes are cut to their width afterwards.
struct OpLeftShift {
  PYPTO_SIMD_INLINE int32_t Value(int32_t a, int32_t b) {
    return static_cast<uint32_t>(b) > 31 ? 0 : static_cast<int32_t>(static_cast<uint32_t>(a) << b);
  }
  PYPTO_SIMD_INLINE int64_t Value(int64_t a, int64_t b) {
    return static_cast<uint64_t>(b) > 63 ? 0 : static_cast<int64_t>(static_cast<uint64_t>(a) << b);
  }
};
struct OpRightShift {
  PYPTO_SIMD_INLINE int32_t Value(int32_t a, int32_t b) { return a >> (static_cast<uint32_t>(b) > 31 ? 31 : b); }
  PYPTO_SIMD_INLINE int64_t Value(int64_t a, int64_t b) { return a >> (static_cast<uint64_t>(b) > 63 ? 63 : b); }
};

struct OpGcd {
  PYPTO_SIMD_INLINE int32_t Value(int32_t a, int32_t b) {
    uint32_t x = a < 0 ? 0U - static_cast<uint32_t>(a) : static_cast<uint32_t>(a);
    uint32_t y = b < 0 ? 0U - static_cast<uint32_t>(b) : static_cast<uint32_t>(b);
    while (y != 0) {
      const uint32_t rest = x % y;
      x = y;
      y = rest;
    }
    return static_cast<int32_t>(x);
  }
};
// Integers wrap; a negative power is 0, but for bases 1 and -1.
struct OpPow {
  PYPTO_SIMD_INLINE VecF Apply(VecF a, VecF b) { return PowerOf(a, b); }
  PYPTO_SIMD_INLINE int32_t Value(int32_t a, int32_t b) {
    if (b < 0) return a == 1 ? 1 : (a == -1 ? ((b & 1) != 0 ? -1 : 1) : 0);
    uint32_t result = 1;
    uint32_t factor = static_cast<uint32_t>(a);
    for (uint32_t power = static_cast<uint32_t>(b); power != 0; power >>= 1) {
      if ((power & 1U) != 0) result *= factor;
      factor *= factor;
    }
    return static_cast<int32_t>(result);
  }
};

}  // namespace
}  // namespace pypto::device::simd::PYPTO_SIMD_SET
