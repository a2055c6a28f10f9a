// Valid extents of a reshaped tensor.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "pypto/program/expr.h"

namespace pypto::program {

// The box of valid cells in the new shape; nothing when it cannot be shown to be a box.
std::optional<std::vector<ExprId>> ReshapeValid(ExprPool& exprs, std::span<const int64_t> from,
                                                std::span<const ExprId> valid, std::span<const int64_t> to);

}  // namespace pypto::program
