// The listing of a traced program.
#include <cinttypes>

#include "pypto/program/infer.h"

namespace pypto::program {
namespace {

using base::Format;

// Lists one program. Thread rule: one thread, one use.
class Lister {
 public:
  explicit Lister(const Program& program) : program_(program) {
    name_of_ = [this](const ExprNode& leaf) { return LeafName(leaf); };
  }

  std::string Run() {
    text_ = "program " + program_.name + "(";
    for (size_t i = 0; i < program_.parameters.size(); ++i) {
      if (i > 0) text_ += ", ";
      ListParameter(program_.parameters[i]);
    }
    text_ += ")\n";
    ListBlock(program_.body, 1);
    return std::move(text_);
  }

 private:
  std::string LeafName(const ExprNode& leaf) const {
    if (leaf.op == ExprOp::kSymbol && leaf.a < program_.symbols.size()) return program_.symbols[leaf.a].name;
    const bool scalar = leaf.op == ExprOp::kScalar || leaf.op == ExprOp::kFloatScalar;
    if (scalar && leaf.a < program_.scalars.size()) return program_.scalars[leaf.a].name;
    if (leaf.op == ExprOp::kSlot) return "s" + std::to_string(leaf.a);
    return "i" + std::to_string(leaf.a);
  }

  std::string Text(ExprId id) const { return program_.exprs.ToText(id, name_of_); }
  std::string Texts(const std::vector<ExprId>& ids) const {
    std::string text = "[";
    for (size_t i = 0; i < ids.size(); ++i) text += (i == 0 ? "" : ", ") + Text(ids[i]);
    return text + "]";
  }

  std::string Name(TensorId id) const {
    if (id >= program_.tensors.size()) return "none";
    const Tensor& tensor = program_.tensors[id];
    const bool named = tensor.origin == TensorOrigin::kParameter || tensor.origin == TensorOrigin::kDeclared;
    return "%" + std::to_string(id) + (named && !tensor.name.empty() ? ":" + tensor.name : "");
  }

  std::string Type(TensorId id) const {
    const Tensor& tensor = program_.tensors[id];
    std::string text = std::string(InfoOf(tensor.dtype).name) + Texts(tensor.shape);
    return tensor.valid == tensor.shape ? text : text + " valid " + Texts(tensor.valid);
  }

  void ListParameter(const Parameter& parameter) {
    if (parameter.is_tensor) {
      text_ += Name(parameter.tensor) + " " + Type(parameter.tensor);
      return;
    }
    text_ += parameter.name + (program_.scalars[parameter.scalar].kind == ScalarKind::kInt ? " int" : " float");
  }

  std::string OperandText(const Operand& operand) const {
    switch (operand.kind) {
      case Operand::Kind::kTensor: return Name(operand.tensor);
      case Operand::Kind::kFloat: return Format("%.17g", operand.float_value);
      case Operand::Kind::kInt: return Format("%" PRId64, operand.int_value);
      case Operand::Kind::kExpr: return Text(operand.expr);
      case Operand::Kind::kScalar: return program_.scalars[operand.scalar].name;
      case Operand::Kind::kFloatExpr: return Text(operand.expr);
    }
    return "none";
  }

  std::string Attributes(const OpStatement& op) const {
    const OpAttributes& a = op.attributes;
    switch (FindOperation(op.code)->family) {
      case OpFamily::kReduction: return Format(", dim=%d%s", a.axis, a.keepdim ? ", keepdim" : "");
      case OpFamily::kMatmul: return std::string(a.a_trans ? ", a_trans" : "") + (a.b_trans ? ", b_trans" : "");
      case OpFamily::kTranspose:
        return op.code == OpCode::kPermute ? ", " + ShapeText(a.dims) : Format(", %d, %d", a.dim0, a.dim1);
      case OpFamily::kExpand: return ", " + ShapeText(a.dims);
      case OpFamily::kWhole: return Format(", dim=%d", a.axis) + (a.dims.empty() ? "" : ", " + ShapeText(a.dims));
      case OpFamily::kCast:
        return (a.cast_mode != 0 ? Format(", mode=%d", a.cast_mode) : std::string()) + (a.saturate ? ", saturate" : "");
      default: return "";
    }
  }

  static std::string Tiles(const TileShapes& tiles) {
    std::string text = tiles.vector_tile.empty() ? "" : " vec_tile " + ShapeText(tiles.vector_tile);
    if (tiles.cube.m > 0 || tiles.cube.k > 0 || tiles.cube.n > 0) {
      const std::array<int64_t, 3> cube = {tiles.cube.m, tiles.cube.k, tiles.cube.n};
      text += " cube_tile " + ShapeText(cube);
    }
    return text;
  }

  void Line(int depth, const std::string& what, const SourcePlace& place) {
    text_ += std::string(static_cast<size_t>(depth) * 2, ' ') + what;
    if (place.line > 0) text_ += "  # line " + std::to_string(place.line);
    text_ += "\n";
  }

  void List(const OpStatement& op, int depth) {
    std::string inputs;
    for (const Operand& input : op.inputs) inputs += (inputs.empty() ? "" : ", ") + OperandText(input);
    Line(depth,
         Name(op.output) + " = " + std::string(FindOperation(op.code)->name) + "(" + inputs + Attributes(op) +
             ") : " + Type(op.output) + Tiles(op.tiles),
         op.place);
  }
  void List(const ViewStatement& view, int depth) {
    const bool slice = view.kind == ViewKind::kSlice;
    Line(depth,
         Name(view.output) + (slice ? " = view(" : " = reshape(") + Name(view.base) +
             (slice ? ", offsets=" + Texts(view.offsets) : "") + ") : " + Type(view.output),
         view.place);
  }
  void List(const DeclareStatement& declare, int depth) {
    Line(depth, "declare " + Name(declare.tensor) + " : " + Type(declare.tensor), declare.place);
  }
  void List(const MoveStatement& move, int depth) {
    Line(depth, Name(move.destination) + "[:] = " + Name(move.source) + Tiles(move.tiles), move.place);
  }
  void List(const AssembleStatement& assemble, int depth) {
    Line(depth,
         "assemble(" + Name(assemble.source) + ", " + Texts(assemble.offsets) + ", " + Name(assemble.destination) +
             ")" + Tiles(assemble.tiles),
         assemble.place);
  }
  void List(const ReadStatement& read, int depth) {
    Line(depth, Format("s%u = ", read.slot) + Name(read.tensor) + Texts(read.indices), read.place);
  }
  void List(const SetStatement& set, int depth) {
    for (const SlotValue& value : set.values) {
      Line(depth, Format("s%u := ", value.slot) + Text(value.value), set.place);
    }
  }
  void List(const CheckStatement& check, int depth) {
    Line(depth, "check " + Text(check.condition) + ": " + check.text, check.place);
  }
  void List(const LoopStatement& loop, int depth) {
    Line(depth,
         Format("loop i%u in (", loop.loop) + Text(loop.start) + ", " + Text(loop.stop) + ", " + Text(loop.step) + ")" +
             (loop.name.empty() ? "" : " name=" + loop.name) + (loop.parallel ? " parallel" : "") +
             (loop.submit_before ? " submit_before" : ""),
         loop.place);
    ListBlock(*loop.body, depth + 1);
  }
  void List(const IfStatement& branch, int depth) {
    Line(depth, "if " + Text(branch.condition), branch.place);
    ListBlock(*branch.then_block, depth + 1);
    if (branch.else_block->statements.empty()) return;
    Line(depth, "else", {});
    ListBlock(*branch.else_block, depth + 1);
  }

  void ListBlock(const Block& block, int depth) {
    for (const Statement& statement : block.statements) {
      std::visit([&](const auto& one) { List(one, depth); }, statement);
    }
  }

  const Program& program_;
  ExprPool::NameOf name_of_;
  std::string text_;
};

}  // namespace

std::string ToText(const Program& program) { return Lister(program).Run(); }

}  // namespace pypto::program
