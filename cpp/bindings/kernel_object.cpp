// KernelCall: the base of pypto.frontend.JitKernel. A direct call that was seen before goes to its program at once; any
// other goes through the kernel's Python code, which compiles and says what to remember.
#include <nanobind/nanobind.h>

#include <cstddef>

#include "bindings.h"
#include "callable_object.h"
#include "fingerprint.h"
#include "kernel_calls.h"
#include "registration_handle.h"
#include "type_maker.h"

namespace nb = nanobind;

namespace pypto::bindings {
namespace {

struct CountedCalls : KernelCalls {
  unsigned long long hits = 0;
};

PyObject* Call(PyObject* object, PyObject* const* objects, size_t flagged_count, PyObject* names);
using Object = CallableObject<CountedCalls, Call>;

// Dispatches what Find has read. Null with a Python error.
PyObject* CallKnown(PyObject* object, std::shared_ptr<KnownCall>* known, Arguments& arguments) {
  Object::ContentOf(object).hits += 1;
  PyObject* handle = (*known)->program().KnownHandle();
  if (handle == nullptr) [[unlikely]] {
    const std::shared_ptr<KnownCall> held = *known;  // the list may change while Python code runs
    handle = held->program().FindHandle();
    if (handle == nullptr) return nullptr;
  }
  const program::Plan& plan = RegistrationOf(handle)->image().plan;
  PyObject* result = nullptr;
  bool writable = true;
  for (size_t i = 0; writable && i < arguments.size(); ++i) {
    const program::PlanParameter& parameter = plan.parameters[i];
    if (parameter.direction == program::Direction::kIn) continue;
    writable = arguments.ClaimWritten(i, parameter.name.c_str());
  }
  if (writable) [[likely]]
    result = Dispatch(handle, arguments, nullptr);
  Py_DECREF(handle);
  return result;
}

PyObject* CallUnknown(PyObject* object, const CallShape& call) {
  PyObject* method = PyObject_GetAttrString(object, "_call");
  PyObject* scope = method != nullptr ? OptionScopeInForce() : nullptr;
  PyObject* remembered =
      scope != nullptr ? PyObject_Vectorcall(method, call.objects, call.positional, call.names) : nullptr;
  Py_XDECREF(method);
  bool done = remembered != nullptr;
  if (done && remembered != Py_None) done = Object::ContentOf(object).Remember(call, scope, remembered);
  Py_XDECREF(scope);
  Py_XDECREF(remembered);
  return done ? Py_NewRef(Py_None) : nullptr;
}

// What a call raises is an error of pypto, whatever went wrong. Interrupts and the like stay as they are.
PyObject* RaiseAsOurs(PyObject* object) {
  if (!PyErr_ExceptionMatches(PyExc_Exception)) return nullptr;
  PyObject *kind, *value, *trace;
  PyErr_Fetch(&kind, &value, &trace);
  PyErr_NormalizeException(&kind, &value, &trace);
  if (trace != nullptr) PyException_SetTraceback(value, trace);
  PyObject* module = PyImport_ImportModule("pypto.errors");
  PyObject* name = module != nullptr ? PyObject_GetAttrString(object, "__name__") : nullptr;
  PyObject* error = name != nullptr ? PyObject_CallMethod(module, "escaped", "OO", name, value) : nullptr;
  Py_XDECREF(name);
  Py_XDECREF(module);
  if (error == value) {
    PyErr_Restore(kind, value, trace);
  } else {
    if (error != nullptr) {
      PyException_SetCause(error, Py_NewRef(value));
      PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error)), error);
    }
    Py_DECREF(kind);
    Py_DECREF(value);
    Py_XDECREF(trace);
  }
  Py_XDECREF(error);
  return nullptr;
}

PyObject* Call(PyObject* object, PyObject* const* objects, size_t flagged_count, PyObject* names) {
  const CallShape call{objects, static_cast<size_t>(PyVectorcall_NARGS(flagged_count)), names};
  Arguments arguments;
  std::shared_ptr<KnownCall> held;
  std::shared_ptr<KnownCall>* known = Object::ContentOf(object).Find(call, arguments, held);
  PyObject* result = known != nullptr ? CallKnown(object, known, arguments) : CallUnknown(object, call);
  if (result == nullptr) [[unlikely]]
    return RaiseAsOurs(object);
  return result;
}

PyObject* Forget(PyObject* object, PyObject*) {
  Object::ContentOf(object).Clear();
  Object::ContentOf(object).hits = 0;
  Py_RETURN_NONE;
}

PyObject* GetHits(PyObject* object, void*) { return PyLong_FromUnsignedLongLong(Object::ContentOf(object).hits); }

PyMethodDef methods[] = {
    {"_forget_calls", Forget, METH_NOARGS, "Forgets the calls seen so far."},
    Object::InitSubclass(),
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef getters[] = {
    {"_known_hits", GetHits, nullptr, "Calls that were served without the kernel's Python code.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyMemberDef members[] = {
    Object::VectorcallOffset(),
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(Object::New)},
    {Py_tp_dealloc, reinterpret_cast<void*>(Object::Deallocate)},
    {Py_tp_traverse, reinterpret_cast<void*>(Object::Traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(Object::Clear)},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_methods, methods},
    {Py_tp_getset, getters},
    {Py_tp_members, members},
    {Py_tp_doc, const_cast<char*>("Calls that were seen before go to their program at once.")},
    {0, nullptr},
};

PyType_Spec spec = Object::Spec("pypto._core.KernelCall", slots);

}  // namespace

void bind_kernel_object(nb::module_& module) {
  MakeType(module, spec);
  module.def(
      "fingerprint",
      [](nb::handle buffer) {
        Py_buffer view;
        if (PyObject_GetBuffer(buffer.ptr(), &view, PyBUF_SIMPLE) != 0) throw nb::python_error();
        PyObject* made = MakeFingerprint(view.buf, static_cast<size_t>(view.len));
        PyBuffer_Release(&view);
        if (made == nullptr) throw nb::python_error();
        return nb::steal<nb::bytes>(made);
      },
      nb::arg("buffer"), "What tells whether a contiguous buffer holds the same bytes: all of few, a hash of many.");
  option_scope = PyContextVar_New("pypto_options", Py_None);
  if (option_scope == nullptr) throw nb::python_error();
  module.attr("option_scope") = nb::borrow(option_scope);
}

}  // namespace pypto::bindings
