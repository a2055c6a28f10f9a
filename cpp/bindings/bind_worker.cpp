// The device worker as Python's ChipWorker uses it: every blocking call releases the GIL.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bind_errors.h"
#include "bindings.h"
#include "device_tensor.h"
#include "gil.h"
#include "host_tensor.h"
#include "image_object.h"
#include "pypto/runtime/library_probe.h"
#include "pypto/runtime/worker.h"
#include "registration_handle.h"

namespace nb = nanobind;

namespace pypto::bindings {
namespace {

using runtime::Worker;
using WorkerPtr = std::shared_ptr<Worker>;

// Runs `work` without the GIL; a signal handler's exception wins over its status.
template <typename Work>
auto WithoutGil(Work&& work) {
  auto outcome = [&] {
    const GilRelease released;
    return work();
  }();
  if (PyErr_Occurred()) throw nb::python_error();
  return outcome;
}

runtime::RunConfig MakeConfig(const std::string& platform, int32_t device_id, std::optional<int64_t> timeout_ms) {
  runtime::RunConfig config;
  config.platform = platform;
  config.device_id = device_id;
  config.timeout_ms = timeout_ms;
  return config;
}

runtime::ResidentTensor& Resident(nb::handle object) {
  if (!IsDeviceTensor(object.ptr())) {
    throw nb::type_error(("expected a DeviceTensor, got " + std::string(Py_TYPE(object.ptr())->tp_name)).c_str());
  }
  return *ResidentOf(object.ptr());
}

// Host memory of a Python tensor that is read, kept in `holder`.
runtime::HostTensorView HostView(nb::handle object, const char* name, HostTensor& holder) {
  if (!ReadTorchFast(object.ptr(), holder) && !ReadHostTensor(object.ptr(), TensorUse::kInput, name, holder)) {
    throw nb::python_error();
  }
  return {holder.data(), {holder.tensor.shape, static_cast<size_t>(holder.tensor.ndim)}, holder.dtype};
}

program::DType ReadDType(const std::string& name) {
  const auto dtype = program::DTypeFromName(name);
  if (!dtype) throw nb::type_error(("unknown dtype '" + name + "'").c_str());
  return *dtype;
}

nb::object AllocTensor(const WorkerPtr& worker, nb::handle owner, const std::vector<int64_t>& shape,
                       const std::string& dtype_name, nb::handle init) {
  const program::DType dtype = ReadDType(dtype_name);
  HostTensor holder;
  std::optional<runtime::HostTensorView> view;
  if (!init.is_none()) view = HostView(init, "init", holder);
  auto tensor = Unwrap(WithoutGil(
      [&] { return worker->AllocTensor(shape, dtype, view.has_value() ? &*view : nullptr, InterruptBySignals()); }));
  return nb::steal(MakeDeviceTensor(std::move(tensor), owner.ptr()));
}

// Dtypes as alloc_tensor was given them: torch's dtypes and names. Written under the GIL.
PyObject* known_dtypes = nullptr;

void RememberDType(nb::handle dtype, const std::string& name) {
  if (PyDict_SetItem(known_dtypes, dtype.ptr(), nb::int_(static_cast<int>(ReadDType(name))).ptr()) != 0) {
    throw nb::python_error();
  }
}

std::optional<program::DType> KnownDType(PyObject* object) {
  PyObject* known = PyDict_GetItemWithError(known_dtypes, object);
  if (known == nullptr) {
    PyErr_Clear();  // not hashable
    return std::nullopt;
  }
  return static_cast<program::DType>(PyLong_AsLong(known));
}

// Dims of an exact tuple or list of exact ints that fit; false without a Python error otherwise.
bool ReadPlainShape(PyObject* object, std::array<int64_t, runtime::kMaxTensorRank>& dims, size_t& rank) {
  if (!PyTuple_CheckExact(object) && !PyList_CheckExact(object)) return false;
  rank = static_cast<size_t>(PySequence_Fast_GET_SIZE(object));
  if (rank == 0 || rank > dims.size()) return false;
  for (size_t i = 0; i < rank; ++i) {
    PyObject* dim = PySequence_Fast_GET_ITEM(object, static_cast<Py_ssize_t>(i));
    if (!PyLong_CheckExact(dim)) return false;
    int overflow = 0;
    dims[i] = PyLong_AsLongLongAndOverflow(dim, &overflow);
    if (overflow != 0) return false;
  }
  return true;
}

// Uploads so small need not give the GIL up.
constexpr uint64_t kShortUpload = 64 << 10;

// The usual case of AllocTensor, with the GIL held: plain arguments and memory that the pool has. None otherwise.
nb::object TryAllocTensor(const WorkerPtr& worker, nb::handle owner, nb::handle shape, nb::handle dtype,
                          nb::handle init) {
  std::array<int64_t, runtime::kMaxTensorRank> dims{};
  size_t rank = 0;
  if (!ReadPlainShape(shape.ptr(), dims, rank)) return nb::none();
  const std::optional<program::DType> known = KnownDType(dtype.ptr());
  if (!known) return nb::none();
  HostTensor host;
  std::optional<runtime::HostTensorView> view;
  if (!init.is_none()) {
    if (!ReadTorchFast(init.ptr(), host) || static_cast<uint64_t>(host.bytes()) > kShortUpload) return nb::none();
    view = {host.data(), {host.tensor.shape, static_cast<size_t>(host.tensor.ndim)}, host.dtype};
  }
  runtime::TensorRef tensor =
      Unwrap(worker->TryAllocTensor({dims.data(), rank}, *known, view.has_value() ? &*view : nullptr));
  if (!tensor) return nb::none();
  return nb::steal(MakeDeviceTensor(std::move(tensor), owner.ptr()));
}

nb::object ViewRows(const WorkerPtr& worker, nb::handle owner, nb::handle tensor, int64_t begin, int64_t end) {
  runtime::ResidentTensor& resident = Resident(tensor);
  auto view = Unwrap(WithoutGil([&] { return worker->ViewRows(resident, begin, end, InterruptBySignals()); }));
  return nb::steal(MakeDeviceTensor(std::move(view), owner.ptr()));
}

nb::dict CountersDict(const runtime::Counters& counters) {
  nb::dict dict;
  dict["h2d_copies"] = counters.h2d_copies;
  dict["h2d_bytes"] = counters.h2d_bytes;
  dict["d2h_copies"] = counters.d2h_copies;
  dict["d2h_bytes"] = counters.d2h_bytes;
  dict["inline_bytes"] = counters.inline_bytes;
  dict["launches"] = counters.launches;
  dict["program_loads"] = counters.program_loads;
  dict["program_unloads"] = counters.program_unloads;
  dict["device_mallocs"] = counters.device_mallocs;
  dict["device_frees"] = counters.device_frees;
  dict["statistics_reads"] = counters.statistics_reads;
  return dict;
}

nb::dict MemoryDict(const runtime::MemoryInfo& info) {
  nb::dict dict;
  dict["free"] = info.free;
  dict["total"] = info.total;
  dict["resident"] = info.resident;
  dict["staging"] = info.staging;
  dict["workspace"] = info.workspace;
  dict["programs"] = info.programs;
  dict["cached"] = info.cached;
  return dict;
}

void* HostAddress(uint64_t address) { return reinterpret_cast<void*>(static_cast<uintptr_t>(address)); }

void BindMemory(nb::class_<Worker>& worker) {
  worker
      .def("malloc",
           [](Worker& w, int64_t bytes) {
             return Unwrap(WithoutGil([&] { return w.Malloc(bytes, InterruptBySignals()); }));
           })
      .def("free",
           [](Worker& w, uint64_t address) {
             ThrowIfError(WithoutGil([&] { return w.Free(address, InterruptBySignals()); }));
           })
      .def("copy_to",
           [](Worker& w, uint64_t destination, uint64_t source, int64_t bytes) {
             ThrowIfError(
                 WithoutGil([&] { return w.CopyTo(destination, HostAddress(source), bytes, InterruptBySignals()); }));
           })
      .def("copy_from",
           [](Worker& w, uint64_t destination, uint64_t source, int64_t bytes) {
             ThrowIfError(
                 WithoutGil([&] { return w.CopyFrom(HostAddress(destination), source, bytes, InterruptBySignals()); }));
           })
      .def("memory_info",
           [](Worker& w) {
             return MemoryDict(Unwrap(WithoutGil([&] { return w.GetMemoryInfo(InterruptBySignals()); })));
           })
      .def("counters",
           [](Worker& w) {
             return CountersDict(Unwrap(WithoutGil([&] { return w.ReadCounters(InterruptBySignals()); })));
           })
      .def("trim", [](Worker& w) { ThrowIfError(WithoutGil([&] { return w.Trim(InterruptBySignals()); })); });
}

void BindTensors(nb::class_<Worker>& worker) {
  worker
      .def("alloc_tensor", &AllocTensor, nb::arg("owner"), nb::arg("shape"), nb::arg("dtype"),
           nb::arg("init").none() = nb::none(),
           nb::sig("def alloc_tensor(self, owner: object, shape: Sequence[int], dtype: str, init: object = None) -> "
                   "DeviceTensor"))
      .def("try_alloc_tensor", &TryAllocTensor, nb::arg("owner"), nb::arg("shape").none(), nb::arg("dtype").none(),
           nb::arg("init").none(),
           nb::sig("def try_alloc_tensor(self, owner: object, shape: object, dtype: object, init: object) -> "
                   "DeviceTensor | None"))
      .def("free_tensor",
           [](Worker& w, nb::handle tensor) {
             runtime::ResidentTensor& resident = Resident(tensor);
             if (w.TryFreeTensor(resident)) return;
             ThrowIfError(WithoutGil([&] { return w.FreeTensor(resident, InterruptBySignals()); }));
           })
      .def("view_rows", &ViewRows,
           nb::sig("def view_rows(self, owner: object, tensor: DeviceTensor, begin: int, end: int) -> DeviceTensor"));
}

nb::object Register(const WorkerPtr& worker, nb::handle owner, const CompiledImage& image, bool shared) {
  if (!shared) {
    if (auto known = worker->TryRegister(image.pointer())) {
      return nb::steal(MakeRegistrationHandle(std::move(known), owner.ptr()));
    }
  }
  auto registration = Unwrap(WithoutGil([&] {
    return shared ? worker->SharedRegistration(image.pointer(), InterruptBySignals())
                  : worker->Register(image.pointer(), InterruptBySignals());
  }));
  return nb::steal(MakeRegistrationHandle(std::move(registration), owner.ptr()));
}

void BindLife(nb::class_<Worker>& worker) {
  worker
      .def_static(
          "open",
          [](const std::string& platform, int32_t device_id, std::optional<int64_t> timeout_ms) {
            auto config = MakeConfig(platform, device_id, timeout_ms);
            return Unwrap(WithoutGil([&] { return Worker::Open(std::move(config)); }));
          },
          nb::arg("platform"), nb::arg("device_id"), nb::arg("timeout_ms").none())
      .def("init", [](Worker& w) { ThrowIfError(WithoutGil([&] { return w.Init(InterruptBySignals()); })); })
      .def("close", [](Worker& w) { ThrowIfError(WithoutGil([&] { return w.Close(InterruptBySignals()); })); })
      .def(
          "synchronize",
          [](Worker& w, std::optional<int64_t> timeout_ms) {
            ThrowIfError(WithoutGil([&] { return w.Synchronize(timeout_ms, InterruptBySignals()); }));
          },
          nb::arg("timeout_ms").none())
      .def(
          "register",
          [](const WorkerPtr& w, nb::handle owner, const CompiledImage& image) {
            return Register(w, owner, image, false);
          },
          nb::sig("def register(self, owner: object, image: CompiledImage) -> RegistrationHandle"))
      .def(
          "shared_registration",
          [](const WorkerPtr& w, nb::handle owner, const CompiledImage& image) {
            return Register(w, owner, image, true);
          },
          nb::sig("def shared_registration(self, owner: object, image: CompiledImage) -> RegistrationHandle"))
      .def_prop_ro("is_open", &Worker::is_open)
      .def_prop_ro("is_mock", &Worker::is_mock)
      .def_prop_ro("id", &Worker::id)
      .def_prop_ro("library_path", &Worker::library_path)
      .def_prop_ro("soc_name", &Worker::soc_name)
      .def("check_usable", [](const Worker& w) { ThrowIfError(w.CheckUsable()); });
}

}  // namespace

void bind_worker(nb::module_& module) {
  nb::class_<Worker> worker(module, "Worker", "One device, one stream, its memory and its programs.");
  BindLife(worker);
  BindMemory(worker);
  BindTensors(worker);
  known_dtypes = PyDict_New();
  if (known_dtypes == nullptr) throw nb::python_error();
  module.def("remember_dtype", &RememberDType, nb::arg("dtype"), nb::arg("name"),
             nb::sig("def remember_dtype(dtype: object, name: str) -> None"));
  module.def("validate_platform", [](const std::string& name) { ThrowIfError(runtime::ValidatePlatform(name)); });
  module.def(
      "validate_config",
      [](const std::string& platform, int32_t device_id, std::optional<int64_t> timeout_ms) {
        ThrowIfError(runtime::ValidateConfig(MakeConfig(platform, device_id, timeout_ms)));
      },
      nb::arg("platform"), nb::arg("device_id"), nb::arg("timeout_ms").none());
  module.def("is_simulator_platform", [](const std::string& name) { return runtime::IsSimulatorPlatform(name); });
  module.def("packaged_mock_path", &runtime::PackagedMockPath);
  module.def("hardware_library_found", &runtime::HardwareLibraryFound);
  module.def("take_leak_reports", &runtime::TakeLeakReports);
}

}  // namespace pypto::bindings
