// Packing of matrices into panels of units: [unit][line], lines past the end are zero. Panels of A begin with the heads
// of their lines.
#pragma once

#include "pypto/device/simd/units.inl.h"

namespace pypto::device::simd::PYPTO_SIMD_SET {
namespace {

template <int... kIndex>
struct Indices {};
template <int kCount, int... kIndex>
struct MakeIndices : MakeIndices<kCount - 1, kCount - 1, kIndex...> {};
template <int... kIndex>
struct MakeIndices<0, kIndex...> {
  using Type = Indices<kIndex...>;
};

// Lanes of two vectors in turn, from lane kFirst on.
template <int kFirst, int... kIndex>
PYPTO_SIMD_INLINE VecI Interleave(VecI a, VecI b, Indices<kIndex...>) {
  return __builtin_shufflevector(a, b, (kFirst + kIndex / 2 + (kIndex % 2) * static_cast<int>(kLanes))...);
}

#if defined(__AVX512F__)
// Units of both in turn, two or one at a time, of the lower or the upper half of each quarter.
template <typename V>
PYPTO_SIMD_INLINE V LowPairs(V a, V b) {
  return __builtin_shufflevector(a, b, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
}
template <typename V>
PYPTO_SIMD_INLINE V HighPairs(V a, V b) {
  return __builtin_shufflevector(a, b, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
}
template <typename V>
PYPTO_SIMD_INLINE V LowHalves(V a, V b) {
  return __builtin_shufflevector(a, b, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29);
}
template <typename V>
PYPTO_SIMD_INLINE V HighHalves(V a, V b) {
  return __builtin_shufflevector(a, b, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
}
#endif

// A square of units, in registers.
PYPTO_SIMD_INLINE void Transpose(VecI* rows) {
  constexpr int kCount = static_cast<int>(kLanes);
  using Each = typename MakeIndices<kCount>::Type;
  VecI other[kCount];
#pragma GCC unroll 4
  for (int step = 1; step < kCount; step *= 4) {
#pragma GCC unroll 8
    for (int i = 0; i < kCount / 2; ++i) {
      other[2 * i] = Interleave<0>(rows[i], rows[i + kCount / 2], Each());
      other[2 * i + 1] = Interleave<kCount / 2>(rows[i], rows[i + kCount / 2], Each());
    }
    if (step * 2 == kCount) {
#pragma GCC unroll 16
      for (int i = 0; i < kCount; ++i) rows[i] = other[i];
      return;
    }
#pragma GCC unroll 8
    for (int i = 0; i < kCount / 2; ++i) {
      rows[2 * i] = Interleave<0>(other[i], other[i + kCount / 2], Each());
      rows[2 * i + 1] = Interleave<kCount / 2>(other[i], other[i + kCount / 2], Each());
    }
  }
}

PYPTO_SIMD_INLINE void StoreLanes(int32_t* p, VecI x, int64_t n) { n == kLanes ? Store(p, x) : StorePart(p, x, n); }

// How a matrix lies in memory, in bytes, and how much of it is packed.
struct PackSource {
  const char* data;
  int64_t line_bytes;
  int64_t k_bytes;
  int64_t lines;
  int64_t k;
};

// What the head of a panel holds: what the sums of its lines begin with.
template <typename Units>
PYPTO_SIMD_INLINE void AddToHead(int32_t* head, VecI units, int64_t lanes) {
  if constexpr (Units::kHead != 0) {
    const VecI before = lanes == kLanes ? Load(head) : LoadPart(head, lanes);
    StoreLanes(head, before - Units::Offset(VecI{}, units), lanes);
  }
}

// Lines whose terms are neighbours (or, slowly, at any distance): squares, turned in registers.
// Units that a panel takes besides its own.
template <typename Units, bool kLeft>
constexpr int64_t kExtraUnits = kLeft ? Units::kHead : kGemmPanelGap;

template <typename Units, int kWidth, bool kLeft>
void PackLines(int32_t* out, const PackSource& from) {
  constexpr int64_t kTerms = kLanes * Units::kGroup;
  const int64_t units = (from.k + Units::kGroup - 1) / Units::kGroup;
  const bool neighbours = from.k_bytes == Units::kBytes;
  constexpr int kHead = kLeft ? Units::kHead : 0;
  for (int64_t first = 0; first < from.lines; first += kWidth, out += (units + kExtraUnits<Units, kLeft>)*kWidth) {
    for (int64_t lane = 0; lane < kWidth; lane += kLanes) {
      const int64_t held = kWidth - lane < kLanes ? kWidth - lane : kLanes;
      const int64_t left = from.lines - first - lane;
      const int64_t lines = left < held ? left : held;
      VecI head{};
      for (int64_t unit = 0; unit < units; unit += kLanes) {
        const int64_t terms = from.k - unit * Units::kGroup < kTerms ? from.k - unit * Units::kGroup : kTerms;
        VecI rows[kLanes];
        const char* at = from.data + (first + lane) * from.line_bytes + unit * Units::kGroup * from.k_bytes;
#pragma GCC unroll 16
        for (int64_t i = 0; i < kLanes; ++i, at += from.line_bytes) {
          rows[i] = VecI{};
          if (i >= lines) continue;
          rows[i] = neighbours && terms == kTerms ? Units::Along(at) : AlongPart<Units>(at, from.k_bytes, terms);
          if (!kLeft) rows[i] = Units::Right(rows[i]);
        }
        Transpose(rows);
        int32_t* to = out + (kHead + unit) * kWidth + lane;
        const int64_t stored = units - unit < kLanes ? units - unit : kLanes;
        for (int64_t i = 0; i < stored; ++i, to += kWidth) {
          if constexpr (kHead != 0) head = Units::Offset(head, rows[i]);
          StoreLanes(to, rows[i], held);
        }
      }
      if (kHead != 0) StoreLanes(out + lane, -head, held);
    }
  }
}

// The units that `terms` rows of lines from `at` on make: kSpread vectors, of which `lines` lines are there.
template <typename Units>
PYPTO_SIMD_INLINE void ReadUnits(const char* at, int64_t k_bytes, int64_t terms, int64_t lines, VecI* units) {
  constexpr int64_t kLines = kLanes * Units::kSpread;
  if (lines < 0) lines = 0;
  if (lines >= kLines && terms == Units::kGroup) [[likely]] {
    Units::Spread(at, k_bytes, units);
  } else {
    alignas(64) char copy[Units::kGroup * kLines * Units::kBytes] = {};
    for (int64_t term = 0; term < terms; ++term) {
      CopyBytes(copy + term * kLines * Units::kBytes, at + term * k_bytes,
                (lines < kLines ? lines : kLines) * Units::kBytes);
    }
    Units::Spread(copy, kLines * Units::kBytes, units);
  }
  Units::Gather(units);
}

// One vector of them, at most `held` lines.
template <typename Units>
PYPTO_SIMD_INLINE VecI ReadVector(const char* at, int64_t k_bytes, int64_t terms, int64_t lines, int64_t held) {
  if (lines >= kLanes && terms == Units::kGroup) return Units::Across(at, k_bytes);
  return lines > 0 ? AcrossPart<Units>(at, k_bytes, terms, lines < held ? lines : held) : VecI{};
}

template <typename Units, int kWidth, bool kLeft>
PYPTO_SIMD_INLINE void PutUnits(int32_t* out, int64_t panel, int64_t line, int64_t unit, VecI units, int64_t lanes) {
  constexpr int kHead = kLeft ? Units::kHead : 0;
  int32_t* to = out + line / kWidth * panel + line % kWidth;
  if (kHead != 0) AddToHead<Units>(to, units, lanes);
  StoreLanes(to + (kHead + unit) * kWidth, kLeft ? units : Units::Right(units), lanes);
}

// Rows of neighbouring lines, spread over the panels row by row: memory is read in order, and the rows to come are on
// their way.
template <typename Units, int kWidth, bool kLeft>
void PackRows(int32_t* out, const PackSource& from) {
  constexpr int64_t kLine = 64;
  constexpr int64_t kUnitsAhead = 4;
  constexpr int kHead = kLeft ? Units::kHead : 0;
  const int64_t units = (from.k + Units::kGroup - 1) / Units::kGroup;
  const int64_t panel = (units + kExtraUnits<Units, kLeft>)*kWidth;
  const int64_t width = (from.lines + kWidth - 1) / kWidth * kWidth;  // of all panels
  for (int64_t first = 0; kHead != 0 && first < width; ++first) out[first / kWidth * panel + first % kWidth] = 0;
  const char* row = from.data;
  for (int64_t unit = 0; unit < units; ++unit, row += from.k_bytes * Units::kGroup) {
    const int64_t left = from.k - unit * Units::kGroup;
    const int64_t terms = left < Units::kGroup ? left : Units::kGroup;
    for (int64_t term = 0; unit + kUnitsAhead + 1 < units && term < Units::kGroup; ++term) {
      const char* ahead = row + (kUnitsAhead * Units::kGroup + term) * from.k_bytes;
      for (int64_t at = 0; at < from.lines * Units::kBytes; at += kLine) __builtin_prefetch(ahead + at);
    }
    for (int64_t first = 0; first < width;) {
      const char* at = row + first * Units::kBytes;
      if constexpr (kWidth % kLanes == 0) {
        VecI made[Units::kSpread];
        ReadUnits<Units>(at, from.k_bytes, terms, from.lines - first, made);
        for (int i = 0; i < Units::kSpread && first < width; ++i, first += kLanes) {
          PutUnits<Units, kWidth, kLeft>(out, panel, first, unit, made[i], kLanes);
        }
      } else {
        const int64_t left_over = kWidth - first % kWidth;
        const int64_t held = left_over < kLanes ? left_over : kLanes;
        const VecI made = ReadVector<Units>(at, from.k_bytes, terms, from.lines - first, held);
        PutUnits<Units, kWidth, kLeft>(out, panel, first, unit, made, held);
        first += held;
      }
    }
  }
}

#if defined(__AVX512F__)
// At most four lines of A: those that are not there are left out.
template <typename Units, int kWidth>
void PackFourLines(int32_t* out, const PackSource& from) {
  constexpr int64_t kTerms = kLanes * Units::kGroup;
  typedef int32_t Part __attribute__((vector_size(16), aligned(4), may_alias));
  for (int64_t term = 0; term < from.k; term += kTerms) {
    const int64_t terms = from.k - term < kTerms ? from.k - term : kTerms;
    const char* at = from.data + term * from.k_bytes;
    const bool whole = from.k_bytes == Units::kBytes && terms == kTerms;
    VecI lines[4] = {};
    for (int64_t i = 0; i < from.lines; ++i, at += from.line_bytes) {
      lines[i] = whole ? Units::Along(at) : AlongPart<Units>(at, from.k_bytes, terms);
    }
    const VecI low01 = LowPairs(lines[0], lines[1]);
    const VecI high01 = HighPairs(lines[0], lines[1]);
    const VecI low23 = LowPairs(lines[2], lines[3]);
    const VecI high23 = HighPairs(lines[2], lines[3]);
    const VecI turned[4] = {LowHalves(low01, low23), HighHalves(low01, low23), LowHalves(high01, high23),
                            HighHalves(high01, high23)};
    const int64_t units = (terms + Units::kGroup - 1) / Units::kGroup;
    int32_t* to = out + term / Units::kGroup * kWidth;
    const auto quarter = [&]<int kQuarter>() __attribute__((always_inline)) {
      constexpr int kAt = kQuarter * 4;
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        if (kAt + i >= units) return;
        const Part part = __builtin_shufflevector(turned[i], turned[i], kAt, kAt + 1, kAt + 2, kAt + 3);
        *reinterpret_cast<Part*>(to + (kAt + i) * kWidth) = part;
      }
    };
    quarter.template operator()<0>();
    quarter.template operator()<1>();
    quarter.template operator()<2>();
    quarter.template operator()<3>();
  }
}
#endif

template <typename Units, int kWidth, bool kLeft>
void PackMatrix(void* out, const void* source, int64_t line_stride, int64_t k_stride, int64_t lines, int64_t k) {
  const PackSource from{static_cast<const char*>(source), line_stride * Units::kBytes, k_stride * Units::kBytes, lines,
                        k};
  auto* to = static_cast<int32_t*>(out);
#if defined(__AVX512F__)
  if constexpr (kLeft && Units::kHead == 0) {
    if (lines <= 4 && k_stride == 1) return PackFourLines<Units, kWidth>(to, from);
  }
#endif
  line_stride == 1 && k_stride != 1 ? PackRows<Units, kWidth, kLeft>(to, from)
                                    : PackLines<Units, kWidth, kLeft>(to, from);
}

}  // namespace
}  // namespace pypto::device::simd::PYPTO_SIMD_SET
