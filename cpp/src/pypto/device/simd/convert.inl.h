// Conversions between the formats in memory and 4-byte elements, and casts between FP32 and INT32.
#pragma once

#include "pypto/device/simd/math.inl.h"

namespace pypto::device::simd::PYPTO_SIMD_SET {
namespace {

PYPTO_SIMD_INLINE VecH LoadHalves(const uint16_t* p) { return *reinterpret_cast<const VecHMemory*>(p); }
PYPTO_SIMD_INLINE void StoreHalves(uint16_t* p, VecH x) { *reinterpret_cast<VecHMemory*>(p) = x; }

// FP16: exact when widened; rounded half to even when narrowed, NaN stays NaN, large values become infinite.
struct Fp16 {
#if defined(__AVX512F__)
  PYPTO_SIMD_INLINE VecF Widen(VecH x) {
    return reinterpret_cast<VecF>(_mm512_maskz_cvtph_ps(0xffff, reinterpret_cast<__m256i>(x)));
  }
  PYPTO_SIMD_INLINE VecH Narrow(VecF x) {
    return reinterpret_cast<VecH>(_mm512_maskz_cvtps_ph(0xffff, reinterpret_cast<__m512>(x), 0));
  }
#elif defined(__F16C__)
  PYPTO_SIMD_INLINE VecF Widen(VecH x) { return reinterpret_cast<VecF>(_mm256_cvtph_ps(reinterpret_cast<__m128i>(x))); }
  PYPTO_SIMD_INLINE VecH Narrow(VecF x) {
    return reinterpret_cast<VecH>(_mm256_cvtps_ph(reinterpret_cast<__m256>(x), 0));
  }
#else
  PYPTO_SIMD_INLINE VecF Widen(VecH x) {
    const VecU bits = __builtin_convertvector(x, VecU);
    const VecU shifted = (bits & 0x7fffU) << 13;
    const VecU exponent = shifted & 0x0f800000U;
    const VecU normal = shifted + 0x38000000U;
    const VecU special = shifted + 0x70000000U;
    const VecF subnormal = AsFloat(shifted + 0x38800000U) - 6.103515625e-05F;
    VecU magnitude = exponent == 0U ? AsBits(subnormal) : normal;
    magnitude = exponent == 0x0f800000U ? special : magnitude;
    return AsFloat(magnitude | ((bits & 0x8000U) << 16));
  }
  PYPTO_SIMD_INLINE VecH Narrow(VecF x) {
    const VecU magnitude = AsBits(x) & 0x7fffffffU;
    const VecU normal = (magnitude + 0xfffU + ((magnitude >> 13) & 1U) - 0x38000000U) >> 13;
    const VecU subnormal = AsBits(AsFloat(magnitude) + 0.5F) - 0x3f000000U;
    VecU result = magnitude < 0x38800000U ? subnormal : normal;
    result = magnitude >= 0x477ff000U ? VecU{} + 0x7c00U : result;
    result = magnitude > 0x7f800000U ? VecU{} + 0x7e00U : result;
    return __builtin_convertvector(result | ((AsBits(x) >> 16) & 0x8000U), VecH);
  }
#endif
  PYPTO_SIMD_INLINE VecF Fit(VecF x) { return Widen(Narrow(x)); }
};

// BF16: the upper half of an FP32; rounded half to even.
struct Bf16 {
  PYPTO_SIMD_INLINE VecU Rounded(VecF x) {
    const VecU bits = AsBits(x);
    const VecU rounded = bits + 0x7fffU + ((bits >> 16) & 1U);
    return x != x ? (bits | 0x00400000U) : rounded;
  }
#if defined(__AVX512F__)
  PYPTO_SIMD_INLINE VecF Widen(VecH x) {
    return AsFloat(reinterpret_cast<VecU>(_mm512_maskz_cvtepu16_epi32(0xffff, reinterpret_cast<__m256i>(x))) << 16);
  }
  PYPTO_SIMD_INLINE VecH Narrow(VecF x) {
    return reinterpret_cast<VecH>(_mm512_maskz_cvtepi32_epi16(0xffff, reinterpret_cast<__m512i>(Rounded(x) >> 16)));
  }
#else
#if defined(__AVX2__)
  PYPTO_SIMD_INLINE VecF Widen(VecH x) {
    return AsFloat(reinterpret_cast<VecU>(_mm256_cvtepu16_epi32(reinterpret_cast<__m128i>(x))) << 16);
  }
#else
  PYPTO_SIMD_INLINE VecF Widen(VecH x) { return AsFloat(__builtin_convertvector(x, VecU) << 16); }
#endif
  PYPTO_SIMD_INLINE VecH Narrow(VecF x) { return __builtin_convertvector(Rounded(x) >> 16, VecH); }
#endif
#if defined(__AVX512BF16__)
  // The same by one instruction, which takes subnormal numbers for zeros: not for vectors that hold one.
  PYPTO_SIMD_INLINE VecH NarrowNormal(VecF x) {
    return reinterpret_cast<VecH>(_mm512_cvtneps_pbh(reinterpret_cast<__m512>(x)));
  }
  PYPTO_SIMD_INLINE bool HasSubnormal(VecF a, VecF b, VecF c, VecF d) {
    constexpr int kSubnormal = 0x20;
    const auto mask = [](VecF x) __attribute__((always_inline)) {
      return _mm512_fpclass_ps_mask(reinterpret_cast<__m512>(x), kSubnormal);
    };
    return (mask(a) | mask(b) | mask(c) | mask(d)) != 0;
  }
#endif
  PYPTO_SIMD_INLINE VecF Fit(VecF x) { return AsFloat(Rounded(x) & 0xffff0000U); }
};

// Up to kLanes halves at any distance.
PYPTO_SIMD_INLINE VecH GatherHalves(const uint16_t* p, int64_t step, int64_t n) {
  VecH x{};
  for (int64_t i = 0; i < n; ++i) x[i] = p[i * step];
  return x;
}
PYPTO_SIMD_INLINE void ScatterHalves(uint16_t* p, int64_t step, VecH x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) p[i * step] = x[i];
}

template <typename Half>
void LoadHalf(void* out, const void* source, int64_t step, int64_t n) {
  auto* to = static_cast<float*>(out);
  const auto* from = static_cast<const uint16_t*>(source);
  int64_t i = 0;
  if (step == 1) {
    for (; i + kLanes <= n; i += kLanes) Store(to + i, Half::Widen(LoadHalves(from + i)));
  }
  for (; i < n; i += kLanes) {
    const int64_t part = n - i < kLanes ? n - i : kLanes;
    const VecF x = Half::Widen(GatherHalves(from + i * step, step, part));
    part == kLanes ? Store(to + i, x) : StorePart(to + i, x, part);
  }
}

template <typename Half>
void StoreHalf(void* out, int64_t step, const void* source, int64_t n) {
  auto* to = static_cast<uint16_t*>(out);
  const auto* from = static_cast<const float*>(source);
  int64_t i = 0;
  if (step == 1) {
    for (; i + kLanes <= n; i += kLanes) StoreHalves(to + i, Half::Narrow(Load(from + i)));
  }
  for (; i < n; i += kLanes) {
    const int64_t part = n - i < kLanes ? n - i : kLanes;
    const VecF x = part == kLanes ? Load(from + i) : LoadPart(from + i, part);
    ScatterHalves(to + i * step, step, Half::Narrow(x), part);
  }
}

template <typename Half>
void FitHalf(void* data, int64_t n) {
  auto* x = static_cast<float*>(data);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) Store(x + i, Half::Fit(Load(x + i)));
  if (i < n) StorePart(x + i, Half::Fit(LoadPart(x + i, n - i)), n - i);
}

template <typename From, typename To>
void LoadElements(void* out, const void* source, int64_t step, int64_t n) {
  auto* to = static_cast<To*>(out);
  const auto* from = static_cast<const From*>(source);
  if (step == 1) {
    for (int64_t i = 0; i < n; ++i) to[i] = static_cast<To>(from[i]);
  } else {
    for (int64_t i = 0; i < n; ++i) to[i] = static_cast<To>(from[i * step]);
  }
}

template <typename From, typename To>
void StoreElements(void* out, int64_t step, const void* source, int64_t n) {
  auto* to = static_cast<To*>(out);
  const auto* from = static_cast<const From*>(source);
  if (step == 1) {
    for (int64_t i = 0; i < n; ++i) to[i] = static_cast<To>(from[i]);
  } else {
    for (int64_t i = 0; i < n; ++i) to[i * step] = static_cast<To>(from[i]);
  }
}

// A BOOL cell is true when it is not 0, whatever its bits.
void LoadBool(void* out, const void* source, int64_t step, int64_t n) {
  auto* to = static_cast<int32_t*>(out);
  const auto* from = static_cast<const uint8_t*>(source);
  for (int64_t i = 0; i < n; ++i) to[i] = from[i * step] != 0 ? 1 : 0;
}
void StoreBool(void* out, int64_t step, const void* source, int64_t n) {
  auto* to = static_cast<uint8_t*>(out);
  const auto* from = static_cast<const int32_t*>(source);
  for (int64_t i = 0; i < n; ++i) to[i * step] = from[i] != 0 ? 1 : 0;
}
void FitBool(void* data, int64_t n) {
  auto* x = static_cast<int32_t*>(data);
  for (int64_t i = 0; i < n; ++i) x[i] = x[i] != 0 ? 1 : 0;
}
void FitUint32(void* data, int64_t n) {
  auto* x = static_cast<int64_t*>(data);
  for (int64_t i = 0; i < n; ++i) x[i] = static_cast<uint32_t>(x[i]);
}
template <typename Narrow>
void FitInteger(void* data, int64_t n) {
  auto* x = static_cast<int32_t*>(data);
  for (int64_t i = 0; i < n; ++i) x[i] = static_cast<Narrow>(static_cast<uint32_t>(x[i]));
}

struct ToHalfEven {
  // Adding and subtracting 2^23 rounds; from there on every FP32 is an integer.
  PYPTO_SIMD_INLINE VecF Apply(VecF x) {
    const VecF magnitude = Abs(x);
    const VecF rounded = (magnitude + 8388608.0F) - 8388608.0F;
    return magnitude < 8388608.0F ? CopySign(rounded, x) : x;
  }
};
struct ToTrunc {
  PYPTO_SIMD_INLINE VecF Apply(VecF x) {
    const VecF magnitude = Abs(x);
    const VecF nearest = (magnitude + 8388608.0F) - 8388608.0F;
    const VecF whole = nearest > magnitude ? nearest - 1.0F : nearest;
    return magnitude < 8388608.0F ? CopySign(whole, x) : x;
  }
};
struct ToHalfAway {
  PYPTO_SIMD_INLINE VecF Apply(VecF x) {
    const VecF whole = ToTrunc::Apply(x);
    const VecF up = Abs(x - whole) >= 0.5F ? CopySign(Splat(1.0F), x) : CopySign(VecF{}, x);
    return Abs(x) < 8388608.0F ? whole + up : x;
  }
};
struct ToFloor {
  PYPTO_SIMD_INLINE VecF Apply(VecF x) {
    const VecF whole = ToTrunc::Apply(x);
    return whole > x ? whole - 1.0F : whole;
  }
};
struct ToCeil {
  PYPTO_SIMD_INLINE VecF Apply(VecF x) {
    const VecF whole = ToTrunc::Apply(x);
    return whole < x ? whole + 1.0F : whole;
  }
};

template <typename Mode>
void RoundRow(void* data, int64_t n) {
  auto* x = static_cast<float*>(data);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) Store(x + i, Mode::Apply(Load(x + i)));
  if (i < n) StorePart(x + i, Mode::Apply(LoadPart(x + i, n - i)), n - i);
}

#if defined(__AVX2__)
// Toward zero; INT32_MIN for what does not fit.
PYPTO_SIMD_INLINE VecI Truncated(VecF x) {
#if defined(__AVX512F__)
  return reinterpret_cast<VecI>(_mm512_maskz_cvttps_epi32(0xffff, reinterpret_cast<__m512>(x)));
#else
  return reinterpret_cast<VecI>(_mm256_cvttps_epi32(reinterpret_cast<__m256>(x)));
#endif
}
PYPTO_SIMD_INLINE bool AnyLowest(VecI x) {
#if defined(__AVX512F__)
  return _mm512_cmpeq_epi32_mask(reinterpret_cast<__m512i>(x), reinterpret_cast<__m512i>(Splat(INT32_MIN))) != 0;
#else
  return AnyLane(x == INT32_MIN);
#endif
}
#endif

// Toward zero, modulo 2^32. An FP32 of at least 2^31 is its 24-bit significand shifted left.
PYPTO_SIMD_INLINE VecI TruncateModulo(VecF x) {
#if defined(__AVX2__)
  const VecI truncated = Truncated(x);
  if (!AnyLowest(truncated)) [[likely]]
    return truncated;
#else
  if (!AnyLane(~(Abs(x) < 2147483648.0F))) [[likely]]
    return __builtin_convertvector(x, VecI);
#endif
  const VecU bits = AsBits(x);
  const VecI exponent = reinterpret_cast<VecI>((bits >> 23) & 0xffU);
  const VecI shift = exponent - 150;
  const VecI amount = shift < 0 ? VecI{} : (shift > 31 ? VecI{} : shift);
  VecU large = ((bits & 0x007fffffU) | 0x00800000U) << reinterpret_cast<VecU>(amount);
  large = shift > 31 ? VecU{} : large;
  large = AsInt(x) < 0 ? 0U - large : large;
  const VecI fits = exponent < 158;  // |x| < 2^31
  const VecI small = __builtin_convertvector(fits ? x : VecF{}, VecI);
  return fits ? small : reinterpret_cast<VecI>(large);
}

void TruncateRow(int32_t* out, const float* data, int64_t n) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) Store(out + i, TruncateModulo(Load(data + i)));
  if (i < n) StorePart(out + i, TruncateModulo(LoadPart(data + i, n - i)), n - i);
}

PYPTO_SIMD_INLINE VecI Saturated(VecF x, int32_t low, int32_t high) {
  const VecI fits = Abs(x) < 2147483648.0F;
  VecI whole = __builtin_convertvector(fits ? x : VecF{}, VecI);
  whole = fits ? whole : (x < 0.0F ? Splat(INT32_MIN) : Splat(INT32_MAX));
  whole = Minimum(Maximum(whole, Splat(low)), Splat(high));
  return x != x ? VecI{} : whole;
}

void SaturateRow(int32_t* out, const float* data, int64_t n, int32_t low, int32_t high) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) Store(out + i, Saturated(Load(data + i), low, high));
  if (i < n) StorePart(out + i, Saturated(LoadPart(data + i, n - i), low, high), n - i);
}

void FlagRow(int32_t* out, const float* data, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = data[i] != 0.0F ? 1 : 0;
}
void WidenRow(float* out, const int32_t* data, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<float>(data[i]);
}
void ClampRow(int32_t* data, int64_t n, int32_t low, int32_t high) {
  for (int64_t i = 0; i < n; ++i) data[i] = data[i] < low ? low : (data[i] > high ? high : data[i]);
}

}  // namespace
}  // namespace pypto::device::simd::PYPTO_SIMD_SET
