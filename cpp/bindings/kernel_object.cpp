// KernelCall: the base of pypto.frontend.JitKernel. A direct call that was seen before goes to its program at once; any
// other goes through the kernel's Python code, which compiles and says what to remember.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <structmember.h>

#include <cstddef>
#include <new>
#include <string>

#include "bindings.h"
#include "kernel_calls.h"
#include "registration_handle.h"

namespace nb = nanobind;

namespace pypto::bindings {
namespace {

struct KernelObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  KernelCalls calls;
  unsigned long long hits;
};

KernelObject* Self(PyObject* object) noexcept { return reinterpret_cast<KernelObject*>(object); }

// Dispatches what Find has read. Null with a Python error.
PyObject* CallKnown(PyObject* object, std::shared_ptr<KnownCall>* known, Arguments& arguments) {
  Self(object)->hits += 1;
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
  if (done && remembered != Py_None) done = Self(object)->calls.Remember(call, scope, remembered);
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
  std::shared_ptr<KnownCall>* known = Self(object)->calls.Find(call, arguments);
  PyObject* result = known != nullptr ? CallKnown(object, known, arguments) : CallUnknown(object, call);
  if (result == nullptr) [[unlikely]]
    return RaiseAsOurs(object);
  return result;
}

PyObject* New(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* object = type->tp_alloc(type, 0);
  if (object == nullptr) return nullptr;
  Self(object)->vectorcall = Call;
  new (&Self(object)->calls) KernelCalls();
  return object;
}

PyObject* Forget(PyObject* object, PyObject*) {
  Self(object)->calls.Clear();
  Self(object)->hits = 0;
  Py_RETURN_NONE;
}

PyObject* GetHits(PyObject* object, void*) { return PyLong_FromUnsignedLongLong(Self(object)->hits); }

int Traverse(PyObject* object, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(object));
  return Self(object)->calls.Traverse(visit, arg);
}

int Clear(PyObject* object) {
  Self(object)->calls.Clear();
  return 0;
}

void Deallocate(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  Self(object)->calls.~KernelCalls();
  type->tp_free(object);
  Py_DECREF(type);
}

PyMethodDef methods[] = {
    {"_forget_calls", Forget, METH_NOARGS, "Forgets the calls seen so far."},
    {"__init_subclass__", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(KeepVectorcall)),
     METH_CLASS | METH_VARARGS | METH_KEYWORDS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef getters[] = {
    {"_known_hits", GetHits, nullptr, "Calls that were served without the kernel's Python code.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(KernelObject, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(New)},
    {Py_tp_dealloc, reinterpret_cast<void*>(Deallocate)},
    {Py_tp_traverse, reinterpret_cast<void*>(Traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(Clear)},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_methods, methods},
    {Py_tp_getset, getters},
    {Py_tp_members, members},
    {Py_tp_doc, const_cast<char*>("Calls that were seen before go to their program at once.")},
    {0, nullptr},
};

PyType_Spec spec = {"pypto._core.KernelCall", sizeof(KernelObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_IMMUTABLETYPE |
                        Py_TPFLAGS_BASETYPE,
                    slots};

}  // namespace

void bind_kernel_object(nb::module_& module) {
  static const std::string name = nb::cast<std::string>(module.attr("__name__")) + ".KernelCall";
  spec.name = name.c_str();
  nb::object type = nb::steal(PyType_FromSpec(&spec));
  if (!type.is_valid()) throw nb::python_error();
  module.attr("KernelCall") = type;
  option_scope = PyContextVar_New("pypto_options", Py_None);
  if (option_scope == nullptr) throw nb::python_error();
  module.attr("option_scope") = nb::borrow(option_scope);
}

}  // namespace pypto::bindings
