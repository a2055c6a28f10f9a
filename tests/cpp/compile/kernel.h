// A short way to write kernels in tests, and to look at their plans.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pypto/compile/compile.h"
#include "pypto/program/builder.h"

namespace pypto::compile::testing {

using program::DType;
using program::ExprId;
using program::OpCode;
using program::Operand;
using program::TensorClass;
using program::TensorId;

inline constexpr std::nullopt_t kDynamic = std::nullopt;

// Wraps a builder; every statement gets the next line, the first one line 2. Errors of the builder fail the test.
class Kernel {
 public:
  using Dims = std::vector<std::optional<int64_t>>;

  explicit Kernel(const std::string& name = "kernel") : builder(name) {
    file_ = builder.AddFile({"kernel.py", "", "", 0});
    NextLine();
  }

  TensorId Param(const std::string& name, const Dims& dims, DType dtype = DType::kFp32,
                 const std::vector<std::string>& symbols = {}) {
    return Take(builder.AddTensorParameter(name, dtype, dims, symbols));
  }

  ExprId Int(const std::string& name) { return Take(builder.AddScalarParameter(name, program::ScalarKind::kInt)).expr; }

  TensorId Declare(const std::string& name, const std::vector<int64_t>& shape, DType dtype = DType::kFp32) {
    return DeclareDims(name, Consts(shape), dtype);
  }

  TensorId DeclareDims(const std::string& name, const std::vector<ExprId>& shape, DType dtype = DType::kFp32) {
    NextLine();
    return Take(builder.Declare(name, dtype, shape));
  }

  static Operand T(TensorId tensor) {
    Operand operand;
    operand.tensor = tensor;
    return operand;
  }

  static Operand F(double value) {
    Operand operand;
    operand.kind = Operand::Kind::kFloat;
    operand.float_value = value;
    return operand;
  }

  TensorId Op(OpCode code, std::vector<Operand> inputs, program::OpAttributes attributes = {}) {
    NextLine();
    return Take(builder.Op(code, std::move(inputs), attributes));
  }

  TensorId Add(TensorId a, TensorId b) { return Op(OpCode::kAdd, {T(a), T(b)}); }
  TensorId Add(TensorId a, double b) { return Op(OpCode::kAdd, {T(a), F(b)}); }
  TensorId Sub(TensorId a, TensorId b) { return Op(OpCode::kSub, {T(a), T(b)}); }
  TensorId Mul(TensorId a, TensorId b) { return Op(OpCode::kMul, {T(a), T(b)}); }
  TensorId Mul(TensorId a, double b) { return Op(OpCode::kMul, {T(a), F(b)}); }
  TensorId Exp(TensorId a) { return Op(OpCode::kExp, {T(a)}); }
  TensorId Neg(TensorId a) { return Op(OpCode::kNeg, {T(a)}); }

  TensorId Reduce(OpCode code, TensorId a, int32_t axis, bool keepdim) {
    program::OpAttributes attributes;
    attributes.axis = axis;
    attributes.keepdim = keepdim;
    return Op(code, {T(a)}, attributes);
  }

  TensorId Sum(TensorId a, int32_t axis, bool keepdim = true) { return Reduce(OpCode::kSum, a, axis, keepdim); }
  TensorId Amax(TensorId a, int32_t axis, bool keepdim = true) { return Reduce(OpCode::kAmax, a, axis, keepdim); }

  TensorId Matmul(TensorId a, TensorId b, bool a_trans = false, bool b_trans = false, DType dtype = DType::kFp32) {
    program::OpAttributes attributes;
    attributes.dtype = dtype;
    attributes.a_trans = a_trans;
    attributes.b_trans = b_trans;
    return Op(OpCode::kMatmul, {T(a), T(b)}, attributes);
  }

  TensorId Transpose(TensorId a, int32_t dim0, int32_t dim1) {
    program::OpAttributes attributes;
    attributes.dim0 = dim0;
    attributes.dim1 = dim1;
    return Op(OpCode::kTranspose, {T(a)}, attributes);
  }

  TensorId Full(double value, const std::vector<int64_t>& shape) {
    NextLine();
    return Take(builder.Fill(F(value), DType::kFp32, shape, {}));
  }

  TensorId FillInt(ExprId value, const std::vector<int64_t>& shape) {
    NextLine();
    Operand operand;
    operand.kind = Operand::Kind::kExpr;
    operand.expr = value;
    return Take(builder.Fill(operand, DType::kInt32, shape, {}));
  }

  ExprId Read(TensorId tensor, const std::vector<ExprId>& indices) {
    NextLine();
    return Take(builder.ReadCell(tensor, indices));
  }

  void Set(uint32_t slot, ExprId value) {
    NextLine();
    const base::Status status = builder.SetSlots({{slot, value}});
    EXPECT_TRUE(status.ok()) << status.ToString();
  }

  TensorId Slice(TensorId base, const std::vector<int64_t>& shape, const std::vector<ExprId>& offsets,
                 const std::vector<ExprId>& valid = {}) {
    NextLine();
    return Take(builder.Slice(base, shape, offsets, valid));
  }

  TensorId Reshape(TensorId base, const std::vector<int64_t>& shape, const std::vector<ExprId>& valid = {}) {
    NextLine();
    return Take(builder.Reshape(base, shape, valid));
  }

  int Move(TensorId destination, TensorId source) {
    NextLine();
    const base::Status status = builder.Move(destination, source);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return line_;
  }

  // Returns the line of the statement.
  int Assemble(TensorId destination, TensorId source, const std::vector<ExprId>& offsets) {
    NextLine();
    const base::Status status = builder.Assemble(destination, source, offsets);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return line_;
  }

  void LoopOver(ExprId start, ExprId stop, int64_t step, const std::function<void(ExprId)>& body,
                const std::string& name = "loop") {
    NextLine();
    const ExprId index = Take(builder.BeginLoop(name, start, stop, C(step), false, false));
    body(index);
    EXPECT_TRUE(builder.EndLoop().ok());
  }

  void Loop(int64_t start, int64_t stop, int64_t step, const std::function<void(ExprId)>& body,
            const std::string& name = "loop") {
    LoopOver(C(start), C(stop), step, body, name);
  }

  void If(ExprId condition, const std::function<void()>& yes, const std::function<void()>& no = nullptr) {
    NextLine();
    EXPECT_TRUE(builder.BeginIf(condition).ok());
    yes();
    if (no) {
      EXPECT_TRUE(builder.BeginElse().ok());
      no();
    }
    EXPECT_TRUE(builder.EndIf().ok());
  }

  void VectorTile(const std::vector<int64_t>& tile) {
    tiles_.vector_tile = tile;
    builder.SetTiles(tiles_);
  }

  void CubeTile(int64_t m, int64_t k, int64_t n) {
    tiles_.cube = {m, k, n};
    builder.SetTiles(tiles_);
  }

  program::ExprPool& exprs() { return builder.exprs(); }
  ExprId C(int64_t value) { return builder.exprs().Const(value); }
  ExprId DimOf(TensorId tensor, size_t axis) { return builder.tensor(tensor).shape[axis]; }
  std::vector<ExprId> Consts(const std::vector<int64_t>& values) {
    std::vector<ExprId> ids;
    for (const int64_t value : values) ids.push_back(C(value));
    return ids;
  }
  int line() const { return line_; }

  program::Program Finish() { return Take(builder.Finish()); }

  base::Result<std::shared_ptr<const program::Image>> TryCompile(const program::PlanOptions& plan = {}) {
    CompileOptions options;
    options.plan = plan;
    return Compile(Finish(), options);
  }

  // The plan, sound in the eyes of the image reader.
  std::shared_ptr<const program::Image> CompileImage(const program::PlanOptions& plan = {}) {
    auto image = TryCompile(plan);
    if (!image.ok()) {
      ADD_FAILURE() << image.status().ToString();
      return std::make_shared<program::Image>();
    }
    const auto read = program::ReadImage((*image)->bytes);
    EXPECT_TRUE(read.ok()) << read.status().ToString();
    return *image;
  }

  program::Builder builder;

 private:
  template <typename R>
  R Take(base::Result<R> result) {
    if (result.ok()) return std::move(result).value();
    ADD_FAILURE() << result.status().ToString();
    return R{};
  }

  void NextLine() { builder.SetPlace({file_, ++line_, 1}); }

  program::TileShapes tiles_;
  uint32_t file_ = 0;
  int line_ = 0;
};

// Index of the storage of that name; fails the test when there are none or several.
inline uint32_t StorageNamed(const program::Plan& plan, const std::string& name) {
  uint32_t found = UINT32_MAX;
  for (uint32_t i = 0; i < plan.storages.size(); ++i) {
    if (plan.storages[i].name != name) continue;
    EXPECT_EQ(found, UINT32_MAX) << "several storages named " << name;
    found = i;
  }
  EXPECT_NE(found, UINT32_MAX) << "no storage named " << name;
  return found;
}

inline bool HasStorage(const program::Plan& plan, const std::string& name) {
  for (const program::Storage& storage : plan.storages) {
    if (storage.name == name) return true;
  }
  return false;
}

inline TensorClass ClassNamed(const program::Plan& plan, const std::string& name) {
  const uint32_t storage = StorageNamed(plan, name);
  return storage == UINT32_MAX ? TensorClass::kParameter : plan.storages[storage].tensor_class;
}

inline int64_t Constant(const program::Plan& plan, ExprId id) {
  const auto value = plan.exprs.ConstantValue(id);
  EXPECT_TRUE(value.has_value()) << "not a constant";
  return value.value_or(-1);
}

inline size_t CountLeaves(const program::Plan& plan, program::LeafKind kind) {
  size_t count = 0;
  for (const program::RootFunction& root : plan.roots) {
    for (const program::Leaf& leaf : root.leaves) count += leaf.kind == kind ? 1 : 0;
  }
  return count;
}

inline size_t CountClass(const program::Plan& plan, TensorClass tensor_class) {
  size_t count = 0;
  for (const program::Storage& storage : plan.storages) count += storage.tensor_class == tensor_class ? 1 : 0;
  return count;
}

inline size_t CountOps(const program::Plan& plan, OpCode code) {
  size_t count = 0;
  for (const program::RootFunction& root : plan.roots) {
    for (const program::Leaf& leaf : root.leaves) {
      for (const program::LeafOp& op : leaf.ops) count += op.code == code ? 1 : 0;
    }
  }
  return count;
}

}  // namespace pypto::compile::testing
