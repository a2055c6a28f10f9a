// The kernel table of one instruction set; its only exported symbol.
#pragma once

#include "pypto/device/simd/convert.inl.h"
#include "pypto/device/simd/elementwise.inl.h"
#include "pypto/device/simd/gemm.inl.h"
#include "pypto/device/simd/reduce.inl.h"

#define PYPTO_SIMD_STRING_INNER(text) #text
#define PYPTO_SIMD_STRING(text) PYPTO_SIMD_STRING_INNER(text)

namespace pypto::device::simd::PYPTO_SIMD_SET {

extern const KernelTable kTable;
constexpr KernelTable kTable = {
    .name = PYPTO_SIMD_STRING(PYPTO_SIMD_SET),
    .unary_f32 = {UnaryRows<float, OpNeg>, UnaryRows<float, OpAbs>, UnaryRows<float, OpExp>, UnaryRows<float, OpLog>,
                  UnaryRows<float, OpSqrt>, UnaryRows<float, OpRsqrt>, UnaryRows<float, OpReciprocal>,
                  UnaryRows<float, OpTanh>, UnaryRows<float, OpErf>},
    .unary_i32 = {UnaryRows<int32_t, OpNeg>, UnaryRows<int32_t, OpAbs>, nullptr, nullptr, nullptr, nullptr, nullptr,
                  nullptr, nullptr},
    .binary_f32 = {BinaryRows<float, OpAdd>, BinaryRows<float, OpSub>, BinaryRows<float, OpMul>,
                   BinaryRows<float, OpDiv>, BinaryRows<float, OpMaximum>, BinaryRows<float, OpMinimum>},
    .binary_i32 = {BinaryRows<int32_t, OpAdd>, BinaryRows<int32_t, OpSub>, BinaryRows<int32_t, OpMul>, nullptr,
                   BinaryRows<int32_t, OpMaximum>, BinaryRows<int32_t, OpMinimum>},
    .load = {LoadElements<float, float>, LoadHalf<Fp16>, LoadHalf<Bf16>, LoadElements<int32_t, int32_t>,
             LoadElements<int8_t, int32_t>, LoadBool, LoadElements<int16_t, int32_t>, LoadElements<uint8_t, int32_t>,
             LoadElements<uint16_t, int32_t>},
    .store = {StoreElements<float, float>, StoreHalf<Fp16>, StoreHalf<Bf16>, StoreElements<int32_t, int32_t>,
              StoreElements<uint32_t, int8_t>, StoreBool, StoreElements<uint32_t, int16_t>,
              StoreElements<uint32_t, uint8_t>, StoreElements<uint32_t, uint16_t>},
    .fit = {nullptr, FitHalf<Fp16>, FitHalf<Bf16>, nullptr, FitInteger<int8_t>, FitBool, FitInteger<int16_t>,
            FitInteger<uint8_t>, FitInteger<uint16_t>},
    .reduce_f32 = {ReduceRow<float, ReduceSum>, ReduceRow<float, ReduceMax>, ReduceRow<float, ReduceMin>},
    .reduce_i32 = {ReduceRow<int32_t, ReduceSum>, ReduceRow<int32_t, ReduceMax>, ReduceRow<int32_t, ReduceMin>},
    .reduce_columns_f32 = {ReduceColumns<float, ReduceSum>, ReduceColumns<float, ReduceMax>,
                           ReduceColumns<float, ReduceMin>},
    .reduce_columns_i32 = {ReduceColumns<int32_t, ReduceSum>, ReduceColumns<int32_t, ReduceMax>,
                           ReduceColumns<int32_t, ReduceMin>},
    .round_f32 = {RoundRow<ToHalfEven>, RoundRow<ToHalfAway>, RoundRow<ToFloor>, RoundRow<ToCeil>, RoundRow<ToTrunc>},
    .f32_to_i32 = TruncateRow,
    .f32_to_i32_saturated = SaturateRow,
    .f32_to_flag = FlagRow,
    .i32_to_f32 = WidenRow,
    .clamp_i32 = ClampRow,
    .gemm_rows = kGemmRows,
    .gemm_columns = kGemmColumns,
    .pack_a = PackA,
    .pack_b = PackB,
    .gemm = Gemm,
    .add_integers = AddIntegers,
};

}  // namespace pypto::device::simd::PYPTO_SIMD_SET
