// What the bases of callable classes of Python share: an instance is a vectorcall and one C++ value.
#pragma once

#include <Python.h>
#include <structmember.h>

#include <cstddef>
#include <new>

#include "bound_program.h"

namespace pypto::bindings {

// `Content` has a default constructor, Traverse and Clear. A namespace of slots, held by no one. Thread rule: with the
// GIL.
template <typename Content, vectorcallfunc kCall>
class CallableObject {
 public:
  static Content& ContentOf(PyObject* object) noexcept { return reinterpret_cast<Layout*>(object)->content; }

  // The spec of a base class: garbage-collected, open to subclasses.
  static PyType_Spec Spec(const char* name, PyType_Slot* slots) noexcept {
    return {name, sizeof(Layout), 0,
            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_IMMUTABLETYPE |
                Py_TPFLAGS_BASETYPE,
            slots};
  }

  static PyObject* New(PyTypeObject* type, PyObject*, PyObject*) {
    PyObject* object = type->tp_alloc(type, 0);
    if (object == nullptr) return nullptr;
    reinterpret_cast<Layout*>(object)->vectorcall = kCall;
    new (&ContentOf(object)) Content();
    return object;
  }

  static int Traverse(PyObject* object, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(object));
    return ContentOf(object).Traverse(visit, arg);
  }

  static int Clear(PyObject* object) {
    ContentOf(object).Clear();
    return 0;
  }

  static void Deallocate(PyObject* object) {
    PyTypeObject* type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    ContentOf(object).~Content();
    type->tp_free(object);
    Py_DECREF(type);
  }

  // Rows for the tables of methods and members.
  static PyMethodDef InitSubclass() noexcept {
    return {"__init_subclass__", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(KeepVectorcall)),
            METH_CLASS | METH_VARARGS | METH_KEYWORDS, nullptr};
  }
  static PyMemberDef VectorcallOffset() noexcept {
    return {"__vectorcalloffset__", T_PYSSIZET, offsetof(Head, vectorcall), READONLY, nullptr};
  }

 private:
  struct Head {
    PyObject_HEAD vectorcallfunc vectorcall;
  };
  struct Layout : Head {
    Content content;
  };
};

}  // namespace pypto::bindings
