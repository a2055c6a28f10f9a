// Regions of bytes against sets of bytes.
#include "pypto/device/region.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

namespace pypto::device {
namespace {

struct Access {
  int64_t low = 0;
  int64_t element = 4;
  std::vector<Region::Dim> dims;

  Region Make() const {
    std::vector<Region::Dim> list = dims;
    return MakeRegion(low, element, list.data(), static_cast<int>(list.size()));
  }
  std::set<int64_t> Bytes() const {
    std::set<int64_t> bytes;
    for (int64_t i = 0; i < element; ++i) bytes.insert(low + i);
    for (const Region::Dim& dim : dims) {
      const std::set<int64_t> inner = bytes;
      for (int64_t i = 1; i < dim.count; ++i) {
        for (const int64_t byte : inner) bytes.insert(byte + i * dim.stride);
      }
    }
    return bytes;
  }
};

bool Intersect(const std::set<int64_t>& a, const std::set<int64_t>& b) {
  return std::any_of(a.begin(), a.end(), [&b](int64_t byte) { return b.contains(byte); });
}

// Cells [row, row + rows) × [column, column + columns) of a row-major matrix `width` wide, of 4-byte elements.
Region Block(int64_t width, int64_t row, int64_t rows, int64_t column, int64_t columns) {
  Access access{(row * width + column) * 4, 4, {}};
  if (columns > 1) access.dims.push_back({4, columns});
  if (rows > 1) access.dims.push_back({width * 4, rows});
  return access.Make();
}

TEST(Region, NeverMissesACommonByte) {
  std::mt19937 random(7);
  const auto pick = [&random](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  int apart = 0;
  for (int round = 0; round < 4000; ++round) {
    Access pair[2];
    const int64_t row = 4 * pick(2, 12);
    for (Access& access : pair) {
      access.low = 4 * pick(0, 60);
      access.element = 1 << pick(0, 2);
      const int64_t strides[] = {access.element, 4 * pick(1, 4), row, row * pick(2, 3), 4 * pick(1, 30)};
      for (int64_t dims = pick(0, 4); dims > 0; --dims) access.dims.push_back({strides[pick(0, 4)], pick(2, 4)});
    }
    const bool common = Intersect(pair[0].Bytes(), pair[1].Bytes());
    const bool found = Overlap(pair[0].Make(), pair[1].Make());
    ASSERT_TRUE(found || !common) << "round " << round;
    ASSERT_EQ(found, Overlap(pair[1].Make(), pair[0].Make()));
    const Region region = pair[0].Make();
    ASSERT_LE(region.low, *pair[0].Bytes().begin());
    ASSERT_GT(region.high, *pair[0].Bytes().rbegin());
    apart += found ? 0 : 1;
  }
  EXPECT_GT(apart, 500);
}

TEST(Region, BlocksOfAMatrixAreToldApartExactly) {
  std::mt19937 random(3);
  const auto pick = [&random](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int round = 0; round < 4000; ++round) {
    const int64_t width = pick(2, 20);
    int64_t at[2][4];
    for (auto& block : at) {
      block[0] = pick(0, 8);
      block[1] = pick(1, 4);
      block[2] = pick(0, width - 1);
      block[3] = pick(1, width - block[2]);
    }
    const bool rows = at[0][0] < at[1][0] + at[1][1] && at[1][0] < at[0][0] + at[0][1];
    const bool columns = at[0][2] < at[1][2] + at[1][3] && at[1][2] < at[0][2] + at[0][3];
    const Region a = Block(width, at[0][0], at[0][1], at[0][2], at[0][3]);
    const Region b = Block(width, at[1][0], at[1][1], at[1][2], at[1][3]);
    // Whole rows are one piece, which is compared by its ends; the same holds for a single row.
    ASSERT_EQ(Overlap(a, b), rows && columns)
        << width << ": " << at[0][0] << " " << at[0][1] << " " << at[0][2] << " " << at[0][3] << " / " << at[1][0]
        << " " << at[1][1] << " " << at[1][2] << " " << at[1][3];
  }
}

TEST(Region, BlocksOfHigherRankAreToldApart) {
  // [4][6][8][10] of 4 bytes: two blocks that differ in one dim only.
  const int64_t strides[] = {6 * 8 * 10 * 4, 8 * 10 * 4, 10 * 4, 4};
  for (int differs = 0; differs < 4; ++differs) {
    Access a{0, 4, {}};
    for (const int64_t stride : strides) a.dims.push_back({stride, 2});
    Access b = a;
    b.low = 2 * strides[differs];
    EXPECT_FALSE(Overlap(a.Make(), b.Make())) << differs;
    b.low = strides[differs];
    EXPECT_TRUE(Overlap(a.Make(), b.Make())) << differs;
  }
}

TEST(Region, CoversOnlyWhatItHolds) {
  std::mt19937 random(11);
  const auto pick = [&random](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  int covered = 0;
  for (int round = 0; round < 2000; ++round) {
    const int64_t rows = pick(1, 3);
    const Access outer{4 * pick(0, 6), 4, {{4, pick(2, 12)}, {40, rows + 1}}};
    const Access inner{4 * pick(0, 12), 4, {{4, pick(2, 6)}}};
    const auto bytes = outer.Bytes();
    const auto part = inner.Bytes();
    const bool all = std::includes(bytes.begin(), bytes.end(), part.begin(), part.end());
    const bool claimed = Covers(outer.Make(), inner.Make());
    ASSERT_TRUE(all || !claimed);
    ASSERT_TRUE(Covers(outer.Make(), outer.Make()));
    covered += claimed ? 1 : 0;
  }
  EXPECT_GT(covered, 20);
}

TEST(Region, AWholeMatrixIsOnePiece) {
  const Region whole = Block(16, 0, 8, 0, 16);
  EXPECT_EQ(whole.dims, 0);
  EXPECT_EQ(whole.low, 0);
  EXPECT_EQ(whole.high, 8 * 16 * 4);
  EXPECT_TRUE(Covers(whole, Block(16, 2, 3, 4, 5)));
}

}  // namespace
}  // namespace pypto::device
