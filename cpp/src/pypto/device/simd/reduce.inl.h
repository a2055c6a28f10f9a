// Reductions of contiguous elements and of columns. The order of additions depends on the extents and the width of a
// vector only.
#pragma once

#include "pypto/device/simd/elementwise.inl.h"

namespace pypto::device::simd::PYPTO_SIMD_SET {
namespace {

struct ReduceSum : OpAdd {
  PYPTO_SIMD_INLINE float Identity(float) { return 0.0F; }
  PYPTO_SIMD_INLINE int32_t Identity(int32_t) { return 0; }
};
struct ReduceAmax : OpMaximum {
  PYPTO_SIMD_INLINE float Identity(float) { return -__builtin_inff(); }
  PYPTO_SIMD_INLINE int32_t Identity(int32_t) { return INT32_MIN; }
};
struct ReduceAmin : OpMinimum {
  PYPTO_SIMD_INLINE float Identity(float) { return __builtin_inff(); }
  PYPTO_SIMD_INLINE int32_t Identity(int32_t) { return INT32_MAX; }
};

struct ReduceProd : OpMul {
  PYPTO_SIMD_INLINE float Identity(float) { return 1.0F; }
  PYPTO_SIMD_INLINE int32_t Identity(int32_t) { return 1; }
};

// Halves are combined until one lane is left.
template <typename Op, typename V>
PYPTO_SIMD_INLINE auto AcrossLanes(V x) {
  for (int64_t width = kLanes / 2; width > 0; width /= 2) {
    V other{};
    for (int64_t i = 0; i < width; ++i) other[i] = x[i + width];
    x = Op::Apply(x, other);
  }
  return x[0];
}

template <typename T, typename Op>
T ReduceRow(const T* data, int64_t n) {
  const Vec<T> identity = Splat(Op::Identity(T{}));
  Vec<T> sums[4] = {identity, identity, identity, identity};
  int64_t i = 0;
  for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
    for (int64_t lane = 0; lane < 4; ++lane) sums[lane] = Op::Apply(sums[lane], Load(data + i + lane * kLanes));
  }
  for (; i + kLanes <= n; i += kLanes) sums[0] = Op::Apply(sums[0], Load(data + i));
  if (i < n) {
    Vec<T> tail = identity;
    for (int64_t j = 0; i + j < n; ++j) tail[j] = data[i + j];
    sums[1] = Op::Apply(sums[1], tail);
  }
  return AcrossLanes<Op>(Op::Apply(Op::Apply(sums[0], sums[1]), Op::Apply(sums[2], sums[3])));
}

template <typename T, typename Op>
void ReduceColumns(T* out, const T* data, int64_t stride, int64_t rows, int64_t n) {
  int64_t j = 0;
  for (; j + 4 * kLanes <= n; j += 4 * kLanes) {
    Vec<T> sums[4];
    for (int64_t part = 0; part < 4; ++part) sums[part] = Load(data + j + part * kLanes);
    for (int64_t row = 1; row < rows; ++row) {
      const T* line = data + row * stride + j;
      for (int64_t part = 0; part < 4; ++part) sums[part] = Op::Apply(sums[part], Load(line + part * kLanes));
    }
    for (int64_t part = 0; part < 4; ++part) Store(out + j + part * kLanes, sums[part]);
  }
  for (; j < n; j += kLanes) {
    const int64_t part = n - j < kLanes ? n - j : kLanes;
    const bool whole = part == kLanes;
    Vec<T> sum = whole ? Load(data + j) : LoadPart(data + j, part);
    for (int64_t row = 1; row < rows; ++row) {
      const T* line = data + row * stride + j;
      sum = Op::Apply(sum, whole ? Load(line) : LoadPart(line, part));
    }
    whole ? Store(out + j, sum) : StorePart(out + j, sum, part);
  }
}

}  // namespace
}  // namespace pypto::device::simd::PYPTO_SIMD_SET
