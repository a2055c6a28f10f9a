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

// Lane i takes lane i + width, the other way round in the upper half.
template <int64_t kWidth, typename V>
PYPTO_SIMD_INLINE V Swapped(V x) {
#if PYPTO_SIMD_BYTES == 64
  if constexpr (kWidth == 8) return __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
  if constexpr (kWidth == 4) return __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11);
  if constexpr (kWidth == 2) return __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);
  if constexpr (kWidth == 1) return __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14);
#elif PYPTO_SIMD_BYTES == 32
  if constexpr (kWidth == 4) return __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3);
  if constexpr (kWidth == 2) return __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5);
  if constexpr (kWidth == 1) return __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6);
#else
  static_assert(PYPTO_SIMD_BYTES == 16);
  if constexpr (kWidth == 2) return __builtin_shufflevector(x, x, 2, 3, 0, 1);
  if constexpr (kWidth == 1) return __builtin_shufflevector(x, x, 1, 0, 3, 2);
#endif
}

// Halves are combined until one lane is left.
template <typename Op, int64_t kWidth, typename V>
PYPTO_SIMD_INLINE auto Halved(V x) {
  if constexpr (kWidth == 0) {
    return x[0];
  } else {
    return Halved<Op, kWidth / 2>(Op::Apply(x, Swapped<kWidth>(x)));
  }
}
template <typename Op, typename V>
PYPTO_SIMD_INLINE auto AcrossLanes(V x) {
  return Halved<Op, kLanes / 2>(x);
}

// The first n lanes of x, the others of `rest`.
template <typename V>
PYPTO_SIMD_INLINE V Over(V x, int64_t n, V rest) {
  VecI lanes;
  for (int64_t i = 0; i < kLanes; ++i) lanes[i] = static_cast<int32_t>(i);
  return lanes < static_cast<int32_t>(n) ? x : rest;
}

// Four vectors go into the sum as one.
template <typename Op, typename V>
PYPTO_SIMD_INLINE V Joined(V sum, V a, V b, V c, V d) {
  return Op::Apply(sum, Op::Apply(Op::Apply(a, b), Op::Apply(c, d)));
}

template <typename T>
struct Elements {
  const T* data;
  PYPTO_SIMD_MEMBER Vec<T> At(int64_t i) const { return Load(data + i); }
  PYPTO_SIMD_MEMBER Vec<T> PartAt(int64_t i, int64_t n) const { return LoadPart(data + i, n); }
};

// Of n elements that `source` loads.
template <typename T, typename Op, typename Source>
PYPTO_SIMD_INLINE T ReduceFrom(const Source& source, int64_t n) {
  const Vec<T> identity = Splat(Op::Identity(T{}));
  Vec<T> sum = identity;
  int64_t i = 0;
  for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
    sum = Joined<Op>(sum, source.At(i), source.At(i + kLanes), source.At(i + 2 * kLanes), source.At(i + 3 * kLanes));
  }
  for (; i + kLanes <= n; i += kLanes) sum = Op::Apply(sum, source.At(i));
  if (i < n) sum = Op::Apply(sum, Over(source.PartAt(i, n - i), n - i, identity));
  return AcrossLanes<Op>(sum);
}

template <typename T, typename Op>
T ReduceRow(const T* data, int64_t n) {
  return ReduceFrom<T, Op>(Elements<T>{data}, n);
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
