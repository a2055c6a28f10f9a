// Matrix products of few rows with lines of B of few terms: four rows of A stand in the quarters of a vector, four
// units of each, and meet the same four units of a line in all of them. Four lanes are added up for a sum.
#pragma once

#include "pypto/device/simd/store_sum.inl.h"

#if defined(__AVX512F__)

namespace pypto::device::simd::PYPTO_SIMD_SET {
namespace {

// Of four rows of A: what their sums begin with, and their units.
constexpr int64_t kFoursUnits = kLanes + 4 * kGemmMaxUnits;

template <typename Units>
void PackFours(void* out, const void* source, int64_t line_stride, int64_t k_stride, int64_t lines, int64_t k) {
  constexpr int64_t kTerms = kLanes * Units::kGroup;
  auto* to = static_cast<int32_t*>(out);
  const auto* line = static_cast<const char*>(source);
  for (int64_t first = 0; first < lines; first += 4, to += kFoursUnits, line += 4 * line_stride * Units::kBytes) {
    VecI head{};
    int32_t* at = to + kLanes;
    for (int64_t term = 0; term < k; term += kTerms, at += 4 * kLanes) {
      const char* from = line + term * k_stride * Units::kBytes;
      const int64_t terms = k - term < kTerms ? k - term : kTerms;
      const bool whole = k_stride == 1 && terms == kTerms;
      VecI rows[4] = {};
      for (int64_t i = 0; i < 4 && first + i < lines; ++i, from += line_stride * Units::kBytes) {
        rows[i] = whole ? Units::Along(from) : AlongPart<Units>(from, k_stride * Units::kBytes, terms);
      }
      TurnQuarters(rows);
      for (int i = 0; i < 4; ++i) {
        if constexpr (Units::kHead != 0) head -= Units::Offset(VecI{}, rows[i]);
        Store(at + i * kLanes, rows[i]);
      }
    }
    Store(to, head);
  }
}

template <int kQuarter, typename V>
PYPTO_SIMD_INLINE V SpreadQuarter(V x) {
  constexpr int kAt = kQuarter * 4;
  return __builtin_shufflevector(x, x, kAt, kAt + 1, kAt + 2, kAt + 3, kAt, kAt + 1, kAt + 2, kAt + 3, kAt, kAt + 1,
                                 kAt + 2, kAt + 3, kAt, kAt + 1, kAt + 2, kAt + 3);
}

// Sums of four lines: each is that of the lanes of a quarter.
template <typename Sum>
PYPTO_SIMD_INLINE Sum AddQuarters(const Sum* lines) {
  const Sum first = LowPairs(lines[0], lines[1]) + HighPairs(lines[0], lines[1]);
  const Sum second = LowPairs(lines[2], lines[3]) + HighPairs(lines[2], lines[3]);
  return LowHalves(first, second) + HighHalves(first, second);
}

// Quarter kRow of the sums of four lines.
template <int kRow, typename Sum>
PYPTO_SIMD_INLINE void StoreQuarter(const GemmOutput& out, int64_t row, int64_t column, Sum sums) {
  using Element = typename ElementOf<Sum>::Type;
  typedef Element Part __attribute__((vector_size(16), aligned(4), may_alias));
  if (out.format == kF16 || out.format == kBf16) {
    return StoreSum(out, row + kRow, column, SpreadQuarter<kRow>(sums), 4);
  }
  Part part = __builtin_shufflevector(sums, sums, kRow * 4, kRow * 4 + 1, kRow * 4 + 2, kRow * 4 + 3);
  if (out.from != nullptr) {
    const auto* from = static_cast<const Element*>(out.from) + (row + kRow) * out.from_stride + column;
    part += *reinterpret_cast<const Part*>(from);
  }
  part = Scaled(out, part);
  *reinterpret_cast<Part*>(static_cast<Element*>(out.to) + (row + kRow) * out.to_stride + column) = part;
}

template <int kRow, typename Sum>
PYPTO_SIMD_INLINE void StoreRow(const GemmOutput& out, int64_t row, int64_t column, Sum sums, int64_t rows, int lines) {
  if (row + kRow >= rows) return;
  if (lines == 4) return StoreQuarter<kRow>(out, row, column, sums);
  StoreSum(out, row + kRow, column, SpreadQuarter<kRow>(sums), lines);
}

// Up to 4 × kFours rows with kLines lines of B, line_bytes apart.
template <typename Units, int kFours, int kLines>
PYPTO_SIMD_MEMBER void FoursTile(const GemmOutput& out, int64_t column, const int32_t* a, const char* b,
                                 int64_t line_bytes, int64_t rows, int64_t k) {
  using Sum = typename Units::Sum;
  constexpr bool kLies = Units::kGroup * Units::kBytes == 4;
  Sum sums[kFours][kLines < 4 ? 4 : kLines] = {};
  if constexpr (Units::kHead != 0) {
#pragma GCC unroll 8
    for (int i = 0; i < kFours * kLines; ++i) sums[i / kLines][i % kLines] = LoadUnits(a + i / kLines * kFoursUnits);
  }
  a += kLanes;
  const auto add = [&](int line, VecI units) __attribute__((always_inline)) {
    const VecI right = Units::Right(units);
#pragma GCC unroll 2
    for (int i = 0; i < kFours; ++i) {
      sums[i][line] = Units::MultiplyAdd(sums[i][line], LoadUnits(a + i * kFoursUnits), right);
    }
  };
  int64_t left = k;
  if constexpr (kLies) {
    constexpr int64_t kTerms = 4 * Units::kGroup;
    for (; left >= kTerms; left -= kTerms, a += kLanes, b += 16) {
#pragma GCC unroll 8
      for (int line = 0; line < kLines; ++line) {
        const auto units = _mm_loadu_si128(reinterpret_cast<const __m128i*>(b + line * line_bytes));
        add(line, reinterpret_cast<VecI>(_mm512_maskz_broadcast_i32x4(0xffff, units)));
      }
    }
  }
  constexpr int64_t kTerms = kLanes * Units::kGroup;
  for (; left > 0; left -= kTerms, b += kTerms * Units::kBytes) {
    VecI units[kLines];
#pragma GCC unroll 8
    for (int line = 0; line < kLines; ++line) {
      const char* at = b + line * line_bytes;
      units[line] = left >= kTerms ? Units::Along(at) : AlongPart<Units>(at, Units::kBytes, left);
    }
    const auto quarter = [&]<int kQuarter>() __attribute__((always_inline)) {
      if (left <= kQuarter * 4 * Units::kGroup) return;
#pragma GCC unroll 8
      for (int line = 0; line < kLines; ++line) add(line, SpreadQuarter<kQuarter>(units[line]));
      a += kLanes;
    };
    quarter.template operator()<0>();
    quarter.template operator()<1>();
    quarter.template operator()<2>();
    quarter.template operator()<3>();
  }
#pragma GCC unroll 2
  for (int i = 0; i < kFours; ++i) {
#pragma GCC unroll 2
    for (int line = 0; line < kLines; line += 4) {
      const Sum totals = AddQuarters(sums[i] + line);
      constexpr int kStored = kLines < 4 ? kLines : 4;
      StoreRow<0>(out, i * 4, column + line, totals, rows, kStored);
      StoreRow<1>(out, i * 4, column + line, totals, rows, kStored);
      StoreRow<2>(out, i * 4, column + line, totals, rows, kStored);
      StoreRow<3>(out, i * 4, column + line, totals, rows, kStored);
    }
  }
}

template <typename Units, int kFours>
void FoursColumns(const GemmOutput& out, const int32_t* a, const char* b, int64_t line_bytes, int64_t rows,
                  int64_t columns, int64_t k) {
  constexpr int kLines = 8 / kFours;  // sums that hide how long each step takes
  int64_t column = 0;
  const auto some = [&]<int kCount>() __attribute__((always_inline)) {
    for (; column + kCount <= columns; column += kCount, b += kCount * line_bytes) {
      FoursTile<Units, kFours, kCount>(out, column, a, b, line_bytes, rows, k);
    }
  };
  some.template operator()<kLines>();
  some.template operator()<4>();
  some.template operator()<1>();
}

// At most 8 rows.
template <typename Units>
void Fours(const GemmOutput& out, const void* a, const void* b, int64_t column_stride, int64_t rows, int64_t columns,
           int64_t k) {
  const auto* left = static_cast<const int32_t*>(a);
  const auto* right = static_cast<const char*>(b);
  const int64_t bytes = column_stride * Units::kBytes;
  rows <= 4 ? FoursColumns<Units, 1>(out, left, right, bytes, rows, columns, k)
            : FoursColumns<Units, 2>(out, left, right, bytes, rows, columns, k);
}

}  // namespace
}  // namespace pypto::device::simd::PYPTO_SIMD_SET

#endif
