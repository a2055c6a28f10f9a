// The kernel table of one instruction set; its only exported symbol.
#pragma once

#include "pypto/device/simd/chain_list.inl.h"
#include "pypto/device/simd/convert.inl.h"
#include "pypto/device/simd/elementwise.inl.h"
#include "pypto/device/simd/functions.inl.h"
#include "pypto/device/simd/gemm.inl.h"
#include "pypto/device/simd/integers.inl.h"
#include "pypto/device/simd/order.inl.h"
#include "pypto/device/simd/reduce.inl.h"
#include "pypto/device/simd/running.inl.h"
#include "pypto/device/simd/small_floats.inl.h"
#include "pypto/device/simd/transpose.inl.h"

#define PYPTO_SIMD_STRING_INNER(text) #text
#define PYPTO_SIMD_STRING(text) PYPTO_SIMD_STRING_INNER(text)

namespace pypto::device::simd::PYPTO_SIMD_SET {
namespace {

// Op<id> of every element-wise row of the operation table.
template <typename T>
constexpr void FillRows(RowsFunction* rows) {
#define PYPTO_ROW_Unary(id) rows[kElementwise##id] = UnaryFunction<T, Op##id>();
#define PYPTO_ROW_Binary(id) rows[kElementwise##id] = BinaryFunction<T, Op##id>();
#define PYPTO_ROW_Select(id) rows[kElementwise##id] = SelectRows<T>;
#include "pypto/program/operation_rows.inc"
}

// Reduce<id> of every reduction.
constexpr void FillReductions(KernelTable& table) {
#define PYPTO_ROW_Reduction(id)                                                         \
  table.reduce_f32[kReduce##id] = ReduceRow<float, Reduce##id>;                         \
  table.reduce_half[0][kReduce##id] = ReduceHalves<Fp16, Reduce##id>;                   \
  table.reduce_half[1][kReduce##id] = ReduceHalves<Bf16, Reduce##id>;                   \
  table.reduce_i32[kReduce##id] = ReduceRow<int32_t, Reduce##id>;                       \
  table.finish_reduction[kKindF32][kReduce##id] = FinishReduction<float, Reduce##id>;   \
  table.finish_reduction[kKindI32][kReduce##id] = FinishReduction<int32_t, Reduce##id>; \
  table.reduce_columns_f32[kReduce##id] = ReduceColumns<float, Reduce##id>;             \
  table.reduce_columns_i32[kReduce##id] = ReduceColumns<int32_t, Reduce##id>;
#include "pypto/program/operation_rows.inc"
}

constexpr KernelTable MakeTable() {
  KernelTable table = {
      .name = PYPTO_SIMD_STRING(PYPTO_SIMD_SET),
      .rows = {},
      .load = {LoadElements<float, float>, LoadHalf<Fp16>, LoadHalf<Bf16>, LoadSmall<E4m3>, LoadSmall<E5m2>,
               LoadSmall<E8m0>, LoadSmall<Hf8>, LoadElements<uint8_t, float>, LoadElements<int32_t, int32_t>,
               LoadElements<int8_t, int32_t>, LoadBool, LoadElements<int16_t, int32_t>, LoadElements<uint8_t, int32_t>,
               LoadElements<uint16_t, int32_t>, LoadElements<int64_t, int64_t>, LoadElements<uint32_t, int64_t>,
               LoadElements<int64_t, int64_t>},
      .store = {StoreElements<float, float>, StoreHalf<Fp16>, StoreHalf<Bf16>, StoreSmall<E4m3>, StoreSmall<E5m2>,
                StoreSmall<E8m0>, StoreSmall<Hf8>, StoreElements<float, uint8_t>, StoreElements<int32_t, int32_t>,
                StoreElements<uint32_t, int8_t>, StoreBool, StoreElements<uint32_t, int16_t>,
                StoreElements<uint32_t, uint8_t>, StoreElements<uint32_t, uint16_t>, StoreElements<int64_t, int64_t>,
                StoreElements<uint64_t, uint32_t>, StoreElements<int64_t, int64_t>},
      .fit = {nullptr, FitHalf<Fp16>, FitHalf<Bf16>, FitSmall<E4m3>, FitSmall<E5m2>, FitSmall<E8m0>, FitSmall<Hf8>,
              nullptr, nullptr, FitInteger<int8_t>, FitBool, FitInteger<int16_t>, FitInteger<uint8_t>,
              FitInteger<uint16_t>, nullptr, FitUint32, nullptr},
      .reduce_f32 = {},
      .reduce_half = {},
      .reduce_i32 = {},
      .reduce_columns_f32 = {},
      .reduce_columns_i32 = {},
      .round_f32 = {RoundRow<ToHalfEven>, RoundRow<ToHalfAway>, RoundRow<ToFloor>, RoundRow<ToCeil>, RoundRow<ToTrunc>},
      .f32_to_i32 = TruncateRow,
      .f32_to_i32_saturated = SaturateRow,
      .f32_to_flag = FlagRow,
      .i32_to_f32 = WidenRow,
      .clamp_i32 = ClampRow,
      .running_sum = RunningSum,
      .running_sums = RunningSums,
      .order_keys = OrderKeys,
      .first_above = FirstAbove,
      .places_from = PlacesFrom,
      .count_before = CountBefore,
      .first_same = FirstSame,
      .improve_extremes = {ImproveExtremes<false>, ImproveExtremes<true>},
      .list_stages = ListStages,
      .run_chain = RunChainRow,
      .finish_reduction = {},
      .copy_rows = CopyRows,
      .copy_grid = CopyGrid,
      .transpose = {Transpose<uint8_t>, Transpose<uint16_t>, Transpose<uint32_t>, Transpose<uint64_t>},
      .gemm_rows = kGemmRows,
      .gemm_columns = kGemmColumns,
      .most_stream_rows = 2 * kFewRows,
      .dot_row_units = kDotRowUnits,
      .gemm = {kFloatGemm, kBf16Gemm, kUnitsGemm<Int8Units>},
  };
  FillRows<float>(table.rows[kKindF32]);
  FillRows<int32_t>(table.rows[kKindI32]);
  FillRows<int64_t>(table.rows[kKindI64]);
  FillReductions(table);
  return table;
}

}  // namespace

extern const KernelTable kTable;
constexpr KernelTable kTable = MakeTable();

}  // namespace pypto::device::simd::PYPTO_SIMD_SET
