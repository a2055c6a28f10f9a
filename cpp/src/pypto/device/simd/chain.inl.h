// Stages of a chain: two operands, A and B, travel in registers, four vectors of each, from stage to stage. A stage
// takes what it needs from memory, works, and goes on to the next one.
#pragma once

#include "pypto/device/simd/integers.inl.h"
#include "pypto/device/simd/rows.inl.h"

namespace pypto::device::simd::PYPTO_SIMD_SET {
namespace {

constexpr int64_t kChainLanes = 4 * kLanes;

#define PYPTO_A VecF a0, VecF a1, VecF a2, VecF a3
#define PYPTO_B VecF b0, VecF b1, VecF b2, VecF b3
#define PYPTO_STAGE const Stage *stage, int64_t at, int64_t left, PYPTO_A, PYPTO_B
using ChainFunction = void (*)(PYPTO_STAGE);
#define PYPTO_PASSED stage, at, left, a0, a1, a2, a3, b0, b1, b2, b3
#define PYPTO_NEXT \
  ++stage;         \
  return reinterpret_cast<ChainFunction>(stage->code)(PYPTO_PASSED)
#define PYPTO_SIMD_APART __attribute__((noinline))

template <typename T>
PYPTO_SIMD_INLINE Vec<T> Register(VecF x) {
  return reinterpret_cast<Vec<T>>(x);
}
PYPTO_SIMD_INLINE VecF Raw(VecF x) { return x; }
PYPTO_SIMD_INLINE VecF Raw(VecI x) { return AsFloat(x); }

// How a vector of 4-byte elements lies in memory. Part: the first n of it.
template <typename T>
struct WideCells {
  static constexpr int64_t kBytes = 4;
  PYPTO_SIMD_INLINE VecF Load(const uint8_t* p) { return Raw(simd::PYPTO_SIMD_SET::Load(At(p))); }
  PYPTO_SIMD_INLINE VecF LoadPart(const uint8_t* p, int64_t n) { return Raw(simd::PYPTO_SIMD_SET::LoadPart(At(p), n)); }
  PYPTO_SIMD_INLINE VecF Spread(const uint8_t* p) { return Raw(Splat(*At(p))); }
  PYPTO_SIMD_INLINE void Store(uint8_t* p, VecF x) { simd::PYPTO_SIMD_SET::Store(At(p), Register<T>(x)); }
  PYPTO_SIMD_INLINE void StorePart(uint8_t* p, VecF x, int64_t n) {
    simd::PYPTO_SIMD_SET::StorePart(At(p), Register<T>(x), n);
  }
  PYPTO_SIMD_INLINE VecF Fit(VecF x) { return x; }
  PYPTO_SIMD_INLINE VecF Narrow(VecF x) { return x; }

 private:
  PYPTO_SIMD_INLINE const T* At(const uint8_t* p) { return reinterpret_cast<const T*>(p); }
  PYPTO_SIMD_INLINE T* At(uint8_t* p) { return reinterpret_cast<T*>(p); }
};

template <typename Half>
struct HalfCells {
  static constexpr int64_t kBytes = 2;
  PYPTO_SIMD_INLINE VecF Load(const uint8_t* p) { return Half::Widen(LoadHalves(At(p))); }
  PYPTO_SIMD_INLINE VecF LoadPart(const uint8_t* p, int64_t n) { return Half::Widen(GatherHalves(At(p), 1, n)); }
  PYPTO_SIMD_INLINE VecF Spread(const uint8_t* p) { return Half::Widen(VecH{} + *At(p)); }
  PYPTO_SIMD_INLINE void Store(uint8_t* p, VecF x) { StoreHalves(At(p), Half::Narrow(x)); }
  PYPTO_SIMD_INLINE void StorePart(uint8_t* p, VecF x, int64_t n) { ScatterHalves(At(p), 1, Half::Narrow(x), n); }
  PYPTO_SIMD_INLINE VecF Fit(VecF x) { return Half::Fit(x); }
  PYPTO_SIMD_INLINE VecH Narrow(VecF x) { return Half::Narrow(x); }

 private:
  PYPTO_SIMD_INLINE const uint16_t* At(const uint8_t* p) { return reinterpret_cast<const uint16_t*>(p); }
  PYPTO_SIMD_INLINE uint16_t* At(uint8_t* p) { return reinterpret_cast<uint16_t*>(p); }
};

// The low bytes of all lanes.
template <typename Narrow>
PYPTO_SIMD_INLINE Narrow LowBytes(VecI x) {
#if defined(__AVX512F__)
  const __m512i lanes = reinterpret_cast<__m512i>(x);
  if constexpr (sizeof(Narrow) == 16) return reinterpret_cast<Narrow>(_mm512_maskz_cvtepi32_epi8(0xffff, lanes));
  if constexpr (sizeof(Narrow) == 32) return reinterpret_cast<Narrow>(_mm512_maskz_cvtepi32_epi16(0xffff, lanes));
#elif defined(__AVX2__)
  constexpr char kNo = -128;
  const __m256i lanes = reinterpret_cast<__m256i>(x);
  if constexpr (sizeof(Narrow) == 8) {
    const __m256i packed = _mm256_shuffle_epi8(
        lanes, _mm256_setr_epi8(0, 4, 8, 12, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo,
                                kNo, 0, 4, 8, 12, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo));
    const __m128i both = _mm_or_si128(_mm256_castsi256_si128(packed), _mm256_extracti128_si256(packed, 1));
    return reinterpret_cast<Narrow>(_mm_cvtsi128_si64(both));
  } else {
    const __m256i packed =
        _mm256_shuffle_epi8(lanes, _mm256_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo,
                                                    kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo, 0, 1, 4, 5, 8, 9, 12, 13));
    return reinterpret_cast<Narrow>(_mm_or_si128(_mm256_castsi256_si128(packed), _mm256_extracti128_si256(packed, 1)));
  }
#else
  return __builtin_convertvector(x, Narrow);
#endif
}

#if defined(__AVX512F__)
PYPTO_SIMD_INLINE VecI LoadWidened(const int8_t* p) {
  return reinterpret_cast<VecI>(
      _mm512_maskz_cvtepi8_epi32(0xffff, _mm_loadu_si128(reinterpret_cast<const __m128i_u*>(p))));
}
PYPTO_SIMD_INLINE VecI LoadWidened(const uint8_t* p) {
  return reinterpret_cast<VecI>(
      _mm512_maskz_cvtepu8_epi32(0xffff, _mm_loadu_si128(reinterpret_cast<const __m128i_u*>(p))));
}
PYPTO_SIMD_INLINE VecI LoadWidened(const int16_t* p) {
  return reinterpret_cast<VecI>(
      _mm512_maskz_cvtepi16_epi32(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i_u*>(p))));
}
PYPTO_SIMD_INLINE VecI LoadWidened(const uint16_t* p) {
  return reinterpret_cast<VecI>(
      _mm512_maskz_cvtepu16_epi32(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i_u*>(p))));
}
#elif defined(__AVX2__)
PYPTO_SIMD_INLINE VecI LoadWidened(const int8_t* p) {
  return reinterpret_cast<VecI>(_mm256_cvtepi8_epi32(_mm_loadu_si64(p)));
}
PYPTO_SIMD_INLINE VecI LoadWidened(const uint8_t* p) {
  return reinterpret_cast<VecI>(_mm256_cvtepu8_epi32(_mm_loadu_si64(p)));
}
PYPTO_SIMD_INLINE VecI LoadWidened(const int16_t* p) {
  return reinterpret_cast<VecI>(_mm256_cvtepi16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i_u*>(p))));
}
PYPTO_SIMD_INLINE VecI LoadWidened(const uint16_t* p) {
  return reinterpret_cast<VecI>(_mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i_u*>(p))));
}
#else
template <typename T>
PYPTO_SIMD_INLINE VecI LoadWidened(const T* p) {
  VecI x{};
  for (int64_t i = 0; i < kLanes; ++i) x[i] = p[i];
  return x;
}
#endif

// Integers of one or two bytes; they wrap.
template <typename T>
struct NarrowCells {
  static constexpr int64_t kBytes = sizeof(T);
  typedef T Vector __attribute__((vector_size(kLanes * sizeof(T))));
  typedef T Memory __attribute__((vector_size(kLanes * sizeof(T)), aligned(sizeof(T)), may_alias));
  PYPTO_SIMD_INLINE VecF Load(const uint8_t* p) { return Raw(LoadWidened(reinterpret_cast<const T*>(p))); }
  PYPTO_SIMD_INLINE VecF LoadPart(const uint8_t* p, int64_t n) {
    const T* from = reinterpret_cast<const T*>(p);
    VecI x{};
    for (int64_t i = 0; i < n; ++i) x[i] = from[i];
    return Raw(x);
  }
  PYPTO_SIMD_INLINE VecF Spread(const uint8_t* p) {
    return Raw(Splat(static_cast<int32_t>(*reinterpret_cast<const T*>(p))));
  }
  PYPTO_SIMD_INLINE Vector Narrow(VecF x) { return LowBytes<Vector>(AsInt(x)); }
  PYPTO_SIMD_INLINE void Store(uint8_t* p, VecF x) { *reinterpret_cast<Memory*>(p) = Narrow(x); }
  PYPTO_SIMD_INLINE void StorePart(uint8_t* p, VecF x, int64_t n) {
    T* to = reinterpret_cast<T*>(p);
    const VecI lanes = AsInt(x);
    for (int64_t i = 0; i < n; ++i) to[i] = static_cast<T>(static_cast<uint32_t>(lanes[i]));
  }
  PYPTO_SIMD_INLINE VecF Fit(VecF x) {
    constexpr int kUnused = 32 - 8 * static_cast<int>(sizeof(T));
    if constexpr (static_cast<T>(-1) < 0) return Raw(Wrapped(Unsigned(AsInt(x)) << kUnused) >> kUnused);
    return Raw(Wrapped((Unsigned(AsInt(x)) << kUnused) >> kUnused));
  }
};

// A BOOL cell is true when it is not 0.
struct BoolCells {
  using Bytes = NarrowCells<uint8_t>;
  static constexpr int64_t kBytes = 1;
  PYPTO_SIMD_INLINE VecF Fit(VecF x) { return Raw(Flags(AsInt(x) != 0)); }
  PYPTO_SIMD_INLINE VecF Load(const uint8_t* p) { return Fit(Bytes::Load(p)); }
  PYPTO_SIMD_INLINE VecF LoadPart(const uint8_t* p, int64_t n) { return Fit(Bytes::LoadPart(p, n)); }
  PYPTO_SIMD_INLINE VecF Spread(const uint8_t* p) { return Fit(Bytes::Spread(p)); }
  PYPTO_SIMD_INLINE void Store(uint8_t* p, VecF x) { Bytes::Store(p, Fit(x)); }
  PYPTO_SIMD_INLINE void StorePart(uint8_t* p, VecF x, int64_t n) { Bytes::StorePart(p, Fit(x), n); }
};

// Vector i of the four, where `left` elements are there.
template <typename Cells, int kIndex>
PYPTO_SIMD_INLINE VecF LoadVector(const uint8_t* p, int64_t left) {
  const int64_t there = left - kIndex * kLanes;
  if (there >= kLanes) return Cells::Load(p + kIndex * kLanes * Cells::kBytes);
  return there > 0 ? Cells::LoadPart(p + kIndex * kLanes * Cells::kBytes, there) : VecF{};
}
template <typename Cells, int kIndex>
PYPTO_SIMD_INLINE void StoreVector(uint8_t* p, VecF x, int64_t left) {
  const int64_t there = left - kIndex * kLanes;
  if (there >= kLanes) return Cells::Store(p + kIndex * kLanes * Cells::kBytes, x);
  if (there > 0) Cells::StorePart(p + kIndex * kLanes * Cells::kBytes, x, there);
}

// Less than four vectors are left.
template <typename Cells, bool kToB>
PYPTO_SIMD_APART void ChainLoadTail(PYPTO_STAGE) {
  const uint8_t* p = static_cast<const uint8_t*>(stage->data) + at * Cells::kBytes;
  if constexpr (kToB) {
    b0 = LoadVector<Cells, 0>(p, left), b1 = LoadVector<Cells, 1>(p, left);
    b2 = LoadVector<Cells, 2>(p, left), b3 = LoadVector<Cells, 3>(p, left);
  } else {
    a0 = LoadVector<Cells, 0>(p, left), a1 = LoadVector<Cells, 1>(p, left);
    a2 = LoadVector<Cells, 2>(p, left), a3 = LoadVector<Cells, 3>(p, left);
  }
  PYPTO_NEXT;
}

// Asks for memory of a later block, as many bytes of it as the run's elements take there, halved kShift times.
template <int64_t kBytes, int kShift>
void ChainAsk(PYPTO_STAGE) {
  const uint8_t* p = static_cast<const uint8_t*>(stage->data) + stage->ahead + ((at * kBytes) >> kShift);
  constexpr int64_t kAsked = (kChainLanes * kBytes) >> kShift;
  for (int64_t line = 0; line < kAsked; line += 64) __builtin_prefetch(p + line, 0, 2);
  PYPTO_NEXT;
}

template <typename Cells, bool kToB>
void ChainLoad(PYPTO_STAGE) {
  if (left < kChainLanes) [[unlikely]]
    return ChainLoadTail<Cells, kToB>(PYPTO_PASSED);
  constexpr int64_t kBytes = kLanes * Cells::kBytes;
  const uint8_t* p = static_cast<const uint8_t*>(stage->data) + at * Cells::kBytes;
  if constexpr (kToB) {
    b0 = Cells::Load(p), b1 = Cells::Load(p + kBytes), b2 = Cells::Load(p + 2 * kBytes),
    b3 = Cells::Load(p + 3 * kBytes);
  } else {
    a0 = Cells::Load(p), a1 = Cells::Load(p + kBytes), a2 = Cells::Load(p + 2 * kBytes),
    a3 = Cells::Load(p + 3 * kBytes);
  }
  PYPTO_NEXT;
}

template <typename Cells, bool kToB>
void ChainSpread(PYPTO_STAGE) {
  const VecF x = Cells::Spread(static_cast<const uint8_t*>(stage->data));
  if constexpr (kToB) {
    b0 = b1 = b2 = b3 = x;
  } else {
    a0 = a1 = a2 = a3 = x;
  }
  PYPTO_NEXT;
}

template <typename Cells>
PYPTO_SIMD_APART void ChainStoreTail(PYPTO_STAGE) {
  uint8_t* p = static_cast<uint8_t*>(stage->data) + at * Cells::kBytes;
  StoreVector<Cells, 0>(p, a0, left);
  StoreVector<Cells, 1>(p, a1, left);
  StoreVector<Cells, 2>(p, a2, left);
  StoreVector<Cells, 3>(p, a3, left);
  PYPTO_NEXT;
}

template <typename Cells>
void ChainStore(PYPTO_STAGE) {
  if (left < kChainLanes) [[unlikely]]
    return ChainStoreTail<Cells>(PYPTO_PASSED);
  constexpr int64_t kBytes = kLanes * Cells::kBytes;
  uint8_t* p = static_cast<uint8_t*>(stage->data) + at * Cells::kBytes;
  Cells::Store(p, a0);
  Cells::Store(p + kBytes, a1);
  Cells::Store(p + 2 * kBytes, a2);
  Cells::Store(p + 3 * kBytes, a3);
  PYPTO_NEXT;
}

#if defined(__AVX2__)
// One vector of 16, 32 or 64 bytes past the caches, at an aligned place.
template <typename Vector>
PYPTO_SIMD_INLINE void StreamVector(uint8_t* p, Vector x) {
#if defined(__AVX512F__)
  if constexpr (sizeof(Vector) == 64) _mm512_stream_si512(reinterpret_cast<__m512i*>(p), reinterpret_cast<__m512i>(x));
#endif
  if constexpr (sizeof(Vector) == 32) _mm256_stream_si256(reinterpret_cast<__m256i*>(p), reinterpret_cast<__m256i>(x));
  if constexpr (sizeof(Vector) == 16) _mm_stream_si128(reinterpret_cast<__m128i*>(p), reinterpret_cast<__m128i>(x));
}

// Past the caches, where lines are whole.
template <typename Cells>
void ChainStream(PYPTO_STAGE) {
  constexpr int64_t kBytes = kLanes * Cells::kBytes;
  uint8_t* p = static_cast<uint8_t*>(stage->data) + at * Cells::kBytes;
  if (left < kChainLanes || (reinterpret_cast<uintptr_t>(p) & (kBytes - 1)) != 0) [[unlikely]] {
    return ChainStore<Cells>(PYPTO_PASSED);
  }
  StreamVector(p, Cells::Narrow(a0));
  StreamVector(p + kBytes, Cells::Narrow(a1));
  StreamVector(p + 2 * kBytes, Cells::Narrow(a2));
  StreamVector(p + 3 * kBytes, Cells::Narrow(a3));
  PYPTO_NEXT;
}
#endif

template <typename Cells>
void ChainFit(PYPTO_STAGE) {
  a0 = Cells::Fit(a0), a1 = Cells::Fit(a1), a2 = Cells::Fit(a2), a3 = Cells::Fit(a3);
  PYPTO_NEXT;
}

#if defined(__AVX512BF16__)
void ChainStoreBrains(PYPTO_STAGE) {
  if (left < kChainLanes || Bf16::HasSubnormal(a0, a1, a2, a3)) [[unlikely]] {
    return ChainStore<HalfCells<Bf16>>(PYPTO_PASSED);
  }
  uint16_t* p = static_cast<uint16_t*>(stage->data) + at;
  StoreHalves(p, Bf16::NarrowNormal(a0));
  StoreHalves(p + kLanes, Bf16::NarrowNormal(a1));
  StoreHalves(p + 2 * kLanes, Bf16::NarrowNormal(a2));
  StoreHalves(p + 3 * kLanes, Bf16::NarrowNormal(a3));
  PYPTO_NEXT;
}
#endif

#if defined(__AVX512F__)
// To BF16 and back, for finite numbers.
PYPTO_SIMD_INLINE VecF FittedBrains(VecF x) {
  const __m512i bits = reinterpret_cast<__m512i>(x);
  const __mmask16 odd = _mm512_test_epi32_mask(bits, _mm512_set1_epi32(0x10000));
  const __m512i up = _mm512_maskz_add_epi32(0xffff, bits, _mm512_set1_epi32(0x7fff));
  const __m512i rounded = _mm512_mask_add_epi32(up, odd, up, _mm512_set1_epi32(1));
  return AsFloat(reinterpret_cast<VecU>(rounded) & 0xffff0000U);
}

void ChainFitBrains(PYPTO_STAGE) {
  // An infinity or NaN shows in the sum.
  constexpr int kSpecial = 0x01 | 0x80 | 0x08 | 0x10;
  const VecF sum = (a0 + a1) + (a2 + a3);
  if (_mm512_fpclass_ps_mask(reinterpret_cast<__m512>(sum), kSpecial) != 0) [[unlikely]] {
    return ChainFit<HalfCells<Bf16>>(PYPTO_PASSED);
  }
  a0 = FittedBrains(a0), a1 = FittedBrains(a1), a2 = FittedBrains(a2), a3 = FittedBrains(a3);
  PYPTO_NEXT;
}
#endif

void ChainSame(PYPTO_STAGE) {
  b0 = a0, b1 = a1, b2 = a2, b3 = a3;
  PYPTO_NEXT;
}

void ChainBack(PYPTO_STAGE) {
  a0 = b0, a1 = b1, a2 = b2, a3 = b3;
  PYPTO_NEXT;
}

template <typename T, typename Op>
void ChainUnary(PYPTO_STAGE) {
  if constexpr (OnManyVectors<Op>) {
    alignas(PYPTO_SIMD_BYTES) float values[kChainLanes];
    Store(values, a0), Store(values + kLanes, a1), Store(values + 2 * kLanes, a2), Store(values + 3 * kLanes, a3);
    Op::ApplyMany(values, values, 4);
    a0 = Load(values), a1 = Load(values + kLanes), a2 = Load(values + 2 * kLanes), a3 = Load(values + 3 * kLanes);
    PYPTO_NEXT;
  } else {
    a0 = Raw(Op::Apply(Register<T>(a0)));
    a1 = Raw(Op::Apply(Register<T>(a1)));
    a2 = Raw(Op::Apply(Register<T>(a2)));
    a3 = Raw(Op::Apply(Register<T>(a3)));
    PYPTO_NEXT;
  }
}

template <typename T, typename Op, bool kReversed>
void ChainBinary(PYPTO_STAGE) {
  const auto apply = [](VecF a, VecF b) __attribute__((always_inline)) {
    return Raw(kReversed ? Op::Apply(Register<T>(b), Register<T>(a)) : Op::Apply(Register<T>(a), Register<T>(b)));
  };
  a0 = apply(a0, b0), a1 = apply(a1, b1), a2 = apply(a2, b2), a3 = apply(a3, b3);
  PYPTO_NEXT;
}

struct TruncateStage {
  PYPTO_SIMD_INLINE VecI Apply(VecF x) { return TruncateModulo(x); }
};
struct FlagStage {
  PYPTO_SIMD_INLINE VecI Apply(VecF x) { return Flags(x != 0.0F); }
};
struct WidenStage {
  PYPTO_SIMD_INLINE VecF Apply(VecI x) { return __builtin_convertvector(x, VecF); }
};

// The limits are the halves of the stage's data.
void ChainSaturate(PYPTO_STAGE) {
  const auto limits = reinterpret_cast<uintptr_t>(stage->data);
  const auto low = static_cast<int32_t>(limits);
  const auto high = static_cast<int32_t>(limits >> 32);
  a0 = Raw(Saturated(a0, low, high)), a1 = Raw(Saturated(a1, low, high));
  a2 = Raw(Saturated(a2, low, high)), a3 = Raw(Saturated(a3, low, high));
  PYPTO_NEXT;
}

void ChainEnd(const Stage*, int64_t, int64_t, PYPTO_A, PYPTO_B) {
  (void)a0, (void)a1, (void)a2, (void)a3, (void)b0, (void)b1, (void)b2, (void)b3;
}

void RunChainRow(const Stage* stages, int64_t n) {
  const auto first = reinterpret_cast<ChainFunction>(stages->code);
  const VecF none{};
  for (int64_t at = 0; at < n; at += kChainLanes) {
    first(stages, at, n - at, none, none, none, none, none, none, none, none);
  }
}

}  // namespace
}  // namespace pypto::device::simd::PYPTO_SIMD_SET
