// Sound plans for tests: one with every kind of record, and random ones.
#pragma once

#include <cstdint>

#include "pypto/program/plan.h"

namespace pypto::program {

Plan SamplePlan();
Plan RandomPlan(uint64_t seed);
DebugInfo SampleDebug();

}  // namespace pypto::program
