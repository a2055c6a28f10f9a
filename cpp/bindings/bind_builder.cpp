// The builder of traced programs. Python holds tensors and expressions by their ids.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bind_errors.h"
#include "bindings.h"
#include "image_object.h"
#include "pypto/program/builder.h"

namespace nb = nanobind;

namespace pypto::bindings {
namespace {

// The builder as Python holds it: never copied.
struct Builder : program::Builder {
  using program::Builder::Builder;
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;
};
using program::ExprId;
using program::TensorId;
using Exprs = std::vector<ExprId>;
using Sizes = std::vector<int64_t>;

program::DType ToDType(int number) {
  if (number < 0 || number >= program::kDTypeCount) throw nb::value_error("unknown dtype number");
  return static_cast<program::DType>(number);
}

// ("tensor", id), ("float", value), ("int", value), ("expr", id), ("float_expr", id) or ("scalar", index).
program::Operand ToOperand(const std::pair<std::string, nb::object>& item) {
  program::Operand operand;
  const std::string& kind = item.first;
  if (kind == "tensor") {
    operand.kind = program::Operand::Kind::kTensor;
    operand.tensor = nb::cast<TensorId>(item.second);
  } else if (kind == "float") {
    operand.kind = program::Operand::Kind::kFloat;
    operand.float_value = nb::cast<double>(item.second);
  } else if (kind == "int") {
    operand.kind = program::Operand::Kind::kInt;
    operand.int_value = nb::cast<int64_t>(item.second);
  } else if (kind == "expr") {
    operand.kind = program::Operand::Kind::kExpr;
    operand.expr = nb::cast<ExprId>(item.second);
  } else if (kind == "float_expr") {
    operand.kind = program::Operand::Kind::kFloatExpr;
    operand.expr = nb::cast<ExprId>(item.second);
  } else if (kind == "scalar") {
    operand.kind = program::Operand::Kind::kScalar;
    operand.scalar = nb::cast<uint32_t>(item.second);
  } else {
    throw nb::value_error("unknown kind of operand");
  }
  return operand;
}

// Names of OpAttributes; what is left out keeps its default.
program::OpAttributes ToAttributes(const nb::dict& given) {
  program::OpAttributes attributes;
  for (auto [key, value] : given) {
    const std::string name = nb::cast<std::string>(key);
    if (name == "dtype") {
      attributes.dtype = ToDType(nb::cast<int>(value));
    } else if (name == "axis") {
      attributes.axis = nb::cast<int32_t>(value);
    } else if (name == "keepdim") {
      attributes.keepdim = nb::cast<bool>(value);
    } else if (name == "a_trans") {
      attributes.a_trans = nb::cast<bool>(value);
    } else if (name == "b_trans") {
      attributes.b_trans = nb::cast<bool>(value);
    } else if (name == "dim0") {
      attributes.dim0 = nb::cast<int32_t>(value);
    } else if (name == "dim1") {
      attributes.dim1 = nb::cast<int32_t>(value);
    } else if (name == "cast_mode") {
      attributes.cast_mode = nb::cast<uint8_t>(value);
    } else if (name == "saturate") {
      attributes.saturate = nb::cast<bool>(value);
    } else if (name == "dims") {
      attributes.dims = nb::cast<Sizes>(value);
    } else {
      throw nb::value_error(("unknown attribute " + name).c_str());
    }
  }
  return attributes;
}

const program::OpInfo& ToOperation(const std::string& name) {
  const program::OpInfo* info = program::FindOperation(name);
  if (info == nullptr) throw nb::value_error(("unknown operation " + name).c_str());
  return *info;
}

void CheckTensor(const Builder& builder, TensorId id) {
  if (id >= builder.program().tensors.size()) throw nb::index_error("no such tensor");
}

ExprId CheckExpr(Builder& builder, ExprId id) {
  if (id >= builder.exprs().size()) throw nb::index_error("no such expression");
  return id;
}

std::string ExprText(Builder& builder, ExprId id) {
  const program::Program& traced = builder.program();
  return builder.exprs().ToText(CheckExpr(builder, id), [&traced](const program::ExprNode& leaf) {
    if (leaf.op == program::ExprOp::kSymbol && leaf.a < traced.symbols.size()) {
      const program::Symbol& symbol = traced.symbols[leaf.a];
      return "RUNTIME_GetInputShapeDim(ARG_" + traced.parameters[symbol.parameter].name + "," +
             std::to_string(symbol.axis) + ")";
    }
    const bool scalar = leaf.op == program::ExprOp::kScalar || leaf.op == program::ExprOp::kFloatScalar;
    if (scalar && leaf.a < traced.scalars.size()) return traced.scalars[leaf.a].name;
    if (leaf.op == program::ExprOp::kSlot) return "slot" + std::to_string(leaf.a);
    return "loop" + std::to_string(leaf.a);
  });
}

std::vector<uint32_t> ExprLoops(Builder& builder, ExprId id) {
  std::vector<uint32_t> loops;
  const ExprId root[] = {CheckExpr(builder, id)};
  for (const ExprId each : program::CloseUnderChildren(builder.exprs().nodes(), root)) {
    const program::ExprNode& node = builder.exprs().node(each);
    if (node.op == program::ExprOp::kLoopIndex) loops.push_back(node.a);
  }
  return loops;
}

std::vector<uint32_t> ExprSlots(Builder& builder, ExprId id) {
  std::vector<uint32_t> slots;
  const ExprId root[] = {CheckExpr(builder, id)};
  for (const ExprId each : program::CloseUnderChildren(builder.exprs().nodes(), root)) {
    const program::ExprNode& node = builder.exprs().node(each);
    if (node.op == program::ExprOp::kSlot) slots.push_back(node.a);
  }
  return slots;
}

void bind_parameters(nb::class_<Builder>& builder) {
  builder
      .def(
          "add_tensor_parameter",
          [](Builder& self, const std::string& name, int dtype, const std::vector<std::optional<int64_t>>& dims,
             const std::vector<std::string>& symbols) {
            return Unwrap(self.AddTensorParameter(name, ToDType(dtype), dims, symbols));
          },
          nb::arg("name"), nb::arg("dtype"), nb::arg("dims"), nb::arg("symbols"),
          "Adds a tensor parameter; a dim of None is dynamic. Returns the id of its tensor.")
      .def(
          "add_int_parameter",
          [](Builder& self, const std::string& name) {
            return Unwrap(self.AddScalarParameter(name, program::ScalarKind::kInt)).expr;
          },
          nb::arg("name"), "Adds an integer parameter of each launch. Returns the id of its expression.")
      .def(
          "add_float_parameter",
          [](Builder& self, const std::string& name) {
            return Unwrap(self.AddScalarParameter(name, program::ScalarKind::kFloat)).scalar;
          },
          nb::arg("name"), "Adds a floating parameter of each launch. Returns its index among the scalars.")
      .def(
          "add_file",
          [](Builder& self, std::string name, std::string text, std::string path, int32_t def_line) {
            return self.AddFile({std::move(name), std::move(text), std::move(path), def_line});
          },
          nb::arg("name"), nb::arg("text"), nb::arg("path"), nb::arg("def_line"),
          "Index of a traced function for set_place; the kernel's comes first. `text` is its source from the "
          "`def` on, `def_line` the line of that in the file at `path`.")
      .def(
          "set_place",
          [](Builder& self, uint32_t file, int32_t line, int32_t column) {
            self.SetPlace(program::SourcePlace{file, line, column});
          },
          nb::arg("file"), nb::arg("line"), nb::arg("column"), "Place of the statements that follow.")
      .def(
          "set_tiles",
          [](Builder& self, Sizes vector_tile, int64_t m, int64_t k, int64_t n) {
            program::TileShapes tiles;
            tiles.vector_tile = std::move(vector_tile);
            tiles.cube = {m, k, n};
            self.SetTiles(std::move(tiles));
          },
          nb::arg("vector_tile"), nb::arg("m"), nb::arg("k"), nb::arg("n"),
          "Tile shapes of the operations that follow.");
}

void bind_statements(nb::class_<Builder>& builder) {
  builder
      .def(
          "declare",
          [](Builder& self, const std::string& name, int dtype, const Exprs& shape) {
            return Unwrap(self.Declare(name, ToDType(dtype), shape));
          },
          nb::arg("name"), nb::arg("dtype"), nb::arg("shape"), "Declares a tensor with undefined contents.")
      .def(
          "op",
          [](Builder& self, const std::string& name, const std::vector<std::pair<std::string, nb::object>>& inputs,
             const nb::dict& attributes) {
            std::vector<program::Operand> operands;
            for (const auto& input : inputs) operands.push_back(ToOperand(input));
            return Unwrap(self.Op(ToOperation(name).code, std::move(operands), ToAttributes(attributes)));
          },
          nb::arg("name"), nb::arg("inputs"), nb::arg("attributes"), "Adds an operation; returns its output.")
      .def(
          "fill",
          [](Builder& self, const std::pair<std::string, nb::object>& value, int dtype, const Sizes& shape,
             const Exprs& valid) { return Unwrap(self.Fill(ToOperand(value), ToDType(dtype), shape, valid)); },
          nb::arg("value"), nb::arg("dtype"), nb::arg("shape"), nb::arg("valid"))
      .def(
          "slice",
          [](Builder& self, TensorId base, const Sizes& shape, const Exprs& offsets, const Exprs& valid) {
            CheckTensor(self, base);
            return Unwrap(self.Slice(base, shape, offsets, valid));
          },
          nb::arg("base"), nb::arg("shape"), nb::arg("offsets"), nb::arg("valid"))
      .def(
          "reshape",
          [](Builder& self, TensorId base, const Sizes& shape, const Exprs& valid) {
            CheckTensor(self, base);
            return Unwrap(self.Reshape(base, shape, valid));
          },
          nb::arg("base"), nb::arg("shape"), nb::arg("valid"))
      .def(
          "alias",
          [](Builder& self, TensorId base, const std::vector<std::optional<ExprId>>& shape) {
            CheckTensor(self, base);
            Exprs dims;
            for (const auto& dim : shape) dims.push_back(dim.value_or(program::kNoExpr));
            return Unwrap(self.Alias(base, std::move(dims)));
          },
          nb::arg("base"), nb::arg("shape"), "The same cells in another shape; one entry may be None.")
      .def(
          "move",
          [](Builder& self, TensorId destination, TensorId source) {
            CheckTensor(self, destination);
            CheckTensor(self, source);
            ThrowIfError(self.Move(destination, source));
          },
          nb::arg("destination"), nb::arg("source"))
      .def(
          "assemble",
          [](Builder& self, TensorId destination, TensorId source, const Exprs& offsets) {
            CheckTensor(self, destination);
            CheckTensor(self, source);
            ThrowIfError(self.Assemble(destination, source, offsets));
          },
          nb::arg("destination"), nb::arg("source"), nb::arg("offsets"))
      .def(
          "read_cell",
          [](Builder& self, TensorId tensor, const Exprs& indices) {
            CheckTensor(self, tensor);
            return Unwrap(self.ReadCell(tensor, indices));
          },
          nb::arg("tensor"), nb::arg("indices"), "Reads a cell of an integer tensor; returns its expression.")
      .def(
          "add_slot",
          [](Builder& self, const std::string& name, bool is_float, std::optional<int64_t> limit) {
            const uint32_t slot =
                self.AddSlot(name, is_float ? program::ScalarKind::kFloat : program::ScalarKind::kInt);
            if (limit) self.exprs().SetSlotBounds(slot, 0, *limit);
            return slot;
          },
          nb::arg("name"), nb::arg("is_float"), nb::arg("limit").none() = nb::none(),
          "Adds a number that statements set while the kernel runs; with a limit it is 0 to that.")
      .def(
          "set_slots",
          [](Builder& self, const std::vector<std::pair<uint32_t, ExprId>>& values) {
            std::vector<program::SlotValue> sets;
            for (const auto& [slot, value] : values) sets.push_back({slot, value});
            ThrowIfError(self.SetSlots(std::move(sets)));
          },
          nb::arg("values"), "Sets slots, all at once.")
      .def(
          "check",
          [](Builder& self, ExprId condition, std::string text) {
            ThrowIfError(self.Check(condition, std::move(text)));
          },
          nb::arg("condition"), nb::arg("text"), "A kernel fault with this text where the condition is 0.")
      .def(
          "begin_loop",
          [](Builder& self, const std::string& name, ExprId start, ExprId stop, ExprId step, bool parallel,
             bool submit_before) { return Unwrap(self.BeginLoop(name, start, stop, step, parallel, submit_before)); },
          nb::arg("name"), nb::arg("start"), nb::arg("stop"), nb::arg("step"), nb::arg("parallel"),
          nb::arg("submit_before"), "Opens a loop; returns the expression of its index.")
      .def("end_loop", [](Builder& self) { ThrowIfError(self.EndLoop()); })
      .def(
          "begin_if", [](Builder& self, ExprId condition) { ThrowIfError(self.BeginIf(condition)); },
          nb::arg("condition"))
      .def("begin_else", [](Builder& self) { ThrowIfError(self.BeginElse()); })
      .def("end_if", [](Builder& self) { ThrowIfError(self.EndIf()); })
      .def(
          "finish", [](Builder& self) { return TracedProgram(Unwrap(self.Finish())); },
          "Verifies and hands the program over; the builder is empty afterwards.");
}

void bind_expressions(nb::class_<Builder>& builder) {
  builder.def(
             "const", [](Builder& self, int64_t value) { return self.exprs().Const(value); }, nb::arg("value"))
      .def(
          "add",
          [](Builder& self, ExprId a, ExprId b) { return self.exprs().Add(CheckExpr(self, a), CheckExpr(self, b)); },
          nb::arg("a"), nb::arg("b"))
      .def(
          "sub",
          [](Builder& self, ExprId a, ExprId b) { return self.exprs().Sub(CheckExpr(self, a), CheckExpr(self, b)); },
          nb::arg("a"), nb::arg("b"))
      .def(
          "mul",
          [](Builder& self, ExprId a, ExprId b) { return self.exprs().Mul(CheckExpr(self, a), CheckExpr(self, b)); },
          nb::arg("a"), nb::arg("b"))
      .def(
          "slot", [](Builder& self, uint32_t slot) { return self.exprs().Slot(slot); }, nb::arg("slot"))
      .def(
          "float_const", [](Builder& self, double value) { return self.exprs().Float(value); }, nb::arg("value"))
      .def(
          "float_scalar", [](Builder& self, uint32_t index) { return self.exprs().FloatScalar(index); },
          nb::arg("index"), "The floating parameter of that index as an expression.")
      .def(
          "make_expr",
          [](Builder& self, int op, ExprId a, std::optional<ExprId> b, std::optional<ExprId> c) {
            if (op < static_cast<int>(program::ExprOp::kDiv) || op > static_cast<int>(program::kLastExprOp)) {
              throw nb::value_error("unknown expression operator");
            }
            return Unwrap(self.exprs().Make(static_cast<program::ExprOp>(op), CheckExpr(self, a),
                                            b ? CheckExpr(self, *b) : program::kNoExpr,
                                            c ? CheckExpr(self, *c) : program::kNoExpr));
          },
          nb::arg("op"), nb::arg("a"), nb::arg("b").none() = nb::none(), nb::arg("c").none() = nb::none(),
          "An expression of one of EXPRESSION_OPERATORS.")
      .def(
          "expr_value", [](Builder& self, ExprId id) { return self.exprs().ConstantValue(CheckExpr(self, id)); },
          nb::arg("expr"), "The value of a constant expression, else None.")
      .def(
          "expr_range", [](Builder& self, ExprId id) { return self.exprs().Range(CheckExpr(self, id)); },
          nb::arg("expr"), "Least and greatest value the expression can be proven to have.")
      .def("expr_slots", &ExprSlots, nb::arg("expr"), "Slots that the expression holds.")
      .def("expr_loops", &ExprLoops, nb::arg("expr"), "Loops whose indices the expression holds.")
      .def(
          "expr_is_leaf",
          [](Builder& self, ExprId id) {
            const program::ExprOp op = self.exprs().node(CheckExpr(self, id)).op;
            return op == program::ExprOp::kSymbol || op == program::ExprOp::kScalar ||
                   op == program::ExprOp::kLoopIndex || op == program::ExprOp::kSlot;
          },
          nb::arg("expr"), "Whether it is a dim, a parameter or a loop index.")
      .def("expr_text", &ExprText, nb::arg("expr"));
}

void bind_queries(nb::class_<Builder>& builder) {
  builder
      .def(
          "tensor_dtype",
          [](Builder& self, TensorId id) {
            CheckTensor(self, id);
            return static_cast<int>(self.tensor(id).dtype);
          },
          nb::arg("tensor"))
      .def(
          "tensor_shape",
          [](Builder& self, TensorId id) {
            CheckTensor(self, id);
            return self.tensor(id).shape;
          },
          nb::arg("tensor"), "Expressions of the extents.")
      .def(
          "tensor_valid",
          [](Builder& self, TensorId id) {
            CheckTensor(self, id);
            return self.tensor(id).valid;
          },
          nb::arg("tensor"), "Expressions of the valid extents.")
      .def("to_text", [](const Builder& self) { return program::ToText(self.program()); });
}

}  // namespace

void bind_builder(nb::module_& module) {
  nb::class_<Builder> builder(module, "Builder", "Builds a program statement by statement. One thread at a time.");
  builder.def(nb::init<std::string>(), nb::arg("name"));
  bind_parameters(builder);
  bind_statements(builder);
  bind_expressions(builder);
  bind_queries(builder);
}

}  // namespace pypto::bindings
