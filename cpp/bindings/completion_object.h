// The Python type Completion: a dispatch that may still be running.
#pragma once

#include <Python.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "pypto/runtime/completion.h"

namespace pypto::bindings {

// `kept`: what must live until the end. `written`: a tuple of tensors for NoteWrittenTensors, or null. `result`: what
// the call returns. The references are taken over.
PyObject* MakeCompletion(std::shared_ptr<runtime::Completion> completion, PyObject* kept, PyObject* written,
                         PyObject* result);

// Of a launch that Registration::TryLeave leaves to its waiter: the object first, its ticket when there is one. Holds
// the handle and the objects, at most kMostLeft, until the launch has ended.
inline constexpr size_t kMostLeft = 8;
PyObject* MakeLeftCompletion(PyObject* handle, PyObject* const* objects, size_t count);
void SetTicket(PyObject* completion, uint64_t ticket) noexcept;

}  // namespace pypto::bindings
