// Uploads and downloads: torch tensors read directly, the GIL kept while that is cheaper, writes counted by torch.
#include "tensor_copies.h"

#include <nanobind/nanobind.h>

#include "arguments.h"
#include "bind_errors.h"
#include "device_tensor.h"
#include "gil.h"
#include "host_tensor.h"

namespace nb = nanobind;

namespace pypto::bindings {
namespace {

using runtime::HostTensorView;
using runtime::ResidentTensor;
using runtime::Worker;

// Takes less than kReleaseGilMicroseconds.
constexpr uint64_t kKeepGilBytes = uint64_t{1} << 20;

bool ReadHost(PyObject* object, TensorUse use, const char* name, HostTensor& holder) {
  if (!ReadTorchFast(object, holder) && !ReadHostTensor(object, use, name, holder)) return false;
  if (use == TensorUse::kInput || holder.source == nullptr || !TorchRequiresGrad(holder.source)) return true;
  return CheckWritable(holder.source, name);
}

HostTensorView ViewOf(const HostTensor& holder) {
  return {holder.data(), {holder.tensor.shape, static_cast<size_t>(holder.tensor.ndim)}, holder.dtype};
}

// Enters the worker, copies and leaves. False with a Python error.
template <typename Copy>
bool CopyInside(Worker& worker, const ResidentTensor& tensor, const Copy& copy) {
  if (!EnterWorker(worker)) return false;
  base::Status status;
  if (tensor.bytes() <= kKeepGilBytes && !worker.IsBusyEntered()) {
    status = copy();
    worker.Leave();
  } else {
    const GilRelease released;
    status = copy();
    worker.Leave();
  }
  if (PyErr_Occurred() != nullptr) return false;  // a signal handler's exception wins
  if (status.ok()) return true;
  SetPythonError(status);
  return false;
}

// torch's own counting function for a tuple of tensors, without the Python function around it; null when there is none.
PyObject* IncrementVersion() {
  static PyObject* const function = [] {
    PyObject* module = PyImport_ImportModule("torch._C");
    PyObject* found = module != nullptr ? PyObject_GetAttrString(module, "_increment_version") : nullptr;
    Py_XDECREF(module);
    if (found == nullptr) PyErr_Clear();
    return found;
  }();
  return function;
}

// False with a Python error.
bool CountWrite(PyObject* destination, bool read_fast) {
  PyObject* tensors = PyTuple_Pack(1, destination);
  if (tensors == nullptr) return false;
  PyObject* counted = nullptr;
  if (read_fast && IncrementVersion() != nullptr) {
    counted = PyObject_CallOneArg(IncrementVersion(), tensors);
    if (counted == nullptr) PyErr_Clear();  // a tensor of inference mode has no version
    Py_XDECREF(counted);
  }
  const bool done = counted != nullptr || NoteWrittenTensors(tensors);
  Py_DECREF(tensors);
  return done;
}

}  // namespace

Worker* CoreOfWorker(PyObject* worker) {
  static PyObject* const name = PyUnicode_InternFromString("_core");
  PyObject* core = PyObject_GetAttr(worker, name);
  if (core == nullptr) return nullptr;
  Worker* found = nullptr;
  if (nb::isinstance<Worker>(nb::handle(core))) {
    found = nb::inst_ptr<Worker>(nb::handle(core));
  } else {
    PyErr_Format(PyExc_TypeError, "expected a ChipWorker, got %s", Py_TYPE(worker)->tp_name);
  }
  Py_DECREF(core);  // the ChipWorker holds it
  return found;
}

bool CopyTensorFromHost(Worker& worker, PyObject* tensor, PyObject* source) {
  HostTensor holder;
  if (!ReadHost(source, TensorUse::kInput, "src", holder)) return false;
  ResidentTensor& resident = *ResidentOf(tensor);
  const HostTensorView view = ViewOf(holder);
  return CopyInside(worker, resident, [&] { return worker.CopyFromHostEntered(resident, view, InterruptBySignals()); });
}

bool CopyTensorToHost(Worker& worker, PyObject* tensor, PyObject* destination) {
  HostTensor holder;
  if (!ReadHost(destination, TensorUse::kOutput, "out", holder)) return false;
  ResidentTensor& resident = *ResidentOf(tensor);
  const HostTensorView view = ViewOf(holder);
  if (!CopyInside(worker, resident, [&] { return worker.CopyToHostEntered(resident, view, InterruptBySignals()); })) {
    return false;
  }
  return CountWrite(destination, holder.source != nullptr);
}

}  // namespace pypto::bindings
