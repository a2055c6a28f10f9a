// Element-wise kernels on FP32.
#pragma once

#include "pypto/device/simd/convert.inl.h"
#include "pypto/device/simd/elementwise.inl.h"
#include "pypto/device/simd/wide_arcs.inl.h"
#include "pypto/device/simd/wide_exponents.inl.h"
#include "pypto/device/simd/wide_functions.inl.h"
#include "pypto/device/simd/wide_logs.inl.h"

namespace pypto::device::simd::PYPTO_SIMD_SET {
namespace {

// A long function is compiled once for all loops and chains that call it, as a loop over vectors, outside of which its
// constants are loaded.
template <VecF (*kFunction)(VecF)>
struct LongFunction {
  static __attribute__((noinline)) void ApplyMany(const float* from, float* to, int64_t vectors) {
    for (int64_t i = 0; i < vectors; ++i) Store(to + i * kLanes, kFunction(Load(from + i * kLanes)));
  }
  PYPTO_SIMD_INLINE VecF Apply(VecF x) {
    float values[kLanes];
    Store(values, x);
    ApplyMany(values, values, 1);
    return Load(values);
  }
};
#define PYPTO_WIDE_UNARY(id) \
  struct Op##id : LongFunction<id##Of> {};
PYPTO_WIDE_UNARY(Tan)
PYPTO_WIDE_UNARY(Asin)
PYPTO_WIDE_UNARY(Acos)
PYPTO_WIDE_UNARY(Atan)
PYPTO_WIDE_UNARY(Sinh)
PYPTO_WIDE_UNARY(Cosh)
PYPTO_WIDE_UNARY(Asinh)
PYPTO_WIDE_UNARY(Acosh)
PYPTO_WIDE_UNARY(Atanh)
PYPTO_WIDE_UNARY(Cbrt)
PYPTO_WIDE_UNARY(Erfc)
PYPTO_WIDE_UNARY(Expm1)
PYPTO_WIDE_UNARY(Log1p)
PYPTO_WIDE_UNARY(Log2)
PYPTO_WIDE_UNARY(Log10)
#undef PYPTO_WIDE_UNARY
struct OpAtan2 {
  PYPTO_SIMD_INLINE VecF Apply(VecF y, VecF x) { return Atan2Of(y, x); }
};
struct OpHypot {
  PYPTO_SIMD_INLINE VecF Apply(VecF x, VecF y) { return HypotOf(x, y); }
};

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
