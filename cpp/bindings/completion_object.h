// The Python type Completion: a dispatch that may still be running.
#pragma once

#include <Python.h>

#include <memory>

#include "pypto/runtime/completion.h"

namespace pypto::bindings {

// `kept`: what must live until the end. `written`: a tuple of tensors for NoteWrittenTensors, or null. `result`: what
// the call returns. The references are taken over.
PyObject* MakeCompletion(std::shared_ptr<runtime::Completion> completion, PyObject* kept, PyObject* written,
                         PyObject* result);

}  // namespace pypto::bindings
