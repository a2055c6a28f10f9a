// Vector types and loads of one instruction set. Included once by each kernels_<set>.cpp, which defines
// PYPTO_SIMD_SET (the namespace) and PYPTO_SIMD_BYTES (the width of a vector).
#pragma once

#if defined(__F16C__) || defined(__AVX512F__)
#include <immintrin.h>
#endif

#include "pypto/device/simd/kernel_table.h"

#define PYPTO_SIMD_INLINE static inline __attribute__((always_inline))
#define PYPTO_SIMD_MEMBER inline __attribute__((always_inline))

namespace pypto::device::simd::PYPTO_SIMD_SET {
namespace {

constexpr int64_t kLanes = PYPTO_SIMD_BYTES / 4;

typedef float VecF __attribute__((vector_size(PYPTO_SIMD_BYTES)));
typedef int32_t VecI __attribute__((vector_size(PYPTO_SIMD_BYTES)));
typedef uint32_t VecU __attribute__((vector_size(PYPTO_SIMD_BYTES)));
typedef uint16_t VecH __attribute__((vector_size(PYPTO_SIMD_BYTES / 2)));
// The same in memory: at any element boundary, of any type; integers also stand for units of narrower elements.
typedef float VecFMemory __attribute__((vector_size(PYPTO_SIMD_BYTES), aligned(4), may_alias));
typedef int32_t VecIMemory __attribute__((vector_size(PYPTO_SIMD_BYTES), aligned(1), may_alias));
typedef uint16_t VecHMemory __attribute__((vector_size(PYPTO_SIMD_BYTES / 2), aligned(2), may_alias));

PYPTO_SIMD_INLINE VecI AsInt(VecF x) { return reinterpret_cast<VecI>(x); }
PYPTO_SIMD_INLINE VecU AsBits(VecF x) { return reinterpret_cast<VecU>(x); }
PYPTO_SIMD_INLINE VecF AsFloat(VecI x) { return reinterpret_cast<VecF>(x); }
PYPTO_SIMD_INLINE VecF AsFloat(VecU x) { return reinterpret_cast<VecF>(x); }

// Subtracting zero keeps -0 and folds to a broadcast.
PYPTO_SIMD_INLINE VecF Splat(float x) { return x - VecF{}; }
PYPTO_SIMD_INLINE VecI Splat(int32_t x) { return x - VecI{}; }

PYPTO_SIMD_INLINE VecF Load(const float* p) { return *reinterpret_cast<const VecFMemory*>(p); }
PYPTO_SIMD_INLINE VecI Load(const int32_t* p) { return *reinterpret_cast<const VecIMemory*>(p); }
PYPTO_SIMD_INLINE void Store(float* p, VecF x) { *reinterpret_cast<VecFMemory*>(p) = x; }
PYPTO_SIMD_INLINE void Store(int32_t* p, VecI x) { *reinterpret_cast<VecIMemory*>(p) = x; }

// The first n of a vector, 0 < n < kLanes; lanes past them hold zero.
#if defined(__AVX512F__)
PYPTO_SIMD_INLINE VecF LoadPart(const float* p, int64_t n) {
  return reinterpret_cast<VecF>(_mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << n) - 1), p));
}
PYPTO_SIMD_INLINE void StorePart(float* p, VecF x, int64_t n) {
  _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1u << n) - 1), reinterpret_cast<__m512>(x));
}
#elif defined(__AVX2__)
PYPTO_SIMD_INLINE VecI FirstLanes(int64_t n) { return VecI{0, 1, 2, 3, 4, 5, 6, 7} < static_cast<int32_t>(n); }
PYPTO_SIMD_INLINE VecF LoadPart(const float* p, int64_t n) {
  return reinterpret_cast<VecF>(_mm256_maskload_ps(p, reinterpret_cast<__m256i>(FirstLanes(n))));
}
PYPTO_SIMD_INLINE void StorePart(float* p, VecF x, int64_t n) {
  _mm256_maskstore_ps(p, reinterpret_cast<__m256i>(FirstLanes(n)), reinterpret_cast<__m256>(x));
}
#else
PYPTO_SIMD_INLINE VecF LoadPart(const float* p, int64_t n) {
  VecF x{};
  for (int64_t i = 0; i < n; ++i) x[i] = p[i];
  return x;
}
PYPTO_SIMD_INLINE void StorePart(float* p, VecF x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) p[i] = x[i];
}
#endif
PYPTO_SIMD_INLINE VecI LoadPart(const int32_t* p, int64_t n) {
  return AsInt(LoadPart(reinterpret_cast<const float*>(p), n));
}
PYPTO_SIMD_INLINE void StorePart(int32_t* p, VecI x, int64_t n) {
  StorePart(reinterpret_cast<float*>(p), AsFloat(x), n);
}

// The vector type of an element type.
template <typename T>
struct VectorOf;
template <>
struct VectorOf<float> {
  using Type = VecF;
};
template <>
struct VectorOf<int32_t> {
  using Type = VecI;
};
template <typename T>
using Vec = typename VectorOf<T>::Type;

// The element type of a vector type.
template <typename V>
struct ElementOf;
template <>
struct ElementOf<VecF> {
  using Type = float;
};
template <>
struct ElementOf<VecI> {
  using Type = int32_t;
};

PYPTO_SIMD_INLINE VecF Abs(VecF x) { return AsFloat(AsBits(x) & 0x7fffffffU); }
PYPTO_SIMD_INLINE VecF CopySign(VecF magnitude, VecF sign) {
  return AsFloat((AsBits(magnitude) & 0x7fffffffU) | (AsBits(sign) & 0x80000000U));
}

// NaN stays.
PYPTO_SIMD_INLINE VecF Clamped(VecF x, float low, float high) {
#if defined(__AVX512F__)
  const __m512 below = _mm512_maskz_min_ps(0xffff, reinterpret_cast<__m512>(Splat(high)), reinterpret_cast<__m512>(x));
  return reinterpret_cast<VecF>(_mm512_maskz_max_ps(0xffff, reinterpret_cast<__m512>(Splat(low)), below));
#elif defined(__AVX2__)
  const __m256 below = _mm256_min_ps(reinterpret_cast<__m256>(Splat(high)), reinterpret_cast<__m256>(x));
  return reinterpret_cast<VecF>(_mm256_max_ps(reinterpret_cast<__m256>(Splat(low)), below));
#else
  const VecF above = x < low ? Splat(low) : x;
  return above > high ? Splat(high) : above;
#endif
}

// Whether a lane of a comparison holds: lanes are all ones or all zeros.
PYPTO_SIMD_INLINE bool AnyLane(VecI lanes) {
#if defined(__AVX512F__)
  return _mm512_movepi32_mask(reinterpret_cast<__m512i>(lanes)) != 0;
#elif defined(__AVX2__)
  return _mm256_movemask_ps(reinterpret_cast<__m256>(lanes)) != 0;
#else
  typedef int64_t Wide __attribute__((vector_size(PYPTO_SIMD_BYTES)));
  const Wide wide = reinterpret_cast<Wide>(lanes);
  int64_t any = 0;
  for (int i = 0; i < kLanes / 2; ++i) any |= wide[i];
  return any != 0;
#endif
}

// A bit for each lane of a comparison: whether it holds.
PYPTO_SIMD_INLINE uint32_t LaneBits(VecI lanes) {
#if defined(__AVX512F__)
  return _mm512_movepi32_mask(reinterpret_cast<__m512i>(lanes));
#elif defined(__AVX2__)
  return static_cast<uint32_t>(_mm256_movemask_ps(reinterpret_cast<__m256>(lanes)));
#else
  uint32_t bits = 0;
  for (int64_t lane = 0; lane < kLanes; ++lane) bits |= static_cast<uint32_t>(lanes[lane] & 1) << lane;
  return bits;
#endif
}

}  // namespace
}  // namespace pypto::device::simd::PYPTO_SIMD_SET
