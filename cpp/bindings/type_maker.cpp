// Makes types under the name of the module that is being made.
#include "type_maker.h"

#include <nanobind/stl/string.h>

#include <cstring>
#include <forward_list>
#include <string>

namespace nb = nanobind;

namespace pypto::bindings {

PyTypeObject* MakeType(nb::module_& module, PyType_Spec& spec) {
  static std::forward_list<std::string> names;  // types point at them
  const char* dot = std::strrchr(spec.name, '.');
  const std::string& name = names.emplace_front(nb::cast<std::string>(module.attr("__name__")) + dot);
  spec.name = name.c_str();
  PyObject* type = PyType_FromSpec(&spec);
  if (type == nullptr) throw nb::python_error();
  module.attr(std::strrchr(spec.name, '.') + 1) = nb::borrow(type);
  return reinterpret_cast<PyTypeObject*>(type);
}

}  // namespace pypto::bindings
