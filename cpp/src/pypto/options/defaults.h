// The defaults file, the root scope of the process, and the global.* values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pypto/base/export.h"
#include "pypto/base/status.h"
#include "pypto/options/scope.h"

namespace pypto::options {

// Contents of a defaults file: values of keys of the schema, and the leaves of its "global" part ("global.a.b").
struct DefaultsFile {
  std::vector<Setting> settings;
  std::vector<Update> globals;
};

// Parses the text of a defaults file; `path` is for messages. kInvalidArgument with place and reason.
PYPTO_API base::Result<DefaultsFile> ParseDefaults(std::string_view text, const std::string& path);
// kIo when the file cannot be read.
PYPTO_API base::Result<DefaultsFile> ReadDefaults(const std::string& path);

// Which file gives the defaults: the one that TILEFWK_CONFIG_PATH names, else `packaged`.
struct DefaultsSource {
  std::string path;  // empty: the schema alone
  Origin origin = Origin::kDefault;
};
PYPTO_API DefaultsSource FindDefaults(const std::string& packaged);

// Root scope ("default") from the file found, and the global.* values of the process from the same file. An error
// leaves both as they were. `packaged` is tile_fwk_config.json of the package; empty: the schema alone. Thread-safe.
PYPTO_API base::Result<ScopeRef> LoadRoot(const std::string& packaged);

// Values under "global.": one set per process, not checked, not scoped. Names with or without "global." in front.
PYPTO_API void SetGlobal(std::string_view name, RawValue value);
// kNotFound "Option not found: …".
PYPTO_API base::Result<RawValue> GetGlobal(std::string_view name);
// All of them by name ("global.a.b").
PYPTO_API std::vector<Update> AllGlobals();

}  // namespace pypto::options
