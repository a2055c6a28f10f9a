// Completion: wait, done, result; keeps the arguments of the dispatch until it has ended.
#include "completion_object.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <new>
#include <optional>
#include <string>
#include <utility>

#include "arguments.h"
#include "bind_errors.h"
#include "bindings.h"
#include "gil.h"

namespace nb = nanobind;

namespace pypto::bindings {
namespace {

struct CompletionObject {
  PyObject_HEAD std::shared_ptr<runtime::Completion> completion;
  PyObject* kept;
  PyObject* written;  // tuple of tensors whose versions count the write, or null
  PyObject* result;
};

PyTypeObject* completion_type = nullptr;

CompletionObject* Self(PyObject* object) noexcept { return reinterpret_cast<CompletionObject*>(object); }

void Deallocate(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  if (Self(object)->completion != nullptr && !Self(object)->completion->finished()) {
    // Dropping an unfinished one waits for it; an exception in flight stays as it is.
    PyObject *kind, *value, *trace;
    PyErr_Fetch(&kind, &value, &trace);
    {
      const GilRelease released;
      Self(object)->completion.reset();
    }
    if (Self(object)->written != nullptr && !NoteWrittenTensors(Self(object)->written)) PyErr_Clear();
    PyErr_Restore(kind, value, trace);
  }
  Self(object)->completion.~shared_ptr();
  Py_CLEAR(Self(object)->kept);
  Py_CLEAR(Self(object)->written);
  Py_CLEAR(Self(object)->result);
  type->tp_free(object);
  Py_DECREF(type);
}

int Traverse(PyObject* object, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(Self(object)->kept);
  Py_VISIT(Self(object)->written);
  Py_VISIT(Self(object)->result);
  return 0;
}

// Lets go of what was kept for the dispatch once it has ended. False with a Python error.
bool EndKeeping(PyObject* object) {
  Py_CLEAR(Self(object)->kept);
  PyObject* written = std::exchange(Self(object)->written, nullptr);
  const bool noted = written == nullptr || PyErr_Occurred() != nullptr || NoteWrittenTensors(written);
  Py_XDECREF(written);
  return noted;
}

// False with a Python error.
bool WaitFor(PyObject* object, std::optional<int64_t> timeout_ms) {
  base::Status status;
  {
    const GilRelease released;
    status = Self(object)->completion->Wait(timeout_ms, InterruptBySignals());
  }
  if (Self(object)->completion->finished() && !EndKeeping(object)) return false;
  if (PyErr_Occurred()) return false;
  if (status.ok()) return true;
  SetPythonError(status);
  return false;
}

bool ReadTimeout(PyObject* value, std::optional<int64_t>& out) {
  if (value == nullptr || value == Py_None) return true;
  if (PyBool_Check(value) || !PyLong_Check(value)) {
    PyErr_Format(PyExc_TypeError, "timeout_ms must be an int or None, got %s", Py_TYPE(value)->tp_name);
    return false;
  }
  int overflow = 0;
  const long long milliseconds = PyLong_AsLongLongAndOverflow(value, &overflow);
  if (overflow != 0 || milliseconds < 0) {
    PyErr_Format(PyExc_ValueError, "timeout_ms is %S, expected 0 or more and below 2**63", value);
    return false;
  }
  out = milliseconds;
  return true;
}

PyObject* Wait(PyObject* object, PyObject* args, PyObject* names) {
  static const char* keywords[] = {"timeout_ms", nullptr};
  PyObject* value = nullptr;
  std::optional<int64_t> timeout_ms;
  if (!PyArg_ParseTupleAndKeywords(args, names, "|O:wait", const_cast<char**>(keywords), &value)) return nullptr;
  if (!ReadTimeout(value, timeout_ms) || !WaitFor(object, timeout_ms)) return nullptr;
  Py_RETURN_NONE;
}

PyObject* Done(PyObject* object, PyObject*) {
  bool done = false;
  {
    const GilRelease released;
    done = Self(object)->completion->Done();
  }
  if (done && !EndKeeping(object)) return nullptr;
  return PyBool_FromLong(done ? 1 : 0);
}

PyObject* Result(PyObject* object, PyObject*) {
  return WaitFor(object, std::nullopt) ? Py_NewRef(Self(object)->result) : nullptr;
}

PyMethodDef methods[] = {
    {"wait", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(Wait)), METH_VARARGS | METH_KEYWORDS,
     "wait(timeout_ms=None): waits and writes host outputs; TimeoutError when it takes longer."},
    {"done", Done, METH_NOARGS, "Whether it has ended; the first True writes host outputs."},
    {"result", Result, METH_NOARGS, "Waits, then returns what the call would have returned."},
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(Deallocate)},
    {Py_tp_traverse, reinterpret_cast<void*>(Traverse)},
    {Py_tp_methods, methods},
    {Py_tp_doc, const_cast<char*>("A submitted dispatch. Dropping an unfinished one waits for it.")},
    {0, nullptr},
};

PyType_Spec spec = {
    "pypto._core.Completion", sizeof(CompletionObject), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

}  // namespace

PyObject* MakeCompletion(std::shared_ptr<runtime::Completion> completion, PyObject* kept, PyObject* written,
                         PyObject* result) {
  PyObject* object = completion_type->tp_alloc(completion_type, 0);
  if (object == nullptr) {
    Py_XDECREF(kept);
    Py_XDECREF(written);
    Py_XDECREF(result);
    return nullptr;
  }
  new (&Self(object)->completion) std::shared_ptr<runtime::Completion>(std::move(completion));
  Self(object)->kept = kept;
  Self(object)->written = written;
  Self(object)->result = result;
  return object;
}

void bind_completion(nb::module_& module) {
  static const std::string name = nb::cast<std::string>(module.attr("__name__")) + ".Completion";
  spec.name = name.c_str();
  completion_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (completion_type == nullptr) throw nb::python_error();
  module.attr("Completion") = nb::borrow(reinterpret_cast<PyObject*>(completion_type));
}

}  // namespace pypto::bindings
