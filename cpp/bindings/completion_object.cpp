// Completion: wait, done, result; keeps the arguments of the dispatch until it has ended.
#include "completion_object.h"

#include <nanobind/nanobind.h>

#include <new>
#include <optional>
#include <utility>

#include "arguments.h"
#include "bind_errors.h"
#include "bindings.h"
#include "gil.h"
#include "type_maker.h"

namespace nb = nanobind;

namespace pypto::bindings {
namespace {

struct CompletionObject {
  // Of a launch left to its waiter, while it has not ended: its ticket, its handle, its tensors.
  PyObject_HEAD uint64_t ticket;
  runtime::Registration* registration;  // the handle's
  PyObject* handle;
  size_t held_count;
  PyObject* held[runtime::RepeatKey::kMost];
  // Of an ordinary one.
  std::shared_ptr<runtime::Completion> completion;
  PyObject* kept;
  PyObject* written;  // tuple of tensors whose versions count the write, or null
  PyObject* result;
};

PyTypeObject* completion_type = nullptr;

CompletionObject* Self(PyObject* object) noexcept { return reinterpret_cast<CompletionObject*>(object); }

// Objects to be used again, all fields empty: a submitted launch allocates nothing. They are alive, with the one
// reference from here, and the collector knows them: telling it of each launch would cost more than the rest. Under the
// GIL.
constexpr size_t kMostSpares = 8;
PyObject* spares[kMostSpares];
size_t spare_count = 0;

[[gnu::noinline]] PyObject* MakeObject() {
  PyObject* fresh = completion_type->tp_alloc(completion_type, 0);
  if (fresh != nullptr) new (&Self(fresh)->completion) std::shared_ptr<runtime::Completion>();
  return fresh;
}

// Lets go of the handle and the arguments of a launch that was left.
inline void DropLeft(PyObject* object) {
  CompletionObject& self = *Self(object);
  for (size_t count = std::exchange(self.held_count, 0); count != 0; --count) Py_DECREF(self.held[count - 1]);
  Py_CLEAR(self.handle);
}

// Runs what was left to this thread; the GIL stays: it is short. False: BecomeOrdinary.
inline bool RunLeft(PyObject* object) {
  if (!Self(object)->registration->WaitLeft(Self(object)->ticket)) return false;
  Self(object)->ticket = 0;
  DropLeft(object);
  return true;
}

// The launch that was left has a record from now on, and a completion of its own. False with a Python error.
bool BecomeOrdinary(PyObject* object, const runtime::Interrupt& interrupt) {
  // Another thread may do the same, and end what was left, while this one has no GIL.
  while (Self(object)->ticket != 0) {
    PyObject* handle = Py_NewRef(Self(object)->handle);
    runtime::Registration& registration = *Self(object)->registration;
    const uint64_t ticket = Self(object)->ticket;
    base::Result<std::shared_ptr<runtime::Completion>> taken = base::OkStatus();
    {
      const GilRelease released;
      taken = registration.TakeLeft(ticket, interrupt);
    }
    if (taken.ok() && *taken != nullptr) {
      Self(object)->completion = *std::move(taken);
      Self(object)->ticket = 0;
    }
    Py_DECREF(handle);
    if (PyErr_Occurred()) return false;
    if (!taken.ok()) {
      SetPythonError(taken.status());
      return false;
    }
  }
  return true;
}

// Dropping one that has not ended waits for it.
void EndLeft(PyObject* object) {
  if (Self(object)->ticket == 0 || RunLeft(object)) return;
  PyObject *kind, *value, *trace;
  PyErr_Fetch(&kind, &value, &trace);
  if (!BecomeOrdinary(object, {})) PyErr_Clear();
  PyErr_Restore(kind, value, trace);
}

// An exception that a signal handler raised where none can leave: raised again by the interpreter's next step. Takes
// over the reference.
void RaiseSoon(PyObject* error) {
  const auto raise = [](void* value) {
    auto* raised = static_cast<PyObject*>(value);
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(raised)), raised);
    Py_DECREF(raised);
    return -1;
  };
  if (Py_AddPendingCall(raise, error) == 0) return;
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error)), error);
  PyErr_WriteUnraisable(nullptr);
  Py_DECREF(error);
}

// Waits for an unfinished one; Ctrl-C aborts the work. No exception is set before.
void Drop(CompletionObject* self) {
  {
    const GilRelease released;
    // The interpreter that ends takes no more signals.
    const bool waits = _Py_IsFinalizing() == 0 && !self->completion->interrupted();
    if (waits) static_cast<void>(self->completion->Wait(std::nullopt, InterruptBySignals()).ok());
    self->completion.reset();
  }
  if (PyErr_Occurred() == nullptr) return;
  PyObject *kind, *value, *trace;
  PyErr_Fetch(&kind, &value, &trace);
  PyErr_NormalizeException(&kind, &value, &trace);
  Py_XDECREF(kind);
  Py_XDECREF(trace);
  if (value != nullptr) RaiseSoon(value);
}

// Ends what has not ended and lets go of everything. The collector shows the object to nobody meanwhile: other code
// runs in between, also without the GIL.
[[gnu::noinline]] void MakeEmpty(PyObject* object) {
  CompletionObject& self = *Self(object);
  PyObject_GC_UnTrack(object);
  EndLeft(object);
  if (self.completion != nullptr && !self.completion->finished()) {
    // Dropping an unfinished one waits for it; an exception in flight stays as it is.
    PyObject *kind, *value, *trace;
    PyErr_Fetch(&kind, &value, &trace);
    Drop(&self);
    if (self.written != nullptr && !NoteWrittenTensors(self.written)) PyErr_Clear();
    PyErr_Restore(kind, value, trace);
  }
  self.completion.reset();
  Py_CLEAR(self.kept);
  Py_CLEAR(self.written);
  Py_CLEAR(self.result);
  DropLeft(object);
  self.ticket = 0;
  PyObject_GC_Track(object);
}

[[gnu::noinline]] void Free(PyObject* object) {
  if (Py_REFCNT(object) != 1) {  // somebody found it through the collector
    Py_DECREF(object);
    return;
  }
  PyTypeObject* type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  Self(object)->completion.~shared_ptr();
  type->tp_free(object);
  Py_DECREF(type);
}

void Deallocate(PyObject* object) {
  const CompletionObject& self = *Self(object);
  // Alive again: it is kept, or freed from here.
  Py_SET_REFCNT(object, 1);
  if (self.ticket != 0 || self.handle != nullptr || self.completion != nullptr) [[unlikely]]
    MakeEmpty(object);
  if (spare_count == kMostSpares) [[unlikely]]
    return Free(object);
  spares[spare_count++] = object;
}

int Traverse(PyObject* object, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(Self(object)->kept);
  Py_VISIT(Self(object)->written);
  Py_VISIT(Self(object)->result);
  Py_VISIT(Self(object)->handle);
  for (size_t i = 0; i < Self(object)->held_count; ++i) Py_VISIT(Self(object)->held[i]);
  return 0;
}

// Lets go of what was kept for the dispatch once it has ended. False with a Python error.
bool EndKeeping(PyObject* object) {
  Py_CLEAR(Self(object)->kept);
  DropLeft(object);
  PyObject* written = std::exchange(Self(object)->written, nullptr);
  const bool noted = written == nullptr || PyErr_Occurred() != nullptr || NoteWrittenTensors(written);
  Py_XDECREF(written);
  return noted;
}

// False with a Python error.
bool WaitFor(PyObject* object, std::optional<int64_t> timeout_ms) {
  if (Self(object)->ticket != 0) {
    if (!timeout_ms && RunLeft(object)) [[likely]]
      return true;
    if (!BecomeOrdinary(object, InterruptBySignals())) return false;
  }
  if (Self(object)->completion == nullptr) return true;
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

[[gnu::noinline]] PyObject* WaitOtherwise(PyObject* object, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  const Py_ssize_t named = names != nullptr ? PyTuple_GET_SIZE(names) : 0;
  if (count + named > 1) {
    PyErr_Format(PyExc_TypeError, "wait() takes at most 1 argument (%zd given)", count + named);
    return nullptr;
  }
  if (named == 1 && PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, 0), "timeout_ms") != 0) {
    PyErr_Format(PyExc_TypeError, "'%U' is an invalid keyword argument for wait()", PyTuple_GET_ITEM(names, 0));
    return nullptr;
  }
  PyObject* value = count + named == 1 ? args[0] : nullptr;
  std::optional<int64_t> timeout_ms;
  if (!ReadTimeout(value, timeout_ms) || !WaitFor(object, timeout_ms)) return nullptr;
  Py_RETURN_NONE;
}

PyObject* Wait(PyObject* object, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  if (count == 0 && names == nullptr && Self(object)->ticket != 0 && RunLeft(object)) [[likely]]
    Py_RETURN_NONE;
  return WaitOtherwise(object, args, count, names);
}

// BecomeOrdinary without waiting for a thread inside the worker. False when that was not possible.
bool TryBecomeOrdinary(PyObject* object) {
  if (Self(object)->ticket == 0) return true;
  runtime::Registration& registration = *Self(object)->registration;
  if (!registration.worker().TryEnter()) return false;
  std::shared_ptr<runtime::Completion> taken = registration.TakeLeftEntered(Self(object)->ticket);
  registration.worker().Leave();
  if (taken == nullptr) return false;  // another thread has it and is about to put it here
  Self(object)->completion = std::move(taken);
  Self(object)->ticket = 0;
  return true;
}

PyObject* Done(PyObject* object, PyObject*) {
  if (!TryBecomeOrdinary(object)) Py_RETURN_FALSE;
  if (Self(object)->completion == nullptr) Py_RETURN_TRUE;
  bool done = false;
  {
    const GilRelease released;
    done = Self(object)->completion->Done();
  }
  if (done && !EndKeeping(object)) return nullptr;
  return PyBool_FromLong(done ? 1 : 0);
}

PyObject* Result(PyObject* object, PyObject*) {
  if (!WaitFor(object, std::nullopt)) return nullptr;
  return Py_NewRef(Self(object)->result != nullptr ? Self(object)->result : Py_None);
}

PyMethodDef methods[] = {
    {"wait", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(Wait)), METH_FASTCALL | METH_KEYWORDS,
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

PyObject* TakeCompletion() {
  while (spare_count != 0) {
    PyObject* object = spares[--spare_count];
    if (Py_REFCNT(object) == 1) [[likely]]
      return object;
    Py_DECREF(object);  // somebody found it through the collector
  }
  return MakeObject();
}

PyObject* MakeCompletion(std::shared_ptr<runtime::Completion> completion, PyObject* kept, PyObject* written,
                         PyObject* result) {
  PyObject* object = TakeCompletion();
  if (object == nullptr) {
    Py_XDECREF(kept);
    Py_XDECREF(written);
    Py_XDECREF(result);
    return nullptr;
  }
  Self(object)->completion = std::move(completion);
  Self(object)->kept = kept;
  Self(object)->written = written;
  Self(object)->result = result;
  return object;
}

void SetLeft(PyObject* completion, PyObject* handle, runtime::Registration* registration, PyObject* const* objects,
             size_t count, uint64_t ticket) noexcept {
  CompletionObject& self = *Self(completion);
  self.ticket = ticket;
  self.registration = registration;
  self.handle = Py_NewRef(handle);
  for (size_t i = 0; i < count; ++i) self.held[i] = Py_NewRef(objects[i]);
  self.held_count = count;
}

void bind_completion(nb::module_& module) { completion_type = MakeType(module, spec); }

}  // namespace pypto::bindings
