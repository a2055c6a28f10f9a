// A cell of a tensor that control flow reads.
#pragma once

#include <cstddef>
#include <cstdint>

#include "pypto/program/dtype.h"

namespace pypto::device {

// The integer or truth value at `from`.
int64_t LoadCell(program::DType dtype, const std::byte* from) noexcept;

// A cell and what was in it.
struct NotedCell {
  int64_t offset = 0;  // bytes from the start of the slot
  int64_t value = 0;
  uint32_t slot = 0;
  program::DType dtype{};
};

}  // namespace pypto::device
