// Plans drawn at random: loops, branches and root functions over parameters, outcasts of both classes and root-inner
// tensors, with windows that overlap or do not.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "device/launcher.h"
#include "device/plan_maker.h"

namespace pypto::device::testing {

struct RandomProgram {
  std::shared_ptr<const program::Image> image;
  std::vector<Argument> arguments;
};

// The seed decides everything but the options and the width of the tensors. Values are small integers, so FP32 is
// exact.
RandomProgram MakeRandomProgram(uint32_t seed, int64_t width, const program::PlanOptions& options);

}  // namespace pypto::device::testing
