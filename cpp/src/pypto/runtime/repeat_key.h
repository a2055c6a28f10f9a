// What a call must bring to be the last one of its handle again.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "pypto/runtime/resident_tensor.h"

namespace pypto::runtime {

// The resident tensors of a handle's last call, while it is a short one. Owned by the handle.
// Thread rule: inside the worker's gate.
struct RepeatKey {
  static constexpr size_t kMost = 8;
  static constexpr size_t kNone = SIZE_MAX;

  size_t count = kNone;  // kNone: no call is the last one again
  uint64_t number = 0;   // of the call, 0 with kNone; no other of the handle has the same
  uint64_t session = 0;  // in which all of them live
  std::array<uint64_t, kMost> serials{};

  // Whether the tensor is the one at `index`, which is below the count, and alive.
  bool Names(size_t index, const ResidentTensor& tensor) const noexcept {
    return tensor.serial() == serials[index] && tensor.session() == session;
  }
};

}  // namespace pypto::runtime
