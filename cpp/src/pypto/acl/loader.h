// Finds, opens and checks the ACL library that serves a platform.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pypto/acl/table.h"
#include "pypto/base/status.h"

namespace pypto::acl {

enum class PlatformKind : uint8_t { kHardware, kSimulator };

struct LoadOptions {
  // The mock of the package; simulators are served by nothing else.
  std::string mock_path;
  // Wins over the variable PYPTO_ACL_LIBRARY. The library named here (or there) may be the mock.
  std::optional<std::string> acl_library;
  // Comma list of layers, outermost first; wins over the variable PYPTO_ACL_LAYERS. See layers/layers.h.
  std::optional<std::string> layers;
  // For messages.
  std::string platform = "a2a3";
  std::string simulator = "a2a3sim";
};

// kSimulator: the mock of the package. kHardware: the library named by the caller or by PYPTO_ACL_LIBRARY, else
// libascendcl.so and libacl_rt.so in the loader's path, then in $ASCEND_HOME_PATH/lib64; link stubs and unusable files
// are passed over, and a mock that nobody named is refused.
// Fails with kDeviceUnavailable, whose AclFailure::failure_class says why: "library_not_found", "wrong_library" (link
// stub, mock, not ACL at all, cannot be opened) or "symbol_missing" (AclFailure::call names the first one).
PYPTO_API base::Result<std::unique_ptr<Table>> LoadFor(PlatformKind kind, const LoadOptions& options);

// What the search knows of one candidate.
struct LibraryTrial {
  std::string path;  // the file, or the name that the loader does not find
  bool usable = false;
  bool absent = false;  // there is no such file
  std::string reason;   // "<path>: why it is not usable"; empty when it is
  bool is_mock = false;
  LaunchRoute route = LaunchRoute::kNone;
  std::vector<std::string> missing_optional;
};

// All candidates in the order of the search, also those behind the first usable one, which LoadFor takes.
PYPTO_API std::vector<LibraryTrial> ProbeLibraries(PlatformKind kind, const LoadOptions& options);

// Whether some library that could serve the hardware platforms is on this machine, usable or not. Opens none for good.
PYPTO_API bool HardwareLibraryFound(const LoadOptions& options);

}  // namespace pypto::acl
