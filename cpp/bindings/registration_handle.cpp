// RegistrationHandle: vectorcall dispatch, submit, report, unregister.
#include "registration_handle.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <structmember.h>

#include <cstddef>
#include <new>
#include <string>
#include <vector>

#include "arguments.h"
#include "bind_errors.h"
#include "bindings.h"
#include "completion_object.h"
#include "device_tensor.h"
#include "gil.h"
#include "host_repeat.h"
#include "launch_report_object.h"
#include "trace_records.h"
#include "type_maker.h"

namespace nb = nanobind;

namespace pypto::bindings {
namespace {

struct HandleObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  std::shared_ptr<runtime::Registration> registration;
  PyObject* worker;         // the ChipWorker, owned
  HostRepeat* host_repeat;  // owned; null until a call has brought host tensors
};

PyTypeObject* handle_type = nullptr;

HandleObject* Self(PyObject* object) noexcept { return reinterpret_cast<HandleObject*>(object); }

bool RefuseKeywords(PyObject* names) {
  if (names == nullptr || PyTuple_GET_SIZE(names) == 0) return true;
  PyErr_SetString(PyExc_TypeError, "arguments of a registered program are positional, in the kernel's order");
  return false;
}

// Fresh tensors for the trailing outputs that were left out, appended to `arguments`: a new list, or null with an
// error.
PyObject* AppendFreshOutputs(const runtime::Registration& registration, Arguments& arguments) {
  auto shapes = registration.InferOutputs(arguments.views());
  if (!shapes.ok()) {
    SetPythonError(shapes.status());
    return nullptr;
  }
  nb::object module = nb::steal(PyImport_ImportModule("pypto.runtime._torch"));
  PyObject* outputs = PyList_New(0);
  if (!module.is_valid() || outputs == nullptr) return nullptr;
  for (const runtime::OutputShape& shape : *shapes) {
    PyObject* dims = PyTuple_New(static_cast<Py_ssize_t>(shape.dims.size()));
    for (size_t i = 0; dims != nullptr && i < shape.dims.size(); ++i) {
      PyTuple_SET_ITEM(dims, static_cast<Py_ssize_t>(i), PyLong_FromLongLong(shape.dims[i]));
    }
    const std::string name(program::InfoOf(shape.dtype).name);
    PyObject* tensor = dims != nullptr ? PyObject_CallMethod(module.ptr(), "empty", "Ns", dims, name.c_str()) : nullptr;
    const bool added =
        tensor != nullptr && PyList_Append(outputs, tensor) == 0 && arguments.Append(registration.image().plan, tensor);
    Py_XDECREF(tensor);
    if (!added) {
      Py_DECREF(outputs);
      return nullptr;
    }
  }
  return outputs;
}

// None for no fresh outputs, the tensor for one, a tuple for more. Takes over `outputs`, which may be null.
PyObject* CallResult(PyObject* outputs) {
  if (outputs == nullptr) return Py_NewRef(Py_None);
  PyObject* result = PyList_GET_SIZE(outputs) == 1 ? Py_NewRef(PyList_GET_ITEM(outputs, 0)) : PyList_AsTuple(outputs);
  Py_DECREF(outputs);
  return result;
}

// Whether the objects are the resident tensors of the last call. Inside the worker.
[[gnu::always_inline]] inline bool AreLast(const runtime::Registration& registration, PyObject* const* objects,
                                           size_t count) noexcept {
  const runtime::RepeatKey& key = registration.repeat_key();
  if (count != key.count) return false;
  for (size_t i = 0; i < count; ++i) {
    if (!IsDeviceTensor(objects[i]) || !key.Names(i, *ResidentOf(objects[i]))) return false;
  }
  return true;
}

// A short call that is the last one again, without reading it as arguments. False: nothing was done.
[[gnu::always_inline]] inline bool TryRepeat(runtime::Registration& registration, PyObject* const* objects,
                                             size_t count, base::Status* status) {
  runtime::Worker& worker = registration.worker();
  if (!worker.TryEnter()) [[unlikely]]
    return false;
  const bool done = AreLast(registration, objects, count) && registration.TryRepeat(status);
  worker.Leave();
  return done;
}

// The same for a call that brings host tensors like those of the last one.
[[gnu::always_inline]] inline bool TryRepeatHost(HandleObject* self, PyObject* const* objects, size_t count,
                                                 base::Status* status) {
  runtime::RepeatArgument arguments[HostRepeat::kMost];
  if (!self->host_repeat->Read(objects, count, arguments)) return false;
  runtime::Registration& registration = *self->registration;
  runtime::Worker& worker = registration.worker();
  if (!worker.TryEnter()) [[unlikely]]
    return false;
  const bool done = registration.TryRepeat({arguments, count}, self->host_repeat->number(), status);
  worker.Leave();
  return done;
}

// For the next call like this one, which has been prepared.
void NoteForRepeat(HandleObject* self, const Arguments& arguments) {
  if (!arguments.HasHostTensors()) {
    if (self->host_repeat != nullptr) self->host_repeat->Forget();
    return;
  }
  if (self->host_repeat == nullptr) self->host_repeat = new (std::nothrow) HostRepeat();
  if (self->host_repeat == nullptr) return;
  const runtime::Registration& registration = *self->registration;
  self->host_repeat->Note(registration.image().plan, arguments, registration.repeat_number());
}

// The same for a submitted one. The completion, or null: with an ok status nothing was done.
[[gnu::always_inline]] inline PyObject* TryLeave(PyObject* object, PyObject* const* objects, size_t count,
                                                 base::Status* status) {
  runtime::Registration& registration = *Self(object)->registration;
  PyObject* completion = TakeCompletion();
  if (completion == nullptr) [[unlikely]]
    return nullptr;
  uint64_t ticket = 0;
  runtime::Worker& worker = registration.worker();
  if (worker.TryEnter()) [[likely]] {
    if (AreLast(registration, objects, count)) [[likely]]
      ticket = registration.TryLeave(status);
    worker.Leave();
  }
  if (ticket != 0) [[likely]] {
    SetLeft(completion, object, &registration, objects, count, ticket);
    return completion;
  }
  Py_DECREF(completion);
  return nullptr;
}

// Runs what Prepare accepted and leaves the worker.
base::Status RunAndLeave(runtime::Registration& registration) {
  if (registration.EstimatedMicroseconds() < kReleaseGilMicroseconds) {
    base::Status status = registration.Run();
    registration.worker().Leave();
    return status;
  }
  const GilRelease released;
  runtime::CallOptions options;
  options.interrupt = InterruptBySignals();
  options.may_run_here = true;
  base::Status status = registration.Run(options);
  registration.worker().Leave();
  return status;
}

// Reads, checks and launches.
[[gnu::noinline]] PyObject* CallAnew(PyObject* handle, PyObject* const* objects, size_t count) {
  const runtime::Registration& registration = *Self(handle)->registration;
  const program::Plan& plan = registration.image().plan;
  Arguments arguments;
  if (!arguments.Read(plan, objects, count)) return nullptr;
  if (arguments.size() == plan.parameters.size()) [[likely]]
    return Dispatch(handle, arguments, nullptr);
  PyObject* outputs = AppendFreshOutputs(registration, arguments);
  return outputs != nullptr ? Dispatch(handle, arguments, outputs) : nullptr;
}

// A call that may be the last one again.
[[gnu::always_inline]] inline PyObject* CallHandleInline(PyObject* handle, PyObject* const* objects, size_t count) {
  HandleObject* self = Self(handle);
  base::Status status;
  const bool from_host = self->host_repeat != nullptr && self->host_repeat->keeps_something();
  if (from_host ? TryRepeatHost(self, objects, count, &status)
                : TryRepeat(*self->registration, objects, count, &status)) [[likely]] {
    if (status.ok()) [[likely]]
      return Py_NewRef(Py_None);
    SetPythonError(status);
    return nullptr;
  }
  return CallAnew(handle, objects, count);
}

PyObject* Call(PyObject* object, PyObject* const* objects, size_t flagged_count, PyObject* names) {
  if (names != nullptr && !RefuseKeywords(names)) [[unlikely]]
    return nullptr;
  return CallHandleInline(object, objects, static_cast<size_t>(PyVectorcall_NARGS(flagged_count)));
}

// What a submitted dispatch must keep alive: the arguments, their normalised stand-ins, the handle.
PyObject* KeepAlive(PyObject* object, PyObject* const* objects, size_t count, const Arguments& arguments,
                    PyObject* outputs) {
  PyObject* kept = arguments.Keepers();
  if (kept == nullptr) return nullptr;
  bool added = PyList_Append(kept, object) == 0;
  for (size_t i = 0; added && i < count; ++i) added = PyList_Append(kept, objects[i]) == 0;
  if (added && outputs != nullptr) added = PyList_Append(kept, outputs) == 0;
  if (!added) Py_CLEAR(kept);
  return kept;
}

// Reads, checks and launches. `left`: of the attempt to leave it to its waiter.
[[gnu::noinline]] PyObject* SubmitAnew(PyObject* object, PyObject* const* objects, Py_ssize_t count,
                                       const base::Status& left) {
  if (PyErr_Occurred()) return nullptr;
  if (!left.ok()) {
    SetPythonError(left);
    return nullptr;
  }
  runtime::Registration& registration = *Self(object)->registration;
  const program::Plan& plan = registration.image().plan;
  Arguments arguments;
  if (!arguments.Read(plan, objects, static_cast<size_t>(count))) return nullptr;
  PyObject* outputs = nullptr;
  if (arguments.size() < plan.parameters.size()) {
    outputs = AppendFreshOutputs(registration, arguments);
    if (outputs == nullptr) return nullptr;
  }
  PyObject* kept = KeepAlive(object, objects, static_cast<size_t>(count), arguments, outputs);
  if (kept == nullptr) {
    Py_XDECREF(outputs);
    return nullptr;
  }
  base::Result<std::shared_ptr<runtime::Completion>> completion = base::OkStatus();
  {
    const GilRelease released;
    completion = registration.Submit(arguments.views(), InterruptBySignals());
  }
  PyObject* written = arguments.TakeWritten();
  if (completion.ok() && !PyErr_Occurred()) {
    return MakeCompletion(*std::move(completion), kept, written, CallResult(outputs));
  }
  Py_DECREF(kept);
  Py_XDECREF(written);
  Py_XDECREF(outputs);
  if (!PyErr_Occurred()) SetPythonError(completion.status());
  return nullptr;
}

PyObject* Submit(PyObject* object, PyObject* const* objects, Py_ssize_t count) {
  base::Status status;
  PyObject* completion = TryLeave(object, objects, static_cast<size_t>(count), &status);
  return completion != nullptr ? completion : SubmitAnew(object, objects, count, status);
}

PyObject* Unregister(PyObject* object, PyObject*) {
  base::Status status;
  {
    const GilRelease released;
    status = Self(object)->registration->Unregister(InterruptBySignals());
  }
  if (PyErr_Occurred()) return nullptr;
  if (status.ok()) Py_RETURN_NONE;
  SetPythonError(status);
  return nullptr;
}

PyObject* Report(PyObject* object, PyObject*) {
  base::Result<runtime::LaunchReport> report = base::OkStatus();
  {
    const GilRelease released;
    report = Self(object)->registration->Report(InterruptBySignals());
  }
  if (PyErr_Occurred()) return nullptr;
  if (report.ok()) return MakeLaunchReport(*std::move(report));
  SetPythonError(report.status());
  return nullptr;
}

PyObject* DeviceWall(PyObject* object, PyObject*) {
  PyObject* report = Report(object, nullptr);
  if (report == nullptr) return nullptr;
  PyObject* value = PyObject_GetAttrString(report, "device_wall_us");
  Py_DECREF(report);
  return value;
}

PyObject* Enter(PyObject* object, PyObject*) { return Py_NewRef(object); }

PyObject* Exit(PyObject* object, PyObject*) { return Unregister(object, nullptr); }

PyObject* GetIsOpen(PyObject* object, void*) { return PyBool_FromLong(Self(object)->registration->is_open() ? 1 : 0); }

PyObject* GetWorker(PyObject* object, void*) { return Py_NewRef(Self(object)->worker); }

PyObject* GetName(PyObject* object, void*) {
  return PyUnicode_FromString(Self(object)->registration->image().plan.name.c_str());
}

PyObject* Repr(PyObject* object) {
  const runtime::Registration& registration = *Self(object)->registration;
  return PyUnicode_FromFormat("<RegistrationHandle of '%s' on %s, %s>", registration.image().plan.name.c_str(),
                              registration.image().platform.c_str(), registration.is_open() ? "open" : "closed");
}

void Deallocate(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  Self(object)->registration.~shared_ptr();
  delete std::exchange(Self(object)->host_repeat, nullptr);
  Py_CLEAR(Self(object)->worker);
  type->tp_free(object);
  Py_DECREF(type);
}

int Traverse(PyObject* object, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(Self(object)->worker);
  return 0;
}

PyMethodDef methods[] = {
    {"submit", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(Submit)), METH_FASTCALL,
     "submit(*args) -> Completion: dispatches without waiting; host inputs are captured before it returns."},
    {"unregister", Unregister, METH_NOARGS, "Closes the handle; the program is unloaded with its last handle."},
    {"workspace_report", Report, METH_NOARGS, "Reads the figures of the last launch back from the device."},
    {"device_wall_us", DeviceWall, METH_NOARGS,
     "Microseconds from start to end of the last launch, on the device's clock."},
    {"__enter__", Enter, METH_NOARGS, nullptr},
    {"__exit__", Exit, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef getters[] = {
    {"is_open", GetIsOpen, nullptr, "False once unregistered or once the worker is closed.", nullptr},
    {"worker", GetWorker, nullptr, "The ChipWorker it belongs to.", nullptr},
    {"name", GetName, nullptr, "The kernel's name.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(HandleObject, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(Deallocate)},
    {Py_tp_traverse, reinterpret_cast<void*>(Traverse)},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_repr, reinterpret_cast<void*>(Repr)},
    {Py_tp_methods, methods},
    {Py_tp_getset, getters},
    {Py_tp_members, members},
    {Py_tp_doc, const_cast<char*>("A program registered on a worker. Calling it dispatches and waits.")},
    {0, nullptr},
};

PyType_Spec spec = {"pypto._core.RegistrationHandle", sizeof(HandleObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_IMMUTABLETYPE |
                        Py_TPFLAGS_DISALLOW_INSTANTIATION,
                    slots};

}  // namespace

PyObject* CallHandle(PyObject* handle, PyObject* const* objects, size_t count) {
  return CallHandleInline(handle, objects, count);
}

PyObject* Dispatch(PyObject* handle, Arguments& arguments, PyObject* outputs) {
  runtime::Registration& registration = *Self(handle)->registration;
  if (!EnterWorker(registration.worker())) [[unlikely]] {
    Py_XDECREF(outputs);
    return nullptr;
  }
  base::Status status;
  if (registration.TryRepeat(arguments.views(), &status)) {
    registration.worker().Leave();
  } else {
    status = registration.Prepare(arguments.views());
    if (status.ok()) [[likely]] {
      NoteForRepeat(Self(handle), arguments);
      status = RunAndLeave(registration);
    } else {
      registration.worker().Leave();
    }
    DeliverTraceRecords();
  }
  if (status.ok() && arguments.NoteWritten()) [[likely]]
    return CallResult(outputs);
  Py_XDECREF(outputs);
  if (!PyErr_Occurred()) SetPythonError(status);
  return nullptr;
}

PyObject* MakeRegistrationHandle(std::shared_ptr<runtime::Registration> registration, PyObject* worker) {
  PyObject* object = handle_type->tp_alloc(handle_type, 0);
  if (object == nullptr) return nullptr;
  Self(object)->vectorcall = Call;
  new (&Self(object)->registration) std::shared_ptr<runtime::Registration>(std::move(registration));
  Self(object)->worker = Py_NewRef(worker);
  return object;
}

bool IsRegistrationHandle(PyObject* object) noexcept { return Py_TYPE(object) == handle_type; }

runtime::Registration* RegistrationOf(PyObject* object) {
  if (IsRegistrationHandle(object)) return Self(object)->registration.get();
  PyErr_Format(PyExc_TypeError, "expected a RegistrationHandle, got %s", Py_TYPE(object)->tp_name);
  return nullptr;
}

void bind_registration_handle(nb::module_& module) { handle_type = MakeType(module, spec); }

}  // namespace pypto::bindings
