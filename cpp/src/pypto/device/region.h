// Which bytes an access may touch, and whether two accesses touch the same ones.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace pypto::device {

// A set of bytes: pieces of `run` bytes, repeated in up to kMostDims strides. May be larger than what is touched, never
// smaller. A value.
struct Region {
  struct Dim {
    int64_t stride = 0;  // bytes, > 0
    int64_t count = 0;   // > 1
  };
  static constexpr int kMostDims = 3;

  int64_t low = 0;   // the bytes lie in [low, high), counted from the origin of their space
  int64_t high = 0;  // low >= 0
  int64_t run = 0;
  int64_t row_low = 0;  // where one row of the outermost stride lies in a period of it; nothing when dims is 0
  int64_t row_high = 0;
  int32_t dims = 0;
  std::array<Dim, kMostDims> dim;  // ascending strides

  int64_t row() const noexcept { return dims == 0 ? 0 : dim[static_cast<size_t>(dims) - 1].stride; }
  // One row passes the end of its period.
  bool wraps() const noexcept { return row_high > row(); }
};

// The region of `count` dims (in any order, changed) of elements of `element_bytes`, the first one at `low`.
Region MakeRegion(int64_t low, int64_t element_bytes, Region::Dim* dims, int count);

// False only when no byte belongs to both.
bool Overlap(const Region& a, const Region& b);
// True only when every byte of `inner` belongs to `outer`.
bool Covers(const Region& outer, const Region& inner);
bool SameRegion(const Region& a, const Region& b);

}  // namespace pypto::device
