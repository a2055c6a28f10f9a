// Process-exit flag and fork generation.
#include "pypto/base/process.h"

#include <pthread.h>

#include <atomic>
#include <cstdlib>

namespace pypto::base {

constinit std::atomic<uint64_t> detail::process_generation{1};

namespace {

std::atomic<bool> exiting{false};

// Registered when the library is loaded: an exit handler sets the flag, a fork handler counts the child.
[[maybe_unused]] const bool registered = [] {
  std::atexit([] { MarkProcessExiting(); });
  pthread_atfork(nullptr, nullptr, [] { detail::process_generation.fetch_add(1, std::memory_order_relaxed); });
  return true;
}();

}  // namespace

bool ProcessExiting() noexcept { return exiting.load(std::memory_order_relaxed); }

void MarkProcessExiting() noexcept { exiting.store(true, std::memory_order_relaxed); }

}  // namespace pypto::base
