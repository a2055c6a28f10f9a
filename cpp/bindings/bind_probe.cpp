// What the machine offers: libraries, devices, the place of logs.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>

#include "bind_errors.h"
#include "bindings.h"
#include "gil.h"
#include "pypto/base/environment.h"
#include "pypto/log/settings.h"
#include "pypto/runtime/library_probe.h"

namespace nb = nanobind;

namespace pypto::bindings {
namespace {

nb::list Libraries(const std::string& platform) {
  auto probed = [&] {
    const GilRelease released;
    return runtime::ProbeLibraries(platform);
  }();
  nb::list rows;
  for (const runtime::LibraryFacts& facts : Unwrap(std::move(probed))) {
    nb::dict row;
    row["path"] = facts.path;
    row["usable"] = facts.usable;
    row["absent"] = facts.absent;
    row["reason"] = facts.reason;
    row["is_mock"] = facts.is_mock;
    row["host_args"] = facts.host_args;
    row["missing_optional"] = facts.missing_optional;
    rows.append(row);
  }
  return rows;
}

nb::dict Devices(const std::string& platform) {
  auto probed = [&] {
    const GilRelease released;
    return runtime::ProbeDevices(platform);
  }();
  const runtime::PlatformFacts facts = Unwrap(std::move(probed));
  nb::list devices;
  for (const runtime::DeviceFacts& device : facts.devices) {
    nb::dict row;
    row["error"] = device.error;
    row["soc_name"] = device.soc_name;
    row["free_bytes"] = device.free_bytes;
    row["total_bytes"] = device.total_bytes;
    devices.append(row);
  }
  nb::dict result;
  result["library_path"] = facts.library_path;
  result["interface_version"] = facts.interface_version;
  result["devices"] = devices;
  return result;
}

}  // namespace

void bind_probe(nb::module_& module) {
  module.def("probe_libraries", &Libraries, nb::arg("platform"),
             "The libraries that the search for a platform looks at, in its order.");
  module.def("probe_devices", &Devices, nb::arg("platform"),
             "Opens the platform's library and each of its devices for a moment.");
  module.def("log_root", [] { return log::ReadSettings().root; }, "The folder of plog files, as the environment says.");
  module.def("unknown_variables", &base::UnknownPyptoVariables,
             "Names in the environment that start with PYPTO_ and mean nothing.");
}

}  // namespace pypto::bindings
