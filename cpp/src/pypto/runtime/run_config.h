// What a worker is opened with: platform, device, time-out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "pypto/base/status.h"

namespace pypto::runtime {

// Value; immutable by convention once a worker holds it.
struct RunConfig {
  std::string platform = "a2a3sim";  // a2a3, a5: hardware; a2a3sim, a5sim: the mock
  int32_t device_id = 0;
  std::optional<int64_t> timeout_ms;  // of every wait of the worker; nothing: for ever
  std::string mock_library_path;      // empty: libpypto_mock_acl.so beside this library
};

// kInvalidArgument, listing the four, for any other name.
PYPTO_API base::Status ValidatePlatform(std::string_view platform);
// Platform, device_id >= 0, timeout_ms > 0.
PYPTO_API base::Status ValidateConfig(const RunConfig& config);
// Whether the mock serves the platform. The name must be valid.
PYPTO_API bool IsSimulatorPlatform(std::string_view platform) noexcept;
// The mock that ships beside this library, whether or not the file exists.
PYPTO_API std::string PackagedMockPath();

}  // namespace pypto::runtime
