// Python types from specs, which nanobind does not make: those with a vectorcall or a garbage-collected core.
#pragma once

#include <nanobind/nanobind.h>

namespace pypto::bindings {

// Makes the type and sets it in `module` under the last part of the spec's name, which becomes the module's. The type
// lives as long as the process. Throws nanobind::python_error. Thread rule: while the module is made.
PyTypeObject* MakeType(nanobind::module_& module, PyType_Spec& spec);

}  // namespace pypto::bindings
