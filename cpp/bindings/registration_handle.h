// The Python type RegistrationHandle: its call is the hot path.
#pragma once

#include <Python.h>

#include <memory>

#include "pypto/runtime/registration.h"

namespace pypto::bindings {

// Null with a Python error. The handle keeps the ChipWorker alive.
PyObject* MakeRegistrationHandle(std::shared_ptr<runtime::Registration> registration, PyObject* worker);

// The registration of a handle; null with a TypeError for anything else.
runtime::Registration* RegistrationOf(PyObject* object);

}  // namespace pypto::bindings
