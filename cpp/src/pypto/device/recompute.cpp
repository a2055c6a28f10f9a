// Finds what is cheap, and gives the readers behind a reduction a copy of the operation of their own.
#include "pypto/device/recompute.h"

#include <algorithm>
#include <utility>

#include "pypto/device/formats.h"

namespace pypto::device {
namespace {

bool IsLocal(const OperandProgram& operand, uint32_t local) {
  return operand.source == Source::kLocal && operand.index == local;
}

// Lives for one call of RecomputeCheapValues.
class Recomputer {
 public:
  explicit Recomputer(LeafProgram* program) : program_(*program) {}

  void Run() {
    for (size_t at = 0; at < program_.ops.size();) {
      if (ForwardWidened(at)) {
        program_.ops.erase(program_.ops.begin() + static_cast<std::ptrdiff_t>(at));
      } else {
        ++at;
      }
    }
    // Only a reduction ends what registers hand on.
    if (!Reduces(0, program_.ops.size())) return;
    for (size_t at = 0; at < program_.ops.size(); ++at) {
      if (IsCheap(at)) Repeat(at);
    }
  }

 private:
  bool Reads(const OpProgram& op, uint32_t local) const {
    return std::any_of(op.inputs.begin(), op.inputs.begin() + op.input_count,
                       [local](const OperandProgram& input) { return IsLocal(input, local); });
  }

  size_t LastReader(uint32_t local) const {
    size_t last = 0;
    for (size_t i = 0; i < program_.ops.size(); ++i) last = Reads(program_.ops[i], local) ? i : last;
    return last;
  }

  bool IsWrittenOnce(uint32_t local) const {
    return std::count_if(program_.ops.begin(), program_.ops.end(),
                         [local](const OpProgram& op) { return IsLocal(op.output, local); }) == 1;
  }

  // Nothing is stored to memory by operations [first, last).
  bool StoresNothing(size_t first, size_t last) const {
    for (size_t i = first; i < last; ++i) {
      if (program_.ops[i].output.source == Source::kAccess) return false;
    }
    return true;
  }

  // Whether a reduction stands between the two.
  bool Reduces(size_t first, size_t last) const {
    for (size_t i = first; i < last; ++i) {
      if (program_.ops[i].action == Action::kReduce) return true;
    }
    return false;
  }

  // One row that serves several.
  bool ServesRows(const LocalProgram& local) const {
    for (int dim = 0; dim + 1 < program_.rank; ++dim) {
      if (local.extents[dim] == 1 && program_.extents[dim] > 1) return local.extents[program_.rank - 1] > 1;
    }
    return false;
  }

  // Operation `at` widens an operand for readers on both sides of a reduction, or for each row: they widen it
  // themselves, as chains and reductions do on their way.
  bool ForwardWidened(size_t at) {
    const OpProgram op = program_.ops[at];
    if (op.action != Action::kCast || op.output.source != Source::kLocal || op.inputs[0].source != Source::kAccess) {
      return false;
    }
    const AccessProgram& access = program_.accesses[op.inputs[0].index];
    const LocalProgram& to = program_.locals[op.output.index];
    const bool half = access.format == simd::kF16 || access.format == simd::kBf16;
    if (!half || op.result != simd::kF32 || op.rounds || access.extents != to.extents || access.valid != to.valid) {
      return false;
    }
    const int inner = program_.rank - 1;
    const bool dense = access.has_constant_strides && access.constant_strides[inner] == 1;
    const uint32_t local = op.output.index;
    const size_t last = LastReader(local);
    const bool apart = Reduces(at, last) || ServesRows(to);
    if (!dense || !IsWrittenOnce(local) || !apart || !StoresNothing(at, last)) return false;
    for (const OpProgram& reader : program_.ops) {
      const bool takes = reader.action == Action::kReduce || (reader.action == Action::kCompute && !reader.selects);
      if (Reads(reader, local) && (!takes || reader.kind != simd::kKindF32)) return false;
    }
    for (OpProgram& reader : program_.ops) {
      for (int i = 0; i < reader.input_count; ++i) {
        if (IsLocal(reader.inputs[i], local)) reader.inputs[i] = op.inputs[0];
      }
    }
    return true;
  }

  // A number, or one value for each row.
  bool IsShared(const OperandProgram& operand) const {
    if (operand.source == Source::kNumber) return true;
    const int inner = program_.rank - 1;
    return operand.source == Source::kLocal && program_.locals[operand.index].extents[inner] == 1 &&
           IsWrittenOnce(operand.index);
  }

  bool IsCheap(size_t at) const {
    const OpProgram& op = program_.ops[at];
    if (op.action != Action::kCompute || op.input_count != 2 || op.result != simd::kF32 || op.kind != simd::kKindF32) {
      return false;
    }
    const bool simple =
        op.kernel == simd::kElementwiseAdd || op.kernel == simd::kElementwiseSub || op.kernel == simd::kElementwiseMul;
    if (!simple || op.output.source != Source::kLocal) return false;
    const bool first = op.inputs[0].source == Source::kAccess && IsShared(op.inputs[1]);
    const bool second = !first && op.inputs[1].source == Source::kAccess && IsShared(op.inputs[0]);
    return (first || second) && IsWrittenOnce(op.output.index);
  }

  void Repeat(size_t at) {
    const uint32_t local = program_.ops[at].output.index;
    const size_t last = LastReader(local);
    if (!StoresNothing(at, last)) return;
    size_t reader = at + 1;
    while (reader <= last && !(Reads(program_.ops[reader], local) && Reduces(at, reader))) ++reader;
    if (reader > last) return;
    const auto own = static_cast<uint32_t>(program_.locals.size());
    program_.locals.push_back(LocalProgram(program_.locals[local]));
    for (size_t i = reader; i <= last; ++i) {
      OpProgram& op = program_.ops[i];
      for (int input = 0; input < op.input_count; ++input) {
        if (IsLocal(op.inputs[input], local)) op.inputs[input].index = own;
      }
    }
    OpProgram again = program_.ops[at];
    again.output.index = own;
    program_.ops.insert(program_.ops.begin() + static_cast<std::ptrdiff_t>(reader), again);
  }

  LeafProgram& program_;
};

}  // namespace

void RecomputeCheapValues(LeafProgram* program) {
  if (program->kind == program::LeafKind::kVector) Recomputer(program).Run();
}

}  // namespace pypto::device
