// Inference of dtypes, static shapes and valid extents of results. Private to the program library: the builder makes
// results with it, the verifier checks them against it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pypto/program/program.h"

namespace pypto::program {

// Operations take tensors of rank 1 to this.
inline constexpr int kMaxOperandRank = 5;
// Most dims of a tensor.
inline constexpr int kMaxTensorRank = 6;

struct InferredResult {
  DType dtype = DType::kFp32;
  std::vector<int64_t> shape;
};

// Texts for messages: "[4, 8]" ("?" for a dynamic dim), "DT_FP32", "DT_FP32, DT_FP16".
std::string ShapeText(std::span<const int64_t> shape);
std::string ShapeText(const Program& program, const Tensor& tensor);
std::string DTypeText(DType dtype);
std::string DTypesText(DTypeMask mask);

// The shape as numbers; nothing when a dim is dynamic.
std::optional<std::vector<int64_t>> StaticShape(const Program& program, const Tensor& tensor);
// The same for an operand; kTypeMismatch "Dynamic shape tensors are not allowed as operation operands".
base::Result<std::vector<int64_t>> OperandShape(const Program& program, const Tensor& tensor, std::string_view op);
// Rank in 1..limit, no extent below 1, bytes within 63 bits.
base::Status CheckShape(std::span<const int64_t> shape, DType dtype, int limit, std::string_view op);

// Checks operands and attributes of anything but Fill; wraps negative axes in `attributes`.
base::Result<InferredResult> InferOp(const Program& program, OpCode code, std::span<const Operand> inputs,
                                     OpAttributes& attributes);
// Shape of a Whole operation from those of its tensors (empty for a number); wraps the axis.
base::Result<std::vector<int64_t>> InferWhole(const OpInfo& info, std::span<const Operand> inputs,
                                              const std::vector<std::vector<int64_t>>& shapes,
                                              OpAttributes& attributes);
base::Result<int32_t> WrapAxis(int32_t axis, size_t rank, std::string_view op);
base::Status CheckFill(const Program& program, const Operand& value, DType dtype);
// Valid extents of a Whole operation; `valid` is empty for a number.
std::vector<ExprId> WholeValid(ExprPool& exprs, OpCode code, std::span<const Operand> inputs,
                               const std::vector<std::vector<ExprId>>& valid, const OpAttributes& attributes,
                               const std::vector<int64_t>& shape);
// Valid extents of the result of InferOp.
std::vector<ExprId> InferValid(Program& program, OpCode code, std::span<const Operand> inputs,
                               const OpAttributes& attributes, const InferredResult& result);

// Replaces the -1 of `shape`; element counts must be equal.
base::Result<std::vector<int64_t>> ResolveReshape(std::span<const int64_t> from, std::span<const int64_t> shape);
// Whether the bounds show that a loop runs no iteration.
bool NeverRuns(const ExprPool& exprs, ExprId start, ExprId stop, ExprId step);

}  // namespace pypto::program
