// Element-wise kernels on FP32. Functions that are seldom on a hot path are computed in FP64 by the C library and
// rounded once.
#pragma once

#include "pypto/device/simd/convert.inl.h"
#include "pypto/device/simd/elementwise.inl.h"
#include "pypto/device/simd/wide_functions.inl.h"

namespace pypto::device::simd::PYPTO_SIMD_SET {
namespace {

#define PYPTO_FP64_UNARY(id, expression)           \
  struct Op##id {                                  \
    PYPTO_SIMD_INLINE float Value(float value) {   \
      const double x = static_cast<double>(value); \
      return static_cast<float>(expression);       \
    }                                              \
  };
#define PYPTO_FP64_BINARY(id, expression)                    \
  struct Op##id {                                            \
    PYPTO_SIMD_INLINE float Value(float left, float right) { \
      const double x = static_cast<double>(left);            \
      const double y = static_cast<double>(right);           \
      return static_cast<float>(expression);                 \
    }                                                        \
  };

PYPTO_FP64_UNARY(Tan, __builtin_tan(x))
PYPTO_FP64_UNARY(Asin, __builtin_asin(x))
PYPTO_FP64_UNARY(Acos, __builtin_acos(x))
PYPTO_FP64_UNARY(Atan, __builtin_atan(x))
PYPTO_FP64_UNARY(Sinh, __builtin_sinh(x))
PYPTO_FP64_UNARY(Cosh, __builtin_cosh(x))
PYPTO_FP64_UNARY(Asinh, __builtin_asinh(x))
PYPTO_FP64_UNARY(Acosh, __builtin_acosh(x))
PYPTO_FP64_UNARY(Atanh, __builtin_atanh(x))
PYPTO_FP64_UNARY(Cbrt, __builtin_cbrt(x))
PYPTO_FP64_UNARY(Erfc, __builtin_erfc(x))
PYPTO_FP64_UNARY(Expm1, __builtin_expm1(x))
PYPTO_FP64_UNARY(Exp2, __builtin_exp2(x))
PYPTO_FP64_UNARY(Log1p, __builtin_log1p(x))
PYPTO_FP64_UNARY(Log2, __builtin_log2(x))
PYPTO_FP64_UNARY(Log10, __builtin_log10(x))
PYPTO_FP64_BINARY(Atan2, __builtin_atan2(x, y))
PYPTO_FP64_BINARY(Hypot, __builtin_hypot(x, y))

#undef PYPTO_FP64_UNARY
#undef PYPTO_FP64_BINARY

// Rounding. Integers stay as they are.
template <typename Mode>
struct Rounding {
  PYPTO_SIMD_INLINE VecF Apply(VecF x) { return Mode::Apply(x); }
  PYPTO_SIMD_INLINE VecI Apply(VecI x) { return x; }
};
// -0 for what lies between -1 and 0.
struct CeilKeepingSign {
  PYPTO_SIMD_INLINE VecF Apply(VecF x) { return CopySign(ToCeil::Apply(x), x); }
};
using OpCeil = Rounding<CeilKeepingSign>;
using OpFloor = Rounding<ToFloor>;
using OpTrunc = Rounding<ToTrunc>;
using OpRint = Rounding<ToHalfEven>;

// From e^-|x|, so that small results keep their digits. Error below 2.5 ulp.
struct OpSigmoid {
  PYPTO_SIMD_INLINE VecF Apply(VecF x) {
    const VecF e = Exp(0.0F - Abs(x));
    return (x < 0.0F ? e : Splat(1.0F)) / (1.0F + e);
  }
};
struct OpRelu {
  PYPTO_SIMD_INLINE VecF Apply(VecF x) { return Maximum(x, VecF{}); }
  PYPTO_SIMD_INLINE VecI Apply(VecI x) { return Maximum(x, VecI{}); }
};
struct OpSign {
  PYPTO_SIMD_INLINE VecF Apply(VecF x) { return __builtin_convertvector(Flags(x > 0.0F) - Flags(x < 0.0F), VecF); }
  PYPTO_SIMD_INLINE VecI Apply(VecI x) { return Flags(x > 0) - Flags(x < 0); }
};
struct OpSignbit {
  PYPTO_SIMD_INLINE VecI Apply(VecF x) { return x == x ? Flags(AsInt(x) < 0) : VecI{}; }
  PYPTO_SIMD_INLINE VecI Apply(VecI x) { return Flags(x < 0); }
};
struct OpIsNan {
  PYPTO_SIMD_INLINE VecI Apply(VecF x) { return Flags(x != x); }
};
struct OpToTf32 {
  PYPTO_SIMD_INLINE VecF Apply(VecF x) {
    const VecU bits = AsBits(x);
    const VecU rounded = (bits + 0xfffU + ((bits >> 13) & 1U)) & 0xffffe000U;
    return Abs(x) < __builtin_inff() ? AsFloat(rounded) : x;
  }
};
struct OpPowerBelow {
  PYPTO_SIMD_INLINE VecF Apply(VecF x) { return AsFloat(AsBits(x) & 0x7f800000U); }
};
struct OpExpandExpDif {
  PYPTO_SIMD_INLINE VecF Apply(VecF a, VecF b) { return Exp(a - b); }
};
struct OpLeaky {
  PYPTO_SIMD_INLINE VecF Apply(VecF x, VecF slope) { return x >= 0.0F ? x : x * slope; }
};

}  // namespace
}  // namespace pypto::device::simd::PYPTO_SIMD_SET
