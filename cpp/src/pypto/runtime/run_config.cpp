// Validation of a run configuration, and where the packaged mock lies.
#include "pypto/runtime/run_config.h"

#include <dlfcn.h>

#include <array>

namespace pypto::runtime {
namespace {

using base::MakeStatus;
using base::Status;
using base::StatusCode;

constexpr std::array<std::string_view, 4> kPlatforms = {"a2a3", "a5", "a2a3sim", "a5sim"};
constexpr std::string_view kMockFile = "libpypto_mock_acl.so";

}  // namespace

Status ValidatePlatform(std::string_view platform) {
  for (const std::string_view known : kPlatforms) {
    if (platform == known) return base::OkStatus();
  }
  return MakeStatus(StatusCode::kInvalidArgument,
                    "unknown platform '%.*s': it must be one of 'a2a3', 'a5' (hardware), 'a2a3sim', 'a5sim' (mock)",
                    static_cast<int>(platform.size()), platform.data());
}

Status ValidateConfig(const RunConfig& config) {
  PYPTO_RETURN_IF_ERROR(ValidatePlatform(config.platform));
  if (config.device_id < 0) {
    return MakeStatus(StatusCode::kInvalidArgument, "device_id=%d must not be negative", config.device_id);
  }
  if (config.timeout_ms && *config.timeout_ms <= 0) {
    return MakeStatus(StatusCode::kInvalidArgument,
                      "timeout_ms=%lld must be greater than 0; leave it out to wait for ever",
                      static_cast<long long>(*config.timeout_ms));
  }
  return base::OkStatus();
}

bool IsSimulatorPlatform(std::string_view platform) noexcept { return platform.ends_with("sim"); }

std::string PackagedMockPath() {
  Dl_info info{};
  std::string own;
  if (dladdr(reinterpret_cast<const void*>(&PackagedMockPath), &info) != 0 && info.dli_fname != nullptr) {
    own = info.dli_fname;
  }
  const size_t slash = own.rfind('/');
  const std::string folder = slash == std::string::npos ? std::string() : own.substr(0, slash + 1);
  return folder + std::string(kMockFile);
}

}  // namespace pypto::runtime
