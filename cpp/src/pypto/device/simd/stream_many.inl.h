// Matrix products of nine rows and more: arithmetic and reading B take about as long, so that they go on side by
// side. While one strip of columns is multiplied, the units of the next one are made, and those further on are asked
// for.
#pragma once

#include "pypto/device/simd/store_sum.inl.h"

namespace pypto::device::simd::PYPTO_SIMD_SET {
namespace {

// Columns from `b` on, a multiple of kStripColumns of them; A as panels of kPanelRows rows, one after another.
template <typename Units, int kRows>
class ManyRows {
 public:
  static constexpr int kVectors = Units::kSpread > 2 ? Units::kSpread : 2;  // of a strip
  static constexpr int64_t kStripColumns = kVectors * kLanes;

  void Run(const GemmOutput& out, const int32_t* a, const char* b, int64_t row_bytes, int64_t rows, int64_t columns,
           int64_t k) {
    panel_ = ((k + Units::kGroup - 1) / Units::kGroup + Units::kHead) * kPanelRows;
    for (int64_t column = 0; column < columns; column += kMostStrips * kStripColumns) {
      const int64_t strips = (columns - column) / kStripColumns;
      strips_ = strips < kMostStrips ? strips : kMostStrips;
      Begin(a);
      Add(a + Units::kHead * kPanelRows, b + column * Units::kBytes, row_bytes, k);
      Write(out, column, rows);
    }
  }

 private:
  using Sum = typename Units::Sum;
  static constexpr int kPanelRows = 16;
  static constexpr int kTileRows = (kRows < kPanelRows ? kRows : kPanelRows) / kVectors;  // in registers at a time
  static constexpr int kTiles = kRows / kTileRows;
  static constexpr int64_t kUnits = kTiles % 3 == 0 ? 48 : 64;  // that are added before sums go back to the cache
  static constexpr int64_t kMostStrips = (kRows > kPanelRows ? 512 : 1024) / kStripColumns;
  static constexpr int64_t kStripBytes = kStripColumns * Units::kBytes;
  static constexpr int64_t kStripsAhead = 8 * 64 / kStripBytes < 1 ? 1 : 8 * 64 / kStripBytes;
  // Cache level that lines are asked for: the many of FP32 would fill the queue of first-level misses.
  static constexpr int kCache = Units::kBytes == 4 ? 2 : 3;

  // Units of a strip that are to be made: row of memory by row.
  struct Source {
    const char* data;
    int64_t row_bytes;
    int64_t ahead;  // bytes to what is asked for
  };

  void Begin(const int32_t* a) {
    for (int64_t at = 0; at < strips_ * kRows; ++at) {
      Sum first{};
      if constexpr (Units::kHead != 0) first = Splat(a[at % kRows / kPanelRows * panel_ + at % kRows % kPanelRows]);
#pragma GCC unroll 4
      for (int part = 0; part < kVectors; ++part) sums_[at * kVectors + part] = first;
    }
  }

  void Add(const int32_t* a, const char* b, int64_t row_bytes, int64_t k) {
    const int64_t step_bytes = kUnits * Units::kGroup * row_bytes;
    for (int64_t first = 0; first < k; first += kUnits * Units::kGroup, a += kUnits * kPanelRows, b += step_bytes) {
      const int64_t terms = k - first < kUnits * Units::kGroup ? k - first : kUnits * Units::kGroup;
      const bool whole = terms == kUnits * Units::kGroup;
      MakeAll(made_[0], b, row_bytes, terms);
      for (int64_t strip = 0; strip < strips_; ++strip) {
        VecI* const made = made_[strip % 2];
        VecI* const next = made_[(strip + 1) % 2];
        const char* const from = b + (strip + 1) * kStripBytes;
        Sum* const sums = sums_ + strip * kRows * kVectors;
        if (whole && strip + 1 < strips_) {
          const bool inside = strip + 1 + kStripsAhead < strips_;
          const int64_t ahead = kStripsAhead * kStripBytes + (inside ? 0 : step_bytes - strips_ * kStripBytes);
          AddStrip<true>(sums, a, made, kUnits, next, {from, row_bytes, ahead});
        } else {
          AddStrip<false>(sums, a, made, (terms + Units::kGroup - 1) / Units::kGroup, next, {from, row_bytes, 0});
          if (strip + 1 < strips_) MakeAll(next, from, row_bytes, terms);
        }
      }
    }
  }

  template <bool kMakes>
  void AddStrip(Sum* sums, const int32_t* a, const VecI* made, int64_t units, VecI* next, Source from) {
    for (int tile = 0; tile < kTiles; ++tile) {
      const int row = tile * kTileRows;
      const int32_t* left = a + row / kPanelRows * panel_ + row % kPanelRows;
      AddTile<kMakes>(sums + row * kVectors, left, made, units, next, from);
      next += kUnits / kTiles * kVectors;
      from.data += kUnits / kTiles * Units::kGroup * from.row_bytes;
    }
  }

  // One unit is made for each kTiles that are added.
  template <bool kMakes>
  PYPTO_SIMD_MEMBER static void AddTile(Sum* sums, const int32_t* a, const VecI* made, int64_t units, VecI* next,
                                        Source from) {
    Sum held[kTileRows][kVectors];
#pragma GCC unroll 16
    for (int i = 0; i < kTileRows * kVectors; ++i) held[i / kVectors][i % kVectors] = sums[i];
    for (int64_t unit = 0; unit < units; unit += kMakes ? kTiles : 1) {
      if constexpr (kMakes) {
        for (int term = 0; term < Units::kGroup; ++term) {
#pragma GCC unroll 4
          for (int64_t line = 0; line < kStripBytes; line += 64) {
            __builtin_prefetch(from.data + term * from.row_bytes + from.ahead + line, 0, kCache);
          }
        }
        Make(next, from.data, from.row_bytes);
        next += kVectors;
        from.data += Units::kGroup * from.row_bytes;
      }
#pragma GCC unroll 4
      for (int turn = 0; turn < (kMakes ? kTiles : 1); ++turn, made += kVectors, a += kPanelRows) {
#pragma GCC unroll 16
        for (int row = 0; row < kTileRows; ++row) {
          const VecI one = Splat(a[row]);
#pragma GCC unroll 4
          for (int part = 0; part < kVectors; ++part) {
            held[row][part] = Units::MultiplyAdd(held[row][part], one, made[part]);
          }
        }
      }
    }
#pragma GCC unroll 16
    for (int i = 0; i < kTileRows * kVectors; ++i) sums[i] = held[i / kVectors][i % kVectors];
  }

  PYPTO_SIMD_MEMBER static void Make(VecI* to, const char* from, int64_t row_bytes) {
#pragma GCC unroll 4
    for (int part = 0; part < kVectors; part += Units::kSpread) {
      VecI units[Units::kSpread];
      Units::Spread(from + part * kLanes * Units::kBytes, row_bytes, units);
#pragma GCC unroll 4
      for (int i = 0; i < Units::kSpread; ++i) to[part + i] = Units::Right(units[i]);
    }
  }

  static void MakeAll(VecI* to, const char* from, int64_t row_bytes, int64_t terms) {
    for (; terms >= Units::kGroup; terms -= Units::kGroup, from += Units::kGroup * row_bytes, to += kVectors) {
      Make(to, from, row_bytes);
    }
    if (terms == 0) return;
    alignas(64) char copy[Units::kGroup * kStripBytes] = {};
    for (int64_t term = 0; term < terms; ++term) {
      CopyBytes(copy + term * kStripBytes, from + term * row_bytes, kStripBytes);
    }
    Make(to, copy, kStripBytes);
  }

  void Write(const GemmOutput& out, int64_t column, int64_t rows) {
    for (int64_t strip = 0; strip < strips_; ++strip, column += kStripColumns) {
      for (int64_t row = 0; row < rows; ++row) {
        Sum* const parts = sums_ + (strip * kRows + row) * kVectors;
        for (int part = 0; part < kVectors; part += Units::kSpread) Units::Gather(parts + part);
        for (int part = 0; part < kVectors; ++part) StoreSum(out, row, column + part * kLanes, parts[part], kLanes);
      }
    }
  }

  int64_t strips_ = 0;
  int64_t panel_ = 0;  // distance of panels of A
  alignas(64) VecI made_[2][kUnits * kVectors];
  alignas(64) Sum sums_[kMostStrips * kRows * kVectors];
};

}  // namespace
}  // namespace pypto::device::simd::PYPTO_SIMD_SET
