// The verifier of traced programs: what the planner relies on and a front end could get wrong.
#include <algorithm>

#include "pypto/program/infer.h"

namespace pypto::program {
namespace {

using base::MakeStatus;
using base::Status;
using base::StatusCode;

// Nested loops and branches.
constexpr size_t kMaxDepth = 64;
constexpr uint32_t kSlotFlag = uint32_t{1} << 31;

// Walks one program in order. Thread rule: one thread, one use.
class Verifier {
 public:
  explicit Verifier(const Program& program)
      : program_(program), visible_(program.tensors.size(), false), set_(program.slots.size(), false) {}

  Status Run() {
    PYPTO_RETURN_IF_ERROR(CheckExpressions());
    PYPTO_RETURN_IF_ERROR(CheckSignature());
    for (const Tensor& tensor : program_.tensors) {
      place_ = tensor.place;
      PYPTO_RETURN_IF_ERROR(CheckTensor(tensor));
    }
    return CheckBlock(program_.body, 0);
  }

 private:
  Status Error(const std::string& what) const {
    Status status(StatusCode::kCompile, what);
    if (place_.file >= program_.files.size() || place_.line <= 0) return status;
    return std::move(status).WithSourceLine(program_.files[place_.file].name, place_.line);
  }

  Status CheckExpressions() {
    const std::span<const ExprNode> nodes = program_.exprs.nodes();
    loops_of_.resize(nodes.size());
    for (size_t id = 0; id < nodes.size(); ++id) {
      const ExprNode& node = nodes[id];
      const bool bad = (node.op == ExprOp::kSymbol && node.a >= program_.symbols.size()) ||
                       (node.op == ExprOp::kScalar &&
                        (node.a >= program_.scalars.size() || program_.scalars[node.a].kind != ScalarKind::kInt)) ||
                       (node.op == ExprOp::kFloatScalar &&
                        (node.a >= program_.scalars.size() || program_.scalars[node.a].kind != ScalarKind::kFloat)) ||
                       (node.op == ExprOp::kSlot && node.a >= program_.slots.size()) ||
                       (node.op == ExprOp::kLoopIndex && node.a >= program_.loop_count);
      if (bad) return Error(base::Format("expression %zu names operand %u, which does not exist", id, node.a));
      std::vector<uint32_t>& loops = loops_of_[id];
      if (node.op == ExprOp::kLoopIndex) loops.push_back(node.a);
      if (node.op == ExprOp::kSlot) loops.push_back(node.a | kSlotFlag);
      const int count = ChildCount(node.op);
      if (count <= 0) continue;
      // The ids of children are smaller by construction of the pool.
      const std::array<ExprId, 3> children = {node.a, count > 1 ? node.b : node.a, count > 2 ? node.c : node.a};
      for (const ExprId child : children) loops.insert(loops.end(), loops_of_[child].begin(), loops_of_[child].end());
      std::sort(loops.begin(), loops.end());
      loops.erase(std::unique(loops.begin(), loops.end()), loops.end());
    }
    return base::OkStatus();
  }

  Status CheckSignature() {
    for (size_t i = 0; i < program_.parameters.size(); ++i) {
      const Parameter& parameter = program_.parameters[i];
      if (!parameter.is_tensor) {
        if (parameter.scalar < program_.scalars.size()) continue;
        return Error("scalar parameter '" + parameter.name + "' names a scalar that does not exist");
      }
      if (parameter.tensor >= program_.tensors.size()) return Error("parameter '" + parameter.name + "' has no tensor");
      const Tensor& tensor = program_.tensors[parameter.tensor];
      const bool same = tensor.origin == TensorOrigin::kParameter && tensor.parameter == static_cast<int32_t>(i) &&
                        tensor.dtype == parameter.dtype && tensor.shape.size() == parameter.dims.size();
      if (!same) return Error("parameter '" + parameter.name + "' does not fit its tensor");
      for (const Dim& dim : parameter.dims) {
        if (dim.symbol >= static_cast<int64_t>(program_.symbols.size())) {
          return Error("parameter '" + parameter.name + "' names a symbol that does not exist");
        }
      }
      visible_[parameter.tensor] = true;
    }
    for (const Symbol& symbol : program_.symbols) {
      if (symbol.parameter < program_.parameters.size() &&
          symbol.axis < program_.parameters[symbol.parameter].dims.size()) {
        continue;
      }
      return Error("symbol '" + symbol.name + "' is read from a dim that does not exist");
    }
    return base::OkStatus();
  }

  Status CheckTensor(const Tensor& tensor) const {
    if (tensor.shape.empty() || tensor.shape.size() > kMaxTensorRank || tensor.valid.size() != tensor.shape.size()) {
      return Error(base::Format("tensor '%s' has rank %zu and %zu valid extents", tensor.name.c_str(),
                                tensor.shape.size(), tensor.valid.size()));
    }
    for (const std::vector<ExprId>& ids : {tensor.shape, tensor.valid}) {
      for (const ExprId id : ids) {
        if (id >= program_.exprs.size()) return Error("tensor '" + tensor.name + "' has a dim that does not exist");
      }
    }
    if (tensor.origin == TensorOrigin::kAlias && !IsVariable(tensor.base)) return Error("an alias of no variable");
    const bool fixed = tensor.origin == TensorOrigin::kTemporary || tensor.origin == TensorOrigin::kView;
    for (const ExprId dim : tensor.shape) {
      if (!loops_of_[dim].empty()) {
        const bool slot = (loops_of_[dim].back() & kSlotFlag) != 0;
        return Error("the shape of tensor '" + tensor.name + "' depends on " +
                     (slot ? "a value that is known only while the kernel runs" : "a loop index") +
                     "; sizes may depend on dims and scalar parameters only");
      }
      if (fixed && !program_.exprs.ConstantValue(dim)) return Error("a result has a dynamic dim");
    }
    return base::OkStatus();
  }

  // An expression that stands here: it exists, and its loop indices are those of open loops.
  Status CheckExpr(ExprId id) const {
    if (id >= program_.exprs.size()) return Error(base::Format("expression %u does not exist", id));
    for (const uint32_t loop : loops_of_[id]) {
      if ((loop & kSlotFlag) != 0) {
        if (!set_[loop & ~kSlotFlag]) return Error("a slot is used before it is set");
        continue;
      }
      if (std::find(loops_.begin(), loops_.end(), loop) == loops_.end()) {
        return Error(base::Format("the index of loop %u is used outside of it", loop));
      }
    }
    return base::OkStatus();
  }

  bool IsVariable(TensorId id) const {
    if (id >= program_.tensors.size()) return false;
    const TensorOrigin origin = program_.tensors[id].origin;
    return origin == TensorOrigin::kParameter || origin == TensorOrigin::kDeclared;
  }

  TensorId RootOf(TensorId id) const {
    return program_.tensors[id].origin == TensorOrigin::kAlias ? program_.tensors[id].base : id;
  }

  Status CheckRead(TensorId id) const {
    if (id >= program_.tensors.size()) return Error(base::Format("tensor %u does not exist", id));
    if (visible_[RootOf(id)]) return base::OkStatus();
    const Tensor& tensor = program_.tensors[id];
    return Error("tensor '" + (tensor.name.empty() ? "%" + std::to_string(id) : tensor.name) +
                 "' is used where it is not defined");
  }

  // A temporary or view that begins to exist here.
  Status Define(TensorId id, TensorOrigin origin) {
    if (id >= program_.tensors.size()) return Error(base::Format("tensor %u does not exist", id));
    if (program_.tensors[id].origin != origin) return Error(base::Format("tensor %u is not of that origin", id));
    if (visible_[id] && origin != TensorOrigin::kDeclared) return Error(base::Format("tensor %u is made twice", id));
    if (!visible_[id]) made_.push_back(id);
    visible_[id] = true;
    for (const ExprId valid : program_.tensors[id].valid) PYPTO_RETURN_IF_ERROR(CheckExpr(valid));
    return base::OkStatus();
  }

  // Adds the place to an error of inference.
  Status Placed(const Status& status) const { return Error(std::string(status.message())); }

  Status Check(const OpStatement& op) {
    for (const Operand& input : op.inputs) {
      if (input.kind == Operand::Kind::kTensor) PYPTO_RETURN_IF_ERROR(CheckRead(input.tensor));
      if (input.kind == Operand::Kind::kExpr || input.kind == Operand::Kind::kFloatExpr)
        PYPTO_RETURN_IF_ERROR(CheckExpr(input.expr));
    }
    PYPTO_RETURN_IF_ERROR(Define(op.output, TensorOrigin::kTemporary));
    const Tensor& output = program_.tensors[op.output];
    if (op.code == OpCode::kFill) {
      if (op.inputs.size() != 1) return Error("full() takes 1 operand");
      const Status status = CheckFill(program_, op.inputs[0], op.attributes.dtype);
      if (!status.ok()) return Placed(status);
      if (op.fill_shape == output.shape && op.attributes.dtype == output.dtype) return base::OkStatus();
      return Error("full(): the output has another shape or dtype");
    }
    OpAttributes attributes = op.attributes;
    const auto result = InferOp(program_, op.code, op.inputs, attributes);
    if (!result.ok()) return Placed(result.status());
    if (result->dtype != output.dtype || result->shape != *StaticShape(program_, output)) {
      return Error(base::Format("%s(): the output is %s of %s, the inputs give %s of %s",
                                std::string(FindOperation(op.code)->name).c_str(), ShapeText(program_, output).c_str(),
                                DTypeText(output.dtype).c_str(), ShapeText(result->shape).c_str(),
                                DTypeText(result->dtype).c_str()));
    }
    const bool wrapped = attributes.axis == op.attributes.axis && attributes.dim0 == op.attributes.dim0 &&
                         attributes.dim1 == op.attributes.dim1 && attributes.dims == op.attributes.dims;
    return wrapped ? base::OkStatus() : Error("a negative axis in the program");
  }

  Status Check(const ViewStatement& view) {
    PYPTO_RETURN_IF_ERROR(CheckRead(view.base));
    PYPTO_RETURN_IF_ERROR(Define(view.output, TensorOrigin::kView));
    const Tensor& from = program_.tensors[view.base];
    const Tensor& to = program_.tensors[view.output];
    if (from.dtype != to.dtype) return Error("view(): dtypes differ");
    if (view.kind == ViewKind::kSlice) {
      if (from.shape.size() != to.shape.size()) return Error("view(): rank mismatch");
      return CheckOffsets(view.offsets, from.shape.size());
    }
    const auto shape = StaticShape(program_, from);
    if (!shape) return Error("reshape(): Dynamic shape tensors are not allowed as operation operands");
    const auto resolved = ResolveReshape(*shape, *StaticShape(program_, to));
    return resolved.ok() ? base::OkStatus() : Placed(resolved.status());
  }

  Status Check(const DeclareStatement& declare) { return Define(declare.tensor, TensorOrigin::kDeclared); }

  Status CheckWrite(TensorId destination, TensorId source) const {
    PYPTO_RETURN_IF_ERROR(CheckRead(source));
    PYPTO_RETURN_IF_ERROR(CheckRead(destination));
    const Tensor& to = program_.tensors[destination];
    if (!IsVariable(RootOf(destination))) {
      return Error("only parameters and declared tensors can be written");
    }
    if (to.dtype != program_.tensors[source].dtype) return Error("a write changes the dtype");
    if (!StaticShape(program_, program_.tensors[source])) {
      return Error("Dynamic shape tensors are not allowed as operation operands");
    }
    return base::OkStatus();
  }

  Status Check(const MoveStatement& move) const {
    PYPTO_RETURN_IF_ERROR(CheckWrite(move.destination, move.source));
    if (program_.tensors[move.destination].shape == program_.tensors[move.source].shape) return base::OkStatus();
    return Error("move(): shapes differ");
  }

  Status Check(const AssembleStatement& assemble) const {
    PYPTO_RETURN_IF_ERROR(CheckWrite(assemble.destination, assemble.source));
    const size_t rank = program_.tensors[assemble.destination].shape.size();
    if (rank != program_.tensors[assemble.source].shape.size()) return Error("assemble(): rank mismatch");
    return CheckOffsets(assemble.offsets, rank);
  }

  Status CheckOffsets(const std::vector<ExprId>& offsets, size_t rank) const {
    if (offsets.size() != rank) return Error("rank mismatch between offsets and tensor");
    for (const ExprId offset : offsets) {
      PYPTO_RETURN_IF_ERROR(CheckExpr(offset));
      if (program_.exprs.Range(offset).second < 0 && dead_ == 0) return Error("an offset is negative");
    }
    return base::OkStatus();
  }

  Status Check(const ReadStatement& read) {
    PYPTO_RETURN_IF_ERROR(CheckRead(read.tensor));
    const Tensor& tensor = program_.tensors[read.tensor];
    if (read.slot >= program_.slots.size() || program_.slots[read.slot].kind != ScalarKind::kInt ||
        !IsInteger(tensor.dtype) || read.indices.size() != tensor.shape.size()) {
      return Error("a scalar read does not fit its tensor");
    }
    for (const ExprId index : read.indices) PYPTO_RETURN_IF_ERROR(CheckExpr(index));
    set_[read.slot] = true;
    return base::OkStatus();
  }

  Status Check(const SetStatement& set) {
    for (const SlotValue& value : set.values) {
      if (value.slot >= program_.slots.size()) return Error(base::Format("slot %u does not exist", value.slot));
      PYPTO_RETURN_IF_ERROR(CheckExpr(value.value));
    }
    for (const SlotValue& value : set.values) set_[value.slot] = true;
    return base::OkStatus();
  }

  Status Check(const CheckStatement& check) const { return CheckExpr(check.condition); }

  Status Check(const LoopStatement& loop) {
    for (const ExprId id : {loop.start, loop.stop, loop.step}) PYPTO_RETURN_IF_ERROR(CheckExpr(id));
    if (program_.exprs.IsConstant(loop.step, 0)) return Error("loop(): the step must not be zero");
    if (loop.loop >= program_.loop_count || loop.body == nullptr) return Error("a loop without body or number");
    if (std::find(loops_.begin(), loops_.end(), loop.loop) != loops_.end()) return Error("a loop inside itself");
    loops_.push_back(loop.loop);
    const size_t dead = NeverRuns(program_.exprs, loop.start, loop.stop, loop.step) ? 1 : 0;
    dead_ += dead;
    PYPTO_RETURN_IF_ERROR(CheckBlock(*loop.body, loops_.size() + branches_));
    dead_ -= dead;
    loops_.pop_back();
    return base::OkStatus();
  }

  Status Check(const IfStatement& branch) {
    PYPTO_RETURN_IF_ERROR(CheckExpr(branch.condition));
    if (branch.then_block == nullptr || branch.else_block == nullptr) return Error("a branch without block");
    ++branches_;
    PYPTO_RETURN_IF_ERROR(CheckBlock(*branch.then_block, loops_.size() + branches_));
    PYPTO_RETURN_IF_ERROR(CheckBlock(*branch.else_block, loops_.size() + branches_));
    --branches_;
    return base::OkStatus();
  }

  Status CheckBlock(const Block& block, size_t depth) {
    if (depth > kMaxDepth) return Error(base::Format("loops and branches are nested more than %zu deep", kMaxDepth));
    const size_t made_before = made_.size();
    for (const Statement& statement : block.statements) {
      PYPTO_RETURN_IF_ERROR(std::visit(
          [&](const auto& one) {
            place_ = one.place;
            return Check(one);
          },
          statement));
    }
    // What is made in a block is not seen outside of it.
    for (size_t i = made_before; i < made_.size(); ++i) visible_[made_[i]] = false;
    made_.resize(made_before);
    return base::OkStatus();
  }

  const Program& program_;
  SourcePlace place_;
  std::vector<bool> visible_;                    // per tensor
  std::vector<TensorId> made_;                   // visible tensors, in the order they were made
  std::vector<bool> set_;                        // per slot: a statement above sets it
  std::vector<std::vector<uint32_t>> loops_of_;  // per expression: loops whose indices it reads, and flagged slots
  std::vector<uint32_t> loops_;                  // open loops
  size_t branches_ = 0;                          // open branches
  size_t dead_ = 0;                              // open loops that never run
};

}  // namespace

Status Verify(const Program& program) { return Verifier(program).Run(); }

}  // namespace pypto::program
