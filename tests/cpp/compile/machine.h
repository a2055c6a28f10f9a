// Two plain machines on doubles: one runs a traced program statement by statement, the other runs its plan with tiles
// in an awkward order. What they leave in the parameters must be equal.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "pypto/program/plan.h"
#include "pypto/program/program.h"

namespace pypto::compile::testing {

// Contents of memory that nobody has written.
double Poison();
bool IsPoison(double value);

// Values of symbols, integer scalars and loop indices.
struct Bindings {
  std::vector<int64_t> symbols;
  std::vector<int64_t> scalars;
  std::map<uint32_t, int64_t> loops;
  std::map<uint32_t, int64_t> slots = {};
};

int64_t Eval(const program::ExprPool& exprs, program::ExprId id, const Bindings& bindings);

// One vector per tensor parameter, row-major, in signature order.
using Memory = std::vector<std::vector<double>>;

// Statements in order; a view is a copy made at its place.
void RunProgram(const program::Program& program, const Bindings& bindings, Memory& memory);

// What a run of a plan found wrong besides numbers, and what it took.
struct PlanRun {
  std::vector<std::string> complaints;
  uint64_t instances = 0;
  std::array<int64_t, 3> most_bytes{};  // of one instance, per pool
  int64_t most_boundary_bytes = 0;
};

// Leaves in order, tiles from the last to the first, outcasts given back as soon as live_after lets go of them.
PlanRun RunPlan(const program::Plan& plan, const Bindings& bindings, Memory& memory);

}  // namespace pypto::compile::testing
