// The places of first extremes: ties, NaN, zeros of both signs, every length, in every set.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "device/simd_tables.h"

namespace pypto::device::simd {
namespace {

TEST(Extremes, TheFirstPlaceOfAValueIsFound) {
  for (const KernelTable* table : Tables()) {
    for (int64_t n = 1; n < 150; ++n) {
      for (const float value : {2.0F, -0.0F, HUGE_VALF, std::nanf("")}) {
        // Behind the row lies what must not be found.
        std::vector<float> row(static_cast<size_t>(n) + 16, value);
        for (int64_t i = 0; i < n; ++i) row[static_cast<size_t>(i)] = -1.0F;
        ASSERT_EQ(table->first_same(row.data(), n, value), n) << table->name << " " << value;
        for (int64_t place = n - 1; place >= 0; place -= 1 + n / 7) {
          row[static_cast<size_t>(place)] = value == 0 ? 0.0F : value;
          ASSERT_EQ(table->first_same(row.data(), n, value), place) << table->name << " " << n << " " << value;
        }
      }
    }
  }
}

TEST(Extremes, ColumnsKeepTheFirstOfEqualValuesAndTheFirstNan) {
  const float values[] = {1.0F, 0.0F, -0.0F, 2.0F, -2.0F, HUGE_VALF, -HUGE_VALF, std::nanf("")};
  constexpr int32_t kRows = 11;
  uint32_t state = 5;
  const auto next = [&state, &values] { return values[(state = state * 1664525U + 1013904223U) >> 29]; };
  for (const KernelTable* table : Tables()) {
    for (int64_t n = 1; n < 40; ++n) {
      const auto columns = static_cast<size_t>(n);
      for (const bool smallest : {false, true}) {
        std::vector<std::vector<float>> rows(kRows, std::vector<float>(columns));
        for (auto& row : rows) {
          for (float& value : row) value = next();
        }
        std::vector<float> held = rows[0];
        std::vector<int32_t> places(columns, 0);
        held.push_back(7.0F);
        places.push_back(99);
        for (int32_t row = 1; row < kRows; ++row) {
          table->improve_extremes[smallest ? 1 : 0](held.data(), places.data(), rows[static_cast<size_t>(row)].data(),
                                                    row, n);
        }
        for (size_t i = 0; i < columns; ++i) {
          size_t best = 0;
          for (size_t row = 1; row < kRows; ++row) {
            const float x = rows[row][i];
            const float before = rows[best][i];
            const bool beyond = smallest ? x < before : x > before;
            if (std::isnan(x) ? !std::isnan(before) : beyond) best = row;
          }
          ASSERT_EQ(places[i], static_cast<int32_t>(best)) << table->name << " " << n << " column " << i;
        }
        ASSERT_EQ(held.back(), 7.0F);
        ASSERT_EQ(places.back(), 99);
      }
    }
  }
}

}  // namespace
}  // namespace pypto::device::simd
