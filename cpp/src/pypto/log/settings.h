// What the environment says about logging: levels, place, number of files.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pypto/base/export.h"
#include "pypto/log/level.h"

namespace pypto::log {

// Values of the ASCEND_* variables at one moment. A value; any thread.
struct Settings {
  Level global_level = Level::kError;
  std::vector<std::pair<std::string, Level>> module_levels;  // of ASCEND_MODULE_LOG_LEVEL, in its order
  bool print_to_stdout = false;
  std::string root;  // absolute where the working folder is known
  int files_kept = 10;

  // The level of the module, else the global one.
  Level LevelOf(std::string_view module) const noexcept;
};

// Malformed and out-of-range values count as unset.
PYPTO_API Settings ReadSettings();

// "MOD=level:MOD=level" with module names of the vendor's list; false when any part of it is wrong.
bool ParseModuleLevels(std::string_view text, std::vector<std::pair<std::string, Level>>* levels);

// The path with the working folder in front when it is relative.
std::string AbsolutePath(const std::string& path);

}  // namespace pypto::log
