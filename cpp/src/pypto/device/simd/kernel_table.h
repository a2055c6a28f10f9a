// The table of functions that an instruction set provides, and the formats they work on. Plain data only: this header
// is shared by files compiled for different instruction sets.
//
// Kernels compute on three kinds of elements: FP32 for floating dtypes, INT32 for integers of at most 32 bits that fit
// it, INT64 for the others (UINT64 as its bits). Load and store convert.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pypto::device::simd {

// Element formats in memory.
enum Format : uint8_t {
  kF32,
  kF16,
  kBf16,
  kE4m3,
  kE5m2,
  kE8m0,
  kHf8,
  kPairs,  // two FP4 codes in a byte, as the number of that byte
  kI32,
  kI8,
  kBool,
  kI16,
  kU8,
  kU16,
  kI64,
  kU32,
  kU64,
  kFormatCount
};

// What kernels compute with.
enum Kind : uint8_t { kKindF32, kKindI32, kKindI64, kKindCount };

// One kernel per element-wise row of the operation table: kElementwise<id>.
enum ElementwiseKernel : uint16_t {
#define PYPTO_ROW_Unary(id) kElementwise##id,
#define PYPTO_ROW_Binary(id) kElementwise##id,
#define PYPTO_ROW_Select(id) kElementwise##id,
#include "pypto/program/operation_rows.inc"
  kElementwiseCount
};

// One per row of family Reduction: kReduce<id>.
enum ReduceKernel : uint8_t {
#define PYPTO_ROW_Reduction(id) kReduce##id,
#include "pypto/program/operation_rows.inc"
  kReduceCount
};

// Rounding to an integral value.
enum RoundMode : uint8_t { kRoundHalfEven, kRoundHalfAway, kRoundFloor, kRoundCeil, kRoundTrunc, kRoundCount };

// rows × n elements. Strides count elements. The output is contiguous in a row; the step of an operand is 1, or 0 for
// one value per row. Output and operands may be the same memory, or apart.
struct RowArgs {
  int64_t rows;
  int64_t n;
  void* out;
  int64_t out_row;
  const void* a;
  int64_t a_row;
  int64_t a_step;
  const void* b;  // unused by unary kernels
  int64_t b_row;
  int64_t b_step;
  const void* c;  // of a choice
  int64_t c_row;
  int64_t c_step;
};

using RowsFunction = void (*)(const RowArgs* args);
// To or from n contiguous elements of the format's kind; `step` counts elements of the format.
using LoadFunction = void (*)(void* out, const void* source, int64_t step, int64_t n);
using StoreFunction = void (*)(void* out, int64_t step, const void* source, int64_t n);
// Rounds or wraps elements of the format's kind, in place, to what the format can hold.
using FitFunction = void (*)(void* data, int64_t n);

// What a matrix product computes with: FP32, or what the processor has for two BF16 or two INT8 operands.
enum GemmKind : uint8_t { kGemmFloat, kGemmBf16, kGemmInt8, kGemmKindCount };

// Packed blocks hold at most this many units of 4 bytes in k.
inline constexpr int64_t kGemmMaxUnits = 256;
// Rows of A that are copied lie so many units apart, so that those of a register tile are in sets of their own of a
// cache.
inline constexpr int64_t kGemmRowUnits = kGemmMaxUnits + 16;
// Units between panels of B: without them, all panels would lie in the same sets of a cache.
inline constexpr int64_t kGemmPanelGap = 1;
// Units of a block of the products of few rows with lines of B whose terms are neighbours.
inline constexpr int64_t kGemmDotUnits = 1024;

// Where a product goes; columns are neighbours. Strides count elements.
struct GemmOutput {
  const void* from;  // FP32 or INT32 that the sums are added to; null for none; may be `to`
  int64_t from_stride;
  void* to;
  int64_t to_stride;
  Format format;    // of `to`: kI32 for integers, else kF32, kF16 or kBf16
  float scale = 1;  // what is stored as FP32 is multiplied by it
};

// Rows of A where terms are neighbours: whole units, the last one filled up with zeros.
struct GemmRows {
  const void* data;
  int64_t row_bytes;     // from row to row
  const int32_t* heads;  // where units have heads: one per row
};
// Memory that is read next: a product asks for it, for the second-level cache, while it computes.
struct GemmAsk {
  const void* data;
  int64_t row_bytes;
  int64_t rows;
  int64_t bytes;  // of each row
};
inline constexpr int kGemmAsks = 2;

using PackFunction = void (*)(void* out, const void* source, Format format, int64_t line_stride, int64_t k_stride,
                              int64_t lines, int64_t k);
using MultiplyFewFunction = void (*)(const GemmOutput* out, const void* a, const void* b, Format format, int64_t stride,
                                     int64_t rows, int64_t columns, int64_t k);

// Matrix product over units: `group` neighbouring terms in 4 bytes. Strides count elements of the format.
struct GemmKernels {
  int64_t group;
  int64_t head;
  double terms_per_ns;  // rough, of one core
  int64_t most_dot_rows;
  int64_t dot_terms;  // that each row takes at least before adding up lanes costs less than panels of lines
  // Panels, 1 <= k <= group * kGemmMaxUnits. A: of gemm_rows rows, [unit][row]; B: of gemm_columns columns, `head`
  // units more than k has, [unit][column].
  PackFunction pack_a;
  PackFunction pack_b;
  // A for `stream`: panels of half of most_stream_rows rows. A for `dot`: k <= group * kGemmDotUnits.
  PackFunction pack_few;
  PackFunction pack_lines;
  // A for multiply_rows: rows kGemmRowUnits units apart, k <= group * kGemmMaxUnits.
  PackFunction copy_rows;
  // The head of each row of A; null where units have none.
  void (*row_heads)(int32_t* heads, const void* a, int64_t row_bytes, int64_t rows, int64_t k);
  // `asks`: kGemmAsks of them.
  void (*multiply)(const GemmOutput* out, const void* a, const void* b, int64_t rows, int64_t columns, int64_t k,
                   const GemmAsk* asks);
  // The same with A row by row: copied, or where it lies in format `lying` with k a multiple of `group`.
  void (*multiply_rows)(const GemmOutput* out, const GemmRows* a, const void* b, int64_t rows, int64_t columns,
                        int64_t k, const GemmAsk* asks);
  Format lying;
  // For at most most_stream_rows or most_dot_rows rows, with B where it lies (FP32, FP16, BF16 or INT8). `stream` gives
  // what `multiply` gives, bit by bit; columns are neighbours, `stride` is that of k. `dot` sums in an order of its
  // own; terms are neighbours, `stride` is that of the columns.
  MultiplyFewFunction stream;
  MultiplyFewFunction dot;
  // As `dot`, in a third order, for at most most_fours_rows rows (0: there is none) and k <= group * kGemmMaxUnits.
  int64_t most_fours_rows;
  PackFunction pack_fours;
  MultiplyFewFunction fours;
};

// Rows lie `row` bytes apart, bytes >= 1. What is streamed goes past the caches and is seen by other cores when the
// call returns. With `asks`, memory of rows further on is asked for, also behind the last one.
using CopyRowsFunction = void (*)(void* out, int64_t out_row, const void* source, int64_t source_row, int64_t rows,
                                  int64_t bytes, bool streamed, bool asks);
// outer × inner runs of bytes: the runs of one outer place are neighbours in the source, if possible. Otherwise as
// above.
struct RunGrid {
  void* out;
  int64_t out_outer, out_inner;  // bytes from run to run
  const void* source;
  int64_t source_outer, source_inner;
  int64_t outer, inner, bytes;
  bool streamed, asks;
};
using CopyGridFunction = void (*)(const RunGrid* grid);
// out[column][row] = source[row][column]; the elements of a row stand side by side on both sides.
using TransposeFunction = void (*)(void* out, int64_t out_row, const void* source, int64_t source_row, int64_t rows,
                                   int64_t columns, bool streamed);

// Long rows are reduced block by block; two blocks, two pairs of blocks and so on are combined as they are complete.
inline constexpr int64_t kReduceBlock = 512;
inline constexpr int64_t kOrderedKeys = 64;  // that count_before looks at, at the most
// A reduction of one row that a chain makes on its way.
struct ChainReduction {
  alignas(64) uint8_t lanes[64];  // one vector: the block that is not complete
  uint32_t levels[48];            // level i: the value of 2^i blocks, where bit i of `blocks` is set
  uint64_t blocks;                // that are complete; 0 before a row
};

// A chain of operations on runs of elements that stay in registers from one stage to the next. Stages work on two
// operands, A and B. `code` is called by the run_chain of its own table only.
using StageCode = void (*)();
struct Stage {
  StageCode code;
  void* data;     // memory that the stage works on: of the run's first element; or what the stage is told
  int64_t ahead;  // of `ask`: bytes from the data to what is asked for
};
struct ChainKernels {
  // Null for formats whose elements are not computed with in 4 bytes, and for operations without a vector form.
  StageCode load[2][kFormatCount];    // [0]: to A, [1]: to B
  StageCode spread[2][kFormatCount];  // one element to all places of A or of B
  StageCode store[kFormatCount];      // A, contiguous
  StageCode stream[kFormatCount];     // the same past the caches; null where there is none
  StageCode fit[kFormatCount];        // A to what the format can hold
  StageCode same;                     // B = A
  StageCode back;                     // A = B
  // Memory further on is asked for, for the second-level cache, while a run goes through `at`: all of the bytes that
  // the run's elements take there, half of them, a quarter; for elements of 1, 2 and 4 bytes.
  StageCode ask[3][3];
  // A = f(A, memory), then A = f(memory, A), for FP32, FP16 and BF16.
  StageCode with[2][kBf16 + 1][kElementwiseCount];
  StageCode with_one[2][kBf16 + 1][kElementwiseCount];  // one element that serves all places
  // A = A != 0 ? B : memory, then A = A != 0 ? memory : B, of the kinds' own formats and of halves; one element.
  StageCode choose[2][kFormatCount];
  StageCode choose_one[2][kFormatCount];
  StageCode unary[2][kElementwiseCount];      // by kind; A = f(A)
  StageCode binary[2][2][kElementwiseCount];  // by kind; A = f(A, B), then A = f(B, A)
  StageCode round[kRoundCount];
  StageCode truncate;                 // to INT32, modulo 2^32
  StageCode saturate;                 // to INT32 within the limits that are the low and the high half of `data`
  StageCode flag;                     // FP32 to 0 or 1
  StageCode widen;                    // INT32 to FP32
  StageCode reduce[2][kReduceCount];  // by kind: A goes into the ChainReduction that is the stage's data
  StageCode end;
};

struct KernelTable {
  const char* name;
  // By the kind that the operation computes with; null where it does not take that kind. The first operand of a choice
  // is INT32. Results are of the kind of the result's dtype.
  RowsFunction rows[kKindCount][kElementwiseCount];
  LoadFunction load[kFormatCount];
  StoreFunction store[kFormatCount];
  FitFunction fit[kFormatCount];  // null for FP32, INT32, INT64 and UINT64

  // One value from n >= 1 contiguous elements, in an order that n alone decides.
  float (*reduce_f32[kReduceCount])(const float* data, int64_t n);
  float (*reduce_half[2][kReduceCount])(const uint16_t* data, int64_t n);  // FP16, BF16: the same of the widened ones
  int32_t (*reduce_i32[kReduceCount])(const int32_t* data, int64_t n);
  // out[j] = reduction over rows >= 1 of data[row * stride + j], rows in ascending order.
  void (*reduce_columns_f32[kReduceCount])(float* out, const float* data, int64_t stride, int64_t rows, int64_t n);
  void (*reduce_columns_i32[kReduceCount])(int32_t* out, const int32_t* data, int64_t stride, int64_t rows, int64_t n);

  FitFunction round_f32[kRoundCount];
  void (*f32_to_i32)(int32_t* out, const float* data, int64_t n);  // truncates modulo 2^32; NaN and infinities give 0
  void (*f32_to_i32_saturated)(int32_t* out, const float* data, int64_t n, int32_t low, int32_t high);  // NaN gives 0
  void (*f32_to_flag)(int32_t* out, const float* data, int64_t n);                                      // x != 0
  void (*i32_to_f32)(float* out, const int32_t* data, int64_t n);
  void (*clamp_i32)(int32_t* data, int64_t n, int32_t low, int32_t high);

  // Sums of the leading elements, kept in FP64 and rounded for each; *sum holds what comes before the first, then all.
  void (*running_sum)(float* out, const float* data, int64_t n, double* sum);
  // The same of n columns: a row is added to the sums of those before it. `out` may be `data`.
  void (*running_sums)(float* out, const float* data, double* sums, int64_t n);

  // Keys in the order of the numbers, NaN above all, reversed with `ascending`; the first key above a threshold, or n.
  void (*order_keys)(int32_t* keys, const float* values, int64_t n, bool ascending);
  int64_t (*first_above)(const int32_t* keys, int64_t first, int64_t n, int32_t threshold);
  // The places of keys that are not below the threshold, in ascending order; more than `most` when there are more.
  int64_t (*places_from)(int32_t* places, const int32_t* keys, int64_t n, int32_t threshold, int64_t most);
  // How many of n keys stand before each of them in falling order, equal ones in the order in which they stand. Both
  // hold kOrderedKeys, of which n are read.
  void (*count_before)(int32_t* before, const int32_t* keys, int64_t n);
  // The first place that holds `value`, NaN for NaN; n when there is none.
  int64_t (*first_same)(const float* values, int64_t n, float value);
  // Column by column, [0] the largest, [1] the smallest: what the row holds takes the place of what is held where it is
  // beyond it, or the first NaN; the column's place is then `place`.
  void (*improve_extremes[2])(float* held, int32_t* places, const float* row, int32_t place, int64_t n);

  void (*list_stages)(ChainKernels* stages);
  void (*run_chain)(const Stage* stages, int64_t n);  // n >= 0 elements; the last stage is `end`
  // The bits of the value of a row of n >= 1 elements; those of reduce_f32 and reduce_i32 for n <= kReduceBlock.
  uint32_t (*finish_reduction[2][kReduceCount])(ChainReduction* reduction, int64_t n);

  CopyRowsFunction copy_rows;      // output and source apart
  CopyGridFunction copy_grid;      // the same
  TransposeFunction transpose[4];  // of elements of 1, 2, 4 and 8 bytes

  int64_t gemm_rows;
  int64_t gemm_columns;
  int64_t most_stream_rows;
  int64_t dot_row_units;  // of A for `dot`: the distance of rows
  GemmKernels gemm[kGemmKindCount];
};

}  // namespace pypto::device::simd
