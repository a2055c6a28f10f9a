// What the statistics block says about a fault, in words.
#pragma once

#include "pypto/base/status.h"
#include "pypto/program/image.h"
#include "pypto/program/launch_block.h"

namespace pypto::runtime {

// The fault with kernel, reason, value and source line, keeping the ACL failure of `cause`. Without a fault in the
// statistics: `cause` with the kernel's name.
base::Status DescribeFault(const program::Image& image, const program::LaunchStatistics& statistics,
                           const base::Status& cause);

}  // namespace pypto::runtime
