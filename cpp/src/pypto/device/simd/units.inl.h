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

#if defined(__AVX512F__)
// Quarters of four vectors: the k-th of each make vector k.
template <typename V>
PYPTO_SIMD_INLINE void TurnQuarters(V* x) {
  const auto low = [](V a, V b) {
    return __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
  };
  const auto high = [](V a, V b) {
    return __builtin_shufflevector(a, b, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
  };
  const auto even = [](V a, V b) {
    return __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
  };
  const auto odd = [](V a, V b) {
    return __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
  };
  const V low01 = low(x[0], x[1]);
  const V low23 = low(x[2], x[3]);
  const V high01 = high(x[0], x[1]);
  const V high23 = high(x[2], x[3]);
  x[0] = even(low01, low23);
  x[1] = odd(low01, low23);
  x[2] = even(high01, high23);
  x[3] = odd(high01, high23);
}
#endif

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
  // Units of kSpread vectors of neighbouring lines, in the order that comes easily; Gather puts vectors into theirs.
  static constexpr int kSpread = 1;
  PYPTO_SIMD_MEMBER static void Spread(const char* p, int64_t, VecI* units) { *units = Along(p); }
  template <typename V>
  PYPTO_SIMD_MEMBER static void Gather(V*) {}
  PYPTO_SIMD_MEMBER static VecI Right(VecI units) { return units; }  // of B
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
  static constexpr int kSpread = 2;
  PYPTO_SIMD_MEMBER static void Spread(const char* p, int64_t k_bytes, VecI* units) {
    const auto first = reinterpret_cast<__m512i>(LoadUnits(p));
    const auto second = reinterpret_cast<__m512i>(LoadUnits(p + k_bytes));
    units[0] = reinterpret_cast<VecI>(_mm512_unpacklo_epi16(first, second));
    units[1] = reinterpret_cast<VecI>(_mm512_unpackhi_epi16(first, second));
  }
  template <typename V>
  PYPTO_SIMD_MEMBER static void Gather(V* sums) {
    const V low = sums[0];
    const V high = sums[1];
    sums[0] = __builtin_shufflevector(low, high, 0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23);
    sums[1] = __builtin_shufflevector(low, high, 8, 9, 10, 11, 24, 25, 26, 27, 12, 13, 14, 15, 28, 29, 30, 31);
  }
  PYPTO_SIMD_MEMBER static VecI Right(VecI units) { return units; }
  PYPTO_SIMD_MEMBER static VecF MultiplyAdd(VecF sum, VecI a, VecI b) {
    return reinterpret_cast<VecF>(
        _mm512_dpbf16_ps(reinterpret_cast<__m512>(sum), reinterpret_cast<__m512bh>(a), reinterpret_cast<__m512bh>(b)));
  }
};
#endif

#if defined(__AVX512VNNI__)
// Four INT8 terms in a unit. The instruction takes unsigned times signed bytes: B is kept with 128 added, and A's panel
// begins with what that adds to each row, negated. Sums are exact modulo 2^32.
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
  static constexpr int kSpread = 4;
  PYPTO_SIMD_MEMBER static void Spread(const char* p, int64_t k_bytes, VecI* units) {
    const auto row = [p, k_bytes](int i) { return reinterpret_cast<__m512i>(LoadUnits(p + i * k_bytes)); };
    const __m512i low01 = _mm512_unpacklo_epi8(row(0), row(1));
    const __m512i high01 = _mm512_unpackhi_epi8(row(0), row(1));
    const __m512i low23 = _mm512_unpacklo_epi8(row(2), row(3));
    const __m512i high23 = _mm512_unpackhi_epi8(row(2), row(3));
    units[0] = reinterpret_cast<VecI>(_mm512_unpacklo_epi16(low01, low23));
    units[1] = reinterpret_cast<VecI>(_mm512_unpackhi_epi16(low01, low23));
    units[2] = reinterpret_cast<VecI>(_mm512_unpacklo_epi16(high01, high23));
    units[3] = reinterpret_cast<VecI>(_mm512_unpackhi_epi16(high01, high23));
  }
  template <typename V>
  PYPTO_SIMD_MEMBER static void Gather(V* sums) {
    TurnQuarters(sums);
  }
  PYPTO_SIMD_MEMBER static VecI Right(VecI units) { return units ^ static_cast<int32_t>(0x80808080U); }
  PYPTO_SIMD_MEMBER static VecI MultiplyAdd(VecI sum, VecI a, VecI b) {
    return reinterpret_cast<VecI>(_mm512_dpbusd_epi32(reinterpret_cast<__m512i>(sum), reinterpret_cast<__m512i>(b),
                                                      reinterpret_cast<__m512i>(a)));
  }
  PYPTO_SIMD_MEMBER static VecI Offset(VecI sum, VecI a) {
    return MultiplyAdd(sum, a, VecI{} + static_cast<int32_t>(0x80808080U));
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
  static constexpr int kSpread = 1;
  PYPTO_SIMD_MEMBER static void Spread(const char* p, int64_t k_bytes, VecI* units) { *units = Across(p, k_bytes); }
  template <typename V>
  PYPTO_SIMD_MEMBER static void Gather(V*) {}
  PYPTO_SIMD_MEMBER static VecI Right(VecI units) { return units; }
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
  static constexpr int kSpread = 1;
  PYPTO_SIMD_MEMBER static void Spread(const char* p, int64_t k_bytes, VecI* units) { *units = Across(p, k_bytes); }
  template <typename V>
  PYPTO_SIMD_MEMBER static void Gather(V*) {}
  PYPTO_SIMD_MEMBER static VecI Right(VecI units) { return units; }
  PYPTO_SIMD_MEMBER static VecI MultiplyAdd(VecI sum, VecI a, VecI b) { return sum + a * b; }
};
#endif

PYPTO_SIMD_INLINE void CopyBytes(char* to, const char* from, int64_t bytes) {
#if defined(__AVX512F__)
  for (; bytes > 0; bytes -= 64, to += 64, from += 64) {
    const __mmask64 held = bytes >= 64 ? ~__mmask64{0} : (__mmask64{1} << bytes) - 1;
    _mm512_mask_storeu_epi8(to, held, _mm512_maskz_loadu_epi8(held, from));
  }
#else
  __builtin_memcpy(to, from, static_cast<size_t>(bytes));
#endif
}

// What does not fill a vector: `terms` terms of one line, k_bytes apart, or of `lanes` neighbouring lines; zeros where
// there are none.
template <typename Units>
VecI AlongPart(const char* p, int64_t k_bytes, int64_t terms) {
  alignas(64) char copy[kLanes * Units::kGroup * Units::kBytes] = {};
  if (k_bytes == Units::kBytes) {
    CopyBytes(copy, p, terms * Units::kBytes);
  } else {
    for (int64_t i = 0; i < terms; ++i) {
      __builtin_memcpy(copy + i * Units::kBytes, p + i * k_bytes, Units::kBytes);
    }
  }
  return Units::Along(copy);
}
template <typename Units>
VecI AcrossPart(const char* p, int64_t k_bytes, int64_t terms, int64_t lanes) {
  constexpr int64_t kRow = kLanes * Units::kBytes;
  alignas(64) char copy[kRow * Units::kGroup] = {};
  for (int64_t i = 0; i < terms; ++i) CopyBytes(copy + i * kRow, p + i * k_bytes, lanes * Units::kBytes);
  return Units::Across(copy, kRow);
}

}  // namespace
}  // namespace pypto::device::simd::PYPTO_SIMD_SET
