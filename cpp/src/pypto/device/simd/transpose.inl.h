// Copies of long rows and transposes of 1-, 2-, 4- and 8-byte elements.
#pragma once

#include "pypto/device/simd/vector.inl.h"

namespace pypto::device::simd::PYPTO_SIMD_SET {
namespace {

typedef uint8_t VecB __attribute__((vector_size(PYPTO_SIMD_BYTES)));
typedef uint8_t VecBMemory __attribute__((vector_size(PYPTO_SIMD_BYTES), aligned(1), may_alias));

// Past the caches; `to` is aligned to a vector.
PYPTO_SIMD_INLINE void StoreStreamed(uint8_t* to, VecB value) {
#if defined(__AVX512F__)
  typedef long long Wide __attribute__((vector_size(64)));
  __builtin_ia32_movntdq512(reinterpret_cast<Wide*>(to), reinterpret_cast<Wide>(value));
#elif defined(__AVX2__)
  typedef long long Wide __attribute__((vector_size(32)));
  __builtin_ia32_movntdq256(reinterpret_cast<Wide*>(to), reinterpret_cast<Wide>(value));
#else
  *reinterpret_cast<VecBMemory*>(to) = value;
#endif
}

PYPTO_SIMD_INLINE VecB LoadBytes(const uint8_t* from) { return *reinterpret_cast<const VecBMemory*>(from); }

// Whole vectors up to a last one that may overlap the one before: short copies have a loop of their own.
PYPTO_SIMD_INLINE void CopyRow(uint8_t* to, const uint8_t* from, int64_t bytes, bool streamed) {
  constexpr int64_t kWidth = PYPTO_SIMD_BYTES;
  if (bytes < kWidth) {
    __builtin_memcpy(to, from, static_cast<uint64_t>(bytes));
    return;
  }
  int64_t at = 0;
  if (streamed) {
    const int64_t lead = -static_cast<int64_t>(reinterpret_cast<uintptr_t>(to)) & (kWidth - 1);
    if (lead != 0) *reinterpret_cast<VecBMemory*>(to) = LoadBytes(from);
    for (at = lead; at + kWidth <= bytes; at += kWidth) StoreStreamed(to + at, LoadBytes(from + at));
  } else {
    for (; at + 4 * kWidth <= bytes; at += 4 * kWidth) {
      const VecB a = LoadBytes(from + at);
      const VecB b = LoadBytes(from + at + kWidth);
      const VecB c = LoadBytes(from + at + 2 * kWidth);
      const VecB d = LoadBytes(from + at + 3 * kWidth);
      *reinterpret_cast<VecBMemory*>(to + at) = a;
      *reinterpret_cast<VecBMemory*>(to + at + kWidth) = b;
      *reinterpret_cast<VecBMemory*>(to + at + 2 * kWidth) = c;
      *reinterpret_cast<VecBMemory*>(to + at + 3 * kWidth) = d;
    }
    for (; at + kWidth <= bytes; at += kWidth) *reinterpret_cast<VecBMemory*>(to + at) = LoadBytes(from + at);
  }
  if (at < bytes) *reinterpret_cast<VecBMemory*>(to + bytes - kWidth) = LoadBytes(from + bytes - kWidth);
}

void CopyRows(void* out, int64_t out_row, const void* source, int64_t source_row, int64_t rows, int64_t bytes,
              bool streamed) {
  auto* to = static_cast<uint8_t*>(out);
  const auto* from = static_cast<const uint8_t*>(source);
  for (int64_t row = 0; row < rows; ++row) CopyRow(to + row * out_row, from + row * source_row, bytes, streamed);
#if defined(__x86_64__)
  if (streamed) __builtin_ia32_sfence();
#endif
}

// The square of 16 / sizeof(T) vectors of 16 bytes: each step interleaves the first half of them with the second.
template <typename T>
struct Square {
  static constexpr int kLanes = 16 / static_cast<int>(sizeof(T));
  typedef T Vector __attribute__((vector_size(16)));
  typedef T Memory __attribute__((vector_size(16), aligned(sizeof(T)), may_alias));

  PYPTO_SIMD_INLINE Vector Low(Vector a, Vector b);
  PYPTO_SIMD_INLINE Vector High(Vector a, Vector b);

  PYPTO_SIMD_INLINE void Turn(T* out, int64_t out_row, const T* source, int64_t source_row) {
    Vector rows[kLanes];
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i) rows[i] = *reinterpret_cast<const Memory*>(source + i * source_row);
#pragma GCC unroll 4
    for (int step = 1; step < kLanes; step *= 2) {
      Vector mixed[kLanes];
#pragma GCC unroll 8
      for (int i = 0; i < kLanes / 2; ++i) {
        mixed[2 * i] = Low(rows[i], rows[i + kLanes / 2]);
        mixed[2 * i + 1] = High(rows[i], rows[i + kLanes / 2]);
      }
#pragma GCC unroll 16
      for (int i = 0; i < kLanes; ++i) rows[i] = mixed[i];
    }
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i) *reinterpret_cast<Memory*>(out + i * out_row) = rows[i];
  }
};

#define PYPTO_INTERLEAVE(T, low, high)                                                            \
  template <>                                                                                     \
  PYPTO_SIMD_MEMBER Square<T>::Vector Square<T>::Low(Square<T>::Vector a, Square<T>::Vector b) {  \
    return __builtin_shufflevector(a, b, PYPTO_LANES low);                                        \
  }                                                                                               \
  template <>                                                                                     \
  PYPTO_SIMD_MEMBER Square<T>::Vector Square<T>::High(Square<T>::Vector a, Square<T>::Vector b) { \
    return __builtin_shufflevector(a, b, PYPTO_LANES high);                                       \
  }
#define PYPTO_LANES(...) __VA_ARGS__

PYPTO_INTERLEAVE(uint64_t, (0, 2), (1, 3))
PYPTO_INTERLEAVE(uint32_t, (0, 4, 1, 5), (2, 6, 3, 7))
PYPTO_INTERLEAVE(uint16_t, (0, 8, 1, 9, 2, 10, 3, 11), (4, 12, 5, 13, 6, 14, 7, 15))
PYPTO_INTERLEAVE(uint8_t, (0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23),
                 (8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31))
#undef PYPTO_INTERLEAVE
#undef PYPTO_LANES

// Blocks go through two buffers, so that memory is read and written in runs of whole lines whatever the strides are,
// and edges are turned like the rest.
template <typename T>
void Transpose(void* out, int64_t out_row, const void* source, int64_t source_row, int64_t rows, int64_t columns,
               bool streamed) {
  constexpr int64_t kWide = 16 / sizeof(T);
  constexpr int64_t kRows = sizeof(T) == 8 ? 32 : (sizeof(T) == 1 ? 128 : 64);
  constexpr int64_t kColumns = sizeof(T) == 8 ? 16 : (sizeof(T) == 4 ? 32 : 64);
  alignas(64) T read[kRows * kColumns];
  alignas(64) T turned[kRows * kColumns];
  auto* to = static_cast<uint8_t*>(out);
  const auto* from = static_cast<const uint8_t*>(source);
  for (int64_t column = 0; column < columns; column += kColumns) {
    const int64_t width = columns - column < kColumns ? columns - column : kColumns;
    for (int64_t row = 0; row < rows; row += kRows) {
      const int64_t height = rows - row < kRows ? rows - row : kRows;
      for (int64_t i = 0; i < height; ++i) {
        CopyRow(reinterpret_cast<uint8_t*>(read + i * kColumns),
                from + (row + i) * source_row + column * static_cast<int64_t>(sizeof(T)),
                width * static_cast<int64_t>(sizeof(T)), false);
      }
      for (int64_t i = 0; i < width; i += kWide) {
        for (int64_t j = 0; j < height; j += kWide) {
          Square<T>::Turn(turned + i * kRows + j, kRows, read + j * kColumns + i, kColumns);
        }
      }
      for (int64_t i = 0; i < width; ++i) {
        CopyRow(to + (column + i) * out_row + row * static_cast<int64_t>(sizeof(T)),
                reinterpret_cast<const uint8_t*>(turned + i * kRows), height * static_cast<int64_t>(sizeof(T)),
                streamed);
      }
    }
  }
#if defined(__x86_64__)
  if (streamed) __builtin_ia32_sfence();
#endif
}

}  // namespace
}  // namespace pypto::device::simd::PYPTO_SIMD_SET
