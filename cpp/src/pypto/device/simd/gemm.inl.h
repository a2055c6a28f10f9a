// Matrix product: packing into panels and the register-tiled kernel. FP32 accumulation, k in ascending order.
#pragma once

#include "pypto/device/simd/convert.inl.h"
#include "pypto/device/simd/small_floats.inl.h"

namespace pypto::device::simd::PYPTO_SIMD_SET {
namespace {

// Register tile: kGemmRows × kGemmVectors vectors of accumulators, which the register file just holds.
#if defined(__AVX512F__)
constexpr int kGemmRows = 12;
constexpr int kGemmVectors = 2;
#elif defined(__AVX2__)
constexpr int kGemmRows = 6;
constexpr int kGemmVectors = 2;
#else
constexpr int kGemmRows = 4;
constexpr int kGemmVectors = 2;
#endif
constexpr int64_t kGemmColumns = kGemmVectors * kLanes;

// n elements of the format as FP32; integers of at most 8 bits stay exact.
PYPTO_SIMD_INLINE void LoadAsFloat(float* out, const void* source, Format format, int64_t offset, int64_t step,
                                   int64_t n) {
  switch (format) {
    case kF16: LoadHalf<Fp16>(out, static_cast<const uint16_t*>(source) + offset, step, n); break;
    case kBf16: LoadHalf<Bf16>(out, static_cast<const uint16_t*>(source) + offset, step, n); break;
    case kI8: LoadElements<int8_t, float>(out, static_cast<const int8_t*>(source) + offset, step, n); break;
    case kE4m3: LoadSmall<E4m3>(out, static_cast<const uint8_t*>(source) + offset, step, n); break;
    case kE5m2: LoadSmall<E5m2>(out, static_cast<const uint8_t*>(source) + offset, step, n); break;
    case kHf8: LoadSmall<Hf8>(out, static_cast<const uint8_t*>(source) + offset, step, n); break;
    default: LoadElements<float, float>(out, static_cast<const float*>(source) + offset, step, n); break;
  }
}

// One panel of `width` lines by k. Line l, step j of the source is at l * line_stride + j * k_stride.
PYPTO_SIMD_INLINE void PackPanel(float* out, const void* source, Format format, int64_t offset, int64_t line_stride,
                                 int64_t k_stride, int64_t lines, int64_t k, int64_t width) {
  if (lines < width) {
    for (int64_t i = 0; i < width * k; ++i) out[i] = 0.0F;
  }
  if (line_stride == 1) {
    for (int64_t j = 0; j < k; ++j) LoadAsFloat(out + j * width, source, format, offset + j * k_stride, 1, lines);
    return;
  }
  float run[kGemmMaxK];
  for (int64_t line = 0; line < lines; ++line) {
    LoadAsFloat(run, source, format, offset + line * line_stride, k_stride, k);
    for (int64_t j = 0; j < k; ++j) out[j * width + line] = run[j];
  }
}

void PackA(float* out, const void* source, Format format, int64_t row_stride, int64_t k_stride, int64_t rows,
           int64_t k) {
  for (int64_t row = 0; row < rows; row += kGemmRows) {
    const int64_t lines = rows - row < kGemmRows ? rows - row : kGemmRows;
    PackPanel(out + row * k, source, format, row * row_stride, row_stride, k_stride, lines, k, kGemmRows);
  }
}

// Rows of neighbouring elements, spread over the panels row by row: memory is read in order, and the rows to come are
// on their way. Panel by panel, rows one page or more apart would each wait for memory.
void PackRows(float* out, const void* source, Format format, int64_t k_stride, int64_t k, int64_t columns) {
  constexpr int64_t kLine = 64;
  constexpr int64_t kRowsAhead = 4;
  const int64_t bytes = format == kF32 ? 4 : format == kF16 || format == kBf16 ? 2 : 1;
  const char* ahead = static_cast<const char*>(source) + kRowsAhead * k_stride * bytes;
  for (int64_t j = 0; j < k; ++j, ahead += k_stride * bytes) {
    for (int64_t at = 0; j + kRowsAhead < k && at < columns * bytes; at += kLine) __builtin_prefetch(ahead + at);
    for (int64_t column = 0; column < columns; column += kGemmColumns) {
      const int64_t lines = columns - column < kGemmColumns ? columns - column : kGemmColumns;
      float* to = out + column * k + j * kGemmColumns;
      LoadAsFloat(to, source, format, column + j * k_stride, 1, lines);
      for (int64_t i = lines; i < kGemmColumns; ++i) to[i] = 0.0F;
    }
  }
}

void PackB(float* out, const void* source, Format format, int64_t k_stride, int64_t column_stride, int64_t k,
           int64_t columns) {
  if (column_stride == 1) {
    PackRows(out, source, format, k_stride, k, columns);
    return;
  }
  for (int64_t column = 0; column < columns; column += kGemmColumns) {
    const int64_t lines = columns - column < kGemmColumns ? columns - column : kGemmColumns;
    PackPanel(out + column * k, source, format, column * column_stride, column_stride, k_stride, lines, k,
              kGemmColumns);
  }
}

// kRows rows of one panel pair.
template <int kRows>
void RegisterTile(float* c, int64_t c_stride, const float* a, const float* b, int64_t k, bool accumulate) {
  VecF sums[kRows][kGemmVectors];
#pragma GCC unroll 12
  for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 2
    for (int part = 0; part < kGemmVectors; ++part) sums[row][part] = VecF{};
  }
  for (int64_t j = 0; j < k; ++j) {
    VecF columns[kGemmVectors];
#pragma GCC unroll 2
    for (int part = 0; part < kGemmVectors; ++part) columns[part] = Load(b + j * kGemmColumns + part * kLanes);
#pragma GCC unroll 12
    for (int row = 0; row < kRows; ++row) {
      const VecF value = Splat(a[j * kGemmRows + row]);
#pragma GCC unroll 2
      for (int part = 0; part < kGemmVectors; ++part) sums[row][part] += value * columns[part];
    }
  }
#pragma GCC unroll 12
  for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 2
    for (int part = 0; part < kGemmVectors; ++part) {
      float* to = c + row * c_stride + part * kLanes;
      Store(to, accumulate ? Load(to) + sums[row][part] : sums[row][part]);
    }
  }
}

using RegisterTileFunction = void (*)(float*, int64_t, const float*, const float*, int64_t, bool);
constexpr RegisterTileFunction kRegisterTiles[] = {
    RegisterTile<1>, RegisterTile<2>, RegisterTile<3>, RegisterTile<4>,
#if defined(__AVX2__)
    RegisterTile<5>, RegisterTile<6>,
#endif
#if defined(__AVX512F__)
    RegisterTile<7>, RegisterTile<8>, RegisterTile<9>, RegisterTile<10>, RegisterTile<11>, RegisterTile<12>,
#endif
};
static_assert(sizeof(kRegisterTiles) / sizeof(kRegisterTiles[0]) == kGemmRows);

void Gemm(float* c, int64_t c_stride, const float* a, const float* b, int64_t rows, int64_t columns, int64_t k,
          bool accumulate) {
  for (int64_t column = 0; column < columns; column += kGemmColumns) {
    for (int64_t row = 0; row < rows; row += kGemmRows) {
      const int64_t lines = rows - row < kGemmRows ? rows - row : kGemmRows;
      kRegisterTiles[lines - 1](c + row * c_stride + column, c_stride, a + row * k, b + column * k, k, accumulate);
    }
  }
}

void AddIntegers(int32_t* total, const float* block, int64_t n, bool first) {
  if (first) {
    for (int64_t i = 0; i < n; ++i) total[i] = static_cast<int32_t>(block[i]);
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    const auto sum = static_cast<uint32_t>(total[i]) + static_cast<uint32_t>(static_cast<int32_t>(block[i]));
    total[i] = static_cast<int32_t>(sum);
  }
}

}  // namespace
}  // namespace pypto::device::simd::PYPTO_SIMD_SET
