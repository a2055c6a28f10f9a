// From base::Status to Python exceptions: the one place where the core's errors become Python's.
#pragma once

#include <nanobind/nanobind.h>

#include <utility>

#include "pypto/base/status.h"

namespace pypto::bindings {

// Sets the Python error indicator; for raw type slots. The GIL must be held and `status` must not be ok.
void SetPythonError(const base::Status& status);

// Throws nanobind's python_error with the exception that belongs to the status. The GIL must be held.
[[noreturn]] void RaiseStatus(const base::Status& status);

inline void ThrowIfError(const base::Status& status) {
  if (!status.ok()) [[unlikely]]
    RaiseStatus(status);
}

template <typename T>
T Unwrap(base::Result<T> result) {
  if (!result.ok()) [[unlikely]]
    RaiseStatus(result.status());
  return std::move(result).value();
}

}  // namespace pypto::bindings
