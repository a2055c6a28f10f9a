// The stages of one instruction set by format and operation.
#pragma once

#include "pypto/device/simd/chain_memory.inl.h"
#include "pypto/device/simd/chain_small.inl.h"

namespace pypto::device::simd::PYPTO_SIMD_SET {
namespace {

PYPTO_SIMD_INLINE StageCode Code(ChainFunction function) { return reinterpret_cast<StageCode>(function); }

// Of a format that lies in memory as Cells.
template <typename Cells>
void ListCells(ChainKernels* stages, Format format, bool fits) {
  stages->load[0][format] = Code(ChainLoad<Cells, false>);
  stages->load[1][format] = Code(ChainLoad<Cells, true>);
  stages->spread[0][format] = Code(ChainSpread<Cells, false>);
  stages->spread[1][format] = Code(ChainSpread<Cells, true>);
  stages->store[format] = Code(ChainStore<Cells>);
  if (fits) stages->fit[format] = Code(ChainFit<Cells>);
}

template <typename Op, typename T>
void ListUnary(StageCode* stages) {
  if constexpr (OnVectors<Op, T>) *stages = Code(ChainUnary<T, Op>);
}
template <typename Op, typename T>
void ListBinary(StageCode* straight, StageCode* reversed) {
  if constexpr (OnVectors<Op, T, T>) {
    *straight = Code(ChainBinary<T, Op, false>);
    *reversed = Code(ChainBinary<T, Op, true>);
  }
}

template <typename Cells, typename Op>
void ListWith(ChainKernels* stages, Format format, ElementwiseKernel kernel) {
  stages->with[0][format][kernel] = Code(ChainWith<Cells, Op, false>);
  stages->with[1][format][kernel] = Code(ChainWith<Cells, Op, true>);
  stages->with_one[0][format][kernel] = Code(ChainWithOne<Cells, Op, false>);
  stages->with_one[1][format][kernel] = Code(ChainWithOne<Cells, Op, true>);
}

// What is on hot paths.
template <typename Cells>
void ListAllWith(ChainKernels* stages, Format format) {
  ListWith<Cells, OpAdd>(stages, format, kElementwiseAdd);
  ListWith<Cells, OpSub>(stages, format, kElementwiseSub);
  ListWith<Cells, OpMul>(stages, format, kElementwiseMul);
  ListWith<Cells, OpDiv>(stages, format, kElementwiseDiv);
  ListWith<Cells, OpMaximum>(stages, format, kElementwiseMaximum);
  ListWith<Cells, OpMinimum>(stages, format, kElementwiseMinimum);
}

template <typename T>
void ListOperations(ChainKernels* stages, Kind kind) {
#define PYPTO_ROW_Unary(id) ListUnary<Op##id, T>(&stages->unary[kind][kElementwise##id]);
#define PYPTO_ROW_Binary(id) \
  ListBinary<Op##id, T>(&stages->binary[kind][0][kElementwise##id], &stages->binary[kind][1][kElementwise##id]);
#include "pypto/program/operation_rows.inc"
}

template <typename Cells>
void ListChoices(ChainKernels* stages, Format format) {
  stages->choose[0][format] = Code(ChainChoose<Cells, false>);
  stages->choose[1][format] = Code(ChainChoose<Cells, true>);
  stages->choose_one[0][format] = Code(ChainChooseOne<Cells, false>);
  stages->choose_one[1][format] = Code(ChainChooseOne<Cells, true>);
}

template <int kShift>
void ListAsks(ChainKernels* stages) {
  stages->ask[kShift][0] = Code(ChainAsk<1, kShift>);
  stages->ask[kShift][1] = Code(ChainAsk<2, kShift>);
  stages->ask[kShift][2] = Code(ChainAsk<4, kShift>);
}

void ListReductions(ChainKernels* stages) {
#define PYPTO_ROW_Reduction(id)                                                 \
  stages->reduce[kKindF32][kReduce##id] = Code(ChainReduce<float, Reduce##id>); \
  stages->reduce[kKindI32][kReduce##id] = Code(ChainReduce<int32_t, Reduce##id>);
#include "pypto/program/operation_rows.inc"
}

// All of them; the others stay null.
void ListStages(ChainKernels* stages) {
  *stages = {};
  ListCells<WideCells<float>>(stages, kF32, false);
  ListCells<HalfCells<Fp16>>(stages, kF16, true);
  ListCells<HalfCells<Bf16>>(stages, kBf16, true);
#if defined(__AVX512BF16__)
  stages->store[kBf16] = Code(ChainStoreBrains);
#endif
#if defined(__AVX512F__)
  stages->fit[kBf16] = Code(ChainFitBrains);
#endif
  ListCells<SmallCells<E4m3>>(stages, kE4m3, true);
  ListCells<SmallCells<E5m2>>(stages, kE5m2, true);
  ListCells<WideCells<int32_t>>(stages, kI32, false);
  ListCells<NarrowCells<int8_t>>(stages, kI8, true);
  ListCells<BoolCells>(stages, kBool, true);
  ListCells<NarrowCells<int16_t>>(stages, kI16, true);
  ListCells<NarrowCells<uint8_t>>(stages, kU8, true);
  ListCells<NarrowCells<uint16_t>>(stages, kU16, true);
#if defined(__AVX2__)
  stages->stream[kF32] = stages->stream[kI32] = Code(ChainStream<WideCells<float>>);
  stages->stream[kF16] = Code(ChainStream<HalfCells<Fp16>>);
  stages->stream[kBf16] = Code(ChainStream<HalfCells<Bf16>>);
#endif
#if defined(__AVX512F__)
  stages->stream[kI8] = stages->stream[kU8] = Code(ChainStream<NarrowCells<uint8_t>>);
#endif
  stages->same = Code(ChainSame);
  stages->back = Code(ChainBack);
  ListAllWith<WideCells<float>>(stages, kF32);
  ListAllWith<HalfCells<Fp16>>(stages, kF16);
  ListAllWith<HalfCells<Bf16>>(stages, kBf16);
  ListChoices<WideCells<float>>(stages, kF32);
  ListChoices<HalfCells<Fp16>>(stages, kF16);
  ListChoices<HalfCells<Bf16>>(stages, kBf16);
  ListChoices<WideCells<int32_t>>(stages, kI32);
  ListOperations<float>(stages, kKindF32);
  ListOperations<int32_t>(stages, kKindI32);
  stages->round[kRoundHalfEven] = Code(ChainUnary<float, ToHalfEven>);
  stages->round[kRoundHalfAway] = Code(ChainUnary<float, ToHalfAway>);
  stages->round[kRoundFloor] = Code(ChainUnary<float, ToFloor>);
  stages->round[kRoundCeil] = Code(ChainUnary<float, ToCeil>);
  stages->round[kRoundTrunc] = Code(ChainUnary<float, ToTrunc>);
  stages->truncate = Code(ChainUnary<float, TruncateStage>);
  stages->saturate = Code(ChainSaturate);
  stages->flag = Code(ChainUnary<float, FlagStage>);
  stages->widen = Code(ChainUnary<int32_t, WidenStage>);
  ListAsks<0>(stages);
  ListAsks<1>(stages);
  ListAsks<2>(stages);
  ListReductions(stages);
  stages->end = Code(ChainEnd);
}

}  // namespace
}  // namespace pypto::device::simd::PYPTO_SIMD_SET
