// Matrix product: the register-tiled kernel over packed panels, where terms are added in ascending order, and the
// functions of every kind of product.
#pragma once

#include "pypto/device/simd/dot.inl.h"
#include "pypto/device/simd/stream.inl.h"

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

// Asks for the cells that a tile will be added to.
PYPTO_SIMD_INLINE void FetchTile(const GemmOutput& out, int64_t row, int64_t column, int rows) {
  if (out.from == nullptr) return;
  const auto* at = static_cast<const int32_t*>(out.from) + row * out.from_stride + column;
  for (int i = 0; i < rows; ++i, at += out.from_stride) {
    for (int part = 0; part < kGemmVectors; ++part) __builtin_prefetch(at + part * kLanes, 0, 2);
  }
}

// Units of the rows of A, one after another: of a panel, or where they lie, which takes four pointers for twelve rows.
struct PackedRows {
  const int32_t* units;
  template <int kRows>
  PYPTO_SIMD_MEMBER static PackedRows From(const PackedRows& rows) {
    return rows;
  }
  PYPTO_SIMD_MEMBER int32_t At(int row) const { return units[row]; }
  PYPTO_SIMD_MEMBER void Next() { units += kGemmRows; }
};
struct LyingRows {
  static constexpr int kEach = 3;
  const char* lines[(kGemmRows + kEach - 1) / kEach];
  int64_t bytes;  // from row to row
  PYPTO_SIMD_MEMBER static LyingRows Begin(const char* first, int64_t bytes) {
    LyingRows rows;
    for (const char*& line : rows.lines) line = first;
    rows.bytes = bytes;
    return rows;
  }
  template <int kRows>
  PYPTO_SIMD_MEMBER static LyingRows From(const LyingRows& rows) {
    LyingRows all = rows;
#pragma GCC unroll 4
    for (int i = 1; i * kEach < kRows; ++i) all.lines[i] = all.lines[i - 1] + kEach * all.bytes;
    return all;
  }
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
      if constexpr (Units::kHead != 0) sums[i][part] = Splat(a.At(i));
    }
  }
  if constexpr (Units::kHead != 0) a.Next();
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
void MultiplyRows(const GemmOutput* out, const At& rows_at, const void* b, int64_t rows, int64_t columns, int64_t k) {
  static_assert(sizeof(kRegisterTiles<Units, Rows>) / sizeof(kRegisterTiles<Units, Rows>[0]) == kGemmRows);
  const int64_t units = (k + Units::kGroup - 1) / Units::kGroup;
  const auto* right = static_cast<const int32_t*>(b);
  for (int64_t column = 0; column < columns; column += kGemmColumns) {
    const int64_t width = columns - column < kGemmColumns ? columns - column : kGemmColumns;
    for (int64_t row = 0; row < rows; row += kGemmRows) {
      const int64_t lines = rows - row < kGemmRows ? rows - row : kGemmRows;
      kRegisterTiles<Units, Rows>[lines - 1](*out, row, column, rows_at(row), right, units, width);
    }
    right += (units + kGemmPanelGap) * kGemmColumns;
  }
}

template <typename Units>
void Multiply(const GemmOutput* out, const void* a, const void* b, int64_t rows, int64_t columns, int64_t k) {
  const int64_t units = (k + Units::kGroup - 1) / Units::kGroup + Units::kHead;
  const auto at = [&](int64_t row) { return PackedRows{static_cast<const int32_t*>(a) + row * units}; };
  MultiplyRows<Units, PackedRows>(out, at, b, rows, columns, k);
}

template <typename Units>
void MultiplyLying(const GemmOutput* out, const void* a, int64_t a_row, const void* b, int64_t rows, int64_t columns,
                   int64_t k) {
  static_assert(Units::kHead == 0);
  const auto at = [&](int64_t row) { return LyingRows::Begin(static_cast<const char*>(a) + row * a_row, a_row); };
  MultiplyRows<Units, LyingRows>(out, at, b, rows, columns, k);
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

void PackFloatLines(void* out, const void* source, Format format, int64_t line_stride, int64_t k_stride, int64_t lines,
                    int64_t k) {
#define PYPTO_PACK(...) PackDotLines<__VA_ARGS__>(out, source, line_stride, k_stride, lines, k)
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
template <typename Units>
void PackUnitLines(void* out, const void* source, Format, int64_t line_stride, int64_t k_stride, int64_t lines,
                   int64_t k) {
  PackDotLines<Units>(out, source, line_stride, k_stride, lines, k);
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

constexpr GemmKernels kFloatGemm = {
    .group = 1,
    .head = 0,
    .terms_per_ns = kTermsPerNs,
    .pack_a = PackFloats<kGemmRows, true>,
    .pack_b = PackFloats<kGemmColumns, false>,
    .pack_few = PackFloats<kFewRows, true>,
    .pack_lines = PackFloatLines,
    .multiply = Multiply<FloatUnits<kF32>>,
    .multiply_lying = MultiplyLying<FloatUnits<kF32>>,
    .lying = kF32,
    .stream = StreamFloats,
    .dot = DotFloats,
};
template <typename Units>
constexpr auto MakeLying() -> decltype(GemmKernels::multiply_lying) {
  if constexpr (Units::kBytes == 2 && Units::kGroup == 2) return MultiplyLying<Units>;  // BF16
  return nullptr;
}
template <typename Units>
constexpr GemmKernels kUnitsGemm = {
    .group = Units::kGroup,
    .head = Units::kHead,
    .terms_per_ns = kTermsPerNs * Units::kGroup,
    .pack_a = PackUnits<Units, kGemmRows, true>,
    .pack_b = PackUnits<Units, kGemmColumns, false>,
    .pack_few = PackUnits<Units, kFewRows, true>,
    .pack_lines = PackUnitLines<Units>,
    .multiply = Multiply<Units>,
    .multiply_lying = MakeLying<Units>(),
    .lying = kBf16,
    .stream = StreamUnits<Units>,
    .dot = DotUnits<Units>,
};
#if defined(__AVX512BF16__)
constexpr GemmKernels kBf16Gemm = kUnitsGemm<Bf16Units>;
#else
constexpr GemmKernels kBf16Gemm = kFloatGemm;
#endif

}  // namespace
}  // namespace pypto::device::simd::PYPTO_SIMD_SET
