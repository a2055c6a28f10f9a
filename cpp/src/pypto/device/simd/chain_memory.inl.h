// Stages of a chain that take their second operand from memory, so that B keeps what it holds.
#pragma once

#include "pypto/device/simd/chain_reduce.inl.h"

namespace pypto::device::simd::PYPTO_SIMD_SET {
namespace {

// a op b, or b op a.
template <typename Op, bool kReversed>
PYPTO_SIMD_INLINE VecF Combined(VecF a, VecF b) {
  return kReversed ? Op::Apply(b, a) : Op::Apply(a, b);
}

template <typename Cells, typename Op, bool kReversed>
PYPTO_SIMD_APART void ChainWithTail(PYPTO_STAGE) {
  const uint8_t* p = static_cast<const uint8_t*>(stage->data) + at * Cells::kBytes;
  a0 = Combined<Op, kReversed>(a0, LoadVector<Cells, 0>(p, left));
  a1 = Combined<Op, kReversed>(a1, LoadVector<Cells, 1>(p, left));
  a2 = Combined<Op, kReversed>(a2, LoadVector<Cells, 2>(p, left));
  a3 = Combined<Op, kReversed>(a3, LoadVector<Cells, 3>(p, left));
  PYPTO_NEXT;
}

template <typename Cells, typename Op, bool kReversed>
void ChainWith(PYPTO_STAGE) {
  if (left < kChainLanes) [[unlikely]] {
    return ChainWithTail<Cells, Op, kReversed>(PYPTO_PASSED);
  }
  constexpr int64_t kBytes = kLanes * Cells::kBytes;
  const uint8_t* p = static_cast<const uint8_t*>(stage->data) + at * Cells::kBytes;
  a0 = Combined<Op, kReversed>(a0, Cells::Load(p));
  a1 = Combined<Op, kReversed>(a1, Cells::Load(p + kBytes));
  a2 = Combined<Op, kReversed>(a2, Cells::Load(p + 2 * kBytes));
  a3 = Combined<Op, kReversed>(a3, Cells::Load(p + 3 * kBytes));
  PYPTO_NEXT;
}

// One element that serves all places.
template <typename Cells, typename Op, bool kReversed>
void ChainWithOne(PYPTO_STAGE) {
  const VecF x = Cells::Spread(static_cast<const uint8_t*>(stage->data));
  a0 = Combined<Op, kReversed>(a0, x), a1 = Combined<Op, kReversed>(a1, x);
  a2 = Combined<Op, kReversed>(a2, x), a3 = Combined<Op, kReversed>(a3, x);
  PYPTO_NEXT;
}

// Where A is not 0, B; elsewhere `other`. kReversed: the other way round.
template <bool kReversed>
PYPTO_SIMD_INLINE VecF Chosen(VecF a, VecF b, VecF other) {
  const VecI holds = AsInt(a) != 0;
  return kReversed ? (holds ? other : b) : (holds ? b : other);
}

template <typename Cells, bool kReversed>
void ChainChoose(PYPTO_STAGE) {
  const uint8_t* p = static_cast<const uint8_t*>(stage->data) + at * Cells::kBytes;
  a0 = Chosen<kReversed>(a0, b0, LoadVector<Cells, 0>(p, left));
  a1 = Chosen<kReversed>(a1, b1, LoadVector<Cells, 1>(p, left));
  a2 = Chosen<kReversed>(a2, b2, LoadVector<Cells, 2>(p, left));
  a3 = Chosen<kReversed>(a3, b3, LoadVector<Cells, 3>(p, left));
  PYPTO_NEXT;
}

template <typename Cells, bool kReversed>
void ChainChooseOne(PYPTO_STAGE) {
  const VecF x = Cells::Spread(static_cast<const uint8_t*>(stage->data));
  a0 = Chosen<kReversed>(a0, b0, x), a1 = Chosen<kReversed>(a1, b1, x);
  a2 = Chosen<kReversed>(a2, b2, x), a3 = Chosen<kReversed>(a3, b3, x);
  PYPTO_NEXT;
}

#undef PYPTO_A
#undef PYPTO_B
#undef PYPTO_STAGE
#undef PYPTO_PASSED
#undef PYPTO_NEXT
#undef PYPTO_SIMD_APART

}  // namespace
}  // namespace pypto::device::simd::PYPTO_SIMD_SET
