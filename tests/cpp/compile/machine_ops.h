// Arithmetic that both machines share.
#pragma once

#include <functional>
#include <vector>

#include "pypto/program/op_table.h"

namespace pypto::compile::testing {

double ApplyOp(program::OpCode code, double a, double b);
double ReduceStart(program::OpCode code);
double ReduceStep(program::OpCode code, double so_far, double next);

// Every cell of [low, high), in row-major order.
void ForEachCell(const std::vector<int64_t>& low, const std::vector<int64_t>& high,
                 const std::function<void(const std::vector<int64_t>&)>& visit);

}  // namespace pypto::compile::testing
