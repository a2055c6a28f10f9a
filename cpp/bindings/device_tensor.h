// The Python type DeviceTensor: a raw heap type, so that a dispatch reads it with one pointer compare.
#pragma once

#include <Python.h>

#include "pypto/runtime/resident_tensor.h"

namespace pypto::bindings {

struct DeviceTensorObject {
  PyObject_HEAD runtime::ResidentTensor* tensor;  // one reference owned
  PyObject* worker;                               // the ChipWorker, owned
};

extern PyTypeObject* device_tensor_type;

// Takes over the tensor's reference; null with a Python error.
PyObject* MakeDeviceTensor(runtime::TensorRef tensor, PyObject* worker);

inline bool IsDeviceTensor(PyObject* object) noexcept { return Py_TYPE(object) == device_tensor_type; }

inline runtime::ResidentTensor* ResidentOf(PyObject* object) noexcept {
  return reinterpret_cast<DeviceTensorObject*>(object)->tensor;
}

}  // namespace pypto::bindings
