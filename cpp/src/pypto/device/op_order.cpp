// Moves operations up behind those whose values they read.
#include "pypto/device/op_order.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace pypto::device {
namespace {

// Lives for one call of GatherReaders.
class Gatherer {
 public:
  explicit Gatherer(LeafProgram* program)
      : program_(*program), locals_(program->locals.size()), accesses_(program->accesses.size()) {}

  void Run() {
    for (size_t first = 0; first < program_.ops.size();) {
      size_t end = first + 1;
      if (HasRows(program_.ops[first])) {
        ++group_;
        NoteMade(program_.ops[first]);
        for (size_t at = end; at < program_.ops.size(); ++at) {
          if (!Joins(first, end, at)) continue;
          Move(at, end);
          NoteMade(program_.ops[end++]);
        }
      }
      first = end;
    }
  }

 private:
  // Not one cell of each row.
  bool HasRows(const OpProgram& op) const { return CellsOf(op)[static_cast<size_t>(program_.rank - 1)]; }

  // Which group made a value last, and whether a reduction of it did.
  struct Made {
    size_t group = 0;
    bool reduced = false;
  };

  Made* MadeOf(const OperandProgram& operand) {
    switch (operand.source) {
      case Source::kAccess: return &accesses_[operand.index];
      case Source::kLocal: return &locals_[operand.index];
      case Source::kNumber: break;
    }
    return nullptr;
  }

  void NoteMade(const OpProgram& op) {
    Made& made = *MadeOf(op.output);
    made.reduced = (made.group == group_ && made.reduced) || op.action == Action::kReduce;
    made.group = group_;
  }

  // Operation `at` reads what [first, end) make of the same cells, before their rows end, and may come right behind.
  bool Joins(size_t first, size_t end, size_t at) {
    const OpProgram& op = program_.ops[at];
    if (CellsOf(op) != CellsOf(program_.ops[first])) return false;
    bool reads = false;
    for (int input = 0; input < op.input_count; ++input) {
      const Made* made = MadeOf(op.inputs[input]);
      if (made == nullptr || made->group != group_) continue;
      if (made->reduced) return false;
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
  std::vector<Made> locals_;
  std::vector<Made> accesses_;
  size_t group_ = 0;
};

}  // namespace

void GatherReaders(LeafProgram* program) {
  if (program->kind == program::LeafKind::kVector) Gatherer(program).Run();
}

}  // namespace pypto::device
