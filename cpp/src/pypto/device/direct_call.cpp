// Binds each operation for a block of full extents.
#include "pypto/device/direct_call.h"

#include "pypto/device/formats.h"
#include "pypto/device/vector_ops.h"

namespace pypto::device {
namespace {

constexpr int64_t kNoStrides[program::kMaxRank] = {};

// False when its strides are known at run time only.
bool ViewOf(const LeafProgram& program, const OperandProgram& operand, OperandView* view) {
  static std::byte no_data{};
  switch (operand.source) {
    case Source::kAccess: {
      const AccessProgram& access = program.accesses[operand.index];
      *view = {&no_data, access.format, access.element_bytes, access.constant_strides.data()};
      return access.has_constant_strides;
    }
    case Source::kLocal: {
      const LocalProgram& local = program.locals[operand.index];
      *view = {&no_data, local.format, ElementBytes(local.format), local.strides.data()};
      return true;
    }
    case Source::kNumber: break;
  }
  const simd::Format format = ComputeFormat(program.numbers[operand.index].format);
  *view = {&no_data, format, ElementBytes(format), kNoStrides};
  return true;
}

bool Bind(const simd::KernelTable& kernels, const LeafProgram& program, const OpProgram& op, simd::RowArgs* args) {
  if (op.action != Action::kCompute) return false;
  int64_t cells[program::kMaxRank];
  for (int dim = 0; dim < program.rank; ++dim) {
    cells[dim] = op.varies[dim] ? program.block[dim] : 1;
    // A cell that several blocks share is stored by the first.
    const bool shared = !op.varies[dim] && program.block[dim] < program.extents[dim];
    if (shared && op.output.source == Source::kAccess) return false;
  }
  OperandView views[Nest::kMostOperands];
  if (!ViewOf(program, op.output, &views[0])) return false;
  for (int i = 0; i < op.input_count; ++i) {
    if (!ViewOf(program, op.inputs[i], &views[1 + i])) return false;
  }
  return BindCompute(op, kernels, program.rank, cells, views, args);
}

}  // namespace

void BindDirectCalls(const simd::KernelTable& kernels, LeafProgram* program) {
  program->direct.resize(program->ops.size());
  for (size_t i = 0; i < program->ops.size(); ++i) {
    DirectCall& call = program->direct[i];
    call.usable = Bind(kernels, *program, program->ops[i], &call.args);
  }
}

}  // namespace pypto::device
