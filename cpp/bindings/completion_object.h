// The Python type Completion: a dispatch that may still be running.
#pragma once

#include <Python.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "pypto/runtime/completion.h"
#include "pypto/runtime/registration.h"

namespace pypto::bindings {

// `kept`: what must live until the end. `written`: a tuple of tensors for NoteWrittenTensors, or null. `result`: what
// the call returns. The references are taken over.
PyObject* MakeCompletion(std::shared_ptr<runtime::Completion> completion, PyObject* kept, PyObject* written,
                         PyObject* result);

// For a launch that Registration::TryLeave leaves to its waiter: the object first, empty, and what it is about once
// there is a ticket. Holds the handle and the objects, at most as many as a RepeatKey names, until the launch has
// ended.
PyObject* TakeCompletion();
void SetLeft(PyObject* completion, PyObject* handle, runtime::Registration* registration, PyObject* const* objects,
             size_t count, uint64_t ticket) noexcept;

}  // namespace pypto::bindings
