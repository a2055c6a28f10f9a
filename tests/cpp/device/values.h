// Tensor values in tests: doubles, with encoding to and rounding for every dtype.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "pypto/program/dtype.h"

namespace pypto::device::testing {

using program::DType;

// What the dtype makes of a value that an operation computed: floats are rounded (through FP32), integers wrap.
double RoundTo(DType dtype, double value);
// Distance between neighbours of a floating dtype at |value|.
double UlpOf(DType dtype, double value);

std::vector<std::byte> Encode(DType dtype, const std::vector<double>& values);
std::vector<double> Decode(DType dtype, const std::byte* bytes, size_t count);

// Deterministic values that the dtype holds exactly, in [low, high].
std::vector<double> RandomValues(DType dtype, size_t count, double low, double high, uint64_t seed);

}  // namespace pypto::device::testing
