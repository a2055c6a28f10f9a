// Why a launch ended early, with the place in the kernel's source.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>

#include "pypto/program/launch_block.h"

namespace pypto::device {

// A value; the text is made only when there is a fault.
struct Fault {
  program::FaultKind kind = program::FaultKind::kNone;
  uint32_t place = 0;  // index into DebugInfo::places
  int64_t value = 0;
  std::string text;

  bool any() const noexcept { return kind != program::FaultKind::kNone; }
  // Keeps the first fault. Always false, so that a function can end with it.
  bool Set(program::FaultKind new_kind, uint32_t new_place, int64_t new_value, std::string new_text) {
    if (!any()) *this = {new_kind, new_place, new_value, std::move(new_text)};
    return false;
  }
};

// The first fault that a tile of a launch met. Owned by the task runner. Thread rule: any core sets it; it is read and
// cleared when no core works.
class TileFault {
 public:
  bool raised() const noexcept { return raised_.load(std::memory_order_relaxed); }
  void Raise(Fault fault) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (raised()) return;
    fault_ = std::move(fault);
    raised_.store(true, std::memory_order_relaxed);
  }
  const Fault& fault() const noexcept { return fault_; }
  void Clear() {
    if (!raised()) return;
    fault_ = {};
    raised_.store(false, std::memory_order_relaxed);
  }

 private:
  std::mutex mutex_;
  std::atomic<bool> raised_ = false;
  Fault fault_;
};

}  // namespace pypto::device
