// Strided sets of bytes.
#include "pypto/device/region.h"

#include <algorithm>

namespace pypto::device {
namespace {

// The lowest `dims` dims of a region, moved to `low`.
struct Piece {
  int64_t low;
  int64_t run;
  const Region::Dim* dim;
  int dims;

  int64_t outer() const { return dims == 0 ? 0 : dim[dims - 1].stride; }
  int64_t span() const {
    int64_t bytes = run;
    for (int i = 0; i < dims; ++i) bytes += dim[i].stride * (dim[i].count - 1);
    return bytes;
  }
};

// Rows [first, first + count) of a period, and what one row holds. False when the row passes the end of its period.
bool Split(int64_t period, Piece* piece, int64_t* first, int64_t* count) {
  *count = 1;
  if (piece->outer() == period) {
    --piece->dims;
    *count = piece->dim[piece->dims].count;
  }
  *first = piece->low / period;
  piece->low -= *first * period;
  return piece->low + piece->span() <= period;
}

bool PiecesOverlap(Piece a, Piece b) {
  for (;;) {
    if (a.low + a.span() <= b.low || b.low + b.span() <= a.low) return false;
    const int64_t period = std::max(a.outer(), b.outer());
    if (period == 0) return true;
    int64_t a_first = 0;
    int64_t a_count = 0;
    int64_t b_first = 0;
    int64_t b_count = 0;
    if (!Split(period, &a, &a_first, &a_count) || !Split(period, &b, &b_first, &b_count)) return true;
    if (a_first + a_count <= b_first || b_first + b_count <= a_first) return false;
  }
}

// Appends an outer dim; with no place left the innermost one counts as filled.
void Push(Region* region, Region::Dim dim) {
  if (region->dims == Region::kMostDims) {
    region->run += region->dim[0].stride * (region->dim[0].count - 1);
    std::move(region->dim.begin() + 1, region->dim.end(), region->dim.begin());
    --region->dims;
  }
  region->dim[static_cast<size_t>(region->dims++)] = dim;
}

}  // namespace

Region MakeRegion(int64_t low, int64_t element_bytes, Region::Dim* dims, int count) {
  for (int i = 1; i < count; ++i) {
    for (int at = i; at > 0 && dims[at].stride < dims[at - 1].stride; --at) std::swap(dims[at], dims[at - 1]);
  }
  Region region;
  region.low = low;
  region.high = low + element_bytes;
  region.run = element_bytes;
  for (int i = 0; i < count; ++i) {
    region.high += dims[i].stride * (dims[i].count - 1);
    if (region.dims == 0) {
      if (dims[i].stride <= region.run) {
        region.run += dims[i].stride * (dims[i].count - 1);
      } else {
        Push(&region, dims[i]);
      }
      continue;
    }
    Region::Dim& top = region.dim[static_cast<size_t>(region.dims) - 1];
    if (dims[i].stride == top.stride * top.count) {
      top.count *= dims[i].count;
    } else {
      Push(&region, dims[i]);
    }
  }
  if (region.dims == 0) return region;
  const Region::Dim& outer = region.dim[static_cast<size_t>(region.dims) - 1];
  region.row_low = low % outer.stride;
  region.row_high = region.row_low + (region.high - region.low) - outer.stride * (outer.count - 1);
  return region;
}

bool Overlap(const Region& a, const Region& b) {
  if (a.high <= b.low || b.high <= a.low) return false;
  if (a.dims == 0 && b.dims == 0) return true;
  const bool aligned = a.row() == b.row() && !a.wraps() && !b.wraps();
  if (aligned && (a.row_high <= b.row_low || b.row_high <= a.row_low)) return false;
  return PiecesOverlap({a.low, a.run, a.dim.data(), a.dims}, {b.low, b.run, b.dim.data(), b.dims});
}

bool Covers(const Region& outer, const Region& inner) {
  if (outer.dims == 0) return outer.low <= inner.low && inner.high <= outer.high;
  return SameRegion(outer, inner);
}

bool SameRegion(const Region& a, const Region& b) {
  if (a.low != b.low || a.high != b.high || a.run != b.run || a.dims != b.dims) return false;
  for (int i = 0; i < a.dims; ++i) {
    const auto dim = static_cast<size_t>(i);
    if (a.dim[dim].stride != b.dim[dim].stride || a.dim[dim].count != b.dim[dim].count) return false;
  }
  return true;
}

}  // namespace pypto::device
