// Hand-made program images for tests that need a signature and sizes, not an executable plan.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "pypto/program/image.h"

namespace pypto::runtime::testing {

// Describes one program; Make() gives its image.
struct SampleImage {
  std::string name = "k";
  std::string platform = "a2a3sim";
  std::vector<std::string> symbols;
  std::vector<program::PlanParameter> parameters;
  std::vector<program::Scalar> scalars;
  // Bytes of one root inner unit per value of symbol 0; 0: no workspace.
  int64_t unit_per_symbol = 0;

  // Dims: a size, or -1 - i for symbol i.
  SampleImage& Tensor(const std::string& parameter, program::Direction direction, const std::vector<int64_t>& dims,
                      program::DType dtype = program::DType::kFp32);
  SampleImage& Scalar(const std::string& parameter, program::ScalarKind kind);
  std::shared_ptr<const program::Image> Make() const;
};

// x [n, 16] in, w [16] in, out [n, 16] out; FP32.
SampleImage LinearSample();

}  // namespace pypto::runtime::testing
