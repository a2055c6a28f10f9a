// Counts allocations by operator new in the test program.
#pragma once

#include <cstdint>

namespace pypto::device::testing {

// Allocations of the calling thread so far.
uint64_t AllocationCount();

}  // namespace pypto::device::testing
