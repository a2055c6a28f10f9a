// Why a launch ended early, with the place in the kernel's source.
#pragma once

#include <cstdint>
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

}  // namespace pypto::device
