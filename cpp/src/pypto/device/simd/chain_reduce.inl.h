// Reductions of rows that a chain makes on its way, in the order in which rows are reduced elsewhere: four vectors at a
// time into the lanes of one, and blocks of kReduceBlock elements pair by pair.
#pragma once

#include "pypto/device/simd/chain.inl.h"
#include "pypto/device/simd/reduce.inl.h"

namespace pypto::device::simd::PYPTO_SIMD_SET {
namespace {

static_assert(kReduceBlock % kChainLanes == 0 && sizeof(ChainReduction::lanes) >= 4 * kLanes);

template <typename T, typename Op>
PYPTO_SIMD_INLINE T JoinedValues(T a, T b) {
  return Op::Apply(Splat(a), Splat(b))[0];
}

// One more complete block.
template <typename T, typename Op>
PYPTO_SIMD_INLINE void AddBlock(ChainReduction* reduction, T value) {
  uint64_t blocks = reduction->blocks++;
  int level = 0;
  for (; (blocks & 1) != 0; blocks >>= 1, ++level) {
    value = JoinedValues<T, Op>(__builtin_bit_cast(T, reduction->levels[level]), value);
  }
  reduction->levels[level] = __builtin_bit_cast(uint32_t, value);
}

template <typename T>
PYPTO_SIMD_INLINE T* LanesOf(ChainReduction* reduction) {
  return reinterpret_cast<T*>(reduction->lanes);
}

// The block so far.
template <typename T, typename Op>
PYPTO_SIMD_INLINE Vec<T> SumAt(ChainReduction* reduction, int64_t at) {
  return (at & (kReduceBlock - 1)) == 0 ? Splat(Op::Identity(T{})) : Load(LanesOf<T>(reduction));
}

// Less than four vectors are left.
template <typename T, typename Op>
PYPTO_SIMD_APART void ChainReduceTail(PYPTO_STAGE) {
  auto* const reduction = static_cast<ChainReduction*>(stage->data);
  Vec<T> sum = SumAt<T, Op>(reduction, at);
  const VecF values[] = {a0, a1, a2, a3};
  for (int64_t i = 0, there = left; there > 0; ++i, there -= kLanes) {
    const Vec<T> x = Register<T>(values[i]);
    sum = Op::Apply(sum, there >= kLanes ? x : Over(x, there, Splat(Op::Identity(T{}))));
  }
  Store(LanesOf<T>(reduction), sum);
  PYPTO_NEXT;
}

template <typename T, typename Op>
void ChainReduce(PYPTO_STAGE) {
  if (left < kChainLanes) [[unlikely]] {
    return ChainReduceTail<T, Op>(PYPTO_PASSED);
  }
  auto* const reduction = static_cast<ChainReduction*>(stage->data);
  const Vec<T> sum =
      Joined<Op>(SumAt<T, Op>(reduction, at), Register<T>(a0), Register<T>(a1), Register<T>(a2), Register<T>(a3));
  if (((at + kChainLanes) & (kReduceBlock - 1)) == 0) {
    AddBlock<T, Op>(reduction, AcrossLanes<Op>(sum));
  } else {
    Store(LanesOf<T>(reduction), sum);
  }
  PYPTO_NEXT;
}

template <typename T, typename Op>
uint32_t FinishReduction(ChainReduction* reduction, int64_t n) {
  if (n < kReduceBlock) [[likely]] {
    return __builtin_bit_cast(uint32_t, AcrossLanes<Op>(Load(LanesOf<T>(reduction))));
  }
  if ((n & (kReduceBlock - 1)) != 0) {
    AddBlock<T, Op>(reduction, AcrossLanes<Op>(Load(LanesOf<T>(reduction))));
  }
  uint64_t blocks = reduction->blocks;
  int level = __builtin_ctzll(blocks);
  T total = __builtin_bit_cast(T, reduction->levels[level]);
  for (blocks >>= level + 1, ++level; blocks != 0; blocks >>= 1, ++level) {
    if ((blocks & 1) != 0) total = JoinedValues<T, Op>(__builtin_bit_cast(T, reduction->levels[level]), total);
  }
  return __builtin_bit_cast(uint32_t, total);
}

template <typename Half>
struct HalfElements {
  const uint16_t* data;
  PYPTO_SIMD_MEMBER VecF At(int64_t i) const { return Half::Widen(LoadHalves(data + i)); }
  PYPTO_SIMD_MEMBER VecF PartAt(int64_t i, int64_t n) const { return Half::Widen(GatherHalves(data + i, 1, n)); }
};

template <typename Half, typename Op>
float ReduceHalves(const uint16_t* data, int64_t n) {
  return ReduceFrom<float, Op>(HalfElements<Half>{data}, n);
}

}  // namespace
}  // namespace pypto::device::simd::PYPTO_SIMD_SET
