// Units of packed panels: 4 bytes that hold one or more neighbouring terms of a sum, and the arithmetic on them.
#pragma once

#include "pypto/device/simd/convert.inl.h"
#include "pypto/device/simd/small_floats.inl.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace pypto::device::simd::PYPTO_SIMD_SET {
namespace {

typedef uint8_t VecQ __attribute__((vector_size(PYPTO_SIMD_BYTES / 4)));
typedef uint8_t VecQMemory __attribute__((vector_size(PYPTO_SIMD_BYTES / 4), aligned(1), may_alias));
typedef int8_t VecS __attribute__((vector_size(PYPTO_SIMD_BYTES / 2)));
typedef int8_t VecSMemory __attribute__((vector_size(PYPTO_SIMD_BYTES / 2), aligned(1), may_alias));
typedef int16_t VecW __attribute__((vector_size(PYPTO_SIMD_BYTES)));

PYPTO_SIMD_INLINE VecI LoadUnits(const void* p) { return Load(static_cast<const int32_t*>(p)); }
PYPTO_SIMD_INLINE VecU LoadBytes(const char* p) {
#if defined(__AVX512F__)
  return reinterpret_cast<VecU>(
      _mm512_maskz_cvtepu8_epi32(0xffff, _mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
#elif defined(__AVX2__)
  return reinterpret_cast<VecU>(_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
#else
  return __builtin_convertvector(*reinterpret_cast<const VecQMemory*>(p), VecU);
#endif
}
PYPTO_SIMD_INLINE VecU LoadWords(const char* p) {
  return __builtin_convertvector(LoadHalves(reinterpret_cast<const uint16_t*>(p)), VecU);
}

// kLanes neighbouring elements as FP32.
template <Format kFormat>
PYPTO_SIMD_INLINE VecF WidenLanes(const char* p) {
  if constexpr (kFormat == kF32) return Load(reinterpret_cast<const float*>(p));
  if constexpr (kFormat == kF16) return Fp16::Widen(LoadHalves(reinterpret_cast<const uint16_t*>(p)));
  if constexpr (kFormat == kBf16) return Bf16::Widen(LoadHalves(reinterpret_cast<const uint16_t*>(p)));
  float run[kLanes];
  if constexpr (kFormat == kE4m3) LoadSmall<E4m3>(run, p, 1, kLanes);
  if constexpr (kFormat == kE5m2) LoadSmall<E5m2>(run, p, 1, kLanes);
  if constexpr (kFormat == kHf8) LoadSmall<Hf8>(run, p, 1, kLanes);
  return Load(run);
}

// One term in a unit, as FP32.
template <Format kFormat>
struct FloatUnits {
  using Sum = VecF;
  static constexpr int kGroup = 1;
  static constexpr int kHead = 0;
  static constexpr int kBytes = kFormat == kF32 ? 4 : kFormat == kF16 || kFormat == kBf16 ? 2 : 1;
  // kLanes units of one line, and one unit each of kLanes lines whose rows of terms are k_bytes apart.
  PYPTO_SIMD_MEMBER static VecI Along(const char* p) { return AsInt(WidenLanes<kFormat>(p)); }
  PYPTO_SIMD_MEMBER static VecI Across(const char* p, int64_t) { return AsInt(WidenLanes<kFormat>(p)); }
  PYPTO_SIMD_MEMBER static VecI Left(VecI units) { return units; }  // of A
  PYPTO_SIMD_MEMBER static VecF MultiplyAdd(VecF sum, VecI a, VecI b) { return sum + AsFloat(a) * AsFloat(b); }
};

#if defined(__AVX512BF16__)
// Two BF16 terms in a unit. The product is the processor's own: subnormals count as zero, each of the two steps rounds
// half to even.
struct Bf16Units {
  using Sum = VecF;
  static constexpr int kGroup = 2;
  static constexpr int kHead = 0;
  static constexpr int kBytes = 2;
  PYPTO_SIMD_MEMBER static VecI Along(const char* p) { return LoadUnits(p); }
  PYPTO_SIMD_MEMBER static VecI Across(const char* p, int64_t k_bytes) {
    return reinterpret_cast<VecI>(LoadWords(p) | (LoadWords(p + k_bytes) << 16));
  }
  PYPTO_SIMD_MEMBER static VecI Left(VecI units) { return units; }
  PYPTO_SIMD_MEMBER static VecF MultiplyAdd(VecF sum, VecI a, VecI b) {
    return reinterpret_cast<VecF>(
        _mm512_dpbf16_ps(reinterpret_cast<__m512>(sum), reinterpret_cast<__m512bh>(a), reinterpret_cast<__m512bh>(b)));
  }
};
#endif

#if defined(__AVX512VNNI__)
// Four INT8 terms in a unit. The instruction takes unsigned times signed bytes: A is kept with 128 added, and B's panel
// begins with what that adds to each column, negated. Sums are exact modulo 2^32.
struct Int8Units {
  using Sum = VecI;
  static constexpr int kGroup = 4;
  static constexpr int kHead = 1;
  static constexpr int kBytes = 1;
  PYPTO_SIMD_MEMBER static VecI Along(const char* p) { return LoadUnits(p); }
  PYPTO_SIMD_MEMBER static VecI Across(const char* p, int64_t k_bytes) {
    return reinterpret_cast<VecI>(LoadBytes(p) | (LoadBytes(p + k_bytes) << 8) | (LoadBytes(p + 2 * k_bytes) << 16) |
                                  (LoadBytes(p + 3 * k_bytes) << 24));
  }
  PYPTO_SIMD_MEMBER static VecI Left(VecI units) { return units ^ static_cast<int32_t>(0x80808080U); }
  PYPTO_SIMD_MEMBER static VecI MultiplyAdd(VecI sum, VecI a, VecI b) {
    return reinterpret_cast<VecI>(_mm512_dpbusd_epi32(reinterpret_cast<__m512i>(sum), reinterpret_cast<__m512i>(a),
                                                      reinterpret_cast<__m512i>(b)));
  }
  PYPTO_SIMD_MEMBER static VecI Offset(VecI sum, VecI b) {
    return MultiplyAdd(sum, VecI{} + static_cast<int32_t>(0x80808080U), b);
  }
};
#elif defined(__SSE2__)
// Two INT8 terms in a unit, as INT16.
struct Int8Units {
  using Sum = VecI;
  static constexpr int kGroup = 2;
  static constexpr int kHead = 0;
  static constexpr int kBytes = 1;
  PYPTO_SIMD_MEMBER static VecI Along(const char* p) {
    return reinterpret_cast<VecI>(__builtin_convertvector(*reinterpret_cast<const VecSMemory*>(p), VecW));
  }
  PYPTO_SIMD_MEMBER static VecI Across(const char* p, int64_t k_bytes) {
    const VecU first = (LoadBytes(p) ^ 0x80U) - 0x80U;
    const VecU second = (LoadBytes(p + k_bytes) ^ 0x80U) - 0x80U;
    return reinterpret_cast<VecI>((first & 0xffffU) | (second << 16));
  }
  PYPTO_SIMD_MEMBER static VecI Left(VecI units) { return units; }
  PYPTO_SIMD_MEMBER static VecI MultiplyAdd(VecI sum, VecI a, VecI b) {
#if defined(__AVX512BW__)
    return sum + reinterpret_cast<VecI>(_mm512_madd_epi16(reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
#elif defined(__AVX2__)
    return sum + reinterpret_cast<VecI>(_mm256_madd_epi16(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
#else
    return sum + reinterpret_cast<VecI>(_mm_madd_epi16(reinterpret_cast<__m128i>(a), reinterpret_cast<__m128i>(b)));
#endif
  }
};
#else
// One INT8 term in a unit, as INT32.
struct Int8Units {
  using Sum = VecI;
  static constexpr int kGroup = 1;
  static constexpr int kHead = 0;
  static constexpr int kBytes = 1;
  PYPTO_SIMD_MEMBER static VecI Along(const char* p) { return reinterpret_cast<VecI>((LoadBytes(p) ^ 0x80U) - 0x80U); }
  PYPTO_SIMD_MEMBER static VecI Across(const char* p, int64_t) { return Along(p); }
  PYPTO_SIMD_MEMBER static VecI Left(VecI units) { return units; }
  PYPTO_SIMD_MEMBER static VecI MultiplyAdd(VecI sum, VecI a, VecI b) { return sum + a * b; }
};
#endif

// What does not fill a vector: `terms` terms, each k_bytes apart, of `lanes` lines, lane_bytes apart, copied into
// zeros. Terms of a line lie one after the other in `out`, or those of all lines row by row.
template <typename Units>
PYPTO_SIMD_INLINE void CopyTerms(char* out, int64_t out_bytes, const char* p, int64_t inner, int64_t inner_bytes,
                                 int64_t outer, int64_t outer_bytes) {
  for (int64_t i = 0; i < outer; ++i) {
    for (int64_t j = 0; j < inner; ++j) {
      for (int byte = 0; byte < Units::kBytes; ++byte) {
        out[i * out_bytes + j * Units::kBytes + byte] = p[i * outer_bytes + j * inner_bytes + byte];
      }
    }
  }
}
template <typename Units>
VecI AlongPart(const char* p, int64_t k_bytes, int64_t terms) {
  char copy[kLanes * Units::kGroup * Units::kBytes] = {};
  CopyTerms<Units>(copy, 0, p, terms, k_bytes, 1, 0);
  return Units::Along(copy);
}
template <typename Units>
VecI AcrossPart(const char* p, int64_t k_bytes, int64_t terms, int64_t lanes) {
  constexpr int64_t kRow = kLanes * Units::kBytes;
  char copy[kRow * Units::kGroup] = {};
  CopyTerms<Units>(copy, kRow, p, lanes, Units::kBytes, terms, k_bytes);
  return Units::Across(copy, kRow);
}

}  // namespace
}  // namespace pypto::device::simd::PYPTO_SIMD_SET
