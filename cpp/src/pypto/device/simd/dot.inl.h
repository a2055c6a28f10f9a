// Matrix products of few rows with lines of B whose terms are neighbours: each lane of a vector sums terms of its own,
// and lanes are added up at the end, in an order that k alone decides.
#pragma once

#include "pypto/device/simd/store_sum.inl.h"

namespace pypto::device::simd::PYPTO_SIMD_SET {
namespace {

constexpr int64_t kDotRowUnits = kGemmDotUnits + kLanes;
#if defined(__AVX512F__)
constexpr int kDotRows = 4;
constexpr int kDotColumns = 8;  // of one or two rows; half as many of more
#else
constexpr int kDotRows = 2;
constexpr int kDotColumns = 4;
#endif

// Rows of A: what their sums begin with, lane by lane, and their units, the last vector filled up with zeros.
template <typename Units>
void PackDotLines(void* out, const void* source, int64_t line_stride, int64_t k_stride, int64_t lines, int64_t k) {
  constexpr int64_t kTerms = kLanes * Units::kGroup;
  auto* to = static_cast<int32_t*>(out);
  const auto* line = static_cast<const char*>(source);
  for (int64_t i = 0; i < lines; ++i, to += kDotRowUnits, line += line_stride * Units::kBytes) {
    VecI head{};
    for (int64_t at = 0; at < k; at += kTerms) {
      const char* from = line + at * k_stride * Units::kBytes;
      const int64_t terms = k - at < kTerms ? k - at : kTerms;
      const VecI x = k_stride == 1 && terms == kTerms ? Units::Along(from)
                                                      : AlongPart<Units>(from, k_stride * Units::kBytes, terms);
      if constexpr (Units::kHead != 0) head -= Units::Offset(VecI{}, x);
      Store(to + kLanes + at / Units::kGroup, x);
    }
    Store(to, head);
  }
}

template <int kDistance, typename V, int... kIndex>
PYPTO_SIMD_INLINE V AddLanes(V x, Indices<kIndex...>) {
  return x + __builtin_shufflevector(x, x, (kIndex ^ kDistance)...);
}
// Where lane `index` of two vectors with lanes `distance` apart added comes from: the lane of the pair that lies lower,
// from kLanes on in the second vector. Chosen so that one cheap instruction does it.
constexpr int PairLane(int index, int distance) {
  constexpr int kCount = static_cast<int>(kLanes);
  if (distance == 4 && kCount == 16) return index / 8 * kCount + index / 4 % 2 * 8 + index % 4;
  if (distance == 1) return index / 2 % 2 * kCount + index / 4 * 4 + index % 2 * 2;
  return (index & distance) != 0 ? kCount + (index ^ distance) : index;
}
// Where TotalsOf leaves the sum of vector `index` of `count`.
constexpr int TotalLane(int index, int count) {
  constexpr int kCount = static_cast<int>(kLanes);
  int lane = 0;
  for (int distance = kCount / 2; distance > 0 && count > 1; distance /= 2, count /= 2) {
    const int second = index / (count / 2) % 2;
    const bool moves = (distance == 4 && kCount == 16) || distance == 1;
    if (moves && (lane & distance * 2) != 0) lane = (lane ^ distance * 2) | distance;
    lane |= second * (moves && distance * 2 < kCount ? distance * 2 : distance);
  }
  return lane;
}

template <int kDistance, typename V, int... kIndex>
PYPTO_SIMD_INLINE V AddPairs(V u, V v, Indices<kIndex...>) {
  return __builtin_shufflevector(u, v, PairLane(kIndex, kDistance)...) +
         __builtin_shufflevector(u, v, (PairLane(kIndex, kDistance) + kDistance)...);
}

// The lanes of each of kCount vectors added up, all in the same order.
template <int kCount, int kDistance = static_cast<int>(kLanes) / 2, typename V>
PYPTO_SIMD_INLINE V TotalsOf(V* x) {
  using Each = typename MakeIndices<static_cast<int>(kLanes)>::Type;
  if constexpr (kDistance == 0) {
    return x[0];
  } else if constexpr (kCount == 1) {
    x[0] = AddLanes<kDistance>(x[0], Each());
    return TotalsOf<1, kDistance / 2>(x);
  } else {
#pragma GCC unroll 8
    for (int i = 0; i < kCount / 2; ++i) x[i] = AddPairs<kDistance>(x[i], x[i + kCount / 2], Each());
    return TotalsOf<kCount / 2, kDistance / 2>(x);
  }
}

// Sums kFirst and on of kCount.
template <int kFirst, int kCount, typename V, int... kIndex>
PYPTO_SIMD_INLINE V TotalsFrom(V x, Indices<kIndex...>) {
  return __builtin_shufflevector(x, x, TotalLane((kFirst + kIndex) % kCount, kCount)...);
}

// kColumns sums, kFirst and on of kCount, to where the product goes: in one store of their size.
template <int kColumns, int kFirst, int kCount, typename Sum, int... kIndex>
PYPTO_SIMD_INLINE void StoreTotalsFrom(const GemmOutput& out, int64_t row, int64_t column, Sum totals,
                                       Indices<kIndex...>) {
  using Element = typename ElementOf<Sum>::Type;
  typedef Element Part __attribute__((vector_size(kColumns * 4), aligned(4), may_alias));
  if (out.format != kF16 && out.format != kBf16) [[likely]] {
    Part part = __builtin_shufflevector(totals, totals, TotalLane(kFirst + kIndex, kCount)...);
    if (out.from != nullptr) {
      part += *reinterpret_cast<const Part*>(static_cast<const Element*>(out.from) + row * out.from_stride + column);
    }
    part = Scaled(out, part);
    *reinterpret_cast<Part*>(static_cast<Element*>(out.to) + row * out.to_stride + column) = part;
    return;
  }
  using Each = typename MakeIndices<static_cast<int>(kLanes)>::Type;
  StoreSum(out, row, column, TotalsFrom<kFirst, kCount>(totals, Each()), kColumns);
}

// Rows [kRow, kRows) of a tile of sums, as many at a time as one vector holds the sums of.
template <int kRow, int kRows, int kColumns, typename Sum>
PYPTO_SIMD_INLINE void StoreTotals(const GemmOutput& out, int64_t row, int64_t column, const Sum (*sums)[kColumns]) {
  using Each = typename MakeIndices<kColumns>::Type;
  constexpr int kLeft = kRows - kRow;
  constexpr int kFit = static_cast<int>(kLanes) / kColumns;
  constexpr int kTaken = kLeft >= 3 && kFit >= 4 ? 4 : kLeft >= 2 && kFit >= 2 ? 2 : 1;
  constexpr int kCount = kTaken * kColumns;
  Sum parts[kCount] = {};
#pragma GCC unroll 4
  for (int i = 0; i < kTaken && i < kLeft; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < kColumns; ++j) parts[i * kColumns + j] = sums[kRow + i][j];
  }
  const Sum totals = TotalsOf<kCount>(parts);
  const auto store = [&]<int kAt>() __attribute__((always_inline)) {
    if constexpr (kAt < kTaken && kAt < kLeft) {
      StoreTotalsFrom<kColumns, kAt * kColumns, kCount>(out, row + kRow + kAt, column, totals, Each());
    }
  };
  store.template operator()<0>();
  store.template operator()<1>();
  store.template operator()<2>();
  store.template operator()<3>();
  if constexpr (kTaken < kLeft) StoreTotals<kRow + kTaken, kRows, kColumns>(out, row, column, sums);
}

// Lines of B that a tile reads, and how far ahead lines are asked for.
struct DotLines {
  const char* data;
  int64_t bytes;  // from line to line
  int64_t ahead;
};

// kAsked lines of those to come are asked for.
template <typename Units, int kRows, int kColumns, int kAsked = kColumns>
void DotTile(const GemmOutput& out, int64_t row, int64_t column, const int32_t* a, DotLines b, int64_t k) {
  constexpr int64_t kTerms = kLanes * Units::kGroup;
  using Sum = typename Units::Sum;
  Sum sums[kRows][kColumns];
#pragma GCC unroll 4
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < kColumns; ++j) {
      sums[i][j] = Sum{};
      if constexpr (Units::kHead != 0) sums[i][j] = LoadUnits(a + i * kDotRowUnits);
    }
  }
  a += kLanes;
  const auto add = [&](const auto& read) __attribute__((always_inline)) {
    VecI right[kColumns];
#pragma GCC unroll 8
    for (int j = 0; j < kColumns; ++j) right[j] = Units::Right(read(b.data + j * b.bytes));
#pragma GCC unroll 4
    for (int i = 0; i < kRows; ++i) {
      const VecI left = LoadUnits(a + i * kDotRowUnits);
#pragma GCC unroll 8
      for (int j = 0; j < kColumns; ++j) sums[i][j] = Units::MultiplyAdd(sums[i][j], left, right[j]);
    }
  };
  int64_t at = 0;
  for (; at + kTerms <= k; at += kTerms, a += kLanes, b.data += kTerms * Units::kBytes) {
#pragma GCC unroll 8
    for (int j = 0; j < kAsked; ++j) __builtin_prefetch(b.data + j * b.bytes + b.ahead, 0, 2);
    add([](const char* p) __attribute__((always_inline)) { return Units::Along(p); });
  }
  if (at < k) add([&](const char* p) { return AlongPart<Units>(p, Units::kBytes, k - at); });
  StoreTotals<0, kRows, kColumns>(out, row, column, sums);
}

// The lines to come are asked for with the first rows or, where there are many rows, one with each tile.
template <typename Units, int kColumns>
void DotColumns(const GemmOutput& out, int64_t column, const int32_t* a, DotLines b, int64_t rows, int64_t k) {
  constexpr bool kFew = kColumns == kDotColumns;  // one or two rows
  const bool many = !kFew && kDotRows == 4 && rows > kDotRows * (kColumns - 1);
  for (int64_t row = 0; row < rows; row += kDotRows, a += kDotRows * kDotRowUnits) {
    const int64_t left = rows - row;
    if (left == 1) {
      DotTile<Units, 1, kColumns>(out, row, column, a, b, k);
    } else if (kFew || kDotRows == 2 || left == 2) {
      DotTile<Units, 2, kColumns>(out, row, column, a, b, k);
    } else if constexpr (!kFew && kDotRows == 4) {
      left == 3 ? DotTile<Units, 3, kColumns>(out, row, column, a, b, k)
      : many    ? DotTile<Units, 4, kColumns, 1>(out, row, column, a, b, k)
                : DotTile<Units, 4, kColumns>(out, row, column, a, b, k);
    }
    b.ahead = many && row < kDotRows * (kColumns - 1) ? b.ahead + b.bytes : 0;
  }
}

template <typename Units>
void Dot(const GemmOutput& out, const void* a, const void* b, int64_t column_stride, int64_t rows, int64_t columns,
         int64_t k) {
  const auto* left = static_cast<const int32_t*>(a);
  const int64_t bytes = column_stride * Units::kBytes;
  DotLines lines = {static_cast<const char*>(b), bytes, 0};
  int64_t column = 0;
  const auto many = [&]<int kColumns>() {
    lines.ahead = kColumns * bytes;
    for (; column + kColumns <= columns; column += kColumns, lines.data += kColumns * bytes) {
      DotColumns<Units, kColumns>(out, column, left, lines, rows, k);
    }
  };
  if (rows <= 2) {
    many.template operator()<kDotColumns>();
  } else {
    many.template operator()<kDotColumns / 2>();
  }
  many.template operator()<1>();
}

}  // namespace
}  // namespace pypto::device::simd::PYPTO_SIMD_SET
