// The Python type RegistrationHandle: its call is the hot path.
#pragma once

#include <Python.h>

#include <memory>

#include "arguments.h"
#include "pypto/runtime/registration.h"

namespace pypto::bindings {

// Null with a Python error. The handle keeps the ChipWorker alive.
PyObject* MakeRegistrationHandle(std::shared_ptr<runtime::Registration> registration, PyObject* worker);

bool IsRegistrationHandle(PyObject* object) noexcept;

// What calling the handle does. Null with a Python error.
PyObject* CallHandle(PyObject* handle, PyObject* const* objects, size_t count);

// The same with arguments that are read already. Takes over `outputs`, a list of fresh outputs or null.
PyObject* Dispatch(PyObject* handle, Arguments& arguments, PyObject* outputs);

// The registration of a handle; null with a TypeError for anything else.
runtime::Registration* RegistrationOf(PyObject* object);

}  // namespace pypto::bindings
