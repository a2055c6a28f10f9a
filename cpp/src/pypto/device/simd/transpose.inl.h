// Transposes of 1-, 2-, 4- and 8-byte elements.
#pragma once

#include "pypto/device/simd/rows.inl.h"

namespace pypto::device::simd::PYPTO_SIMD_SET {
namespace {

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

// Squares of a line by a line, half a line of columns at a time. Rows are read in halves that stand in the vectors as
// their sixteen bytes are to stand in the result, so that only these are turned by instructions.
template <typename T>
struct LineSquare {
  static constexpr int kSide = 64 / static_cast<int>(sizeof(T));
  static constexpr int kPart = kSide / 4;  // elements of sixteen bytes
  typedef T Vector __attribute__((vector_size(64)));
  typedef T HalfMemory __attribute__((vector_size(32), aligned(sizeof(T)), may_alias));
  typedef T Memory __attribute__((vector_size(64), aligned(sizeof(T)), may_alias));
  using All = typename PlacesUpTo<kSide>::Type;

  template <int... kPlace>
  PYPTO_SIMD_INLINE Vector TwoRows(const uint8_t* first, const uint8_t* second, Places<kPlace...>) {
    return __builtin_shufflevector(*reinterpret_cast<const HalfMemory*>(first),
                                   *reinterpret_cast<const HalfMemory*>(second), kPlace...);
  }
  // Parts kFrom and kFrom + 2 of each vector.
  template <int kFrom, int... kPlace>
  PYPTO_SIMD_INLINE Vector EveryOther(Vector a, Vector b, Places<kPlace...>) {
    return __builtin_shufflevector(
        a, b, (kPlace / (2 * kPart) * kSide + (kPlace / kPart % 2 * 2 + kFrom) * kPart + kPlace % kPart)...);
  }
  // Interleaves the lower (kHigh = 0) or the upper elements of each part.
  template <int kHigh, int... kPlace>
  PYPTO_SIMD_INLINE Vector Mixed(Vector a, Vector b, Places<kPlace...>) {
    return __builtin_shufflevector(
        a, b, (kPlace / kPart * kPart + kPlace % kPart / 2 + kPlace % 2 * kSide + kHigh * (kPart / 2))...);
  }

  PYPTO_SIMD_INLINE void TurnParts(uint8_t* out, int64_t out_row, Vector* parts) {
#pragma GCC unroll 4
    for (int step = 1; step < kPart; step *= 2) {
      Vector mixed[kPart];
#pragma GCC unroll 4
      for (int i = 0; i < kPart / 2; ++i) {
        mixed[2 * i] = Mixed<0>(parts[i], parts[i + kPart / 2], All{});
        mixed[2 * i + 1] = Mixed<1>(parts[i], parts[i + kPart / 2], All{});
      }
#pragma GCC unroll 8
      for (int i = 0; i < kPart; ++i) parts[i] = mixed[i];
    }
#pragma GCC unroll 8
    for (int i = 0; i < kPart; ++i) *reinterpret_cast<Memory*>(out + i * out_row) = parts[i];
  }

  PYPTO_SIMD_INLINE void Turn(uint8_t* out, int64_t out_row, const uint8_t* source, int64_t source_row) {
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
      Vector low[kPart];
      Vector high[kPart];
#pragma GCC unroll 8
      for (int i = 0; i < kPart; ++i) {
        const uint8_t* row = source + i * source_row + half * 32;
        const Vector above = TwoRows(row, row + kPart * source_row, All{});
        const uint8_t* later = row + 2 * kPart * source_row;
        const Vector below = TwoRows(later, later + kPart * source_row, All{});
        low[i] = EveryOther<0>(above, below, All{});
        high[i] = EveryOther<1>(above, below, All{});
      }
      TurnParts(out + 2 * half * kPart * out_row, out_row, low);
      TurnParts(out + (2 * half + 1) * kPart * out_row, out_row, high);
    }
  }
};

// Turns `lines` squares, one below the other.
template <typename T>
PYPTO_SIMD_INLINE void TurnDown(uint8_t* out, int64_t out_row, const uint8_t* source, int64_t source_row,
                                int64_t lines) {
  for (int64_t line = 0; line < lines; ++line) {
    LineSquare<T>::Turn(out + line * 64, out_row, source + line * LineSquare<T>::kSide * source_row, source_row);
  }
}

// A panel that is copied, turned and written past the caches: rows and lines of the source. The copies have rows a line
// longer, as rows whose distance is a power of two drive each other out of the caches.
constexpr int64_t kPanelRows = 128;
constexpr int64_t kPanelLines = 2;
constexpr int64_t kReadRow = (kPanelLines + 1) * 64;

PYPTO_SIMD_INLINE void ReadPanel(uint8_t* read, const uint8_t* from, const uint8_t* next, int64_t source_row,
                                 int64_t rows, int64_t lines) {
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t line = 0; line < lines; ++line) {
      __builtin_prefetch(next + row * source_row + line * 64, 0, 2);
      *reinterpret_cast<VecB*>(read + row * kReadRow + line * 64) = LoadBytes(from + row * source_row + line * 64);
    }
  }
}

template <typename T>
PYPTO_SIMD_INLINE void TurnPanel(uint8_t* to, int64_t out_row, const uint8_t* read, int64_t rows, int64_t lines) {
  constexpr int64_t kSide = LineSquare<T>::kSide;
  constexpr int64_t kTurnedRow = (kPanelRows / kSide + 1) * 64;
  alignas(64) uint8_t turned[kSide * kTurnedRow];
  for (int64_t line = 0; line < lines; ++line) {
    TurnDown<T>(turned, kTurnedRow, read + line * 64, kReadRow, rows / kSide);
    for (int64_t i = 0; i < kSide; ++i, to += out_row) {
      for (int64_t at = 0; at < rows / kSide * 64; at += 64) {
        StoreStreamed(to + at, LoadBytes(turned + i * kTurnedRow + at));
      }
    }
  }
}

// Rows and columns are whole lines, and so are rows of the result.
template <typename T>
void TransposePanels(uint8_t* to, int64_t out_row, const uint8_t* from, int64_t source_row, int64_t rows,
                     int64_t columns) {
  constexpr int64_t kSide = LineSquare<T>::kSide;
  constexpr auto kSize = static_cast<int64_t>(sizeof(T));
  constexpr int64_t kWidth = kPanelLines * kSide;
  alignas(64) uint8_t read[kPanelRows * kReadRow];
  for (int64_t row = 0; row < rows; row += kPanelRows) {
    const int64_t height = rows - row < kPanelRows ? rows - row : kPanelRows;
    for (int64_t column = 0; column < columns; column += kWidth) {
      const int64_t lines = (columns - column < kWidth ? columns - column : kWidth) / kSide;
      const uint8_t* source = from + row * source_row + column * kSize;
      const bool ends = column + kWidth >= columns;
      const uint8_t* next = ends ? from + (row + kPanelRows) * source_row : source + kPanelLines * 64;
      ReadPanel(read, source, next, source_row, height, lines);
      TurnPanel<T>(to + column * out_row + row * kSize, out_row, read, height, lines);
    }
  }
}

template <typename T>
void TransposeLines(void* out, int64_t out_row, const void* source, int64_t source_row, int64_t rows, int64_t columns,
                    bool streamed) {
  constexpr int64_t kSide = LineSquare<T>::kSide;
  constexpr auto kSize = static_cast<int64_t>(sizeof(T));
  auto* to = static_cast<uint8_t*>(out);
  const auto* from = static_cast<const uint8_t*>(source);
  const bool lines = ((reinterpret_cast<uintptr_t>(to) | static_cast<uintptr_t>(out_row)) & 63) == 0;
  const int64_t whole_rows = rows / kSide * kSide;
  const int64_t whole_columns = columns / kSide * kSide;
  if (streamed && lines) {
    TransposePanels<T>(to, out_row, from, source_row, whole_rows, whole_columns);
  } else {
    for (int64_t at = 0; at < whole_columns; at += kSide) {
      TurnDown<T>(to + at * out_row, out_row, from + at * kSize, source_row, whole_rows / kSide);
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
