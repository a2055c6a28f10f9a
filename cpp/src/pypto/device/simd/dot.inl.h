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
template <typename V>
PYPTO_SIMD_INLINE auto TotalOf(V x) {
  using Each = typename MakeIndices<static_cast<int>(kLanes)>::Type;
  if constexpr (kLanes >= 16) x = AddLanes<8>(x, Each());
  if constexpr (kLanes >= 8) x = AddLanes<4>(x, Each());
  x = AddLanes<2>(x, Each());
  return AddLanes<1>(x, Each())[0];
}

// Lines of B that a tile reads, and how far ahead lines are asked for.
struct DotLines {
  const char* data;
  int64_t bytes;  // from line to line
  int64_t ahead;
};

template <typename Units, int kRows, int kColumns>
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
    for (int j = 0; j < kColumns; ++j) __builtin_prefetch(b.data + j * b.bytes + b.ahead, 0, 2);
    add([](const char* p) __attribute__((always_inline)) { return Units::Along(p); });
  }
  if (at < k) add([&](const char* p) { return AlongPart<Units>(p, Units::kBytes, k - at); });
  for (int i = 0; i < kRows; ++i) {
    Sum totals{};
    for (int j = 0; j < kColumns; ++j) totals[j] = TotalOf(sums[i][j]);
    StoreSum(out, row + i, column, totals, kColumns);
  }
}

template <typename Units, int kColumns>
void DotColumns(const GemmOutput& out, int64_t column, const int32_t* a, DotLines b, int64_t rows, int64_t k) {
  constexpr bool kFew = kColumns == kDotColumns;  // one or two rows
  for (int64_t row = 0; row < rows; row += kDotRows, a += kDotRows * kDotRowUnits) {
    const int64_t left = rows - row;
    if (left == 1) {
      DotTile<Units, 1, kColumns>(out, row, column, a, b, k);
    } else if (kFew || kDotRows == 2 || left == 2) {
      DotTile<Units, 2, kColumns>(out, row, column, a, b, k);
    } else if constexpr (!kFew && kDotRows == 4) {
      left == 3 ? DotTile<Units, 3, kColumns>(out, row, column, a, b, k)
                : DotTile<Units, 4, kColumns>(out, row, column, a, b, k);
    }
    b.ahead = 0;
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
