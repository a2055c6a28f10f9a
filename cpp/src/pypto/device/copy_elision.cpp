// Which copies of a leaf may go.
#include "pypto/device/copy_elision.h"

#include <algorithm>

#include "pypto/device/formats.h"

namespace pypto::device {
namespace {

// The operation leaves every value as it is.
bool HandsOn(const OpProgram& op) {
  const bool cast = op.action == Action::kCast && !op.rounds && !op.saturate && !op.to_bool;
  const bool copy = op.action == Action::kCopy && op.code == program::OpCode::kCopy;
  return (cast || copy) && op.input == op.result && IsFloat(op.result);
}

bool SameShape(const AccessProgram& access, const LocalProgram& local) {
  return access.extents == local.extents && access.valid == local.valid;
}

// Whether the tile's cells of one row lie side by side.
bool IsDense(const LeafProgram& program, const AccessProgram& access) {
  const int inner = program.rank - 1;
  return access.extents[inner] == 1 || (access.has_constant_strides && access.constant_strides[inner] == 1);
}

bool IsLocal(const OperandProgram& operand, uint32_t local) {
  return operand.source == Source::kLocal && operand.index == local;
}

bool ReadsMemory(const OpProgram& op) {
  return std::any_of(op.inputs.begin(), op.inputs.begin() + op.input_count,
                     [](const OperandProgram& input) { return input.source == Source::kAccess; });
}

// Where a local is made and read.
struct Uses {
  size_t writes = 0;
  size_t reads = 0;  // operands, not operations
  size_t writer = 0;
  size_t last_reader = 0;
};

Uses UsesOf(const LeafProgram& program, uint32_t local) {
  Uses uses;
  for (size_t i = 0; i < program.ops.size(); ++i) {
    const OpProgram& op = program.ops[i];
    for (int input = 0; input < op.input_count; ++input) {
      if (!IsLocal(op.inputs[input], local)) continue;
      ++uses.reads;
      uses.last_reader = i;
    }
    if (!IsLocal(op.output, local)) continue;
    ++uses.writes;
    uses.writer = i;
  }
  return uses;
}

// Operation `at` loads a local: its readers load themselves, unless something is stored before the last of them or the
// value would be converted several times.
bool ForwardLoad(LeafProgram* program, size_t at) {
  const OpProgram op = program->ops[at];
  if (op.output.source != Source::kLocal || op.inputs[0].source != Source::kAccess) return false;
  const AccessProgram& access = program->accesses[op.inputs[0].index];
  const uint32_t local = op.output.index;
  const Uses uses = UsesOf(*program, local);
  if (uses.writes != 1 || uses.reads == 0 || access.format != op.result) return false;
  if (!SameShape(access, program->locals[local]) || !IsDense(*program, access)) return false;
  if (access.format != simd::kF32 && uses.reads > 1) return false;
  for (size_t i = at + 1; i < uses.last_reader; ++i) {
    if (program->ops[i].output.source == Source::kAccess) return false;
  }
  for (OpProgram& reader : program->ops) {
    for (int input = 0; input < reader.input_count; ++input) {
      if (IsLocal(reader.inputs[input], local)) reader.inputs[input] = op.inputs[0];
    }
  }
  return true;
}

// Whether the operation touches memory that may be that of `access`.
bool MayTouch(const LeafProgram& program, const OpProgram& op, const AccessProgram& access, bool reads) {
  const auto touches = [&](const OperandProgram& operand) {
    if (operand.source != Source::kAccess) return false;
    const AccessProgram& other = program.accesses[operand.index];
    return other.storage == access.storage || (other.is_parameter && access.is_parameter);
  };
  return touches(op.output) || (reads && std::any_of(op.inputs.begin(), op.inputs.begin() + op.input_count, touches));
}

// Operation `at` stores a local that others read as well: its maker stores it and they read what was stored. Only where
// each cell is stored by the tile that reads it, as it is, and nothing else touches that memory.
bool StoreForReaders(LeafProgram* program, size_t at) {
  const OpProgram op = program->ops[at];
  if (op.output.source != Source::kAccess || op.inputs[0].source != Source::kLocal) return false;
  const AccessProgram& access = program->accesses[op.output.index];
  const uint32_t local = op.inputs[0].index;
  const Uses uses = UsesOf(*program, local);
  if (uses.writes != 1 || uses.writer >= at || access.format != simd::kF32 || access.extents != program->extents) {
    return false;
  }
  OpProgram& maker = program->ops[uses.writer];
  if (maker.action != Action::kCompute || maker.result != op.result || !IsDense(*program, access) ||
      !SameShape(access, program->locals[local])) {
    return false;
  }
  for (size_t i = uses.writer; i < program->ops.size(); ++i) {
    if (i != at && MayTouch(*program, program->ops[i], access, i > uses.writer && i < at)) return false;
  }
  maker.output = op.output;
  for (OpProgram& reader : program->ops) {
    for (int input = 0; input < reader.input_count; ++input) {
      if (IsLocal(reader.inputs[input], local)) reader.inputs[input] = op.output;
    }
  }
  return true;
}

// Operation `at` stores a local that nothing else reads: its maker stores it, unless memory is touched in between.
bool StoreAtOnce(LeafProgram* program, size_t at) {
  const OpProgram& op = program->ops[at];
  if (op.output.source != Source::kAccess || op.inputs[0].source != Source::kLocal) return false;
  const AccessProgram& access = program->accesses[op.output.index];
  const uint32_t local = op.inputs[0].index;
  const Uses uses = UsesOf(*program, local);
  if (uses.writes != 1 || uses.reads != 1 || uses.writer >= at || access.format != op.result) return false;
  OpProgram& maker = program->ops[uses.writer];
  const bool simple = maker.action == Action::kCompute || maker.action == Action::kCast;
  if (!simple || maker.result != op.result || !SameShape(access, program->locals[local])) return false;
  for (size_t i = uses.writer + 1; i < at; ++i) {
    if (ReadsMemory(program->ops[i]) || program->ops[i].output.source == Source::kAccess) return false;
  }
  maker.output = op.output;
  return true;
}

// Operation `at` fills a local with a number of which only triangles are taken: they take the number itself.
bool ForwardFill(LeafProgram* program, size_t at) {
  const OpProgram op = program->ops[at];
  const bool fills = op.action == Action::kCopy && op.code == program::OpCode::kFill && op.result == simd::kF32 &&
                     op.inputs[0].source == Source::kNumber && op.output.source == Source::kLocal;
  if (!fills) return false;
  const LocalProgram& local = program->locals[op.output.index];
  const Uses uses = UsesOf(*program, op.output.index);
  if (uses.writes != 1 || uses.reads != 1) return false;
  OpProgram& reader = program->ops[uses.last_reader];
  if (reader.action != Action::kTriangle || reader.output.source != Source::kLocal) return false;
  const LocalProgram& triangle = program->locals[reader.output.index];
  if (reader.result != simd::kF32 || triangle.extents != local.extents || triangle.valid != local.valid) return false;
  reader.inputs[0] = op.inputs[0];
  return true;
}

}  // namespace

void DropCopies(LeafProgram* program) {
  if (program->kind != program::LeafKind::kVector) return;
  for (size_t at = 0; at < program->ops.size();) {
    const bool handed_on = HandsOn(program->ops[at]) &&
                           (ForwardLoad(program, at) || StoreAtOnce(program, at) || StoreForReaders(program, at));
    const bool dropped = handed_on || ForwardFill(program, at);
    if (dropped) {
      program->ops.erase(program->ops.begin() + static_cast<std::ptrdiff_t>(at));
    } else {
      ++at;
    }
  }
}

}  // namespace pypto::device
