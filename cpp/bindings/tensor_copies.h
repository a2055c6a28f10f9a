// Copies of whole resident tensors from and to host tensors of Python.
#pragma once

#include <Python.h>

#include "pypto/runtime/worker.h"

namespace pypto::bindings {

// The core behind a ChipWorker, which keeps it alive; null with a Python error when the object is none.
runtime::Worker* CoreOfWorker(PyObject* worker);

// `tensor` is a DeviceTensor of any worker; what does not fit raises. False with a Python error. Short copies keep the
// GIL: with another busy thread giving it up costs more than the copy.
bool CopyTensorFromHost(runtime::Worker& worker, PyObject* tensor, PyObject* source);
// A torch tensor counts the write in its version.
bool CopyTensorToHost(runtime::Worker& worker, PyObject* tensor, PyObject* destination);

}  // namespace pypto::bindings
