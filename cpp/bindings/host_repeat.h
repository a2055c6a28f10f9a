// Host tensors of a call that are like those of the last one, compared as torch describes them.
#pragma once

#include <Python.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "arguments.h"
#include "dlpack_abi.h"
#include "pypto/program/plan.h"
#include "pypto/runtime/argument_view.h"

namespace pypto::bindings {

// What the tensors of the last ordinary call of a handle looked like: resident ones and exact ones of torch. A call
// with tensors like them needs no reading into views. Owned by a RegistrationHandle. Thread rule: under the GIL.
class HostRepeat {
 public:
  static constexpr size_t kMost = 8;

  // The runtime has prepared these arguments as `number`. Keeps nothing when that is 0 or some are of another kind.
  void Note(const program::Plan& plan, const Arguments& arguments, uint64_t number) noexcept;
  // Whether the objects are alike; `out` is filled then. Raises nothing. Kernels may write all of them.
  bool Read(PyObject* const* objects, size_t count, runtime::RepeatArgument* out) const noexcept;
  uint64_t number() const noexcept { return number_; }
  bool keeps_something() const noexcept { return count_ != 0; }
  void Forget() noexcept { count_ = 0; }

 private:
  struct Pattern {
    bool host = false;
    bool written = false;
    uint64_t device = 0;  // of a host tensor: kind and number
    uint64_t kind = 0;    // rank and dtype
    std::array<int64_t, runtime::kMaxTensorRank> dims{};
    std::array<int64_t, runtime::kMaxTensorRank> strides{};
  };
  static bool IsLike(const Pattern& pattern, const dlpack::Tensor& tensor) noexcept;

  size_t count_ = 0;  // 0: nothing is kept
  uint64_t number_ = 0;
  std::array<Pattern, kMost> patterns_;
};

}  // namespace pypto::bindings
