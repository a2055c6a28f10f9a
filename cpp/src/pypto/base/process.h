// Facts about the process: whether it is ending, and whether it was forked since the core was loaded.
#pragma once

#include <cstdint>

#include "pypto/base/export.h"

namespace pypto::base {

// True once process exit has begun; destructors then leave memory to the operating system and call no device library.
PYPTO_API bool ProcessExiting() noexcept;
PYPTO_API void MarkProcessExiting() noexcept;
// A number that differs in every forked child; objects remember it at creation and compare it at use.
PYPTO_API uint64_t ProcessGeneration() noexcept;

}  // namespace pypto::base
