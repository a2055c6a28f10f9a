// The extension module pypto._core: calls the binding functions in order.
#include <nanobind/nanobind.h>

#include <string>

#include "bindings.h"
#include "pypto/c_api.h"

namespace nb = nanobind;

NB_MODULE(_core, module) {
  module.doc() = "The C++ core of pypto.";
  if (const std::string library = pypto_version(); library != PYPTO_VERSION) {
    throw nb::import_error(
        ("pypto._core " PYPTO_VERSION " found libpypto " + library + "; both come from one wheel: reinstall pypto")
            .c_str());
  }
  module.attr("__version__") = PYPTO_VERSION;
  // A process that ends with objects alive says nothing; tests switch this on.
  nb::set_leak_warnings(false);
  module.def("set_leak_warnings", [](bool on) { nb::set_leak_warnings(on); });
  pypto::bindings::bind_errors(module);
  pypto::bindings::bind_program(module);
  pypto::bindings::bind_builder(module);
  pypto::bindings::bind_compile(module);
  pypto::bindings::bind_options(module);
  pypto::bindings::bind_device_tensor(module);
  pypto::bindings::bind_completion(module);
  pypto::bindings::bind_launch_report(module);
  pypto::bindings::bind_registration_handle(module);
  pypto::bindings::bind_compiled_program(module);
  pypto::bindings::bind_kernel_object(module);
  pypto::bindings::bind_worker(module);
  pypto::bindings::bind_benchmark(module);
  pypto::bindings::bind_trace(module);
  pypto::bindings::bind_log(module);
  pypto::bindings::bind_testing(module);
  pypto::bindings::bind_prebuilt(module);
  pypto::bindings::bind_probe(module);
  pypto::bindings::bind_profile(module);
}
