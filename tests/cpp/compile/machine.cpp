// The machine for programs, and what both share.
#include "compile/machine.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "compile/machine_ops.h"

namespace pypto::compile::testing {

using program::ExprOp;

double Poison() { return std::numeric_limits<double>::quiet_NaN(); }
bool IsPoison(double value) { return std::isnan(value); }

int64_t Eval(const program::ExprPool& exprs, program::ExprId id, const Bindings& bindings) {
  const program::ExprNode& node = exprs.node(id);
  const auto child = [&](uint32_t which) { return Eval(exprs, which, bindings); };
  switch (node.op) {
    case ExprOp::kConst: return node.value;
    case ExprOp::kSymbol: return bindings.symbols.at(node.a);
    case ExprOp::kScalar: return bindings.scalars.at(node.a);
    case ExprOp::kLoopIndex: return bindings.loops.at(node.a);
    case ExprOp::kSlot: return bindings.slots.at(node.a);
    case ExprOp::kAdd: return child(node.a) + child(node.b);
    case ExprOp::kMul: return child(node.a) * child(node.b);
    case ExprOp::kDiv: return child(node.a) / child(node.b);
    case ExprOp::kMod: return child(node.a) % child(node.b);
    case ExprOp::kMin: return std::min(child(node.a), child(node.b));
    case ExprOp::kMax: return std::max(child(node.a), child(node.b));
    case ExprOp::kEq: return child(node.a) == child(node.b) ? 1 : 0;
    case ExprOp::kNe: return child(node.a) != child(node.b) ? 1 : 0;
    case ExprOp::kLt: return child(node.a) < child(node.b) ? 1 : 0;
    case ExprOp::kLe: return child(node.a) <= child(node.b) ? 1 : 0;
    case ExprOp::kAnd: return child(node.a) != 0 && child(node.b) != 0 ? 1 : 0;
    case ExprOp::kOr: return child(node.a) != 0 || child(node.b) != 0 ? 1 : 0;
    case ExprOp::kNot: return child(node.a) == 0 ? 1 : 0;
    case ExprOp::kSelect: return child(node.a) != 0 ? child(node.b) : child(node.c);
    default: std::abort();
  }
}

double ApplyOp(program::OpCode code, double a, double b) {
  switch (code) {
    case program::OpCode::kAdd: return a + b;
    case program::OpCode::kSub: return a - b;
    case program::OpCode::kMul: return a * b;
    case program::OpCode::kDiv: return a / b;
    case program::OpCode::kMaximum: return std::isnan(a) || std::isnan(b) ? Poison() : std::max(a, b);
    case program::OpCode::kMinimum: return std::isnan(a) || std::isnan(b) ? Poison() : std::min(a, b);
    case program::OpCode::kNeg: return -a;
    case program::OpCode::kAbs: return std::fabs(a);
    case program::OpCode::kExp: return std::exp(a);
    case program::OpCode::kReciprocal: return 1 / a;
    case program::OpCode::kRsqrt: return 1 / std::sqrt(a);
    case program::OpCode::kErf: return std::erf(a);
    case program::OpCode::kFill:
    case program::OpCode::kCast:
    case program::OpCode::kCopy: return a;
    default: std::abort();
  }
}

double ReduceStart(program::OpCode code) {
  const double most = std::numeric_limits<double>::max();
  return code == program::OpCode::kSum ? 0 : code == program::OpCode::kAmax ? -most : most;
}

double ReduceStep(program::OpCode code, double so_far, double next) {
  if (code == program::OpCode::kSum) return so_far + next;
  return ApplyOp(code == program::OpCode::kAmax ? program::OpCode::kMaximum : program::OpCode::kMinimum, so_far, next);
}

void ForEachCell(const std::vector<int64_t>& low, const std::vector<int64_t>& high,
                 const std::function<void(const std::vector<int64_t>&)>& visit) {
  std::vector<int64_t> at = low;
  for (size_t i = 0; i < low.size(); ++i) {
    if (low[i] >= high[i]) return;
  }
  for (;;) {
    visit(at);
    size_t dim = at.size();
    while (dim > 0 && ++at[dim - 1] >= high[dim - 1]) {
      at[dim - 1] = low[dim - 1];
      --dim;
    }
    if (dim == 0) return;
  }
}

namespace {

struct Array {
  std::vector<int64_t> shape;
  std::vector<double> cells;
};

int64_t Index(const std::vector<int64_t>& shape, const std::vector<int64_t>& at) {
  int64_t index = 0;
  for (size_t i = 0; i < shape.size(); ++i) index = index * shape[i] + at[i];
  return index;
}

class ProgramMachine {
 public:
  ProgramMachine(const program::Program& program, const Bindings& bindings, Memory& memory)
      : program_(program), bindings_(bindings), arrays_(program.tensors.size()), memory_(memory) {}

  void Run() {
    size_t next = 0;
    for (const program::Parameter& parameter : program_.parameters) {
      if (parameter.is_tensor) arrays_[parameter.tensor] = {ShapeOf(parameter.tensor), memory_[next++]};
    }
    RunBlock(program_.body);
    next = 0;
    for (const program::Parameter& parameter : program_.parameters) {
      if (parameter.is_tensor) memory_[next++] = arrays_[parameter.tensor].cells;
    }
  }

 private:
  int64_t Value(program::ExprId id) const { return Eval(program_.exprs, id, bindings_); }

  std::vector<int64_t> Values(const std::vector<program::ExprId>& ids) const {
    std::vector<int64_t> values;
    for (const program::ExprId id : ids) values.push_back(Value(id));
    return values;
  }

  std::vector<int64_t> ShapeOf(program::TensorId id) const { return Values(program_.tensors[id].shape); }
  std::vector<int64_t> ValidOf(program::TensorId id) const { return Values(program_.tensors[id].valid); }

  Array& Fresh(program::TensorId id) {
    Array& array = arrays_[id];
    array.shape = ShapeOf(id);
    int64_t count = 1;
    for (const int64_t extent : array.shape) count *= extent;
    array.cells.assign(static_cast<size_t>(count), Poison());
    return array;
  }

  double& Cell(program::TensorId id, const std::vector<int64_t>& at) {
    return arrays_[id].cells.at(static_cast<size_t>(Index(arrays_[id].shape, at)));
  }

  // An operand at the coordinates of the result: dims from the last on, extent 1 stretches.
  double Stretched(const program::Operand& operand, const std::vector<int64_t>& at) {
    if (operand.kind == program::Operand::Kind::kFloat) return operand.float_value;
    if (operand.kind == program::Operand::Kind::kInt) return static_cast<double>(operand.int_value);
    if (operand.kind == program::Operand::Kind::kExpr) return static_cast<double>(Value(operand.expr));
    const std::vector<int64_t>& shape = arrays_[operand.tensor].shape;
    std::vector<int64_t> own(at.end() - static_cast<std::ptrdiff_t>(shape.size()), at.end());
    for (size_t i = 0; i < own.size(); ++i) own[i] = shape[i] == 1 ? 0 : own[i];
    return Cell(operand.tensor, own);
  }

  void RunBlock(const program::Block& block) {
    for (const program::Statement& statement : block.statements) {
      std::visit([&](const auto& one) { Do(one); }, statement);
    }
  }

  void Do(const program::OpStatement& op) {
    Fresh(op.output);
    const std::vector<int64_t> valid = ValidOf(op.output);
    const program::OpFamily family = program::FindOperation(op.code)->family;
    ForEachCell(std::vector<int64_t>(valid.size(), 0), valid, [&](const std::vector<int64_t>& at) {
      if (family == program::OpFamily::kReduction) {
        Cell(op.output, at) = Reduced(op, at);
      } else if (family == program::OpFamily::kMatmul) {
        Cell(op.output, at) = Product(op, at);
      } else if (family == program::OpFamily::kTranspose) {
        std::vector<int64_t> from = at;
        std::swap(from[static_cast<size_t>(op.attributes.dim0)], from[static_cast<size_t>(op.attributes.dim1)]);
        Cell(op.output, at) = Cell(op.inputs[0].tensor, from);
      } else {
        const double a = Stretched(op.inputs[0], at);
        const double b = op.inputs.size() > 1 ? Stretched(op.inputs[1], at) : 0;
        Cell(op.output, at) = ApplyOp(op.code, a, b);
      }
    });
  }

  double Reduced(const program::OpStatement& op, std::vector<int64_t> at) {
    const program::TensorId input = op.inputs[0].tensor;
    const auto axis = static_cast<size_t>(op.attributes.axis);
    if (at.size() < arrays_[input].shape.size()) at.insert(at.begin() + op.attributes.axis, 0);
    double result = ReduceStart(op.code);
    for (int64_t i = 0; i < ValidOf(input)[axis]; ++i) {
      at[axis] = i;
      result = ReduceStep(op.code, result, Cell(input, at));
    }
    return result;
  }

  double Product(const program::OpStatement& op, const std::vector<int64_t>& at) {
    const program::TensorId a = op.inputs[0].tensor;
    const program::TensorId b = op.inputs[1].tensor;
    const size_t last = at.size() - 1;
    const size_t k_of_a = op.attributes.a_trans ? last - 1 : last;
    const size_t k_of_b = op.attributes.b_trans ? last : last - 1;
    std::vector<int64_t> in_a = at;
    std::vector<int64_t> in_b = at;
    for (size_t i = 0; i + 1 < last; ++i) {
      if (arrays_[a].shape[i] == 1) in_a[i] = 0;
      if (arrays_[b].shape[i] == 1) in_b[i] = 0;
    }
    in_a[op.attributes.a_trans ? last : last - 1] = at[last - 1];
    in_b[op.attributes.b_trans ? last - 1 : last] = at[last];
    double sum = 0;
    for (int64_t k = 0; k < std::min(ValidOf(a)[k_of_a], ValidOf(b)[k_of_b]); ++k) {
      in_a[k_of_a] = k;
      in_b[k_of_b] = k;
      sum += Cell(a, in_a) * Cell(b, in_b);
    }
    return sum;
  }

  void Do(const program::ViewStatement& view) {
    Array& array = Fresh(view.output);
    if (view.kind == program::ViewKind::kReshape) {
      const Array padded = WithZeros(view);
      array.cells = padded.cells;
      return;
    }
    const std::vector<int64_t> valid = ValidOf(view.output);
    const std::vector<int64_t> offsets = Values(view.offsets);
    ForEachCell(std::vector<int64_t>(valid.size(), 0), valid, [&](const std::vector<int64_t>& at) {
      std::vector<int64_t> from = at;
      for (size_t i = 0; i < from.size(); ++i) from[i] += offsets[i];
      Cell(view.output, at) = Cell(view.base, from);
    });
  }

  // The base with its invalid cells at 0 where they are in view.
  Array WithZeros(const program::ViewStatement& view) {
    Array copy = arrays_[view.base];
    const std::vector<int64_t> valid = ValidOf(view.base);
    ForEachCell(std::vector<int64_t>(valid.size(), 0), copy.shape, [&](const std::vector<int64_t>& at) {
      for (size_t i = 0; i < at.size(); ++i) {
        if (at[i] >= valid[i]) copy.cells[static_cast<size_t>(Index(copy.shape, at))] = 0;
      }
    });
    return copy;
  }

  void Do(const program::DeclareStatement& declare) { Fresh(declare.tensor); }

  void Do(const program::MoveStatement& move) {
    WriteAt(move.destination, move.source, std::vector<int64_t>(ShapeOf(move.source).size(), 0));
  }

  void Do(const program::AssembleStatement& assemble) {
    WriteAt(assemble.destination, assemble.source, Values(assemble.offsets));
  }

  void WriteAt(program::TensorId destination, program::TensorId source, const std::vector<int64_t>& offsets) {
    const Array copy = arrays_[source];
    const std::vector<int64_t> valid = ValidOf(source);
    ForEachCell(std::vector<int64_t>(valid.size(), 0), valid, [&](const std::vector<int64_t>& at) {
      std::vector<int64_t> to = at;
      for (size_t i = 0; i < to.size(); ++i) {
        to[i] += offsets[i];
        if (to[i] >= arrays_[destination].shape[i]) return;
      }
      Cell(destination, to) = copy.cells[static_cast<size_t>(Index(copy.shape, at))];
    });
  }

  void Do(const program::ReadStatement& read) {
    bindings_.slots[read.slot] = static_cast<int64_t>(Cell(read.tensor, Values(read.indices)));
  }

  void Do(const program::SetStatement& set) {
    std::vector<int64_t> values;
    for (const program::SlotValue& one : set.values) values.push_back(Value(one.value));
    for (size_t i = 0; i < values.size(); ++i) bindings_.slots[set.values[i].slot] = values[i];
  }

  void Do(const program::CheckStatement& check) {
    if (Value(check.condition) == 0) std::abort();
  }

  void Do(const program::LoopStatement& loop) {
    const int64_t start = Value(loop.start);
    const int64_t stop = Value(loop.stop);
    const int64_t step = Value(loop.step);
    for (int64_t i = start; step > 0 ? i < stop : i > stop; i += step) {
      bindings_.loops[loop.loop] = i;
      RunBlock(*loop.body);
    }
  }

  void Do(const program::IfStatement& branch) {
    RunBlock(Value(branch.condition) != 0 ? *branch.then_block : *branch.else_block);
  }

  const program::Program& program_;
  Bindings bindings_;
  std::vector<Array> arrays_;
  Memory& memory_;
};

}  // namespace

void RunProgram(const program::Program& program, const Bindings& bindings, Memory& memory) {
  ProgramMachine machine(program, bindings, memory);
  machine.Run();
}

}  // namespace pypto::compile::testing
