// Process-exit flag and fork generation.
#include "pypto/base/process.h"

#include <pthread.h>

#include <atomic>
#include <cstdlib>

namespace pypto::base {
namespace {

std::atomic<bool> exiting{false};
std::atomic<uint64_t> generation{1};

// Registered when the library is loaded: an exit handler sets the flag, a fork handler counts the child.
const bool registered = [] {
  std::atexit([] { MarkProcessExiting(); });
  pthread_atfork(nullptr, nullptr, [] { generation.fetch_add(1, std::memory_order_relaxed); });
  return true;
}();

}  // namespace

bool ProcessExiting() noexcept { return exiting.load(std::memory_order_relaxed); }

void MarkProcessExiting() noexcept { exiting.store(true, std::memory_order_relaxed); }

uint64_t ProcessGeneration() noexcept {
  static_cast<void>(registered);
  return generation.load(std::memory_order_relaxed);
}

}  // namespace pypto::base
