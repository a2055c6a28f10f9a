// Facts about the process: whether it is ending, and whether it was forked since the core was loaded.
#pragma once

#include <atomic>
#include <cstdint>

#include "pypto/base/export.h"

namespace pypto::base {

namespace detail {
PYPTO_API extern std::atomic<uint64_t> process_generation;
}  // namespace detail

// True once process exit has begun; destructors then leave memory to the operating system and call no device library.
PYPTO_API bool ProcessExiting() noexcept;
PYPTO_API void MarkProcessExiting() noexcept;
// A number that differs in every forked child; objects remember it at creation and compare it at use.
inline uint64_t ProcessGeneration() noexcept { return detail::process_generation.load(std::memory_order_relaxed); }

}  // namespace pypto::base
