// A compiled image and the handle that its last call found: what makes a call without a handle as cheap as one with it.
#pragma once

#include <Python.h>

namespace pypto::bindings {

// Owned by the Python object of a compiled program or a jitted kernel. Holds its references until Clear. Thread rule:
// with the GIL.
class BoundProgram {
 public:
  BoundProgram() = default;
  // Takes a new reference of the `_core.CompiledImage`.
  explicit BoundProgram(PyObject* image) noexcept : image_(Py_NewRef(image)) {}
  BoundProgram(const BoundProgram&) = delete;
  BoundProgram& operator=(const BoundProgram&) = delete;
  ~BoundProgram() { Clear(); }

  PyObject* image() const noexcept { return image_; }
  void SetImage(PyObject* image) noexcept;
  // New reference to the handle on the innermost current worker of the image's platform, else on the default worker.
  // Null with a Python error.
  PyObject* Handle() {
    PyObject* handle = KnownHandle();
    return handle != nullptr ? handle : FindHandle();
  }
  // New reference to the handle of the last call if it is the right one now; null without a Python error otherwise.
  // Runs no Python code.
  PyObject* KnownHandle() const noexcept;
  PyObject* FindHandle();

  int Traverse(visitproc visit, void* arg) const;
  void Clear() noexcept;

 private:
  PyObject* image_ = nullptr;
  PyObject* entered_ = nullptr;  // the tuple of current workers that handle_ belongs to
  PyObject* handle_ = nullptr;
};

// The context variable of the entered workers, a tuple with the innermost last. Made when the module is.
extern PyObject* entered_workers;

// A METH_CLASS `__init_subclass__` for base types with vectorcall: a Python class that adds no `__call__` is called
// through vectorcall too. Such a class cannot be changed afterwards, as calls would not see a `__call__` that is added.
PyObject* KeepVectorcall(PyObject* type, PyObject* args, PyObject* names);

}  // namespace pypto::bindings
