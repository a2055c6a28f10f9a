// Running sums.
#pragma once

#include "pypto/device/simd/wide_functions.inl.h"

namespace pypto::device::simd::PYPTO_SIMD_SET {
namespace {

constexpr int64_t kWideLanes = PYPTO_SIMD_BYTES / 8;

// Lane i takes lane i - kBy, the first ones 0.
template <int kBy>
PYPTO_SIMD_INLINE VecD Shifted(VecD x) {
  const VecD zero{};
#if PYPTO_SIMD_BYTES == 64
  if constexpr (kBy == 1) return __builtin_shufflevector(zero, x, 0, 8, 9, 10, 11, 12, 13, 14);
  if constexpr (kBy == 2) return __builtin_shufflevector(zero, x, 0, 1, 8, 9, 10, 11, 12, 13);
  if constexpr (kBy == 4) return __builtin_shufflevector(zero, x, 0, 1, 2, 3, 8, 9, 10, 11);
#elif PYPTO_SIMD_BYTES == 32
  if constexpr (kBy == 1) return __builtin_shufflevector(zero, x, 0, 4, 5, 6);
  if constexpr (kBy == 2) return __builtin_shufflevector(zero, x, 0, 1, 4, 5);
#else
  static_assert(PYPTO_SIMD_BYTES == 16);
  if constexpr (kBy == 1) return __builtin_shufflevector(zero, x, 0, 2);
#endif
}

template <int kBy = 1>
PYPTO_SIMD_INLINE VecD Prefixes(VecD x) {
  if constexpr (kBy == kWideLanes) {
    return x;
  } else {
    return Prefixes<2 * kBy>(x + Shifted<kBy>(x));
  }
}

void RunningSum(float* out, const float* data, int64_t n, double* sum) {
  typedef VecHalfF Memory __attribute__((aligned(4), may_alias));
  double before = *sum;
  int64_t i = 0;
  for (; i + kWideLanes <= n; i += kWideLanes) {
    const VecHalfF x = *reinterpret_cast<const Memory*>(data + i);
    const VecD sums = Prefixes(__builtin_convertvector(x, VecD)) + before;
    *reinterpret_cast<Memory*>(out + i) = __builtin_convertvector(sums, VecHalfF);
    before = sums[kWideLanes - 1];
  }
  for (; i < n; ++i) {
    before += static_cast<double>(data[i]);
    out[i] = static_cast<float>(before);
  }
  *sum = before;
}

// One more row of columns: each is added to the sum of its own.
void RunningSums(float* out, const float* data, double* sums, int64_t n) {
  typedef VecHalfF Memory __attribute__((aligned(4), may_alias));
  typedef VecD Wide __attribute__((aligned(8), may_alias));
  int64_t i = 0;
  for (; i + kWideLanes <= n; i += kWideLanes) {
    const VecHalfF x = *reinterpret_cast<const Memory*>(data + i);
    const VecD sum = *reinterpret_cast<const Wide*>(sums + i) + __builtin_convertvector(x, VecD);
    *reinterpret_cast<Wide*>(sums + i) = sum;
    *reinterpret_cast<Memory*>(out + i) = __builtin_convertvector(sum, VecHalfF);
  }
  for (; i < n; ++i) {
    sums[i] += static_cast<double>(data[i]);
    out[i] = static_cast<float>(sums[i]);
  }
}

}  // namespace
}  // namespace pypto::device::simd::PYPTO_SIMD_SET
