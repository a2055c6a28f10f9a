// ProgramCall: the base of pypto.ir.CompiledProgram. Its call goes to the handle on the current worker.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <structmember.h>

#include <cstddef>
#include <new>
#include <string>

#include "bindings.h"
#include "bound_program.h"
#include "image_object.h"
#include "registration_handle.h"

namespace nb = nanobind;

namespace pypto::bindings {
namespace {

struct ProgramObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  BoundProgram program;
};

ProgramObject* Self(PyObject* object) noexcept { return reinterpret_cast<ProgramObject*>(object); }

PyObject* Call(PyObject* object, PyObject* const* objects, size_t flagged_count, PyObject* names) {
  if (names != nullptr && PyTuple_GET_SIZE(names) != 0) [[unlikely]] {
    PyErr_SetString(PyExc_TypeError, "arguments of a compiled program are positional, in the kernel's order");
    return nullptr;
  }
  if (Self(object)->program.image() == nullptr) [[unlikely]] {
    PyErr_SetString(PyExc_TypeError, "a compiled program is made by pypto.ir.compile");
    return nullptr;
  }
  PyObject* handle = Self(object)->program.Handle();
  if (handle == nullptr) return nullptr;
  PyObject* result = CallHandle(handle, objects, static_cast<size_t>(PyVectorcall_NARGS(flagged_count)));
  Py_DECREF(handle);
  return result;
}

PyObject* New(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* object = type->tp_alloc(type, 0);
  if (object == nullptr) return nullptr;
  Self(object)->vectorcall = Call;
  new (&Self(object)->program) BoundProgram();
  return object;
}

int Init(PyObject* object, PyObject* args, PyObject* names) {
  static const char* keywords[] = {"image", nullptr};
  PyObject* image = nullptr;
  if (!PyArg_ParseTupleAndKeywords(args, names, "O:CompiledProgram", const_cast<char**>(keywords), &image)) return -1;
  if (!nb::isinstance<CompiledImage>(nb::handle(image))) {
    PyErr_Format(PyExc_TypeError, "expected a CompiledImage, got %s", Py_TYPE(image)->tp_name);
    return -1;
  }
  Self(object)->program.SetImage(image);
  return 0;
}

PyObject* GetImage(PyObject* object, void*) {
  PyObject* image = Self(object)->program.image();
  return Py_NewRef(image != nullptr ? image : Py_None);
}

int Traverse(PyObject* object, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(object));
  return Self(object)->program.Traverse(visit, arg);
}

int Clear(PyObject* object) {
  Self(object)->program.Clear();
  return 0;
}

void Deallocate(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  Self(object)->program.~BoundProgram();
  type->tp_free(object);
  Py_DECREF(type);
}

PyMethodDef methods[] = {
    {"__init_subclass__", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(KeepVectorcall)),
     METH_CLASS | METH_VARARGS | METH_KEYWORDS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef getters[] = {
    {"_image", GetImage, nullptr, "The core's compiled image.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(ProgramObject, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(New)},
    {Py_tp_init, reinterpret_cast<void*>(Init)},
    {Py_tp_dealloc, reinterpret_cast<void*>(Deallocate)},
    {Py_tp_traverse, reinterpret_cast<void*>(Traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(Clear)},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_methods, methods},
    {Py_tp_getset, getters},
    {Py_tp_members, members},
    {Py_tp_doc, const_cast<char*>("Calls an image on the current worker of its platform.")},
    {0, nullptr},
};

PyType_Spec spec = {"pypto._core.ProgramCall", sizeof(ProgramObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_IMMUTABLETYPE |
                        Py_TPFLAGS_BASETYPE,
                    slots};

}  // namespace

void bind_compiled_program(nb::module_& module) {
  static const std::string name = nb::cast<std::string>(module.attr("__name__")) + ".ProgramCall";
  spec.name = name.c_str();
  nb::object type = nb::steal(PyType_FromSpec(&spec));
  if (!type.is_valid()) throw nb::python_error();
  module.attr("ProgramCall") = type;
  nb::object nobody = nb::steal(PyTuple_New(0));
  entered_workers = PyContextVar_New("pypto_workers", nobody.ptr());
  if (entered_workers == nullptr) throw nb::python_error();
  module.attr("entered_workers") = nb::borrow(entered_workers);
}

}  // namespace pypto::bindings
