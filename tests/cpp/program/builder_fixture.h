// Helpers of the builder tests.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "pypto/program/builder.h"

namespace pypto::program {

class BuilderTest : public testing::Test {
 protected:
  static Operand Tensor(TensorId id) {
    Operand operand;
    operand.tensor = id;
    return operand;
  }
  static Operand Float(double value) {
    Operand operand;
    operand.kind = Operand::Kind::kFloat;
    operand.float_value = value;
    return operand;
  }
  static Operand Int(int64_t value) {
    Operand operand;
    operand.kind = Operand::Kind::kInt;
    operand.int_value = value;
    return operand;
  }

  // A parameter; extents of -1 are dynamic.
  TensorId Parameter(const std::string& name, DType dtype, const std::vector<int64_t>& dims) {
    std::vector<std::optional<int64_t>> sizes;
    for (const int64_t dim : dims) sizes.push_back(dim < 0 ? std::nullopt : std::optional(dim));
    auto id = builder.AddTensorParameter(name, dtype, sizes, {});
    EXPECT_TRUE(id.ok()) << id.status().ToString();
    return *id;
  }

  // The first rows or columns of a tensor at a loop index that may run past the end.
  TensorId Tail(TensorId base, const std::vector<int64_t>& shape, ExprId offset) {
    std::vector<ExprId> offsets(shape.size(), builder.exprs().Const(0));
    offsets[0] = offset;
    auto id = builder.Slice(base, shape, offsets, {});
    EXPECT_TRUE(id.ok()) << id.status().ToString();
    return *id;
  }

  TensorId Made(base::Result<TensorId> id) {
    EXPECT_TRUE(id.ok()) << id.status().ToString();
    return id.ok() ? *id : 0;
  }

  std::vector<int64_t> Shape(TensorId id) { return Values(builder.tensor(id).shape); }
  std::vector<int64_t> Valid(TensorId id) { return Values(builder.tensor(id).valid); }
  // -1 for what is no constant.
  std::vector<int64_t> Values(const std::vector<ExprId>& ids) {
    std::vector<int64_t> values;
    for (const ExprId id : ids) values.push_back(builder.exprs().ConstantValue(id).value_or(-1));
    return values;
  }
  std::string ValidText(TensorId id, size_t dim) {
    return builder.exprs().ToText(builder.tensor(id).valid[dim], nullptr);
  }

  static void ExpectError(const base::Status& status, base::StatusCode code, const std::string& text) {
    EXPECT_EQ(status.code(), code) << status.ToString();
    EXPECT_THAT(std::string(status.message()), testing::HasSubstr(text));
  }
  template <typename T>
  static void ExpectError(const base::Result<T>& result, base::StatusCode code, const std::string& text) {
    ExpectError(result.status(), code, text);
  }

  Builder builder{"kernel"};
};

}  // namespace pypto::program
