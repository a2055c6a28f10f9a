// Tables of the program library (dtypes, operations, expression operators) and the traced program.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <utility>

#include "bindings.h"
#include "image_object.h"
#include "pypto/program/dtype.h"
#include "pypto/program/op_table.h"
#include "pypto/program/program.h"

namespace nb = nanobind;

namespace pypto::bindings {
namespace {

const char* FamilyName(program::OpFamily family) {
  switch (family) {
    case program::OpFamily::kUnary: return "unary";
    case program::OpFamily::kBinary: return "binary";
    case program::OpFamily::kSelect: return "select";
    case program::OpFamily::kReduction: return "reduction";
    case program::OpFamily::kMatmul: return "matmul";
    case program::OpFamily::kCast: return "cast";
    case program::OpFamily::kFill: return "fill";
    case program::OpFamily::kCopy: return "copy";
    case program::OpFamily::kTranspose: return "transpose";
    case program::OpFamily::kExpand: return "expand";
    case program::OpFamily::kWhole: return "whole";
  }
  return "unknown";
}

const char* KindName(program::DTypeKind kind) {
  switch (kind) {
    case program::DTypeKind::kFloat: return "float";
    case program::DTypeKind::kSigned: return "signed";
    case program::DTypeKind::kUnsigned: return "unsigned";
    case program::DTypeKind::kBool: return "bool";
  }
  return "unknown";
}

// (number, name, torch name, bytes, kind) per dtype.
nb::list DTypeRows() {
  nb::list rows;
  for (int number = 0; number < program::kDTypeCount; ++number) {
    const program::DTypeInfo& info = program::InfoOf(static_cast<program::DType>(number));
    rows.append(
        nb::make_tuple(number, std::string(info.name), std::string(info.torch_name), info.bytes, KindName(info.kind)));
  }
  return rows;
}

nb::tuple DTypeNumbers(program::DTypeMask mask) {
  nb::list numbers;
  for (int number = 0; number < program::kDTypeCount; ++number) {
    if ((mask & program::MaskOf(static_cast<program::DType>(number))) != 0) numbers.append(number);
  }
  return nb::tuple(numbers);
}

nb::tuple RankPair(program::RankRange ranks) { return nb::make_tuple(ranks.low, ranks.high); }

// (code, name, family, least inputs, most inputs, documentation, dtypes on a2a3, dtypes on a5, (least dims, most dims),
// parameters) per operation.
nb::list OperationRows() {
  nb::list rows;
  for (const program::OpInfo& info : program::AllOperations()) {
    rows.append(nb::make_tuple(static_cast<int>(info.code), std::string(info.name), FamilyName(info.family),
                               static_cast<int>(info.min_inputs), static_cast<int>(info.max_inputs),
                               std::string(info.doc), DTypeNumbers(info.a2a3), DTypeNumbers(info.a5),
                               RankPair(info.ranks), std::string(info.parameters)));
  }
  return rows;
}

// (name, dtypes of the first operand, (least dims, most dims), parameters) per operation that the front end makes of
// others.
nb::list ComposedRows() {
  nb::list rows;
  for (const program::ComposedInfo& info : program::ComposedOperations()) {
    rows.append(nb::make_tuple(std::string(info.name), DTypeNumbers(info.dtypes), RankPair(info.ranks),
                               std::string(info.parameters)));
  }
  return rows;
}

nb::dict ExpressionOperators() {
  nb::dict codes;
  const std::pair<const char*, program::ExprOp> named[] = {
      {"div", program::ExprOp::kDiv},
      {"mod", program::ExprOp::kMod},
      {"min", program::ExprOp::kMin},
      {"max", program::ExprOp::kMax},
      {"eq", program::ExprOp::kEq},
      {"ne", program::ExprOp::kNe},
      {"lt", program::ExprOp::kLt},
      {"le", program::ExprOp::kLe},
      {"and", program::ExprOp::kAnd},
      {"or", program::ExprOp::kOr},
      {"not", program::ExprOp::kNot},
      {"select", program::ExprOp::kSelect},
      {"to_float", program::ExprOp::kToFloat},
      {"float_add", program::ExprOp::kFloatAdd},
      {"float_sub", program::ExprOp::kFloatSub},
      {"float_mul", program::ExprOp::kFloatMul},
      {"float_div", program::ExprOp::kFloatDiv},
      {"float_min", program::ExprOp::kFloatMin},
      {"float_max", program::ExprOp::kFloatMax},
  };
  for (const auto& [name, op] : named) codes[name] = static_cast<int>(op);
  return codes;
}

}  // namespace

void bind_program(nb::module_& module) {
  module.attr("DTYPES") = DTypeRows();
  module.attr("OPERATIONS") = OperationRows();
  module.attr("COMPOSED") = ComposedRows();
  module.attr("EXPRESSION_OPERATORS") = ExpressionOperators();

  nb::class_<TracedProgram>(module, "Program", "A traced kernel, before planning. Immutable.")
      .def_prop_ro("name", [](const TracedProgram& self) { return self.program().name; })
      .def_prop_ro("files", [](const TracedProgram& self) { return NamesOf(self.program().files); })
      .def(
          "to_text", [](const TracedProgram& self) { return program::ToText(self.program()); },
          "Readable listing, stable for equal programs.");
}

}  // namespace pypto::bindings
