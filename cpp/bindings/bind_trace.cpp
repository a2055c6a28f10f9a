// Timing marks: where their records go.
#define PY_SSIZE_T_CLEAN
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bind_errors.h"
#include "bindings.h"
#include "gil.h"
#include "pypto/runtime/trace.h"
#include "trace_records.h"

namespace nb = nanobind;

namespace pypto::bindings {
namespace {

// Gives the reference back under the GIL, or to nobody while the interpreter ends.
struct DropUnderGil {
  void operator()(PyObject* object) const {
    if (_Py_IsFinalizing() != 0 || Py_IsInitialized() == 0) return;
    const PyGILState_STATE state = EnsureGil();
    Py_DECREF(object);
    PyGILState_Release(state);
  }
};

// Records of this thread's dispatch, held back until its worker is left: a listener may dispatch too.
thread_local std::vector<std::pair<std::shared_ptr<PyObject>, std::string>> held_records;

void SetListener(nb::object listener) {
  std::function<void(std::string_view)> function;
  if (!listener.is_none()) {
    const std::shared_ptr<PyObject> kept(listener.release().ptr(), DropUnderGil{});
    function = [kept](std::string_view record) { held_records.emplace_back(kept, record); };
  }
  const GilRelease released;
  runtime::SetTraceCallback(std::move(function));
}

}  // namespace

void DeliverTraceRecords() {
  if (held_records.empty()) [[likely]]
    return;
  // The listener's errors are printed as unraisable: a dispatch does not fail because its listener does.
  PyObject *kind, *value, *trace;
  PyErr_Fetch(&kind, &value, &trace);
  for (const auto& [listener, record] : std::exchange(held_records, {})) {
    PyObject* result =
        PyObject_CallFunction(listener.get(), "s#", record.data(), static_cast<Py_ssize_t>(record.size()));
    if (result == nullptr) PyErr_WriteUnraisable(listener.get());
    Py_XDECREF(result);
  }
  PyErr_Restore(kind, value, trace);
}

void bind_trace(nb::module_& module) {
  module.def("set_trace", [](const std::string& target) { ThrowIfError(runtime::SetTrace(target)); });
  module.def("set_trace_callback", &SetListener, nb::arg("listener").none());
}

}  // namespace pypto::bindings
