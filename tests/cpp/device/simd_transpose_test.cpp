// Transposes of every element size: all edges, rows that lie anywhere, cached stores and stores past the caches, in
// every set.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "device/simd_tables.h"

namespace pypto::device::simd {
namespace {

struct Matrix {
  int64_t rows;
  int64_t columns;
  int64_t source_gap;  // bytes behind each row
  int64_t out_gap;
  int64_t shift;  // bytes in front of the first element of the result
};

// The place of an element tells what it is.
uint8_t ByteAt(int64_t row, int64_t column, int64_t byte) {
  return static_cast<uint8_t>(row * 7 + column * 131 + (row ^ column) / 5 + byte * 61);
}

void CheckTranspose(const KernelTable& table, int which, const Matrix& m, bool streamed) {
  const int64_t size = int64_t{1} << which;
  const int64_t source_row = m.columns * size + m.source_gap;
  const int64_t out_row = m.rows * size + m.out_gap;
  std::vector<uint8_t> source(static_cast<size_t>(m.rows * source_row));
  std::vector<uint8_t> memory(static_cast<size_t>(m.columns * out_row + m.shift + 128), 0xee);
  const auto address = reinterpret_cast<uintptr_t>(memory.data());
  uint8_t* out = memory.data() + (-address & 63U) + m.shift;
  for (int64_t row = 0; row < m.rows; ++row) {
    for (int64_t i = 0; i < m.columns * size; ++i) {
      source[static_cast<size_t>(row * source_row + i)] = ByteAt(row, i / size, i % size);
    }
  }
  table.transpose[which](out, out_row, source.data(), source_row, m.rows, m.columns, streamed);
  for (int64_t column = 0; column < m.columns; ++column) {
    for (int64_t i = 0; i < out_row; ++i) {
      const uint8_t expected = i < m.rows * size ? ByteAt(i / size, column, i % size) : 0xee;
      ASSERT_EQ(out[column * out_row + i], expected)
          << table.name << ": " << size << " bytes, " << m.rows << "x" << m.columns << (streamed ? " streamed" : "")
          << ", row " << column << " of the result, byte " << i;
    }
  }
}

TEST(Transpose, EveryEdge) {
  for (const KernelTable* table : Tables()) {
    for (int which = 0; which < 4; ++which) {
      const int64_t size = int64_t{1} << which;
      for (const int64_t rows : {1, 15, 16, 17, 31, 33, 64, 127, 130, 200}) {
        for (const int64_t columns : {1, 7, 16, 32, 33, 65, 128}) {
          CheckTranspose(*table, which, {rows, columns, 3 * size, 5 * size, size}, false);
          CheckTranspose(*table, which, {rows, columns, 0, (-rows * size) & 63, 0}, true);
        }
      }
    }
  }
}

TEST(Transpose, ManyPanelsPastTheCaches) {
  for (const KernelTable* table : Tables()) {
    for (int which = 0; which < 4; ++which) {
      CheckTranspose(*table, which, {384, 320, 0, 0, 0}, true);
      CheckTranspose(*table, which, {320, 336, 64, 128, 64}, true);
      CheckTranspose(*table, which, {320, 336, 0, 0, 8}, true);  // rows are no whole lines
    }
  }
}

}  // namespace
}  // namespace pypto::device::simd
