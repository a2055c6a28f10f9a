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

// What comes after a row, that processors do not foresee.
struct NextRow {
  uint8_t* to;
  const uint8_t* from;
};

// Asks for bytes [at, at + bytes) of the next row, and for the place it goes to unless stores go past the caches.
PYPTO_SIMD_INLINE void AskForRow(const NextRow& next, int64_t at, int64_t bytes, bool streamed) {
  for (int64_t line = at; line < at + bytes; line += 64) {
    __builtin_prefetch(next.from + line, 0, 2);
    if (!streamed) __builtin_prefetch(next.to + line, 1, 2);
  }
}

// Whole vectors up to a last one that may overlap the one before: short copies have a loop of their own.
template <bool kAsks>
PYPTO_SIMD_INLINE void CopyRow(uint8_t* to, const uint8_t* from, int64_t bytes, bool streamed, NextRow next) {
  constexpr int64_t kWidth = PYPTO_SIMD_BYTES;
  if (bytes < kWidth) {
    __builtin_memcpy(to, from, static_cast<uint64_t>(bytes));
    return;
  }
  int64_t at = 0;
  if (streamed) {
    const int64_t lead = -static_cast<int64_t>(reinterpret_cast<uintptr_t>(to)) & (kWidth - 1);
    if (lead != 0) *reinterpret_cast<VecBMemory*>(to) = LoadBytes(from);
    for (at = lead; at + kWidth <= bytes; at += kWidth) {
      if constexpr (kAsks) AskForRow(next, at, kWidth, true);
      StoreStreamed(to + at, LoadBytes(from + at));
    }
  } else {
    for (; at + 4 * kWidth <= bytes; at += 4 * kWidth) {
      if constexpr (kAsks) AskForRow(next, at, 4 * kWidth, false);
      const VecB a = LoadBytes(from + at);
      const VecB b = LoadBytes(from + at + kWidth);
      const VecB c = LoadBytes(from + at + 2 * kWidth);
      const VecB d = LoadBytes(from + at + 3 * kWidth);
      *reinterpret_cast<VecBMemory*>(to + at) = a;
      *reinterpret_cast<VecBMemory*>(to + at + kWidth) = b;
      *reinterpret_cast<VecBMemory*>(to + at + 2 * kWidth) = c;
      *reinterpret_cast<VecBMemory*>(to + at + 3 * kWidth) = d;
    }
    for (; at + kWidth <= bytes; at += kWidth) {
      if constexpr (kAsks) AskForRow(next, at, kWidth, false);
      *reinterpret_cast<VecBMemory*>(to + at) = LoadBytes(from + at);
    }
  }
  if (at < bytes) *reinterpret_cast<VecBMemory*>(to + bytes - kWidth) = LoadBytes(from + bytes - kWidth);
}

PYPTO_SIMD_INLINE void CopyRow(uint8_t* to, const uint8_t* from, int64_t bytes, bool streamed) {
  CopyRow<false>(to, from, bytes, streamed, {nullptr, nullptr});
}

// What is asked for is some rows away if rows are short.
constexpr int64_t kAskedBytes = 2048;

void CopyRows(void* out, int64_t out_row, const void* source, int64_t source_row, int64_t rows, int64_t bytes,
              bool streamed, bool asks) {
  auto* to = static_cast<uint8_t*>(out);
  const auto* from = static_cast<const uint8_t*>(source);
  if (asks) {
    const int64_t away = bytes < kAskedBytes ? (kAskedBytes + bytes - 1) / bytes : 1;
    for (int64_t row = 0; row < rows; ++row, to += out_row, from += source_row) {
      CopyRow<true>(to, from, bytes, streamed, {to + away * out_row, from + away * source_row});
    }
  } else {
    for (int64_t row = 0; row < rows; ++row) CopyRow(to + row * out_row, from + row * source_row, bytes, streamed);
  }
#if defined(__x86_64__)
  if (streamed) __builtin_ia32_sfence();
#endif
}

// What is asked for is some outer places away: those of one are read one after another.
constexpr int64_t kAskedPlaces = 4;

template <bool kAsks>
PYPTO_SIMD_INLINE void CopyPlaces(const RunGrid& grid) {
  auto* to = static_cast<uint8_t*>(grid.out);
  const auto* from = static_cast<const uint8_t*>(grid.source);
  const int64_t to_next = kAskedPlaces * grid.out_outer;
  const int64_t from_next = kAskedPlaces * grid.source_outer;
  for (int64_t place = 0; place < grid.outer; ++place, to += grid.out_outer, from += grid.source_outer) {
    for (int64_t run = 0; run < grid.inner; ++run) {
      uint8_t* out = to + run * grid.out_inner;
      const uint8_t* source = from + run * grid.source_inner;
      CopyRow<kAsks>(out, source, grid.bytes, grid.streamed, {out + to_next, source + from_next});
    }
  }
}

void CopyGrid(const RunGrid* grid) {
  grid->asks ? CopyPlaces<true>(*grid) : CopyPlaces<false>(*grid);
#if defined(__x86_64__)
  if (grid->streamed) __builtin_ia32_sfence();
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
void TransposeBlocks(void* out, int64_t out_row, const void* source, int64_t source_row, int64_t rows, int64_t columns,
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
}

#if defined(__AVX512F__)
template <int... kPlace>
struct Places {};
template <int kCount, int... kPlace>
struct PlacesUpTo : PlacesUpTo<kCount - 1, kCount - 1, kPlace...> {};
template <int... kPlace>
struct PlacesUpTo<0, kPlace...> {
  using Type = Places<kPlace...>;
};

// Squares whose turned rows are whole lines. Halves: two squares of 16, one below the other, each in its half of the
// vectors.
template <typename T>
struct LineSquares {
  static constexpr int kRows = 64 / static_cast<int>(sizeof(T));
  static constexpr int kColumns = kRows > 16 ? 16 : kRows;
  typedef T Vector __attribute__((vector_size(64)));
  typedef T Memory __attribute__((vector_size(64), aligned(sizeof(T)), may_alias));
  typedef T HalfMemory __attribute__((vector_size(32), aligned(sizeof(T)), may_alias));

  // Interleaves the lower (kHigh = 0) or the upper lanes of each square.
  template <int kHigh, int... kPlace>
  PYPTO_SIMD_INLINE Vector Mixed(Vector a, Vector b, Places<kPlace...>) {
    return __builtin_shufflevector(
        a, b, (kPlace / kColumns * kColumns + kPlace % kColumns / 2 + kPlace % 2 * kRows + kHigh * (kColumns / 2))...);
  }
  template <int... kPlace>
  PYPTO_SIMD_INLINE Vector LoadRow(const uint8_t* p, int64_t row, Places<kPlace...>) {
    if constexpr (kRows == kColumns) {
      return *reinterpret_cast<const Memory*>(p);
    } else {
      return __builtin_shufflevector(*reinterpret_cast<const HalfMemory*>(p),
                                     *reinterpret_cast<const HalfMemory*>(p + kColumns * row), kPlace...);
    }
  }

  PYPTO_SIMD_INLINE void Turn(uint8_t* out, int64_t out_row, const uint8_t* source, int64_t source_row, bool streamed) {
    using All = typename PlacesUpTo<kRows>::Type;
    Vector rows[kColumns];
#pragma GCC unroll 16
    for (int i = 0; i < kColumns; ++i) rows[i] = LoadRow(source + i * source_row, source_row, All{});
#pragma GCC unroll 4
    for (int step = 1; step < kColumns; step *= 2) {
      Vector mixed[kColumns];
#pragma GCC unroll 8
      for (int i = 0; i < kColumns / 2; ++i) {
        mixed[2 * i] = Mixed<0>(rows[i], rows[i + kColumns / 2], All{});
        mixed[2 * i + 1] = Mixed<1>(rows[i], rows[i + kColumns / 2], All{});
      }
#pragma GCC unroll 16
      for (int i = 0; i < kColumns; ++i) rows[i] = mixed[i];
    }
    if (streamed) {
#pragma GCC unroll 16
      for (int i = 0; i < kColumns; ++i) StoreStreamed(out + i * out_row, reinterpret_cast<VecB>(rows[i]));
      return;
    }
#pragma GCC unroll 16
    for (int i = 0; i < kColumns; ++i) *reinterpret_cast<Memory*>(out + i * out_row) = rows[i];
  }
};

// Columns that are read of a row at a time: some lines.
constexpr int64_t kTurnedLines = 4;
template <typename T>
void TransposeLines(void* out, int64_t out_row, const void* source, int64_t source_row, int64_t rows, int64_t columns,
                    bool streamed) {
  using Squares = LineSquares<T>;
  constexpr auto kSize = static_cast<int64_t>(sizeof(T));
  constexpr int64_t kWidth = kTurnedLines * 64 / kSize;
  auto* to = static_cast<uint8_t*>(out);
  const auto* from = static_cast<const uint8_t*>(source);
  const bool lines = ((reinterpret_cast<uintptr_t>(to) | static_cast<uintptr_t>(out_row)) & 63) == 0;
  const int64_t whole_rows = rows / Squares::kRows * Squares::kRows;
  const int64_t whole_columns = columns / Squares::kColumns * Squares::kColumns;
  for (int64_t column = 0; column < whole_columns; column += kWidth) {
    const int64_t end = column + kWidth < whole_columns ? column + kWidth : whole_columns;
    for (int64_t row = 0; row < whole_rows; row += Squares::kRows) {
      for (int64_t at = column; at < end; at += Squares::kColumns) {
        Squares::Turn(to + at * out_row + row * kSize, out_row, from + row * source_row + at * kSize, source_row,
                      streamed && lines);
      }
    }
  }
  if (whole_rows < rows) {
    TransposeBlocks<T>(to + whole_rows * kSize, out_row, from + whole_rows * source_row, source_row, rows - whole_rows,
                       columns, streamed);
  }
  if (whole_columns < columns) {
    TransposeBlocks<T>(to + whole_columns * out_row, out_row, from + whole_columns * kSize, source_row, whole_rows,
                       columns - whole_columns, streamed);
  }
}
#endif

template <typename T>
void Transpose(void* out, int64_t out_row, const void* source, int64_t source_row, int64_t rows, int64_t columns,
               bool streamed) {
#if defined(__AVX512F__)
  constexpr bool kLines = sizeof(T) > 1;
#else
  constexpr bool kLines = false;
#endif
  if constexpr (kLines) {
    TransposeLines<T>(out, out_row, source, source_row, rows, columns, streamed);
  } else {
    TransposeBlocks<T>(out, out_row, source, source_row, rows, columns, streamed);
  }
#if defined(__x86_64__)
  if (streamed) __builtin_ia32_sfence();
#endif
}

}  // namespace
}  // namespace pypto::device::simd::PYPTO_SIMD_SET
