// The traced kernel: parameters, tensors, views, operations, loops and branches, before any planning.
//
// Tensors are variables. An operation writes a fresh temporary whole; Move writes a declared tensor or a parameter
// whole; Assemble writes a region. A view is a value at its place in program order: later writes to its base do not
// show in it. Shapes of operands are static; what of them is valid is symbolic.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "pypto/program/dtype.h"
#include "pypto/program/expr.h"
#include "pypto/program/op_table.h"

namespace pypto::program {

using TensorId = uint32_t;
inline constexpr TensorId kNoTensor = UINT32_MAX;

// Place in the kernel's source; line counts from the `def` line, which is 1. 0 when unknown.
struct SourcePlace {
  uint32_t file = 0;  // index into Program::files
  int32_t line = 0;
  int32_t column = 0;

  bool operator==(const SourcePlace&) const = default;
};

// A traced function.
struct SourceFile {
  std::string name;  // base name of the file; of a helper also its own, behind a colon
  std::string text;  // from the `def` on, which is line 1; empty: unknown
  // Where this process has it; files of images do not hold it.
  std::string path;
  int32_t def_line = 0;  // in the file at `path`, from 1; 0: unknown

  bool operator==(const SourceFile&) const = default;
};

// kAlias: all cells of a parameter or declared tensor, in another shape; reads and writes are those of that tensor.
enum class TensorOrigin : uint8_t { kParameter, kDeclared, kTemporary, kView, kAlias };

struct Tensor {
  std::string name;
  DType dtype = DType::kFp32;
  TensorOrigin origin = TensorOrigin::kTemporary;
  std::vector<ExprId> shape;  // constants, except for parameters and declared tensors with dynamic dims
  std::vector<ExprId> valid;  // 0 <= valid[i] <= shape[i]
  int32_t parameter = -1;     // index into Program::parameters, for kParameter
  TensorId base = kNoTensor;  // of kAlias: a parameter or declared tensor
  SourcePlace place;
};

// An input of an operation: a tensor, or a number.
struct Operand {
  enum class Kind : uint8_t { kTensor, kFloat, kInt, kExpr, kScalar, kFloatExpr };
  Kind kind = Kind::kTensor;
  TensorId tensor = kNoTensor;
  double float_value = 0;
  int64_t int_value = 0;
  ExprId expr = kNoExpr;  // a symbolic integer, or a floating expression
  uint32_t scalar = 0;    // index into Program::scalars, a floating one
};

// Named arguments of an operation; which of them count depends on its family.
struct OpAttributes {
  DType dtype = DType::kFp32;  // Cast, Matmul, Fill, Arange, Bytes
  int32_t axis = 0;            // Reduction and Whole: 0 <= axis < rank
  bool keepdim = false;        // Reduction
  bool a_trans = false;        // Matmul
  bool b_trans = false;        // Matmul
  int32_t dim0 = 0;            // Transpose
  int32_t dim1 = 0;            // Transpose
  uint8_t cast_mode = 0;       // Cast: 0 NONE, 1 RINT, 2 ROUND, 3 FLOOR, 4 CEIL, 5 TRUNC, 6 ODD
  bool saturate = false;       // Cast
  std::vector<int64_t> dims;   // Permute: where each dim comes from; Expand, Arange, Bytes: the shape of the result
};

// Tile shapes in force where an operation was called.
struct TileShapes {
  std::vector<int64_t> vector_tile;  // upper bounds per dim; empty: chosen by the compiler
  struct Cube {
    int64_t m = 0, k = 0, n = 0;  // 0: chosen by the compiler
  } cube;
};

struct OpStatement {
  OpCode code;
  std::vector<Operand> inputs;
  TensorId output = kNoTensor;
  OpAttributes attributes;
  std::vector<ExprId> fill_shape;  // unused unless Fill; equals the output's shape
  TileShapes tiles;
  SourcePlace place;
};

enum class ViewKind : uint8_t { kSlice, kReshape };

// output = window of base at offsets (kSlice, same rank), or base in another shape of as many elements (kReshape).
struct ViewStatement {
  ViewKind kind = ViewKind::kSlice;
  TensorId output = kNoTensor;
  TensorId base = kNoTensor;
  std::vector<ExprId> offsets;  // kSlice; a negative value is a kernel fault
  SourcePlace place;
};

// A declared tensor begins a new life here, with undefined contents.
struct DeclareStatement {
  TensorId tensor = kNoTensor;
  SourcePlace place;
};

// destination := source, whole; shapes and dtypes equal.
struct MoveStatement {
  TensorId destination = kNoTensor;
  TensorId source = kNoTensor;
  TileShapes tiles;
  SourcePlace place;
};

// Writes the valid part of source into destination at offsets; ranks and dtypes equal; clipped at the end.
struct AssembleStatement {
  TensorId destination = kNoTensor;
  TensorId source = kNoTensor;
  std::vector<ExprId> offsets;
  TileShapes tiles;
  SourcePlace place;
};

// slot := the cell of an integer tensor, at this place in program order. Outside of the valid cells: a kernel fault.
struct ReadStatement {
  uint32_t slot = 0;
  TensorId tensor = kNoTensor;
  std::vector<ExprId> indices;  // one per dim
  SourcePlace place;
};

struct SlotValue {
  uint32_t slot = 0;
  ExprId value = kNoExpr;
};

// Slots take new values, all at once: the expressions see the old ones.
struct SetStatement {
  std::vector<SlotValue> values;
  SourcePlace place;
};

// A kernel fault with this text where the condition is 0.
struct CheckStatement {
  ExprId condition = kNoExpr;
  std::string text;
  SourcePlace place;
};

struct Block;

struct LoopStatement {
  uint32_t loop = 0;  // id; ExprOp::kLoopIndex names it
  std::string name;
  ExprId start = kNoExpr;
  ExprId stop = kNoExpr;
  ExprId step = kNoExpr;  // never 0; negative counts down
  bool parallel = false;
  bool submit_before = false;
  std::unique_ptr<Block> body;
  SourcePlace place;
};

struct IfStatement {
  ExprId condition = kNoExpr;
  std::unique_ptr<Block> then_block;
  std::unique_ptr<Block> else_block;  // never null, may be empty
  SourcePlace place;
};

using Statement = std::variant<OpStatement, ViewStatement, DeclareStatement, MoveStatement, AssembleStatement,
                               ReadStatement, SetStatement, CheckStatement, LoopStatement, IfStatement>;

struct Block {
  std::vector<Statement> statements;
};

enum class ScalarKind : uint8_t { kInt, kFloat };

struct Scalar {
  std::string name;
  ScalarKind kind = ScalarKind::kInt;
};

// A number that statements put in place while the kernel runs, 0 before; kFloat holds the bits of a double. One that
// is set again is one that a loop carries: nothing made before a change is used after it.
struct Slot {
  std::string name;
  ScalarKind kind = ScalarKind::kInt;
};

// A dim of a tensor parameter: static, or the value of a symbol.
struct Dim {
  int64_t value = 0;    // static value, when symbol < 0
  int32_t symbol = -1;  // index into symbols
};

struct Parameter {
  std::string name;
  bool is_tensor = true;
  TensorId tensor = kNoTensor;  // of a tensor parameter
  uint32_t scalar = 0;          // of a scalar parameter
  DType dtype = DType::kFp32;
  std::vector<Dim> dims;
};

// A dynamic dim: one value per launch, read from the shape of an argument. The same symbol may stand in several places.
struct Symbol {
  std::string name;
  uint32_t parameter = 0;  // where it is first seen
  uint32_t axis = 0;
};

struct Program {
  std::string name;
  std::vector<Parameter> parameters;
  std::vector<Symbol> symbols;
  std::vector<Scalar> scalars;
  std::vector<Slot> slots;
  std::vector<Tensor> tensors;
  uint32_t loop_count = 0;
  ExprPool exprs;
  Block body;
  std::vector<SourceFile> files;  // the kernel's first
};

// kCompile with the source place: ids out of range, shapes or dtypes that do not fit, operands with dynamic dims, a
// tensor read before it is defined, loop steps of 0.
PYPTO_API base::Status Verify(const Program& program);

// Readable listing, stable for equal programs.
PYPTO_API std::string ToText(const Program& program);

}  // namespace pypto::program
