// Rounds of a benchmark: dispatches with the clocks read around copies and launch.
#include <nanobind/nanobind.h>

#include "arguments.h"
#include "bind_errors.h"
#include "bindings.h"
#include "gil.h"
#include "registration_handle.h"
#include "trace_records.h"

namespace nb = nanobind;

namespace pypto::bindings {
namespace {

// One dispatch; (copy, launch, device) in nanoseconds.
nb::tuple TimedCall(nb::handle handle, nb::args objects) {
  runtime::Registration* registration = RegistrationOf(handle.ptr());
  if (registration == nullptr) throw nb::python_error();
  Arguments arguments;
  const auto* items = reinterpret_cast<PyTupleObject*>(objects.ptr())->ob_item;
  if (!arguments.Read(registration->image().plan, items, objects.size())) throw nb::python_error();
  runtime::RoundTimes times;
  runtime::CallOptions options;
  options.interrupt = InterruptBySignals();
  options.may_run_here = true;
  options.times = &times;
  base::Status status;
  {
    const GilRelease released;
    status = registration->Call(arguments.views(), options);
  }
  DeliverTraceRecords();
  if (PyErr_Occurred()) throw nb::python_error();
  ThrowIfError(status);
  return nb::make_tuple(times.copy_ns, times.launch_ns, times.device_ns);
}

}  // namespace

void bind_benchmark(nb::module_& module) {
  module.def("timed_call", &TimedCall, nb::arg("handle"), nb::arg("args"),
             "Dispatches once: (copy_ns, launch_ns, device_ns).");
}

}  // namespace pypto::bindings
