// ProgramCall: the base of pypto.ir.CompiledProgram. Its call goes to the handle on the current worker.
#include <nanobind/nanobind.h>

#include <cstddef>

#include "bindings.h"
#include "bound_program.h"
#include "callable_object.h"
#include "image_object.h"
#include "registration_handle.h"
#include "type_maker.h"

namespace nb = nanobind;

namespace pypto::bindings {
namespace {

PyObject* Call(PyObject* object, PyObject* const* objects, size_t flagged_count, PyObject* names);
using Object = CallableObject<BoundProgram, Call>;

PyObject* Call(PyObject* object, PyObject* const* objects, size_t flagged_count, PyObject* names) {
  if (names != nullptr && PyTuple_GET_SIZE(names) != 0) [[unlikely]] {
    PyErr_SetString(PyExc_TypeError, "arguments of a compiled program are positional, in the kernel's order");
    return nullptr;
  }
  if (Object::ContentOf(object).image() == nullptr) [[unlikely]] {
    PyErr_SetString(PyExc_TypeError, "a compiled program is made by pypto.ir.compile");
    return nullptr;
  }
  PyObject* handle = Object::ContentOf(object).Handle();
  if (handle == nullptr) return nullptr;
  PyObject* result = CallHandle(handle, objects, static_cast<size_t>(PyVectorcall_NARGS(flagged_count)));
  Py_DECREF(handle);
  return result;
}

int Init(PyObject* object, PyObject* args, PyObject* names) {
  static const char* keywords[] = {"image", nullptr};
  PyObject* image = nullptr;
  if (!PyArg_ParseTupleAndKeywords(args, names, "O:CompiledProgram", const_cast<char**>(keywords), &image)) return -1;
  if (!nb::isinstance<CompiledImage>(nb::handle(image))) {
    PyErr_Format(PyExc_TypeError, "expected a CompiledImage, got %s", Py_TYPE(image)->tp_name);
    return -1;
  }
  Object::ContentOf(object).SetImage(image);
  return 0;
}

PyObject* GetImage(PyObject* object, void*) {
  PyObject* image = Object::ContentOf(object).image();
  return Py_NewRef(image != nullptr ? image : Py_None);
}

PyMethodDef methods[] = {
    Object::InitSubclass(),
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef getters[] = {
    {"_image", GetImage, nullptr, "The core's compiled image.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyMemberDef members[] = {
    Object::VectorcallOffset(),
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(Object::New)},
    {Py_tp_init, reinterpret_cast<void*>(Init)},
    {Py_tp_dealloc, reinterpret_cast<void*>(Object::Deallocate)},
    {Py_tp_traverse, reinterpret_cast<void*>(Object::Traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(Object::Clear)},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_methods, methods},
    {Py_tp_getset, getters},
    {Py_tp_members, members},
    {Py_tp_doc, const_cast<char*>("Calls an image on the current worker of its platform.")},
    {0, nullptr},
};

PyType_Spec spec = Object::Spec("pypto._core.ProgramCall", slots);

}  // namespace

void bind_compiled_program(nb::module_& module) {
  MakeType(module, spec);
  nb::object nobody = nb::steal(PyTuple_New(0));
  entered_workers = PyContextVar_New("pypto_workers", nobody.ptr());
  if (entered_workers == nullptr) throw nb::python_error();
  module.attr("entered_workers") = nb::borrow(entered_workers);
}

}  // namespace pypto::bindings
