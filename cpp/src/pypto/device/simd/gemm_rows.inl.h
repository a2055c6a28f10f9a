// Matrix product: the size of the register tile, how it reads rows of A, and what is asked for while it computes.
#pragma once

#include "pypto/device/simd/dot.inl.h"

namespace pypto::device::simd::PYPTO_SIMD_SET {
namespace {

// Register tile: kGemmRows × kGemmVectors vectors of accumulators, which the register file just holds.
#if defined(__AVX512F__)
constexpr int kGemmRows = 12;
constexpr double kTermsPerNs = 50;  // of FP32
#elif defined(__AVX2__)
constexpr int kGemmRows = 6;
constexpr double kTermsPerNs = 40;
#else
constexpr int kGemmRows = 4;
constexpr double kTermsPerNs = 10;
#endif
constexpr int kGemmVectors = 2;
constexpr int kGemmColumns = kGemmVectors * static_cast<int>(kLanes);

// Asks for memory bit by bit, as much at each of `turns` turns.
class Asker {
 public:
  PYPTO_SIMD_MEMBER Asker(const GemmAsk& ask, int64_t turns)
      : at_(static_cast<const char*>(ask.data)), rows_(ask.rows), bytes_(ask.bytes), row_bytes_(ask.row_bytes) {
    each_ = (rows_ * ((bytes_ + kLine - 1) / kLine) + turns - 1) / turns;
  }
  PYPTO_SIMD_MEMBER void Turn() {
    for (int64_t left = rows_ > 0 ? each_ : 0; left > 0; --left) {
      __builtin_prefetch(at_ + done_, 0, 2);
      done_ += kLine;
      if (done_ < bytes_) continue;
      done_ = 0;
      at_ += row_bytes_;
      if (--rows_ == 0) return;
    }
  }

 private:
  static constexpr int64_t kLine = 64;
  const char* at_;  // row
  int64_t rows_;    // from there on
  int64_t bytes_;
  int64_t row_bytes_;
  int64_t each_ = 0;
  int64_t done_ = 0;  // of the row
};

// Units of the rows of A, one after another: of a panel, or row by row, which takes four pointers for twelve rows.
struct PackedRows {
  const int32_t* units;
  template <int kRows>
  PYPTO_SIMD_MEMBER static PackedRows From(const PackedRows& rows) {
    return rows;
  }
  PYPTO_SIMD_MEMBER int32_t Head(int row) const { return units[row]; }
  PYPTO_SIMD_MEMBER void SkipHeads() { Next(); }
  PYPTO_SIMD_MEMBER int32_t At(int row) const { return units[row]; }
  PYPTO_SIMD_MEMBER void Next() { units += kGemmRows; }
};
struct SeparateRows {
  static constexpr int kEach = 3;
  const char* lines[(kGemmRows + kEach - 1) / kEach];
  int64_t bytes;  // from row to row
  const int32_t* heads;
  PYPTO_SIMD_MEMBER static SeparateRows Begin(const GemmRows& all, int64_t first) {
    SeparateRows rows;
    for (const char*& line : rows.lines) line = static_cast<const char*>(all.data) + first * all.row_bytes;
    rows.bytes = all.row_bytes;
    rows.heads = all.heads + first;
    return rows;
  }
  template <int kRows>
  PYPTO_SIMD_MEMBER static SeparateRows From(const SeparateRows& rows) {
    SeparateRows all = rows;
#pragma GCC unroll 4
    for (int i = 1; i * kEach < kRows; ++i) all.lines[i] = all.lines[i - 1] + kEach * all.bytes;
    return all;
  }
  PYPTO_SIMD_MEMBER int32_t Head(int row) const { return heads[row]; }
  PYPTO_SIMD_MEMBER void SkipHeads() {}
  PYPTO_SIMD_MEMBER int32_t At(int row) const {
    int32_t unit;
    __builtin_memcpy(&unit, lines[row / kEach] + row % kEach * bytes, sizeof(unit));
    return unit;
  }
  PYPTO_SIMD_MEMBER void Next() {
#pragma GCC unroll 4
    for (const char*& line : lines) line += sizeof(int32_t);
  }
};

// Lines of A as they are, as units.
template <typename Units>
void CopyRowUnits(void* out, const void* source, int64_t line_stride, int64_t k_stride, int64_t lines, int64_t k) {
  constexpr int64_t kTerms = kLanes * Units::kGroup;
  auto* to = static_cast<int32_t*>(out);
  const auto* line = static_cast<const char*>(source);
  for (int64_t i = 0; i < lines; ++i, to += kGemmRowUnits, line += line_stride * Units::kBytes) {
    for (int64_t at = 0; at < k; at += kTerms) {
      const char* from = line + at * k_stride * Units::kBytes;
      const int64_t terms = k - at < kTerms ? k - at : kTerms;
      const bool whole = k_stride == 1 && terms == kTerms;
      Store(to + at / Units::kGroup,
            whole ? Units::Along(from) : AlongPart<Units>(from, k_stride * Units::kBytes, terms));
    }
  }
}

template <typename Units>
void RowHeads(int32_t* heads, const void* a, int64_t row_bytes, int64_t rows, int64_t k) {
  constexpr int64_t kTerms = kLanes * Units::kGroup;
  const auto* line = static_cast<const char*>(a);
  for (int64_t row = 0; row < rows; ++row, line += row_bytes) {
    VecI sums{};
    int64_t at = 0;
    for (; at + kTerms <= k; at += kTerms) sums = Units::Offset(sums, Units::Along(line + at * Units::kBytes));
    if (at < k) sums = Units::Offset(sums, AlongPart<Units>(line + at * Units::kBytes, Units::kBytes, k - at));
    heads[row] = (-TotalsOf<1>(&sums))[0];
  }
}

}  // namespace
}  // namespace pypto::device::simd::PYPTO_SIMD_SET
