// Whole quotients, what they leave and rounding at a decimal: as exact as element by element in FP64. What is rare
// (quotients of at least 2^22, infinite divisors) goes to the C library, lane by lane.
#pragma once

#include "pypto/device/simd/elementwise.inl.h"
#include "pypto/device/simd/wide_functions.inl.h"

namespace pypto::device::simd::PYPTO_SIMD_SET {
namespace {

typedef uint32_t VecHalfU __attribute__((vector_size(PYPTO_SIMD_BYTES / 2)));
typedef int32_t VecHalfI __attribute__((vector_size(PYPTO_SIMD_BYTES / 2)));

PYPTO_SIMD_INLINE VecD WholeBelow(VecD x) {
  const VecD nearest = (x + kWideMagic) - kWideMagic;
  return nearest > x ? nearest - 1.0 : nearest;
}

// x = whole × y + rest with 0 <= rest < y, for 0 <= x < 2^22 y.
struct Division {
  VecF whole;
  VecF rest;
};
PYPTO_SIMD_INLINE Division Divided(VecF x, VecF y) {
#if defined(__AVX512F__) || defined(__FMA__)
  // A rounded quotient is at most one too large; products are subtracted without rounding.
  const VecF whole = ToTrunc::Apply(x / y);
#if defined(__AVX512F__)
  const auto rest = reinterpret_cast<VecF>(
      _mm512_fnmadd_ps(reinterpret_cast<__m512>(whole), reinterpret_cast<__m512>(y), reinterpret_cast<__m512>(x)));
#else
  const auto rest = reinterpret_cast<VecF>(
      _mm256_fnmadd_ps(reinterpret_cast<__m256>(whole), reinterpret_cast<__m256>(y), reinterpret_cast<__m256>(x)));
#endif
  const VecI over = rest < 0.0F;
  return {over ? whole - 1.0F : whole, over ? rest + y : rest};
#else
  const Halves a = Doubles(x);
  const Halves b = Doubles(y);
  const VecD low = WholeBelow(a.low / b.low);
  const VecD high = WholeBelow(a.high / b.high);
  return {Floats(low, high), Floats(a.low - low * b.low, a.high - high * b.high)};
#endif
}

// Lanes that Divided does not serve; a divisor of zero is no such lane.
PYPTO_SIMD_INLINE VecI FarApart(VecF x, VecF y) {
  const VecI served = (Abs(x) < Abs(y) * 0x1p22F) & (Abs(y) < __builtin_inff());
  return ~served & (y != 0.0F);
}
template <typename Op>
__attribute__((noinline)) VecF LaneByLane(VecF x, VecF y, VecI lanes, VecF others) {
  for (int64_t i = 0; i < kLanes; ++i) {
    if (lanes[i] != 0) others[i] = Op::Value(x[i], y[i]);
  }
  return others;
}
template <typename Op>
PYPTO_SIMD_INLINE VecF WithFarLanes(VecF x, VecF y, VecF others) {
  const VecI far = FarApart(x, y);
  return AnyLane(far) ? LaneByLane<Op>(x, y, far, others) : others;
}
PYPTO_SIMD_INLINE VecI SignsDiffer(VecF x, VecF y) { return (AsInt(x) ^ AsInt(y)) < 0; }

// floor(±x / y) of integers modulo 2^32; 0 for a division by 0. Quotients in FP64 round to no integer that they are
// not.
template <bool kNegated>
PYPTO_SIMD_INLINE VecI FloorQuotients(VecI x, VecI y) {
  VecHalfI a[2];
  VecHalfI b[2];
  __builtin_memcpy(a, &x, sizeof(x));
  __builtin_memcpy(b, &y, sizeof(y));
  VecHalfU parts[2];
  for (int i = 0; i < 2; ++i) {
    const VecD dividend = __builtin_convertvector(a[i], VecD);
    const VecD quotient = (kNegated ? -dividend : dividend) / __builtin_convertvector(b[i], VecD);
    parts[i] = __builtin_convertvector(BitsOf(WholeBelow(quotient) + kWideMagic), VecHalfU);
  }
  VecI result;
  __builtin_memcpy(&result, parts, sizeof(result));
  return y == 0 ? VecI{} : result;
}

struct OpFmod {
  PYPTO_SIMD_INLINE VecF Apply(VecF x, VecF y) {
    const VecF rest = CopySign(Divided(Abs(x), Abs(y)).rest, x);
    return WithFarLanes<OpFmod>(x, y, y == 0.0F ? Splat(__builtin_nanf("")) : rest);
  }
  PYPTO_SIMD_INLINE float Value(float x, float y) {
    return static_cast<float>(__builtin_fmod(static_cast<double>(x), static_cast<double>(y)));
  }
};
struct OpRemainder {
  PYPTO_SIMD_INLINE VecF Apply(VecF x, VecF y) {
    VecF rest = CopySign(Divided(Abs(x), Abs(y)).rest, x);
    rest = (rest != 0.0F) & SignsDiffer(x, y) ? rest + y : rest;
    return WithFarLanes<OpRemainder>(x, y, y == 0.0F ? Splat(__builtin_nanf("")) : rest);
  }
  PYPTO_SIMD_INLINE VecI Apply(VecI x, VecI y) {
    const VecI product = Wrapped(Unsigned(FloorQuotients<false>(x, y)) * Unsigned(y));
    return y == 0 ? VecI{} : Wrapped(Unsigned(x) - Unsigned(product));
  }
  PYPTO_SIMD_INLINE float Value(float x, float y) {
    double rest = __builtin_fmod(static_cast<double>(x), static_cast<double>(y));
    if (rest != 0 && (rest < 0) != (y < 0)) rest += static_cast<double>(y);
    return static_cast<float>(rest);
  }
};
struct OpFloorDiv {
  PYPTO_SIMD_INLINE VecF Apply(VecF x, VecF y) {
    const Division division = Divided(Abs(x), Abs(y));
    const VecF truncated = AsFloat(AsBits(division.whole) ^ ((AsBits(x) ^ AsBits(y)) & 0x80000000U));
    const VecF floor = (division.rest != 0.0F) & SignsDiffer(x, y) ? truncated - 1.0F : truncated;
    return WithFarLanes<OpFloorDiv>(x, y, y == 0.0F ? x / y : floor);
  }
  PYPTO_SIMD_INLINE VecI Apply(VecI x, VecI y) { return FloorQuotients<false>(x, y); }
  // The quotient of x - fmod(x, y) is whole but for its own rounding.
  PYPTO_SIMD_INLINE float Value(float left, float right) {
    if (right == 0.0F) return left / right;
    const double x = static_cast<double>(left);
    const double y = static_cast<double>(right);
    const double rest = __builtin_fmod(x, y);
    double quotient = (x - rest) / y;
    if (rest != 0 && (y < 0) != (rest < 0)) quotient -= 1;
    if (quotient == 0) return static_cast<float>(__builtin_copysign(0.0, x / y));
    return static_cast<float>(Nearest(quotient));
  }
  PYPTO_SIMD_INLINE double Nearest(double x) {
    const double below = __builtin_floor(x);
    return x - below > 0.5 ? below + 1 : below;
  }
};
struct OpCeilDiv {
  PYPTO_SIMD_INLINE VecI Apply(VecI x, VecI y) { return Wrapped(0U - Unsigned(FloorQuotients<true>(x, y))); }
};

constexpr double kTens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                            1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

constexpr double kTenths[] = {1e0,   1e-1,  1e-2,  1e-3,  1e-4,  1e-5,  1e-6,  1e-7,  1e-8,  1e-9,  1e-10, 1e-11,
                              1e-12, 1e-13, 1e-14, 1e-15, 1e-16, 1e-17, 1e-18, 1e-19, 1e-20, 1e-21, 1e-22};

constexpr int kExactTens = 10;  // powers of ten that FP32 holds
constexpr float kSingleTens[kExactTens + 1] = {1e0F, 1e1F, 1e2F, 1e3F, 1e4F, 1e5F, 1e6F, 1e7F, 1e8F, 1e9F, 1e10F};

#if defined(__AVX512F__) || defined(__FMA__)
PYPTO_SIMD_INLINE VecF Nearest(VecF x) {
#if defined(__AVX512F__)
  return reinterpret_cast<VecF>(_mm512_maskz_roundscale_ps(0xffff, reinterpret_cast<__m512>(x), 0));
#else
  return reinterpret_cast<VecF>(_mm256_round_ps(reinterpret_cast<__m256>(x), 8));
#endif
}
// x y - z, rounded once.
PYPTO_SIMD_INLINE VecF MultipliedLess(VecF x, VecF y, VecF z) {
#if defined(__AVX512F__)
  return reinterpret_cast<VecF>(
      _mm512_fmsub_ps(reinterpret_cast<__m512>(x), reinterpret_cast<__m512>(y), reinterpret_cast<__m512>(z)));
#else
  return reinterpret_cast<VecF>(
      _mm256_fmsub_ps(reinterpret_cast<__m256>(x), reinterpret_cast<__m256>(y), reinterpret_cast<__m256>(z)));
#endif
}
// The same result as by FP64. The product with `scale` is high + low; a half of high goes where low points. From 2^24
// on x is nearest to what it rounds to. The quotient of two FP32 is never near enough of the middle of two others for
// a rounding to FP64 to matter.
PYPTO_SIMD_INLINE VecF RoundedAtOnce(VecF x, float scale) {
  const VecF by = Splat(scale);
  const VecF high = MultipliedLess(x, by, VecF{});
  const VecF low = MultipliedLess(x, by, high);
  const VecF whole = Nearest(high);
  const VecF rest = high - whole;
  const VecF corrected = (Abs(rest) == 0.5F) & (rest * low > 0.0F) ? whole + (rest + rest) : whole;
  return Abs(high) < 0x1p24F ? CopySign(corrected / by, x) : x;
}
#endif

// Rounds to `decimals` places in FP64; integers change for negative places only.
struct OpRoundAt {
  // Of places that are one number of at most 22, whose power of ten is exact.
  PYPTO_SIMD_INLINE VecF Apply(VecF x, VecF decimals) {
    const float places = decimals[0];
    const bool served = places >= -22.0F && places <= 22.0F && places == static_cast<float>(static_cast<int>(places));
    if (!served || AnyLane(decimals != places)) return LaneByLane<OpRoundAt>(x, decimals, VecI{} - 1, x);
    const auto index = static_cast<int>(places);
#if defined(__AVX512F__) || defined(__FMA__)
    if (index >= 0 && index <= kExactTens) return RoundedAtOnce(x, kSingleTens[index]);
#endif
    const Halves halves = Doubles(Abs(x));
    const VecF result = index >= 0 ? Floats(Rounded<true>(halves.low, index), Rounded<true>(halves.high, index))
                                   : Floats(Rounded<false>(halves.low, -index), Rounded<false>(halves.high, -index));
    return CopySign(result, x);
  }
  PYPTO_SIMD_INLINE float Value(float x, float decimals) {
    return static_cast<float>(Scaled(static_cast<double>(x), static_cast<double>(decimals)));
  }
  PYPTO_SIMD_INLINE int32_t Value(int32_t x, int32_t decimals) {
    if (decimals >= 0) return x;
    return static_cast<int32_t>(static_cast<int64_t>(Scaled(static_cast<double>(x), static_cast<double>(decimals))));
  }

 private:
  // Of magnitudes. Setting the sign bit to zero keeps a product from being fused with the sum that rounds it.
  template <bool kUp>
  PYPTO_SIMD_INLINE VecD Rounded(VecD x, int index) {
    const VecD shifted = kUp ? x * kTens[index] : Quotient(x, index);
    const VecD magnitude = DoubleOf(BitsOf(shifted) & ~(uint64_t{1} << 63));
    const VecD whole = (magnitude + 0x1p52) - 0x1p52;
    const VecD rounded = kUp ? Quotient(whole, index) : whole * kTens[index];
    return magnitude < 0x1p52 ? rounded : x;
  }
  // By a power of ten, rounded once: a product with the reciprocal, corrected by what it leaves.
  PYPTO_SIMD_INLINE VecD Quotient(VecD x, int index) {
#if defined(__AVX512F__)
    const auto by = reinterpret_cast<__m512d>(VecD{} + kTens[index]);
    const auto inverse = reinterpret_cast<__m512d>(VecD{} + kTenths[index]);
    const auto rough = reinterpret_cast<__m512d>(reinterpret_cast<VecD>(inverse) * x);
    const __m512d rest = _mm512_fnmadd_pd(rough, by, reinterpret_cast<__m512d>(x));
    return reinterpret_cast<VecD>(_mm512_fmadd_pd(rest, inverse, rough));
#elif defined(__FMA__)
    const auto by = reinterpret_cast<__m256d>(VecD{} + kTens[index]);
    const auto inverse = reinterpret_cast<__m256d>(VecD{} + kTenths[index]);
    const auto rough = reinterpret_cast<__m256d>(reinterpret_cast<VecD>(inverse) * x);
    const __m256d rest = _mm256_fnmadd_pd(rough, by, reinterpret_cast<__m256d>(x));
    return reinterpret_cast<VecD>(_mm256_fmadd_pd(rest, inverse, rough));
#else
    return x / kTens[index];
#endif
  }
  PYPTO_SIMD_INLINE double Scaled(double x, double decimals) {
    const double scale = __builtin_pow(10.0, __builtin_fabs(decimals));
    const double shifted = decimals >= 0 ? x * scale : x / scale;
    if (!(__builtin_fabs(shifted) < 0x1p52)) return x;
    const double whole = __builtin_copysign((__builtin_fabs(shifted) + 0x1p52) - 0x1p52, x);
    return decimals >= 0 ? whole / scale : whole * scale;
  }
};

}  // namespace
}  // namespace pypto::device::simd::PYPTO_SIMD_SET
