// Reads PYPTO_MOCK_DEVICES, _CORES, _MEMORY_MB, _SOC and _STRICT.
#include "pypto/mock_acl/settings.h"

#include <sched.h>

#include <functional>
#include <string_view>

#include "pypto/base/environment.h"

namespace pypto::mock {
namespace {

constexpr long long kMaxDevices = 64;
constexpr long long kMaxCores = 1024;
constexpr long long kMaxMemoryMb = 1 << 22;  // 4 TiB
constexpr uint64_t kDefaultMemoryMb = 65536;

uint32_t AllowedProcessors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  const int count = CPU_COUNT(&set);
  return count > 0 ? static_cast<uint32_t>(count) : 1;
}

// 0 and unset are off, a number is the seed, any other text is hashed into one.
uint64_t StrictSeed(const std::string& text) {
  if (text.empty() || text == "0") return 0;
  uint64_t seed = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::hash<std::string_view>{}(text) | 1;
    seed = seed * 10 + static_cast<uint64_t>(c - '0');
  }
  return seed == 0 ? 0 : seed;
}

}  // namespace

Settings Settings::FromEnvironment() {
  Settings settings;
  settings.devices = static_cast<uint32_t>(base::GetEnvironmentInt("PYPTO_MOCK_DEVICES", 0, kMaxDevices).value_or(1));
  const auto cores = base::GetEnvironmentInt("PYPTO_MOCK_CORES", 1, kMaxCores);
  settings.cores = cores ? static_cast<uint32_t>(*cores) : AllowedProcessors();
  const auto megabytes = base::GetEnvironmentInt("PYPTO_MOCK_MEMORY_MB", 1, kMaxMemoryMb);
  settings.memory_bytes = (megabytes ? static_cast<uint64_t>(*megabytes) : kDefaultMemoryMb) << 20;
  if (auto soc = base::GetEnvironment("PYPTO_MOCK_SOC"); soc && !soc->empty()) {
    settings.soc = std::move(*soc);
    settings.soc_given = true;
  }
  if (const auto strict = base::GetEnvironment("PYPTO_MOCK_STRICT")) settings.strict_seed = StrictSeed(*strict);
  return settings;
}

}  // namespace pypto::mock
