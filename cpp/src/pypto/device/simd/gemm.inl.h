// Matrix product: the register-tiled kernel over packed panels, where terms are added in ascending order, and the
// functions of every kind of product.
#pragma once

#include "pypto/device/simd/dot.inl.h"
#include "pypto/device/simd/fours.inl.h"
#include "pypto/device/simd/gemm_rows.inl.h"
#include "pypto/device/simd/stream.inl.h"

namespace pypto::device::simd::PYPTO_SIMD_SET {
namespace {

// Asks for the cells that a tile will be added to, or go to.
PYPTO_SIMD_INLINE void FetchTile(const GemmOutput& out, int64_t row, int64_t column, int rows) {
  const bool added = out.from != nullptr;
  const int64_t bytes = !added && (out.format == kF16 || out.format == kBf16) ? 2 : 4;
  const int64_t stride = (added ? out.from_stride : out.to_stride) * bytes;
  const auto* at = static_cast<const char*>(added ? out.from : out.to) + row * stride + column * bytes;
  for (int i = 0; i < rows; ++i, at += stride) {
    for (int part = 0; part < kGemmVectors; ++part) __builtin_prefetch(at + part * kLanes * bytes, 0, 2);
  }
}

// To FP32 or INT32, all columns of a panel.
template <int kRows, typename Sum>
PYPTO_SIMD_INLINE void StoreWholeTile(const GemmOutput& out, int64_t row, int64_t column,
                                      Sum (&sums)[kRows][kGemmVectors]) {
  using Element = typename ElementOf<Sum>::Type;
  if (out.from != nullptr) {
    const Element* from = static_cast<const Element*>(out.from) + row * out.from_stride + column;
#pragma GCC unroll 12
    for (int i = 0; i < kRows; ++i, from += out.from_stride) {
#pragma GCC unroll 2
      for (int part = 0; part < kGemmVectors; ++part) sums[i][part] += Load(from + part * kLanes);
    }
  }
  if constexpr (Element(0.5) != 0) {
    if (out.scale != 1) [[unlikely]] {
#pragma GCC unroll 12
      for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
        for (int part = 0; part < kGemmVectors; ++part) sums[i][part] *= out.scale;
      }
    }
  }
  Element* to = static_cast<Element*>(out.to) + row * out.to_stride + column;
#pragma GCC unroll 12
  for (int i = 0; i < kRows; ++i, to += out.to_stride) {
#pragma GCC unroll 2
    for (int part = 0; part < kGemmVectors; ++part) Store(to + part * kLanes, sums[i][part]);
  }
}

// kRows rows of A and one panel of B, at (row, column) of the product; `columns` of the panel's are there.
template <typename Units, int kRows, typename Rows>
void RegisterTile(const GemmOutput& out, int64_t row, int64_t column, const Rows& rows, const int32_t* b, int64_t units,
                  int64_t columns) {
  Rows a = Rows::template From<kRows>(rows);
  using Sum = typename Units::Sum;
  Sum sums[kRows][kGemmVectors];
#pragma GCC unroll 12
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
    for (int part = 0; part < kGemmVectors; ++part) {
      sums[i][part] = Sum{};
      if constexpr (Units::kHead != 0) sums[i][part] = Splat(a.Head(i));
    }
  }
  if constexpr (Units::kHead != 0) a.SkipHeads();
  FetchTile(out, row, column, kRows);
  for (int64_t unit = 0; unit < units; ++unit, a.Next(), b += kGemmColumns) {
    VecI right[kGemmVectors];
#pragma GCC unroll 2
    for (int part = 0; part < kGemmVectors; ++part) right[part] = LoadUnits(b + part * kLanes);
#pragma GCC unroll 12
    for (int i = 0; i < kRows; ++i) {
      const VecI left = Splat(a.At(i));
#pragma GCC unroll 2
      for (int part = 0; part < kGemmVectors; ++part) {
        sums[i][part] = Units::MultiplyAdd(sums[i][part], left, right[part]);
      }
    }
  }
  if (columns >= kGemmColumns && out.format != kF16 && out.format != kBf16) [[likely]] {
    return StoreWholeTile<kRows>(out, row, column, sums);
  }
#pragma GCC unroll 12
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
    for (int part = 0; part < kGemmVectors; ++part) {
      const int64_t left = columns - part * kLanes;
      if (left > 0) StoreSum(out, row + i, column + part * kLanes, sums[i][part], left < kLanes ? left : kLanes);
    }
  }
}

template <typename Rows>
using RegisterTileFunction = void (*)(const GemmOutput&, int64_t, int64_t, const Rows&, const int32_t*, int64_t,
                                      int64_t);
template <typename Units, typename Rows>
constexpr RegisterTileFunction<Rows> kRegisterTiles[] = {
    RegisterTile<Units, 1, Rows>,  RegisterTile<Units, 2, Rows>,  RegisterTile<Units, 3, Rows>,
    RegisterTile<Units, 4, Rows>,
#if defined(__AVX2__)
    RegisterTile<Units, 5, Rows>,  RegisterTile<Units, 6, Rows>,
#endif
#if defined(__AVX512F__)
    RegisterTile<Units, 7, Rows>,  RegisterTile<Units, 8, Rows>,  RegisterTile<Units, 9, Rows>,
    RegisterTile<Units, 10, Rows>, RegisterTile<Units, 11, Rows>, RegisterTile<Units, 12, Rows>,
#endif
};

template <typename Units, typename Rows, typename At>
void MultiplyTiles(const GemmOutput* out, const At& rows_at, const void* b, int64_t rows, int64_t columns, int64_t k,
                   const GemmAsk* asks) {
  static_assert(sizeof(kRegisterTiles<Units, Rows>) / sizeof(kRegisterTiles<Units, Rows>[0]) == kGemmRows);
  const int64_t units = (k + Units::kGroup - 1) / Units::kGroup;
  const auto* right = static_cast<const int32_t*>(b);
  const int64_t tiles = ((rows + kGemmRows - 1) / kGemmRows) * ((columns + kGemmColumns - 1) / kGemmColumns);
  Asker askers[kGemmAsks] = {{asks[0], tiles}, {asks[1], tiles}};
  for (int64_t column = 0; column < columns; column += kGemmColumns) {
    const int64_t width = columns - column < kGemmColumns ? columns - column : kGemmColumns;
    for (int64_t row = 0; row < rows; row += kGemmRows) {
      for (Asker& asker : askers) asker.Turn();
      const int64_t lines = rows - row < kGemmRows ? rows - row : kGemmRows;
      kRegisterTiles<Units, Rows>[lines - 1](*out, row, column, rows_at(row), right, units, width);
    }
    right += (units + kGemmPanelGap) * kGemmColumns;
  }
}

template <typename Units>
void Multiply(const GemmOutput* out, const void* a, const void* b, int64_t rows, int64_t columns, int64_t k,
              const GemmAsk* asks) {
  const int64_t units = (k + Units::kGroup - 1) / Units::kGroup + Units::kHead;
  const auto at = [&](int64_t row) { return PackedRows{static_cast<const int32_t*>(a) + row * units}; };
  MultiplyTiles<Units, PackedRows>(out, at, b, rows, columns, k, asks);
}

template <typename Units>
void MultiplyRows(const GemmOutput* out, const GemmRows* a, const void* b, int64_t rows, int64_t columns, int64_t k,
                  const GemmAsk* asks) {
  const auto at = [&](int64_t row) { return SeparateRows::Begin(*a, row); };
  MultiplyTiles<Units, SeparateRows>(out, at, b, rows, columns, k, asks);
}

template <int kWidth, bool kLeft>
void PackFloats(void* out, const void* source, Format format, int64_t line_stride, int64_t k_stride, int64_t lines,
                int64_t k) {
#define PYPTO_PACK(...) PackMatrix<__VA_ARGS__, kWidth, kLeft>(out, source, line_stride, k_stride, lines, k)
  switch (format) {
    case kF16: return PYPTO_PACK(FloatUnits<kF16>);
    case kBf16: return PYPTO_PACK(FloatUnits<kBf16>);
    case kE4m3: return PYPTO_PACK(FloatUnits<kE4m3>);
    case kE5m2: return PYPTO_PACK(FloatUnits<kE5m2>);
    case kHf8: return PYPTO_PACK(FloatUnits<kHf8>);
    default: return PYPTO_PACK(FloatUnits<kF32>);
  }
#undef PYPTO_PACK
}
template <typename Units, int kWidth, bool kLeft>
void PackUnits(void* out, const void* source, Format, int64_t line_stride, int64_t k_stride, int64_t lines, int64_t k) {
  PackMatrix<Units, kWidth, kLeft>(out, source, line_stride, k_stride, lines, k);
}

#define PYPTO_BY_ANY_FORMAT(function)                                                             \
  switch (format) {                                                                               \
    case kF16: return function<FloatUnits<kF16>>(out, source, line_stride, k_stride, lines, k);   \
    case kBf16: return function<FloatUnits<kBf16>>(out, source, line_stride, k_stride, lines, k); \
    case kE4m3: return function<FloatUnits<kE4m3>>(out, source, line_stride, k_stride, lines, k); \
    case kE5m2: return function<FloatUnits<kE5m2>>(out, source, line_stride, k_stride, lines, k); \
    case kHf8: return function<FloatUnits<kHf8>>(out, source, line_stride, k_stride, lines, k);   \
    default: return function<FloatUnits<kF32>>(out, source, line_stride, k_stride, lines, k);     \
  }
void PackFloatLines(void* out, const void* source, Format format, int64_t line_stride, int64_t k_stride, int64_t lines,
                    int64_t k) {
  PYPTO_BY_ANY_FORMAT(PackDotLines)
}
void CopyFloatRows(void* out, const void* source, Format format, int64_t line_stride, int64_t k_stride, int64_t lines,
                   int64_t k) {
  PYPTO_BY_ANY_FORMAT(CopyRowUnits)
}
#if defined(__AVX512F__)
void PackFloatFours(void* out, const void* source, Format format, int64_t line_stride, int64_t k_stride, int64_t lines,
                    int64_t k) {
  PYPTO_BY_ANY_FORMAT(PackFours)
}
#endif
#undef PYPTO_BY_ANY_FORMAT
template <typename Units>
void PackUnitLines(void* out, const void* source, Format, int64_t line_stride, int64_t k_stride, int64_t lines,
                   int64_t k) {
  PackDotLines<Units>(out, source, line_stride, k_stride, lines, k);
}
template <typename Units>
void CopyUnitRows(void* out, const void* source, Format, int64_t line_stride, int64_t k_stride, int64_t lines,
                  int64_t k) {
  CopyRowUnits<Units>(out, source, line_stride, k_stride, lines, k);
}

#define PYPTO_BY_FORMAT(function, ...)                           \
  switch (format) {                                              \
    case kF16: return function<FloatUnits<kF16>>(__VA_ARGS__);   \
    case kBf16: return function<FloatUnits<kBf16>>(__VA_ARGS__); \
    default: return function<FloatUnits<kF32>>(__VA_ARGS__);     \
  }
void StreamFloats(const GemmOutput* out, const void* a, const void* b, Format format, int64_t k_stride, int64_t rows,
                  int64_t columns, int64_t k) {
  PYPTO_BY_FORMAT(Stream, *out, a, b, k_stride, rows, columns, k)
}
void DotFloats(const GemmOutput* out, const void* a, const void* b, Format format, int64_t column_stride, int64_t rows,
               int64_t columns, int64_t k) {
  PYPTO_BY_FORMAT(Dot, *out, a, b, column_stride, rows, columns, k)
}
#if defined(__AVX512F__)
void FoursFloats(const GemmOutput* out, const void* a, const void* b, Format format, int64_t column_stride,
                 int64_t rows, int64_t columns, int64_t k) {
  PYPTO_BY_FORMAT(Fours, *out, a, b, column_stride, rows, columns, k)
}
template <typename Units>
void PackUnitFours(void* out, const void* source, Format, int64_t line_stride, int64_t k_stride, int64_t lines,
                   int64_t k) {
  PackFours<Units>(out, source, line_stride, k_stride, lines, k);
}
template <typename Units>
void FoursUnits(const GemmOutput* out, const void* a, const void* b, Format, int64_t column_stride, int64_t rows,
                int64_t columns, int64_t k) {
  Fours<Units>(*out, a, b, column_stride, rows, columns, k);
}
constexpr int64_t kMostFoursRows = 8;
#endif
#undef PYPTO_BY_FORMAT
template <typename Units>
void StreamUnits(const GemmOutput* out, const void* a, const void* b, Format, int64_t k_stride, int64_t rows,
                 int64_t columns, int64_t k) {
  Stream<Units>(*out, a, b, k_stride, rows, columns, k);
}
template <typename Units>
void DotUnits(const GemmOutput* out, const void* a, const void* b, Format, int64_t column_stride, int64_t rows,
              int64_t columns, int64_t k) {
  Dot<Units>(*out, a, b, column_stride, rows, columns, k);
}

// Turning lines into panels takes longer than adding up lanes, except where few steps of INT8 make a sum.
constexpr int kMostDotRows = kDotRows == 4 ? 2 * kFewRows : kFewRows;
constexpr int64_t kDotUnits = kLanes * 5 / 4;  // lanes of a row are added up in the time that so many units take

constexpr GemmKernels kFloatGemm = {
    .group = 1,
    .head = 0,
    .terms_per_ns = kTermsPerNs,
    .most_dot_rows = kMostDotRows,
    .dot_terms = kDotUnits,
    .pack_a = PackFloats<kGemmRows, true>,
    .pack_b = PackFloats<kGemmColumns, false>,
    .pack_few = PackFloats<kFewRows, true>,
    .pack_lines = PackFloatLines,
    .copy_rows = CopyFloatRows,
    .row_heads = nullptr,
    .multiply = Multiply<FloatUnits<kF32>>,
    .multiply_rows = MultiplyRows<FloatUnits<kF32>>,
    .lying = kF32,
    .stream = StreamFloats,
    .dot = DotFloats,
#if defined(__AVX512F__)
    .most_fours_rows = kMostFoursRows,
    .pack_fours = PackFloatFours,
    .fours = FoursFloats,
#else
    .most_fours_rows = 0,
    .pack_fours = nullptr,
    .fours = nullptr,
#endif
};
template <typename Units>
constexpr auto MakeHeads() -> decltype(GemmKernels::row_heads) {
  if constexpr (Units::kHead != 0) return RowHeads<Units>;
  return nullptr;
}
template <typename Units>
constexpr GemmKernels kUnitsGemm = {
    .group = Units::kGroup,
    .head = Units::kHead,
    .terms_per_ns = kTermsPerNs * Units::kGroup,
    .most_dot_rows = Units::kHead != 0 ? kFewRows : kMostDotRows,
    .dot_terms = kDotUnits * Units::kGroup,
    .pack_a = PackUnits<Units, kGemmRows, true>,
    .pack_b = PackUnits<Units, kGemmColumns, false>,
    .pack_few = PackUnits<Units, kFewRows, true>,
    .pack_lines = PackUnitLines<Units>,
    .copy_rows = CopyUnitRows<Units>,
    .row_heads = MakeHeads<Units>(),
    .multiply = Multiply<Units>,
    .multiply_rows = MultiplyRows<Units>,
    .lying = Units::kBytes * Units::kGroup != 4 ? kFormatCount
             : Units::kBytes == 1               ? kI8
                                                : kBf16,
    .stream = StreamUnits<Units>,
    .dot = DotUnits<Units>,
#if defined(__AVX512F__)
    .most_fours_rows = kMostFoursRows,
    .pack_fours = PackUnitFours<Units>,
    .fours = FoursUnits<Units>,
#else
    .most_fours_rows = 0,
    .pack_fours = nullptr,
    .fours = nullptr,
#endif
};
#if defined(__AVX512BF16__)
constexpr GemmKernels kBf16Gemm = kUnitsGemm<Bf16Units>;
#else
constexpr GemmKernels kBf16Gemm = kFloatGemm;
#endif

}  // namespace
}  // namespace pypto::device::simd::PYPTO_SIMD_SET
