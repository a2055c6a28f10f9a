// Settings of the log that win over the environment.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <string>

#include "bindings.h"
#include "gil.h"
#include "pypto/log/log.h"

namespace nb = nanobind;

namespace pypto::bindings {

void bind_log(nb::module_& module) {
  module.def(
      "set_log_level",
      [](std::optional<int> level) {
        const GilRelease released;
        if (level) {
          log::SetLevel(static_cast<log::Level>(*level));
        } else {
          log::ResetLevel();
        }
      },
      nb::arg("level").none(), "0 DEBUG … 4 NULL; None: the environment's.");
  module.def("log_level", [] { return static_cast<int>(log::GetLevel()); });
  module.def("set_log_root", [](const std::string& path) {
    const GilRelease released;
    log::SetLogRoot(path);
  });
  module.def("set_log_to_stdout", [](bool on) {
    const GilRelease released;
    log::SetPrintToStdout(on);
  });
  module.def(
      "current_log_file",
      [] {
        const GilRelease released;
        return log::CurrentLogFile();
      },
      "Path of the open plog file; empty when none is.");
  module.def(
      "write_log",
      [](int level, const std::string& text) {
        if (!log::Enabled(static_cast<log::Level>(level))) return;
        const GilRelease released;
        log::WriteAs("PYPTO", static_cast<log::Level>(level), nullptr, 0, text);
      },
      nb::arg("level"), nb::arg("text"), "One record, when the level is written.");
}

}  // namespace pypto::bindings
