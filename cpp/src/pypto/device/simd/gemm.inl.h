// Matrix product: the register-tiled kernel over packed panels, and the one that reads rows of B where they lie. Terms
// are added in ascending order.
#pragma once

#include "pypto/device/simd/pack.inl.h"

namespace pypto::device::simd::PYPTO_SIMD_SET {
namespace {

// Register tile: kGemmRows × kGemmVectors vectors of accumulators, which the register file just holds.
#if defined(__AVX512F__)
constexpr int kGemmRows = 12;
constexpr int kMostDirectRows = 16;
#elif defined(__AVX2__)
constexpr int kGemmRows = 6;
constexpr int kMostDirectRows = 4;
#else
constexpr int kGemmRows = 4;
constexpr int kMostDirectRows = 4;
#endif
constexpr int kGemmVectors = 2;
constexpr int kGemmColumns = kGemmVectors * static_cast<int>(kLanes);

template <typename Half>
PYPTO_SIMD_INLINE void StoreNarrow(uint16_t* to, VecF sum, int64_t lanes) {
  const VecH x = Half::Narrow(sum);
  lanes == kLanes ? StoreHalves(to, x) : ScatterHalves(to, 1, x, lanes);
}

// Sums of neighbouring columns to where the product goes, `lanes` of them.
template <typename Sum>
PYPTO_SIMD_INLINE void StoreSum(const GemmOutput& out, int64_t row, int64_t column, Sum sum, int64_t lanes) {
  using Element = typename ElementOf<Sum>::Type;
  if (out.from != nullptr) {
    const Element* from = static_cast<const Element*>(out.from) + row * out.from_stride + column;
    sum += lanes == kLanes ? Load(from) : LoadPart(from, lanes);
  }
  const int64_t at = row * out.to_stride + column;
  if constexpr (Element(0.5) != 0) {
    if (out.format == kF16) return StoreNarrow<Fp16>(static_cast<uint16_t*>(out.to) + at, sum, lanes);
    if (out.format == kBf16) return StoreNarrow<Bf16>(static_cast<uint16_t*>(out.to) + at, sum, lanes);
  }
  Element* to = static_cast<Element*>(out.to) + at;
  lanes == kLanes ? Store(to, sum) : StorePart(to, sum, lanes);
}

// kRows rows of one panel pair, at (row, column) of the product; `columns` of the panel's are there.
template <typename Units, int kRows>
void RegisterTile(const GemmOutput& out, int64_t row, int64_t column, const int32_t* a, const int32_t* b, int64_t units,
                  int64_t columns) {
  using Sum = typename Units::Sum;
  Sum sums[kRows][kGemmVectors];
#pragma GCC unroll 12
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
    for (int part = 0; part < kGemmVectors; ++part) {
      sums[i][part] = Sum{};
      if constexpr (Units::kHead != 0) sums[i][part] = LoadUnits(b + part * kLanes);
    }
  }
  b += Units::kHead * kGemmColumns;
  for (int64_t unit = 0; unit < units; ++unit, a += kGemmRows, b += kGemmColumns) {
    VecI right[kGemmVectors];
#pragma GCC unroll 2
    for (int part = 0; part < kGemmVectors; ++part) right[part] = LoadUnits(b + part * kLanes);
#pragma GCC unroll 12
    for (int i = 0; i < kRows; ++i) {
      const VecI left = Splat(a[i]);
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

using RegisterTileFunction = void (*)(const GemmOutput&, int64_t, int64_t, const int32_t*, const int32_t*, int64_t,
                                      int64_t);
template <typename Units>
constexpr RegisterTileFunction kRegisterTiles[] = {
    RegisterTile<Units, 1>,  RegisterTile<Units, 2>,  RegisterTile<Units, 3>, RegisterTile<Units, 4>,
#if defined(__AVX2__)
    RegisterTile<Units, 5>,  RegisterTile<Units, 6>,
#endif
#if defined(__AVX512F__)
    RegisterTile<Units, 7>,  RegisterTile<Units, 8>,  RegisterTile<Units, 9>, RegisterTile<Units, 10>,
    RegisterTile<Units, 11>, RegisterTile<Units, 12>,
#endif
};

template <typename Units>
void Multiply(const GemmOutput* out, const void* a, const void* b, int64_t rows, int64_t columns, int64_t k) {
  static_assert(sizeof(kRegisterTiles<Units>) / sizeof(kRegisterTiles<Units>[0]) == kGemmRows);
  const int64_t units = (k + Units::kGroup - 1) / Units::kGroup;
  const auto* right = static_cast<const int32_t*>(b);
  for (int64_t column = 0; column < columns; column += kGemmColumns) {
    const int64_t width = columns - column < kGemmColumns ? columns - column : kGemmColumns;
    const auto* left = static_cast<const int32_t*>(a);
    for (int64_t row = 0; row < rows; row += kGemmRows, left += units * kGemmRows) {
      const int64_t lines = rows - row < kGemmRows ? rows - row : kGemmRows;
      kRegisterTiles<Units>[lines - 1](*out, row, column, left, right, units, width);
    }
    right += (units + Units::kHead) * kGemmColumns;
  }
}

// Sums of kRows rows (those past `rows` are not stored) and kVectors vectors of columns. A is packed, B is not.
template <typename Units, int kRows, int kVectors>
struct Strip {
  using Sum = typename Units::Sum;
  Sum sums[kRows][kVectors] = {};
  Sum offsets[kVectors] = {};

  PYPTO_SIMD_MEMBER void Add(const int32_t* a, int64_t a_panel, const VecI* b) {
#pragma GCC unroll 16
    for (int part = 0; part < kVectors; ++part) {
      if constexpr (Units::kHead != 0) offsets[part] = Units::Offset(offsets[part], b[part]);
    }
#pragma GCC unroll 16
    for (int row = 0; row < kRows; ++row) {
      const VecI left = Splat(a[row / kGemmRows * a_panel + row % kGemmRows]);
#pragma GCC unroll 16
      for (int part = 0; part < kVectors; ++part) {
        sums[row][part] = Units::MultiplyAdd(sums[row][part], left, b[part]);
      }
    }
  }
};

// How far ahead rows of B are asked for.
template <typename Units>
constexpr int64_t kRowsAhead = Units::kGroup == 1 ? 12 : 8 * Units::kGroup;

template <typename Units, int kRows, int kVectors>
void RunStrip(const GemmOutput& out, const int32_t* a, const char* b, int64_t k_bytes, int64_t rows, int64_t column,
              int64_t k, int64_t lanes) {
  constexpr int64_t kVectorBytes = kLanes * Units::kBytes;
  const int64_t whole = k / Units::kGroup;
  const int64_t units = (k + Units::kGroup - 1) / Units::kGroup;
  const bool partial = kVectors == 1 && lanes < kLanes;
  Strip<Units, kRows, kVectors> strip;
  VecI right[kVectors];
  b += column * Units::kBytes;
  for (int64_t unit = 0; unit < units; ++unit, a += kGemmRows, b += Units::kGroup * k_bytes) {
    if (unit < whole && !partial) [[likely]] {
#pragma GCC unroll 4
      for (int term = 0; term < Units::kGroup; ++term) {
#pragma GCC unroll 16
        for (int64_t at = 0; at < kVectors * kVectorBytes; at += 64) {
          __builtin_prefetch(b + (kRowsAhead<Units> + term) * k_bytes + at);
        }
      }
#pragma GCC unroll 16
      for (int part = 0; part < kVectors; ++part) right[part] = Units::Across(b + part * kVectorBytes, k_bytes);
    } else {
      const int64_t terms = unit < whole ? Units::kGroup : k - whole * Units::kGroup;
      for (int part = 0; part < kVectors; ++part) {
        right[part] = AcrossPart<Units>(b + part * kVectorBytes, k_bytes, terms, partial ? lanes : kLanes);
      }
    }
    strip.Add(a, units * kGemmRows, right);
  }
#pragma GCC unroll 16
  for (int row = 0; row < kRows; ++row) {
    if (row >= rows) break;
#pragma GCC unroll 16
    for (int part = 0; part < kVectors; ++part) {
      StoreSum(out, row, column + part * kLanes, strip.sums[row][part] - strip.offsets[part], lanes);
    }
  }
}

template <typename Units, int kRows, int kVectors>
void RunStrips(const GemmOutput& out, const int32_t* a, const char* b, int64_t k_bytes, int64_t rows, int64_t columns,
               int64_t k) {
  int64_t column = 0;
  for (; column + kVectors * kLanes <= columns; column += kVectors * kLanes) {
    RunStrip<Units, kRows, kVectors>(out, a, b, k_bytes, rows, column, k, kLanes);
  }
  for (; column < columns; column += kLanes) {
    const int64_t lanes = columns - column < kLanes ? columns - column : kLanes;
    RunStrip<Units, kRows, 1>(out, a, b, k_bytes, rows, column, k, lanes);
  }
}

template <typename Units>
void Stream(const GemmOutput& out, const int32_t* a, const char* b, int64_t k_stride, int64_t rows, int64_t columns,
            int64_t k) {
  const int64_t k_bytes = k_stride * Units::kBytes;
#if defined(__AVX512F__)
  if (rows == 1) return RunStrips<Units, 1, 16>(out, a, b, k_bytes, rows, columns, k);
  if (rows == 2) return RunStrips<Units, 2, 8>(out, a, b, k_bytes, rows, columns, k);
  if (rows <= 4) return RunStrips<Units, 4, 4>(out, a, b, k_bytes, rows, columns, k);
  if (rows <= 8) return RunStrips<Units, 8, 2>(out, a, b, k_bytes, rows, columns, k);
  if (rows <= 12) return RunStrips<Units, 12, 2>(out, a, b, k_bytes, rows, columns, k);
  return RunStrips<Units, 16, 1>(out, a, b, k_bytes, rows, columns, k);
#else
  if (rows == 1) return RunStrips<Units, 1, 8>(out, a, b, k_bytes, rows, columns, k);
  if (rows == 2) return RunStrips<Units, 2, 4>(out, a, b, k_bytes, rows, columns, k);
  return RunStrips<Units, 4, 2>(out, a, b, k_bytes, rows, columns, k);
#endif
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

void StreamFloats(const GemmOutput* out, const void* a, const void* b, Format format, int64_t k_stride, int64_t rows,
                  int64_t columns, int64_t k) {
#define PYPTO_STREAM(...) \
  Stream<__VA_ARGS__>(*out, static_cast<const int32_t*>(a), static_cast<const char*>(b), k_stride, rows, columns, k)
  if (format == kF16) return PYPTO_STREAM(FloatUnits<kF16>);
  if (format == kBf16) return PYPTO_STREAM(FloatUnits<kBf16>);
  PYPTO_STREAM(FloatUnits<kF32>);
#undef PYPTO_STREAM
}
template <typename Units>
void StreamUnits(const GemmOutput* out, const void* a, const void* b, Format, int64_t k_stride, int64_t rows,
                 int64_t columns, int64_t k) {
  Stream<Units>(*out, static_cast<const int32_t*>(a), static_cast<const char*>(b), k_stride, rows, columns, k);
}

constexpr GemmKernels kFloatGemm = {
    1, 0, PackFloats<kGemmRows, true>, PackFloats<kGemmColumns, false>, Multiply<FloatUnits<kF32>>, StreamFloats,
};
template <typename Units>
constexpr GemmKernels kUnitsGemm = {
    Units::kGroup,   Units::kHead,       PackUnits<Units, kGemmRows, true>, PackUnits<Units, kGemmColumns, false>,
    Multiply<Units>, StreamUnits<Units>,
};
#if defined(__AVX512BF16__)
constexpr GemmKernels kBf16Gemm = kUnitsGemm<Bf16Units>;
#else
constexpr GemmKernels kBf16Gemm = kFloatGemm;
#endif

}  // namespace
}  // namespace pypto::device::simd::PYPTO_SIMD_SET
