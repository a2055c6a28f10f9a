// Moves operations up behind those whose values they read.
#include "pypto/device/op_order.h"

#include <algorithm>
#include <utility>

namespace pypto::device {
namespace {

// Lives for one call of GatherReaders.
class Gatherer {
 public:
  explicit Gatherer(LeafProgram* program) : program_(*program) {}

  void Run() {
    for (size_t first = 0; first < program_.ops.size();) {
      size_t end = first + 1;
      if (HasRows(program_.ops[first])) {
        for (size_t at = end; at < program_.ops.size(); ++at) {
          if (Joins(first, end, at)) Move(at, end++);
        }
      }
      first = end;
    }
  }

 private:
  // Not one cell of each row.
  bool HasRows(const OpProgram& op) const { return CellsOf(op)[static_cast<size_t>(program_.rank - 1)]; }

  static bool Reads(const OpProgram& op, const OperandProgram& value) {
    return std::any_of(op.inputs.begin(), op.inputs.begin() + op.input_count, [&](const OperandProgram& input) {
      return input.source == value.source && input.index == value.index;
    });
  }

  // Operation `at` reads what [first, end) make of the same cells, before their rows end, and may come right behind.
  bool Joins(size_t first, size_t end, size_t at) const {
    const OpProgram& op = program_.ops[at];
    if (CellsOf(op) != CellsOf(program_.ops[first])) return false;
    bool reads = false;
    for (size_t i = first; i < end; ++i) {
      const OpProgram& made = program_.ops[i];
      if (!Reads(op, made.output)) continue;
      if (made.action == Action::kReduce) return false;
      reads = true;
    }
    if (!reads) return false;
    for (size_t i = end; i < at; ++i) {
      if (Depend(program_.ops[i], op)) return false;
    }
    return true;
  }

  bool Depend(const OpProgram& before, const OpProgram& after) const {
    if (Conflict(before.output, after.output)) return true;
    const auto touches = [this](const OpProgram& op, const OperandProgram& written) {
      return std::any_of(op.inputs.begin(), op.inputs.begin() + op.input_count,
                         [&](const OperandProgram& input) { return Conflict(input, written); });
    };
    return touches(after, before.output) || touches(before, after.output);
  }

  // Whether they may be the same cells; tensors of the caller may lie over one another.
  bool Conflict(const OperandProgram& a, const OperandProgram& b) const {
    if (a.source != b.source || a.source == Source::kNumber) return false;
    if (a.source == Source::kLocal) return a.index == b.index;
    const AccessProgram& x = program_.accesses[a.index];
    const AccessProgram& y = program_.accesses[b.index];
    return x.storage == y.storage || (x.is_parameter && y.is_parameter);
  }

  void Move(size_t from, size_t to) {
    const auto begin = program_.ops.begin();
    std::rotate(begin + static_cast<std::ptrdiff_t>(to), begin + static_cast<std::ptrdiff_t>(from),
                begin + static_cast<std::ptrdiff_t>(from) + 1);
  }

  LeafProgram& program_;
};

}  // namespace

void GatherReaders(LeafProgram* program) {
  if (program->kind == program::LeafKind::kVector) Gatherer(program).Run();
}

}  // namespace pypto::device
