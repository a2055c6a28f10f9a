// The last call of a registration by its handles: one like it is told by comparing names.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "arguments.h"
#include "fence.h"
#include "pypto/runtime/registration.h"
#include "pypto/runtime/worker.h"

namespace pypto::capi {

// Part of a RegistrationObject. Thread rule: inside the worker of the registration.
class LastCall {
 public:
  // Whether the arguments are the handles noted, and still name the tensors that the registration's key names.
  [[gnu::always_inline]] bool IsAgain(const runtime::Registration& registration, const pypto_argument* arguments,
                                      size_t count) const noexcept {
    const runtime::RepeatKey& key = registration.repeat_key();
    if (arguments == nullptr || count != count_ || key.number != number_ ||
        registration.worker().tensor_epoch() != epoch_)
      return false;
    for (size_t i = 0; i < count; ++i) {
      if (arguments[i].kind != PYPTO_ARGUMENT_TENSOR || BitsOf(arguments[i].value.tensor) != handles_[i]) return false;
    }
    return true;
  }
  // The registration has prepared, or run, a call with these arguments.
  void Note(const runtime::Registration& registration, const pypto_argument* arguments, size_t count) noexcept {
    const runtime::RepeatKey& key = registration.repeat_key();
    number_ = kNever;
    if (count != key.count) return;
    for (size_t i = 0; i < count; ++i) handles_[i] = BitsOf(arguments[i].value.tensor);
    number_ = key.number;
    epoch_ = registration.worker().tensor_epoch();
    count_ = count;
  }

 private:
  static constexpr uint64_t kNever = UINT64_MAX;

  uint64_t number_ = kNever;  // of the key; no key has this one
  size_t count_ = 0;
  uint64_t epoch_ = 0;
  std::array<uint64_t, runtime::RepeatKey::kMost> handles_{};
};

// The same by the records behind the handles.
inline bool AreLast(const runtime::Registration& registration, const pypto_argument* arguments, size_t count) noexcept {
  const runtime::RepeatKey& key = registration.repeat_key();
  if (count != key.count || count > runtime::RepeatKey::kMost) return false;
  const uint64_t worker_id = registration.worker().id();
  for (size_t i = 0; i < count; ++i) {
    if (arguments[i].kind != PYPTO_ARGUMENT_TENSOR) return false;
    const runtime::ResidentTensor* tensor = ArgumentList::TensorOf(BitsOf(arguments[i].value.tensor), worker_id);
    if (tensor == nullptr || !key.Names(i, *tensor)) return false;
  }
  return true;
}

}  // namespace pypto::capi
