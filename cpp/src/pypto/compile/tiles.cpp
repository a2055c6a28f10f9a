// The tile grid of a leaf.
#include "pypto/compile/tiles.h"

#include <algorithm>
#include <utility>

namespace pypto::compile {
namespace {

constexpr int64_t kTileElements = 8192;
constexpr int64_t kLongestRow = 2048;
// Columns of a tile that spans other dims whole.
constexpr int64_t kShortestRow = 64;
// A tile of a transpose: elements side by side in the result, in the operand, and in the operand where the last dim
// stays the last.
constexpr int64_t kTurnedRow = 128;
constexpr int64_t kTurnedColumns = 512;
constexpr int64_t kOperandRun = 1024;
// Most elements of a tile, unless dims that may not be split span more.
constexpr int64_t kLargestTile = 1 << 18;
// Elements that the unsplit dims of two joined grids may span, unless one of them spans as many already.
constexpr int64_t kWholeElements = 32768;

// Puts dims of extent 1 in front until the grid has `rank` dims.
Grid Padded(const Grid& grid, size_t rank) {
  Grid padded = grid;
  const auto missing = static_cast<int64_t>(rank - grid.extents.size());
  padded.extents.insert(padded.extents.begin(), static_cast<size_t>(missing), 1);
  if (!grid.automatic) padded.tile.insert(padded.tile.begin(), static_cast<size_t>(missing), 1);
  return padded;
}

bool HasBit(uint32_t mask, size_t rank, size_t dim) { return ((mask >> (rank - 1 - dim)) & 1U) != 0; }
uint32_t BitOf(size_t rank, size_t dim) { return uint32_t{1} << (rank - 1 - dim); }

int64_t Volume(const std::vector<int64_t>& extents) {
  int64_t volume = 1;
  for (const int64_t extent : extents) volume *= extent;
  return volume;
}

int64_t WholeVolume(const Grid& grid) {
  int64_t volume = 1;
  for (size_t i = 0; i < grid.extents.size(); ++i) {
    if (HasBit(grid.whole, grid.extents.size(), i)) volume *= grid.extents[i];
  }
  return volume;
}

// Automatic grids: the joined one leaves every dim whole in which the operands of one side do not vary.
std::optional<Grid> JoinAutomatic(const Grid& a, const Grid& b, Grid joined) {
  const size_t rank = joined.extents.size();
  const bool one_tile = Volume(joined.extents) <= kTileElements && joined.extents.back() <= kLongestRow;
  for (size_t i = 0; i < rank; ++i) {
    if (a.extents[i] == b.extents[i] || HasBit(joined.whole, rank, i)) continue;
    const bool short_row = i + 1 == rank && joined.extents[i] <= kLongestRow;
    if (!short_row && !one_tile) return std::nullopt;
    joined.whole |= BitOf(rank, i);
  }
  const int64_t before = std::max(WholeVolume(a), WholeVolume(b));
  if (WholeVolume(joined) > std::max(before, kWholeElements)) return std::nullopt;
  return joined;
}

std::optional<Grid> JoinGiven(const Grid& a, const Grid& b, Grid joined) {
  const size_t rank = joined.extents.size();
  joined.automatic = false;
  joined.tile.assign(rank, 1);
  for (size_t i = 0; i < rank; ++i) {
    if (a.extents[i] == b.extents[i]) {
      if (a.tile[i] != b.tile[i]) return std::nullopt;
      joined.tile[i] = a.tile[i];
      continue;
    }
    joined.tile[i] = a.extents[i] == 1 ? b.tile[i] : a.tile[i];
    if (joined.tile[i] != joined.extents[i]) return std::nullopt;
    joined.whole |= BitOf(rank, i);
  }
  return joined;
}

}  // namespace

Grid MakeGrid(std::vector<int64_t> extents, const std::vector<int64_t>& vector_tile, int32_t axis) {
  Grid grid;
  const size_t rank = extents.size();
  if (axis >= 0) grid.whole = grid.axes = BitOf(rank, static_cast<size_t>(axis));
  grid.automatic = vector_tile.empty();
  if (!grid.automatic) {
    grid.tile = extents;
    for (size_t back = 1; back <= std::min(rank, vector_tile.size()); ++back) {
      const size_t dim = rank - back;
      if (HasBit(grid.whole, rank, dim)) continue;
      grid.tile[dim] = std::clamp<int64_t>(vector_tile[vector_tile.size() - back], 1, extents[dim]);
    }
  }
  grid.extents = std::move(extents);
  return grid;
}

std::optional<Grid> JoinGrids(const Grid& first, const Grid& second) {
  const size_t rank = std::max(first.extents.size(), second.extents.size());
  Grid a = Padded(first, rank);
  Grid b = Padded(second, rank);
  Grid joined;
  joined.extents.resize(rank);
  joined.whole = a.whole | b.whole;
  joined.axes = a.axes | b.axes;
  joined.beside = a.beside != 0 ? a.beside : b.beside;
  joined.turned = a.turned || b.turned;
  for (size_t i = 0; i < rank; ++i) {
    const int64_t extent = std::max(a.extents[i], b.extents[i]);
    if (std::min(a.extents[i], b.extents[i]) != extent) {
      if (std::min(a.extents[i], b.extents[i]) != 1) return std::nullopt;
      // A reduction goes over the leaf's extent.
      if (HasBit(a.extents[i] == 1 ? a.axes : b.axes, rank, i)) return std::nullopt;
    }
    joined.extents[i] = extent;
  }
  if (a.automatic && b.automatic) return JoinAutomatic(a, b, std::move(joined));
  SettleTile(a);
  SettleTile(b);
  return JoinGiven(a, b, std::move(joined));
}

namespace {

// Both sides of a transpose are read and written in runs: cuts the dim beside the last one, and tells how long it is.
int64_t ChooseBeside(Grid& grid) {
  const size_t rank = grid.extents.size();
  for (size_t i = 0; i + 1 < rank; ++i) {
    if (!HasBit(grid.beside & ~grid.whole, rank, i)) continue;
    const int64_t room = grid.turned ? kTurnedColumns : std::max<int64_t>(kOperandRun / grid.tile.back(), 1);
    grid.tile[i] = std::min(grid.extents[i], room);
    return grid.tile[i];
  }
  return 1;
}

// Elements of the last dim for a tile that holds `held` of the dims that stay whole.
int64_t RowRoom(const Grid& grid, int64_t held) {
  const bool only_row = Volume(grid.extents) == grid.extents.back();
  if (only_row) return kTileElements;
  return grid.turned ? kTurnedRow : std::clamp(std::max<int64_t>(kTileElements / held, 1), kShortestRow, kLongestRow);
}

// Elements of a tile in the dims behind one.
int64_t Behind(const Grid& grid, size_t dim) {
  int64_t volume = 1;
  for (size_t i = dim + 1; i < grid.tile.size(); ++i) volume *= grid.tile[i];
  return volume;
}

void ChooseTile(Grid& grid) {
  const size_t rank = grid.extents.size();
  grid.tile.assign(rank, 1);
  int64_t held = (grid.touched > 0 ? grid.touched : WholeVolume(grid)) * grid.read;
  bool split = false;
  for (size_t i = rank; i-- > 0;) {
    if (HasBit(grid.whole, rank, i)) {
      grid.tile[i] = grid.extents[i];
    } else if (i + 1 == rank) {
      grid.tile[i] = std::min(grid.extents[i], std::max(RowRoom(grid, held), grid.run));
      held *= grid.tile[i];
    } else if (!HasBit(grid.beside, rank, i)) {
      const int64_t room = split ? 1 : std::max({kTileElements / held, grid.run / Behind(grid, i), int64_t{1}});
      grid.tile[i] = std::min(grid.extents[i], room);
      held *= grid.tile[i];
      // Rows of a split row are as good as rows of a whole one; other dims stay behind a split one.
      split = split || grid.tile[i] < grid.extents[i];
    }
    if (i + 1 == rank) held *= ChooseBeside(grid);
  }
}

}  // namespace

void SettleTile(Grid& grid) {
  if (grid.automatic) ChooseTile(grid);
  grid.automatic = false;
  // What the user gave are upper bounds.
  const size_t rank = grid.extents.size();
  for (size_t i = 0; i < rank && Volume(grid.tile) > kLargestTile; ++i) {
    if (HasBit(grid.whole, rank, i)) continue;
    const int64_t others = Volume(grid.tile) / grid.tile[i];
    const int64_t least = std::clamp<int64_t>(grid.run / Behind(grid, i), 1, grid.tile[i]);
    grid.tile[i] = std::clamp<int64_t>(kLargestTile / others, least, grid.tile[i]);
  }
}

CubeTile ChooseCubeTile(const program::TileShapes::Cube& given, int64_t m, int64_t k, int64_t n) {
  const auto choose = [](int64_t asked, int64_t usual, int64_t extent) {
    return std::min(asked > 0 ? asked : usual, extent);
  };
  return {choose(given.m, 128, m), choose(given.k, 256, k), choose(given.n, 128, n)};
}

}  // namespace pypto::compile
