// What the environment says about the simulated devices.
#pragma once

#include <cstdint>
#include <string>

namespace pypto::mock {

// Read at aclInit; a value.
struct Settings {
  uint32_t devices = 1;
  uint32_t cores = 1;         // per device; default: the processors allowed to the process
  uint64_t memory_bytes = 0;  // per device
  std::string soc = "Ascend910B3";
  bool soc_given = false;    // then programs for other chips are refused
  uint64_t strict_seed = 0;  // not 0: strict mode

  bool strict() const { return strict_seed != 0; }
  static Settings FromEnvironment();
};

}  // namespace pypto::mock
