// Tile grids.
#include "pypto/compile/tiles.h"

#include <gtest/gtest.h>

namespace pypto::compile {
namespace {

using Dims = std::vector<int64_t>;

Dims Tile(Grid grid) {
  SettleTile(grid);
  return grid.tile;
}

TEST(Tiles, GivenEntriesAreUpperBoundsFromTheLastDimOn) {
  EXPECT_EQ(Tile(MakeGrid({64, 16}, {1, 64, 1, 256}, -1)), (Dims{1, 16}));
  EXPECT_EQ(Tile(MakeGrid({64, 16}, {8}, -1)), (Dims{64, 8}));
  EXPECT_EQ(Tile(MakeGrid({4, 64, 16}, {8, 8}, -1)), (Dims{4, 8, 8}));
}

TEST(Tiles, AReducedAxisIsNeverSplit) {
  EXPECT_EQ(Tile(MakeGrid({64, 100}, {8, 16}, 1)), (Dims{8, 100}));
  EXPECT_EQ(Tile(MakeGrid({64, 10000}, {}, 1)), (Dims{1, 10000}));
  EXPECT_EQ(Tile(MakeGrid({4096, 512}, {}, 0)), (Dims{4096, 64}));
}

TEST(Tiles, ChosenTilesHoldAboutEightThousandElements) {
  EXPECT_EQ(Tile(MakeGrid({1024, 1024}, {}, -1)), (Dims{8, 1024}));
  EXPECT_EQ(Tile(MakeGrid({1024, 4096}, {}, -1)), (Dims{4, 2048}));
  EXPECT_EQ(Tile(MakeGrid({100, 16}, {}, -1)), (Dims{100, 16}));
  EXPECT_EQ(Tile(MakeGrid({1000000}, {}, -1)), (Dims{8192}));
  EXPECT_EQ(Tile(MakeGrid({16, 8, 64, 64}, {}, -1)), (Dims{1, 2, 64, 64}));
}

TEST(Tiles, WhatIsChosenFromLongRowsCountsAsLong) {
  Grid best = MakeGrid({1024, 8}, {}, -1);
  best.whole = 1;
  EXPECT_EQ(Tile(best), (Dims{1024, 8}));
  best.read = 512;  // 8 of 4096
  EXPECT_EQ(Tile(best), (Dims{2, 8}));
  best.read = 1 << 20;
  EXPECT_EQ(Tile(best), (Dims{1, 8}));
}

TEST(Tiles, OfRowsThatAreWrittenHereAndThereThoseThatAreWrittenCount) {
  Grid rows = MakeGrid({1024, 4096}, {}, -1);
  rows.whole = 2;
  rows.touched = 16;
  EXPECT_EQ(Tile(rows), (Dims{1024, 256}));  // what lies under a tile is at most so large
  rows.touched = 1000;
  EXPECT_EQ(Tile(rows), (Dims{1024, 64}));
  rows.run = 64;
  rows.extents = {int64_t{1} << 30, 4096};  // but a row is not cut to a few cells
  EXPECT_EQ(Tile(rows), (Dims{int64_t{1} << 30, 64}));
  rows.extents = {16, 4096};
  rows.touched = 4;
  EXPECT_EQ(Tile(rows), (Dims{16, 2048}));
  rows.extents = {1 << 20, 4096};
  rows.run = 2048;  // nor out of long runs
  EXPECT_EQ(Tile(rows), (Dims{1 << 20, 2048}));
  Grid heads = MakeGrid({1 << 20, 64, 128}, {}, -1);
  heads.whole = 4;
  heads.touched = 4096;
  heads.run = 2048;
  EXPECT_EQ(Tile(heads), (Dims{1 << 20, 16, 128}));
}

TEST(Tiles, HugeGivenTilesAreCut) {
  const Dims tile = Tile(MakeGrid({4096, 4096}, {4096, 4096}, -1));
  EXPECT_EQ(tile, (Dims{64, 4096}));
}

TEST(Tiles, EqualGridsJoin) {
  const auto joined = JoinGrids(MakeGrid({64, 32}, {8, 32}, -1), MakeGrid({1, 64, 32}, {8, 64}, -1));
  ASSERT_TRUE(joined.has_value());
  EXPECT_EQ(joined->extents, (Dims{1, 64, 32}));
  EXPECT_EQ(Tile(*joined), (Dims{1, 8, 32}));
}

TEST(Tiles, DifferentTilesDoNotJoin) {
  EXPECT_FALSE(JoinGrids(MakeGrid({64, 32}, {8, 32}, -1), MakeGrid({64, 32}, {16, 32}, -1)));
  EXPECT_FALSE(JoinGrids(MakeGrid({64, 32}, {8, 16}, -1), MakeGrid({64, 32}, {8, 16}, 1)));
  EXPECT_FALSE(JoinGrids(MakeGrid({64, 32}, {}, -1), MakeGrid({32, 64}, {}, -1)));
}

TEST(Tiles, AColumnJoinsRowsThatAreNotSplit) {
  EXPECT_TRUE(JoinGrids(MakeGrid({64, 32}, {8, 32}, -1), MakeGrid({64, 1}, {8, 32}, -1)));
  EXPECT_FALSE(JoinGrids(MakeGrid({64, 32}, {8, 16}, -1), MakeGrid({64, 1}, {8, 16}, -1)));
  const auto joined = JoinGrids(MakeGrid({64, 1}, {}, -1), MakeGrid({64, 1024}, {}, -1));
  ASSERT_TRUE(joined.has_value());
  EXPECT_EQ(Tile(*joined), (Dims{8, 1024}));
}

TEST(Tiles, ARowJoinsOnlyWhenItsRowsAreOneTile) {
  EXPECT_FALSE(JoinGrids(MakeGrid({1, 1024}, {}, -1), MakeGrid({64, 1024}, {}, -1)));
  EXPECT_TRUE(JoinGrids(MakeGrid({1, 64}, {}, -1), MakeGrid({64, 64}, {}, -1)));
}

TEST(Tiles, AReductionOfAColumnDoesNotJoinRows) {
  EXPECT_FALSE(JoinGrids(MakeGrid({64, 1}, {}, 1), MakeGrid({64, 32}, {}, -1)));
}

TEST(Tiles, TwoReducedAxesDoNotMakeOneHugeTile) {
  EXPECT_FALSE(JoinGrids(MakeGrid({4096, 4096}, {}, 0), MakeGrid({4096, 4096}, {}, 1)));
  EXPECT_TRUE(JoinGrids(MakeGrid({64, 64}, {}, 0), MakeGrid({64, 64}, {}, 1)));
}

TEST(Tiles, CubeTilesAreCutToTheExtents) {
  const CubeTile chosen = ChooseCubeTile({0, 0, 0}, 1000, 64, 1000);
  EXPECT_EQ(chosen.m, 128);
  EXPECT_EQ(chosen.k, 64);
  EXPECT_EQ(chosen.n, 128);
  const CubeTile given = ChooseCubeTile({16, 0, 32}, 8, 1000, 1000);
  EXPECT_EQ(given.m, 8);
  EXPECT_EQ(given.k, 256);
  EXPECT_EQ(given.n, 32);
}

}  // namespace
}  // namespace pypto::compile
