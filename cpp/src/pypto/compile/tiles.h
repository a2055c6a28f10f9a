// The tile grid of a leaf: which operations fit onto one, and how large its tiles are.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "pypto/program/program.h"

namespace pypto::compile {

// Iteration space and tile of one operation or of several that share tiles. Shapes of unequal rank stand side by side
// from the last dim on. Dims are counted from the last one in the masks: bit 0 is the last dim.
struct Grid {
  std::vector<int64_t> extents;
  std::vector<int64_t> tile;  // as asked for by the user, cut to the extents; unused while `automatic`
  uint32_t whole = 0;         // dims that no tile may split
  uint32_t axes = 0;          // reduced dims: extents are those of the reduced operand
  bool automatic = true;      // the tile is chosen by SettleTile
  uint32_t beside = 0;        // of a transpose: the dim, as a bit, along which the operand's runs of elements go on
  bool turned = false;        // the operand's elements do not stand side by side along the last dim
  int64_t touched = 0;        // elements of the unsplit dims that count, for each of the others; 0: all that they span
  int64_t run = 0;            // elements side by side that a tile has at least, where there are so many
  int64_t read = 1;           // elements of an operand that stand behind each element of the unsplit dims
};

// Grid of an operation over `extents`. `vector_tile` entries are upper bounds, counted from the last dim; empty: chosen
// automatically. `axis` is the reduced dim, or -1.
Grid MakeGrid(std::vector<int64_t> extents, const std::vector<int64_t>& vector_tile, int32_t axis);

// The grid on which the operations of both run tile by tile together; nothing when their tiles do not agree.
std::optional<Grid> JoinGrids(const Grid& a, const Grid& b);

// Chooses the tile of an automatic grid: the last dim whole up to 2048, then rows until a tile holds about 8 K
// elements.
void SettleTile(Grid& grid);

struct CubeTile {
  int64_t m = 0;
  int64_t k = 0;
  int64_t n = 0;
};

// What the user gave, or 128 × 256 × 128, cut to the extents.
CubeTile ChooseCubeTile(const program::TileShapes::Cube& given, int64_t m, int64_t k, int64_t n);

}  // namespace pypto::compile
