// Environment variables; the known PYPTO_ names stand in kKnown.
#include "pypto/base/environment.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string_view>

namespace pypto::base {
namespace {

constexpr std::string_view kKnown[] = {
    "PYPTO_ACL_LIBRARY",    "PYPTO_ACL_LAYERS",  "PYPTO_MOCK_DEVICES", "PYPTO_MOCK_CORES", "PYPTO_MOCK_SOC",
    "PYPTO_MOCK_MEMORY_MB", "PYPTO_MOCK_STRICT", "PYPTO_STRACE",       "PYPTO_SIMD",       "PYPTO_CACHE_DIR",
};

bool IsKnown(std::string_view name) {
  for (const std::string_view known : kKnown) {
    if (name == known) return true;
  }
  return false;
}

}  // namespace

std::optional<std::string> GetEnvironment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) return std::nullopt;
  return std::string(value);
}

std::optional<long long> GetEnvironmentInt(const char* name, long long low, long long high) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  char* end = nullptr;
  errno = 0;
  const long long number = std::strtoll(value, &end, 10);
  if (errno != 0 || *end != '\0' || number < low || number > high) return std::nullopt;
  return number;
}

std::vector<std::string> UnknownPyptoVariables() {
  std::vector<std::string> unknown;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('='));
    if (name.starts_with("PYPTO_") && !IsKnown(name)) unknown.emplace_back(name);
  }
  return unknown;
}

}  // namespace pypto::base
