// Rows go to the kernels directly where memory already holds 4-byte elements; otherwise chunk by chunk through buffers.
#include "pypto/device/vector_ops.h"

#include "pypto/device/chunk.h"
#include "pypto/device/formats.h"

namespace pypto::device {
namespace {

using simd::Format;
using simd::KernelTable;

// The next row of cells of one operand as 4-byte elements that a kernel takes.
struct ChunkInput {
  const void* data = nullptr;
  int64_t step = 1;
};

// n elements from `at`: in place where they are wide and dense, else through `buffer`.
ChunkInput LoadChunk(const KernelTable& kernels, Format format, const std::byte* at, int64_t step, int64_t n,
                     bool to_float, void* buffer) {
  const bool convert = to_float && !IsFloat(format);
  if (IsWide(format) && !convert && step <= 1 && step >= 0) return {at, step};
  const int64_t loaded = step == 0 ? 1 : n;
  kernels.load[format](buffer, at, loaded == 1 ? 1 : step, loaded);
  if (convert) kernels.i32_to_f32(static_cast<float*>(buffer), static_cast<const int32_t*>(buffer), loaded);
  return {buffer, step == 0 ? 0 : 1};
}

bool RunsInPlace(const OpProgram& op, const KernelTable& kernels, const Nest& nest, const OperandView* views) {
  if (kernels.fit[op.result] != nullptr || !IsWide(views[0].format) || InnerStep(nest, 0) != 1) return false;
  for (int i = 1; i < nest.operands; ++i) {
    const int64_t step = InnerStep(nest, i);
    const bool direct = views[i].format == (op.computes_float ? simd::kF32 : simd::kI32) && (step == 0 || step == 1);
    if (!direct) return false;
  }
  return true;
}

// All operands are wide and dense in the innermost dim: two dims go to the kernel at a time.
void ComputeInPlace(const OpProgram& op, const Nest& nest) {
  const bool rows = nest.rank > 1;
  simd::RowArgs args{};
  args.rows = rows ? nest.counts[nest.rank - 2] : 1;
  args.n = nest.counts[nest.rank - 1];
  const auto row_stride = [&](int operand) { return rows ? nest.strides[operand][nest.rank - 2] : 0; };
  args.out_row = row_stride(0);
  args.a_row = row_stride(1);
  args.a_step = InnerStep(nest, 1);
  if (op.input_count == 2) {
    args.b_row = row_stride(2);
    args.b_step = InnerStep(nest, 2);
  }
  nest.ForEachOuter(rows ? 2 : 1, [&](const std::array<std::byte*, Nest::kMostOperands>& at) {
    args.out = at[0];
    args.a = at[1];
    args.b = at[2];
    op.rows(&args);
  });
}

void ComputeInChunks(const OpProgram& op, const KernelTable& kernels, const Nest& nest, const OperandView* views) {
  alignas(64) uint32_t buffers[3][kChunk];
  const bool direct_output = IsWide(views[0].format) && InnerStep(nest, 0) == 1;
  ForEachChunk(nest, [&](const std::array<std::byte*, Nest::kMostOperands>& at, int64_t n) {
    simd::RowArgs args{};
    args.rows = 1;
    args.n = n;
    args.out = direct_output ? static_cast<void*>(at[0]) : buffers[0];
    const ChunkInput a =
        LoadChunk(kernels, views[1].format, at[1], InnerStep(nest, 1), n, op.computes_float, buffers[1]);
    args.a = a.data;
    args.a_step = a.step;
    if (op.input_count == 2) {
      const ChunkInput b =
          LoadChunk(kernels, views[2].format, at[2], InnerStep(nest, 2), n, op.computes_float, buffers[2]);
      args.b = b.data;
      args.b_step = b.step;
    }
    op.rows(&args);
    FinishChunk(kernels, op.result, views[0].format, at[0], InnerStep(nest, 0), args.out, n);
  });
}

// Converts n wide elements in place, from the kind of `from` to that of op.result.
void CastChunk(const OpProgram& op, const KernelTable& kernels, Format from, void* data, int64_t n) {
  auto* floats = static_cast<float*>(data);
  auto* integers = static_cast<int32_t*>(data);
  const bool to_float = IsFloat(op.result);
  if (IsFloat(from)) {
    if (op.to_bool) return kernels.f32_to_flag(integers, floats, n);
    if (op.rounds) kernels.round_f32[op.round](floats, n);
    if (to_float) return;
    if (!op.saturate) return kernels.f32_to_i32(integers, floats, n);
    const IntegerRange range = RangeOf(op.result);
    return kernels.f32_to_i32_saturated(integers, floats, n, range.low, range.high);
  }
  if (to_float) return kernels.i32_to_f32(floats, integers, n);
  if (op.saturate && !op.to_bool) kernels.clamp_i32(integers, n, RangeOf(op.result).low, RangeOf(op.result).high);
}

}  // namespace

void RunCompute(const OpProgram& op, const KernelTable& kernels, int rank, const int64_t* cells,
                const OperandView* views) {
  Nest nest;
  if (!nest.Make(rank, cells, -1, views, 1 + op.input_count)) return;
  if (RunsInPlace(op, kernels, nest, views)) return ComputeInPlace(op, nest);
  ComputeInChunks(op, kernels, nest, views);
}

void RunCast(const OpProgram& op, const KernelTable& kernels, int rank, const int64_t* cells,
             const OperandView* views) {
  Nest nest;
  if (!nest.Make(rank, cells, -1, views, 2)) return;
  alignas(64) uint32_t buffer[kChunk];
  ForEachChunk(nest, [&](const std::array<std::byte*, Nest::kMostOperands>& at, int64_t n) {
    kernels.load[views[1].format](buffer, at[1], InnerStep(nest, 1), n);
    CastChunk(op, kernels, views[1].format, buffer, n);
    FinishChunk(kernels, op.result, views[0].format, at[0], InnerStep(nest, 0), buffer, n);
  });
}

}  // namespace pypto::device
