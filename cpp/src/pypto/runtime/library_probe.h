// What callers of the runtime may ask about ACL libraries without opening a worker.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pypto/base/status.h"

namespace pypto::runtime {

// Whether a library that could serve the hardware platforms is on this machine, usable or not. Any thread.
PYPTO_API bool HardwareLibraryFound();

// One library that the search for a platform looks at, in its order; the first usable one is taken.
struct LibraryFacts {
  std::string path;
  bool usable = false;
  bool absent = false;  // there is no such file
  std::string reason;   // why it is not usable
  bool is_mock = false;
  bool host_args = false;  // launches take host arguments; else they go through argument lists
  std::vector<std::string> missing_optional;
};
// kInvalidArgument for an unknown platform. Opens no device. Any thread.
PYPTO_API base::Result<std::vector<LibraryFacts>> ProbeLibraries(const std::string& platform);

struct DeviceFacts {
  std::string error;  // why it cannot be opened
  std::string soc_name;
  uint64_t free_bytes = 0;
  uint64_t total_bytes = 0;
};
struct PlatformFacts {
  std::string library_path;
  std::string interface_version;  // "1.17.0"; empty when the library does not say
  std::vector<DeviceFacts> devices;
};
// Opens the platform's library and each of its devices for a moment. The status says why there is none. Any thread.
PYPTO_API base::Result<PlatformFacts> ProbeDevices(const std::string& platform);

// ACL objects that were alive when their library was closed, as text; empty when nothing leaked or the validation layer
// was off (PYPTO_ACL_LAYERS). Forgets what it returns. Any thread.
PYPTO_API std::string TakeLeakReports();

}  // namespace pypto::runtime
