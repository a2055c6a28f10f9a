// One argument of a dispatch, as the bindings read it.
#pragma once

#include <cstdint>

#include "pypto/program/dtype.h"
#include "pypto/runtime/resident_tensor.h"

namespace pypto::runtime {

enum class ArgumentKind : uint8_t { kHost, kResident, kInt, kFloat };

// Does not own what it points to: data and shape must stay valid during the call, and for Submit until the completion
// is finished. Host tensors are contiguous, row-major.
struct ArgumentView {
  ArgumentKind kind = ArgumentKind::kInt;
  program::DType dtype = program::DType::kFp32;  // kHost
  uint8_t rank = 0;                              // kHost
  void* data = nullptr;                          // kHost; may be null when a dim is 0
  const int64_t* shape = nullptr;                // kHost
  ResidentTensor* tensor = nullptr;              // kResident
  int64_t int_value = 0;                         // kInt
  double float_value = 0;                        // kFloat

  static ArgumentView Host(void* data, const int64_t* shape, uint8_t rank, program::DType dtype) noexcept {
    ArgumentView view;
    view.kind = ArgumentKind::kHost;
    view.dtype = dtype;
    view.rank = rank;
    view.data = data;
    view.shape = shape;
    return view;
  }
  static ArgumentView Resident(ResidentTensor* tensor) noexcept {
    ArgumentView view;
    view.kind = ArgumentKind::kResident;
    view.tensor = tensor;
    return view;
  }
  static ArgumentView Int(int64_t value) noexcept {
    ArgumentView view;
    view.int_value = value;
    return view;
  }
  static ArgumentView Float(double value) noexcept {
    ArgumentView view;
    view.kind = ArgumentKind::kFloat;
    view.float_value = value;
    return view;
  }
};

// One tensor of a call whose host tensors have shapes and dtypes that were prepared for before.
struct RepeatArgument {
  ResidentTensor* tensor;  // where that was a resident one; else null
  void* host;              // else; not null
};

}  // namespace pypto::runtime
