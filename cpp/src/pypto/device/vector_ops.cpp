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

void WidenToFloat(const KernelTable& kernels, Format from, void* buffer, int64_t n) {
  if (KindOf(from) == simd::kKindI32) {
    kernels.i32_to_f32(static_cast<float*>(buffer), static_cast<const int32_t*>(buffer), n);
    return;
  }
  auto* floats = static_cast<float*>(buffer);
  const auto* integers = static_cast<const int64_t*>(buffer);
  for (int64_t i = 0; i < n; ++i) {
    floats[i] =
        from == simd::kU64 ? static_cast<float>(static_cast<uint64_t>(integers[i])) : static_cast<float>(integers[i]);
  }
}

// n elements of `kind` from `at`: in place where they are wide and dense, else through `buffer`.
ChunkInput LoadChunk(const KernelTable& kernels, Format format, const std::byte* at, int64_t step, int64_t n,
                     simd::Kind kind, void* buffer) {
  const bool convert = KindOf(format) != kind;
  if (IsWide(format) && !convert && step <= 1 && step >= 0) return {at, step};
  const int64_t loaded = step == 0 ? 1 : n;
  kernels.load[format](buffer, at, loaded == 1 ? 1 : step, loaded);
  if (convert) WidenToFloat(kernels, format, buffer, loaded);
  return {buffer, step == 0 ? 0 : 1};
}

// What the operation takes its input as.
simd::Kind InputKind(const OpProgram& op, int input) { return op.selects && input == 0 ? simd::kKindI32 : op.kind; }

bool RunsInPlace(const OpProgram& op, const KernelTable& kernels, const Nest& nest, const OperandView* views) {
  if (kernels.fit[op.result] != nullptr || !IsWide(views[0].format) || InnerStep(nest, 0) != 1) return false;
  for (int i = 1; i < nest.operands; ++i) {
    const int64_t step = InnerStep(nest, i);
    const bool wide = IsWide(views[i].format) && KindOf(views[i].format) == InputKind(op, i - 1);
    if (!wide || (step != 0 && step != 1)) return false;
  }
  return true;
}

void SetInput(simd::RowArgs* args, int input, const void* data, int64_t row, int64_t step) {
  switch (input) {
    case 0: args->a = data, args->a_row = row, args->a_step = step; return;
    case 1: args->b = data, args->b_row = row, args->b_step = step; return;
    default: args->c = data, args->c_row = row, args->c_step = step; return;
  }
}

// All operands are wide and dense in the innermost dim: two dims go to `body` at a time.
template <typename Body>
void ForEachBlock(const OpProgram& op, const Nest& nest, const Body& body) {
  const bool rows = nest.rank > 1;
  simd::RowArgs args{};
  args.rows = rows ? nest.counts[nest.rank - 2] : 1;
  args.n = nest.counts[nest.rank - 1];
  const auto row_stride = [&](int operand) { return rows ? nest.strides[operand][nest.rank - 2] : 0; };
  args.out_row = row_stride(0);
  nest.ForEachOuter(rows ? 2 : 1, [&](const std::array<std::byte*, Nest::kMostOperands>& at) {
    args.out = at[0];
    for (int i = 0; i < op.input_count; ++i) SetInput(&args, i, at[i + 1], row_stride(i + 1), InnerStep(nest, i + 1));
    body(args);
  });
}

void ComputeInChunks(const OpProgram& op, const KernelTable& kernels, const Nest& nest, const OperandView* views) {
  ChunkBuffer buffers[Nest::kMostOperands];
  const bool direct_output = IsWide(views[0].format) && InnerStep(nest, 0) == 1;
  ForEachChunk(nest, [&](const std::array<std::byte*, Nest::kMostOperands>& at, int64_t n) {
    simd::RowArgs args{};
    args.rows = 1;
    args.n = n;
    args.out = direct_output ? static_cast<void*>(at[0]) : buffers[0].bytes;
    for (int i = 0; i < op.input_count; ++i) {
      const ChunkInput input = LoadChunk(kernels, views[i + 1].format, at[i + 1], InnerStep(nest, i + 1), n,
                                         InputKind(op, i), buffers[i + 1].bytes);
      SetInput(&args, i, input.data, 0, input.step);
    }
    op.rows(&args);
    FinishChunk(kernels, op.result, views[0].format, at[0], InnerStep(nest, 0), args.out, n);
  });
}

}  // namespace

void RunCompute(const OpProgram& op, const KernelTable& kernels, int rank, const int64_t* cells,
                const OperandView* views) {
  Nest nest;
  if (!nest.Make(rank, cells, -1, views, 1 + op.input_count)) return;
  if (RunsInPlace(op, kernels, nest, views)) {
    return ForEachBlock(op, nest, [&op](const simd::RowArgs& args) { op.rows(&args); });
  }
  ComputeInChunks(op, kernels, nest, views);
}

bool BindCompute(const OpProgram& op, const KernelTable& kernels, int rank, const int64_t* cells,
                 const OperandView* views, simd::RowArgs* args) {
  Nest nest;
  if (!nest.Make(rank, cells, -1, views, 1 + op.input_count)) return false;
  if (nest.rank > 2 || !RunsInPlace(op, kernels, nest, views)) return false;
  ForEachBlock(op, nest, [args](const simd::RowArgs& block) { *args = block; });
  return true;
}

}  // namespace pypto::device
