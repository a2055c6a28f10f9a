// Packing of matrices into panels of units: [unit][line], lines past the end are zero.
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

// The sums that the head of a panel holds; `head` has room for the panel's width.
template <typename Units>
PYPTO_SIMD_INLINE void AddToHead(int32_t* head, VecI units) {
  if constexpr (Units::kHead != 0) Store(head, Load(head) - Units::Offset(VecI{}, units));
}

// Lines whose terms are neighbours (or, slowly, at any distance): squares, turned in registers.
template <typename Units, int kWidth, bool kLeft>
void PackLines(int32_t* out, const PackSource& from) {
  constexpr int64_t kTerms = kLanes * Units::kGroup;
  const int64_t units = (from.k + Units::kGroup - 1) / Units::kGroup;
  const bool neighbours = from.k_bytes == Units::kBytes;
  constexpr int kHead = kLeft ? 0 : Units::kHead;
  for (int64_t first = 0; first < from.lines; first += kWidth, out += (units + kHead) * kWidth) {
    for (int64_t lane = 0; lane < kWidth; lane += kLanes) {
      const int64_t held = kWidth - lane < kLanes ? kWidth - lane : kLanes;
      const int64_t left = from.lines - first - lane;
      const int64_t lines = left < held ? left : held;
      if (kHead != 0) Store(out + lane, VecI{});
      for (int64_t unit = 0; unit < units; unit += kLanes) {
        const int64_t terms = from.k - unit * Units::kGroup < kTerms ? from.k - unit * Units::kGroup : kTerms;
        VecI rows[kLanes];
        const char* at = from.data + (first + lane) * from.line_bytes + unit * Units::kGroup * from.k_bytes;
#pragma GCC unroll 16
        for (int64_t i = 0; i < kLanes; ++i, at += from.line_bytes) {
          rows[i] = VecI{};
          if (i >= lines) continue;
          rows[i] = neighbours && terms == kTerms ? Units::Along(at) : AlongPart<Units>(at, from.k_bytes, terms);
          if (kLeft) rows[i] = Units::Left(rows[i]);
        }
        Transpose(rows);
        int32_t* to = out + (kHead + unit) * kWidth + lane;
        const int64_t stored = units - unit < kLanes ? units - unit : kLanes;
        for (int64_t i = 0; i < stored; ++i, to += kWidth) {
          if (kHead != 0) AddToHead<Units>(out + lane, rows[i]);
          StoreLanes(to, rows[i], held);
        }
      }
    }
  }
}

// Rows of neighbouring lines, spread over the panels row by row: memory is read in order, and the rows to come are on
// their way.
template <typename Units, int kWidth, bool kLeft>
void PackRows(int32_t* out, const PackSource& from) {
  constexpr int64_t kLine = 64;
  constexpr int64_t kUnitsAhead = 4;
  constexpr int kHead = kLeft ? 0 : Units::kHead;
  const int64_t units = (from.k + Units::kGroup - 1) / Units::kGroup;
  const int64_t panel = (units + kHead) * kWidth;
  for (int64_t first = 0; kHead != 0 && first < from.lines; first += kWidth) {
    for (int64_t lane = 0; lane < kWidth; lane += kLanes) Store(out + first / kWidth * panel + lane, VecI{});
  }
  const char* row = from.data;
  for (int64_t unit = 0; unit < units; ++unit, row += from.k_bytes * Units::kGroup) {
    const int64_t left = from.k - unit * Units::kGroup;
    const int64_t terms = left < Units::kGroup ? left : Units::kGroup;
    for (int64_t term = 0; unit + kUnitsAhead + 1 < units && term < Units::kGroup; ++term) {
      const char* ahead = row + (kUnitsAhead * Units::kGroup + term) * from.k_bytes;
      for (int64_t at = 0; at < from.lines * Units::kBytes; at += kLine) __builtin_prefetch(ahead + at);
    }
    int32_t* to = out;
    for (int64_t first = 0; first < from.lines; first += kWidth, to += panel) {
      for (int64_t lane = 0; lane < kWidth; lane += kLanes) {
        const int64_t held = kWidth - lane < kLanes ? kWidth - lane : kLanes;
        const int64_t lines = from.lines - first - lane;
        const char* at = row + (first + lane) * Units::kBytes;
        VecI x{};
        if (lines >= kLanes && terms == Units::kGroup) {
          x = Units::Across(at, from.k_bytes);
        } else if (lines > 0) {
          x = AcrossPart<Units>(at, from.k_bytes, terms, lines < held ? lines : held);
        }
        if (kLeft) x = Units::Left(x);
        if (kHead != 0) AddToHead<Units>(to + lane, x);
        StoreLanes(to + (kHead + unit) * kWidth + lane, x, held);
      }
    }
  }
}

template <typename Units, int kWidth, bool kLeft>
void PackMatrix(void* out, const void* source, int64_t line_stride, int64_t k_stride, int64_t lines, int64_t k) {
  const PackSource from{static_cast<const char*>(source), line_stride * Units::kBytes, k_stride * Units::kBytes, lines,
                        k};
  auto* to = static_cast<int32_t*>(out);
  line_stride == 1 && k_stride != 1 ? PackRows<Units, kWidth, kLeft>(to, from)
                                    : PackLines<Units, kWidth, kLeft>(to, from);
}

}  // namespace
}  // namespace pypto::device::simd::PYPTO_SIMD_SET
