// Operations whose results need no rounding to a half dtype.
#pragma once

#include "pypto/device/leaf_program.h"

namespace pypto::device {

// Whether what `op` gives is an FP16 or BF16 value anyway, because it picks one of its operands, changes a sign or
// doubles a BF16 value some times, and all of them are values of that dtype.
bool GivesHalves(const LeafProgram& program, const OpProgram& op);

}  // namespace pypto::device
