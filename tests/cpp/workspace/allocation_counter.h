// Counts calls of operator new by the calling thread.
#pragma once

#include <cstdint>

namespace pypto::workspace {

uint64_t AllocationCount() noexcept;

}  // namespace pypto::workspace
