// Finding the handle of an image: the one of the last call as long as the same workers are current and it is usable.
#include "bound_program.h"

#include "pypto/runtime/worker.h"
#include "registration_handle.h"

namespace pypto::bindings {

PyObject* entered_workers = nullptr;

namespace {

PyObject* EnteredWorkers() noexcept {
  PyObject* entered = nullptr;
  return PyContextVar_Get(entered_workers, nullptr, &entered) == 0 ? entered : nullptr;
}

bool IsUsable(PyObject* handle) {
  const runtime::Registration& registration = *RegistrationOf(handle);
  return registration.is_open() && registration.worker().CheckUsable().ok();
}

}  // namespace

void BoundProgram::SetImage(PyObject* image) noexcept {
  Clear();
  image_ = Py_NewRef(image);
}

PyObject* BoundProgram::KnownHandle() const noexcept {
  PyObject* entered = EnteredWorkers();
  if (entered == nullptr) [[unlikely]] {
    PyErr_Clear();
    return nullptr;
  }
  const bool known = entered == entered_ && IsUsable(handle_);
  Py_DECREF(entered);
  return known ? Py_NewRef(handle_) : nullptr;
}

PyObject* BoundProgram::FindHandle() {
  PyObject* entered = EnteredWorkers();
  if (entered == nullptr) return nullptr;
  PyObject* module = PyImport_ImportModule("pypto.runtime.dispatch");
  PyObject* handle = module != nullptr ? PyObject_CallMethod(module, "handle_of", "O", image_) : nullptr;
  Py_XDECREF(module);
  if (handle != nullptr && RegistrationOf(handle) == nullptr) Py_CLEAR(handle);
  if (handle == nullptr) {
    Py_DECREF(entered);
    return nullptr;
  }
  Py_XSETREF(entered_, entered);
  Py_XSETREF(handle_, Py_NewRef(handle));
  return handle;
}

int BoundProgram::Traverse(visitproc visit, void* arg) const {
  Py_VISIT(image_);
  Py_VISIT(entered_);
  Py_VISIT(handle_);
  return 0;
}

void BoundProgram::Clear() noexcept {
  Py_CLEAR(image_);
  Py_CLEAR(entered_);
  Py_CLEAR(handle_);
}

PyObject* KeepVectorcall(PyObject* type, PyObject*, PyObject*) {
  auto* subtype = reinterpret_cast<PyTypeObject*>(type);
  if (subtype->tp_call == PyVectorcall_Call) {
    subtype->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_IMMUTABLETYPE;
  }
  Py_RETURN_NONE;
}

}  // namespace pypto::bindings
