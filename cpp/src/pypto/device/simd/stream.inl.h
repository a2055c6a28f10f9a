// Matrix products of few rows: B is read once, a few of its rows side by side where they lie, while the sums of a chunk
// of columns wait in the first-level cache. Terms are added in ascending order.
#pragma once

#include "pypto/device/simd/stream_many.inl.h"

namespace pypto::device::simd::PYPTO_SIMD_SET {
namespace {

#if defined(__AVX512F__)
constexpr int kFewRows = 16;
constexpr int kStripSums = 16;  // vectors of them in registers
#else
constexpr int kFewRows = 4;
constexpr int kStripSums = 8;
#endif
constexpr int64_t kChunkCells = 4096;  // sums that wait
constexpr int64_t kSharedColumns = 256;
constexpr int kMostVectors = 8;

// Units of rows of B as they lie.
template <typename Units>
struct LyingUnits {
  static constexpr int kVectors = Units::kSpread;
  static constexpr int kRows = Units::kGroup;  // of memory for one unit
  static constexpr int64_t kBytes = kLanes * Units::kBytes * kVectors;
  PYPTO_SIMD_MEMBER static void Read(const char* p, int64_t row_bytes, VecI* units) {
    Units::Spread(p, row_bytes, units);
#pragma GCC unroll 4
    for (int i = 0; i < kVectors; ++i) units[i] = Units::Right(units[i]);
  }
};
// Units that were made of them before.
struct MadeUnits {
  static constexpr int kVectors = 1;
  static constexpr int kRows = 1;
  static constexpr int64_t kBytes = kLanes * 4;
  PYPTO_SIMD_MEMBER static void Read(const char* p, int64_t, VecI* units) { *units = LoadUnits(p); }
};

// Part of B: `units` units from `data` on.
struct Rows {
  const char* data;
  int64_t bytes;  // from row to row
  int64_t units;
};

// Adds the units to sums of `strips` strips of columns: [strip][row][vector].
template <typename Units, typename Feed, int kRows, int kVectors>
void AddRows(typename Units::Sum* sums, const int32_t* a, Rows b, int64_t strips) {
  constexpr int kReads = kVectors / Feed::kVectors;
  for (int64_t strip = 0; strip < strips; ++strip, sums += kRows * kVectors, b.data += kReads * Feed::kBytes) {
    typename Units::Sum held[kRows][kVectors];
#pragma GCC unroll 16
    for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 8
      for (int part = 0; part < kVectors; ++part) held[row][part] = sums[row * kVectors + part];
    }
    const char* at = b.data;
    const int32_t* left = a;
    for (int64_t unit = 0; unit < b.units; ++unit, at += Feed::kRows * b.bytes, left += kFewRows) {
      VecI right[kVectors];
#pragma GCC unroll 8
      for (int read = 0; read < kReads; ++read) {
        Feed::Read(at + read * Feed::kBytes, b.bytes, right + read * Feed::kVectors);
      }
#pragma GCC unroll 16
      for (int row = 0; row < kRows; ++row) {
        const VecI one = Splat(left[row]);
#pragma GCC unroll 8
        for (int part = 0; part < kVectors; ++part) {
          held[row][part] = Units::MultiplyAdd(held[row][part], one, right[part]);
        }
      }
    }
#pragma GCC unroll 16
    for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 8
      for (int part = 0; part < kVectors; ++part) sums[row * kVectors + part] = held[row][part];
    }
  }
}

// A chunk of columns of a product of at most kRows rows and kGemmMaxUnits units.
template <typename Units, int kRows>
class Chunk {
 public:
  static constexpr bool kMade = Units::kSpread > 1 && Units::kSpread* kRows > kStripSums;
  static constexpr int kVectors = kStripSums / kRows < kMostVectors ? kStripSums / kRows : kMostVectors;  // of a strip
  static constexpr int kBlock = kVectors > Units::kSpread ? kVectors : Units::kSpread;  // columns are held by it
  static constexpr int64_t kBlockColumns = kBlock * kLanes;
  static constexpr int64_t kMostColumns = kChunkCells / kRows / kBlockColumns * kBlockColumns;

  PYPTO_SIMD_MEMBER Chunk(const int32_t* a, int64_t k_bytes, int64_t columns)
      : a_(a + Units::kHead * kFewRows),
        k_bytes_(k_bytes),
        columns_(columns),
        blocks_((columns + kBlockColumns - 1) / kBlockColumns) {
    for (int64_t at = 0; at < blocks_ * kBlock / kVectors * kRows; ++at) {
      Sum first{};
      if constexpr (Units::kHead != 0) first = Splat(a[at % kRows]);
      for (int part = 0; part < kVectors; ++part) sums_[at * kVectors + part] = first;
    }
  }

  void Add(const char* b, int64_t k) {
    const int64_t whole = k / Units::kGroup;
    // Sums of a single strip stay in registers all the way.
    const int64_t most = !kMade && columns_ == kVectors * kLanes && blocks_ == 1 ? whole : kUnits;
    for (int64_t unit = 0; unit < whole; unit += most) {
      const int64_t units = whole - unit < most ? whole - unit : most;
      AddUnits(b + unit * Units::kGroup * k_bytes_, unit, units);
    }
    if (whole * Units::kGroup < k) AddLast(b + whole * Units::kGroup * k_bytes_, whole, k - whole * Units::kGroup);
  }

  void Write(const GemmOutput& out, int64_t column, int64_t rows) {
    for (int64_t vector = 0; vector * kLanes < columns_; vector += Units::kSpread) {
      for (int64_t row = 0; row < rows; ++row) {
        Sum part[Units::kSpread];
        for (int i = 0; i < Units::kSpread; ++i) {
          const int64_t at = vector + i;
          part[i] = sums_[(at / kVectors * kRows + row) * kVectors + at % kVectors];
        }
        Units::Gather(part);
        for (int i = 0; i < Units::kSpread; ++i) {
          const int64_t at = (vector + i) * kLanes;
          const int64_t left = columns_ - at;
          if (left > 0) StoreSum(out, row, column + at, part[i], left < kLanes ? left : kLanes);
        }
      }
    }
  }

 private:
  using Sum = typename Units::Sum;
  // Units that are added before sums go back to the cache; as many rows of memory, and more of few terms, are read side
  // by side.
  static constexpr int64_t kUnits = kMade ? kRows / 2 : (kRows < 4 ? 8 : 16) / Units::kGroup;
  static constexpr int64_t kBlockBytes = kBlockColumns * Units::kBytes;

  PYPTO_SIMD_MEMBER void AddUnits(const char* b, int64_t unit, int64_t units) {
    const int64_t whole = columns_ / kBlockColumns;
    Feeds({b, k_bytes_, units}, unit, 0, whole);
    if (whole == blocks_) return;
    alignas(64) char copy[kUnits * Units::kGroup * kBlockBytes] = {};
    const int64_t bytes = (columns_ - whole * kBlockColumns) * Units::kBytes;
    for (int64_t row = 0; row < units * Units::kGroup; ++row) {
      CopyBytes(copy + row * kBlockBytes, b + row * k_bytes_ + whole * kBlockBytes, bytes);
    }
    Feeds({copy, kBlockBytes, units}, unit, whole, 1);
  }

  // A unit that lacks terms.
  void AddLast(const char* b, int64_t unit, int64_t terms) {
    alignas(64) char copy[Units::kGroup * kMostColumns * Units::kBytes] = {};
    const int64_t row_bytes = blocks_ * kBlockBytes;
    for (int64_t term = 0; term < terms; ++term) {
      CopyBytes(copy + term * row_bytes, b + term * k_bytes_, columns_ * Units::kBytes);
    }
    Feeds({copy, row_bytes, 1}, unit, 0, blocks_);
  }

  PYPTO_SIMD_MEMBER void Feeds(const Rows& b, int64_t unit, int64_t first, int64_t blocks) {
    const int32_t* a = a_ + unit * kFewRows;
    Sum* sums = sums_ + first * kBlock * kRows;
    const int64_t strips = blocks * kBlock / kVectors;
    if constexpr (kMade) {
      alignas(64) VecI made[kUnits * kMostColumns / kLanes];
      const int64_t row = blocks * kBlock;
      for (int64_t at = 0; at < b.units; ++at) {
        const char* from = b.data + at * Units::kGroup * b.bytes;
        for (int64_t vector = 0; vector < row; vector += Units::kSpread) {
          LyingUnits<Units>::Read(from + vector * kLanes * Units::kBytes, b.bytes, made + at * row + vector);
        }
      }
      const Rows units = {reinterpret_cast<const char*>(made), row * kLanes * 4, b.units};
      AddRows<Units, MadeUnits, kRows, kVectors>(sums, a, units, strips);
    } else {
      AddRows<Units, LyingUnits<Units>, kRows, kVectors>(sums, a, b, strips);
    }
  }

  const int32_t* a_;
  int64_t k_bytes_;
  int64_t columns_;
  int64_t blocks_;
  alignas(64) Sum sums_[kChunkCells / kLanes];
};

template <typename Units, int kRows>
void StreamRows(const GemmOutput& out, const int32_t* a, const char* b, int64_t k_bytes, int64_t rows, int64_t columns,
                int64_t k) {
  using Part = Chunk<Units, kRows>;
  for (int64_t column = 0; column < columns; column += Part::kMostColumns) {
    const int64_t left = columns - column;
    Part chunk(a, k_bytes, left < Part::kMostColumns ? left : Part::kMostColumns);
    chunk.Add(b + column * Units::kBytes, k);
    chunk.Write(out, column, rows);
  }
}

#if defined(__AVX512F__)
// All whole strips of columns; gives how many columns that are.
template <typename Units, int kRows>
int64_t StreamStrips(const GemmOutput& out, const int32_t* a, const char* b, int64_t k_bytes, int64_t rows,
                     int64_t columns, int64_t k) {
  using Many = ManyRows<Units, kRows>;
  const int64_t whole = columns / Many::kStripColumns * Many::kStripColumns;
  if (whole > 0) {
    Many many;  // not cleared
    many.Run(out, a, b, k_bytes, rows, whole, k);
  }
  return whole;
}
#endif

template <typename Units>
void StreamFew(const GemmOutput& out, const int32_t* a, const char* b, int64_t k_bytes, int64_t rows, int64_t columns,
               int64_t k) {
  if (rows == 1) return StreamRows<Units, 1>(out, a, b, k_bytes, rows, columns, k);
  if (rows == 2) return StreamRows<Units, 2>(out, a, b, k_bytes, rows, columns, k);
  if (rows <= 4) return StreamRows<Units, 4>(out, a, b, k_bytes, rows, columns, k);
#if defined(__AVX512F__)
  if (rows <= 8) return StreamRows<Units, 8>(out, a, b, k_bytes, rows, columns, k);
  StreamRows<Units, 16>(out, a, b, k_bytes, rows, columns, k);
#endif
}

// Up to twice kFewRows rows: A as panels of kFewRows rows, one after another.
template <typename Units>
void Stream(const GemmOutput& out, const void* a, const void* b, int64_t k_stride, int64_t rows, int64_t columns,
            int64_t k) {
  const auto* left = static_cast<const int32_t*>(a);
  const auto* right = static_cast<const char*>(b);
  const int64_t k_bytes = k_stride * Units::kBytes;
  const int64_t panel = ((k + Units::kGroup - 1) / Units::kGroup + Units::kHead) * kFewRows;
  int64_t column = 0;
#if defined(__AVX512F__)
  if (rows > 8) {
    column = rows <= 12   ? StreamStrips<Units, 12>(out, left, right, k_bytes, rows, columns, k)
             : rows <= 16 ? StreamStrips<Units, 16>(out, left, right, k_bytes, rows, columns, k)
             : rows <= 24 ? StreamStrips<Units, 24>(out, left, right, k_bytes, rows, columns, k)
                          : StreamStrips<Units, 32>(out, left, right, k_bytes, rows, columns, k);
  }
#endif
  // Where rows take several panels, columns of B stay in the second-level cache from one to the next.
  const int64_t step = rows <= kFewRows ? columns : kSharedColumns;
  for (; column < columns; column += step) {
    const int64_t width = columns - column < step ? columns - column : step;
    for (int64_t row = 0; row < rows; row += kFewRows) {
      const int64_t lines = rows - row < kFewRows ? rows - row : kFewRows;
      StreamFew<Units>(OutputAt(out, row, column), left + row / kFewRows * panel, right + column * Units::kBytes,
                       k_bytes, lines, width, k);
    }
  }
}

}  // namespace
}  // namespace pypto::device::simd::PYPTO_SIMD_SET
