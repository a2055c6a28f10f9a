// A naive interpreter of plans, in double: every operation over the whole iteration space of its leaf at once.
#pragma once

#include <vector>

#include "device/launcher.h"
#include "pypto/program/plan.h"

namespace pypto::device::testing {

// What the parameters hold after one launch.
std::vector<std::vector<double>> RunReference(const program::Plan& plan, const std::vector<Argument>& arguments,
                                              const std::vector<int64_t>& symbols = {});

// Runs the image on one core and on the interpreter and compares all parameters: floating values within `ulps` units
// of the dtype (plus `absolute`), others exactly. Gives the engine's result.
LaunchResult CheckAgainstReference(const std::shared_ptr<const program::Image>& image,
                                   const std::vector<Argument>& arguments, const std::vector<int64_t>& symbols = {},
                                   double ulps = 0, double absolute = 0, uint32_t cores = 1);

}  // namespace pypto::device::testing
