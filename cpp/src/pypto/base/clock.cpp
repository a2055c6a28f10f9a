// Clocks; the tick rate is measured once.
#include "pypto/base/clock.h"

#include <ctime>

namespace pypto::base {
namespace {

double MeasureTickRate() noexcept {
#if defined(__aarch64__)
  uint64_t frequency;
  asm volatile("mrs %0, cntfrq_el0" : "=r"(frequency));
  return static_cast<double>(frequency);
#else
  const int64_t begin_ns = MonotonicNanoseconds();
  const uint64_t begin_ticks = Ticks();
  int64_t now = begin_ns;
  while (now - begin_ns < 5'000'000) now = MonotonicNanoseconds();
  const uint64_t end_ticks = Ticks();
  return static_cast<double>(end_ticks - begin_ticks) * 1e9 / static_cast<double>(now - begin_ns);
#endif
}

}  // namespace

int64_t MonotonicNanoseconds() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

double TicksPerSecond() noexcept {
  static const double rate = MeasureTickRate();
  return rate;
}

}  // namespace pypto::base
