// Clocks: monotonic nanoseconds, and the cheap tick counter that is converted when read.
#pragma once

#include <cstdint>

#include "pypto/base/export.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace pypto::base {

// CLOCK_MONOTONIC in nanoseconds; about 20 ns a call.
PYPTO_API int64_t MonotonicNanoseconds() noexcept;

// Time-stamp counter on x86-64, virtual counter on aarch64; about 9 ns a call.
inline uint64_t Ticks() noexcept {
#if defined(__x86_64__)
  return __rdtsc();
#elif defined(__aarch64__)
  uint64_t ticks;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#else
  return static_cast<uint64_t>(MonotonicNanoseconds());
#endif
}

// Ticks per second, measured once per process against the monotonic clock (about 5 ms the first time). Thread-safe.
PYPTO_API double TicksPerSecond() noexcept;

}  // namespace pypto::base
