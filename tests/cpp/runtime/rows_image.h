// A compiled kernel with one root instance per row, and its arguments.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <vector>

#include "pypto/compile/compile.h"
#include "pypto/program/builder.h"
#include "pypto/runtime/argument_view.h"

namespace pypto::runtime::testing {

inline program::Operand TensorOperand(program::TensorId tensor) {
  program::Operand operand;
  operand.tensor = tensor;
  return operand;
}

// out[i] = x[i] @ x, row by row: each row's product takes 512 bytes of root-inner memory.
inline std::shared_ptr<const program::Image> Rows(const program::PlanOptions& plan = {}) {
  program::Builder b("rows");
  static_cast<void>(b.AddFile({"rows.py", "", "", 0}));
  const auto x = *b.AddTensorParameter("x", program::DType::kFp32, {std::nullopt, 16}, {"n", ""});
  const auto w = *b.AddTensorParameter("w", program::DType::kFp32, {16, 16}, {});
  const auto out = *b.AddTensorParameter("out", program::DType::kFp32, {std::nullopt, 16}, {"n", ""});
  program::ExprPool& e = b.exprs();
  const auto i = *b.BeginLoop("rows", e.Const(0), e.Symbol(0), e.Const(1), false, false);
  const auto row = *b.Slice(x, {1, 16}, {i, e.Const(0)}, {});
  const auto product = *b.Op(program::OpCode::kMatmul, {TensorOperand(row), TensorOperand(w)}, {});
  const auto sum = *b.Op(program::OpCode::kAdd, {TensorOperand(product), TensorOperand(product)}, {});
  EXPECT_TRUE(b.Assemble(out, sum, {i, e.Const(0)}).ok());
  EXPECT_TRUE(b.EndLoop().ok());
  auto program = b.Finish();
  EXPECT_TRUE(program.ok()) << program.status().ToString();
  compile::CompileOptions options;
  options.plan = plan;
  auto image = compile::Compile(*program, options);
  EXPECT_TRUE(image.ok()) << image.status().ToString();
  return *image;
}

inline program::PlanOptions PerPool(uint32_t depth) {
  program::PlanOptions options;
  options.stitch_function_num_per_pool = {depth, 0, 0};
  return options;
}

struct Floats {
  Floats(int64_t rows, float fill) : shape{rows, 16}, data(static_cast<size_t>(rows) * 16, fill) {}
  ArgumentView View() { return ArgumentView::Host(data.data(), shape.data(), 2, program::DType::kFp32); }
  std::array<int64_t, 2> shape;
  std::vector<float> data;
};

}  // namespace pypto::runtime::testing
