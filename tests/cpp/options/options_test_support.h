// Short ways to write lists and dicts, and files in a temporary folder.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "pypto/options/schema.h"
#include "pypto/options/value.h"

namespace pypto::options {

inline RawValue List(RawValue::List elements) { return elements; }
inline RawValue Pairs(RawValue::Pairs pairs) { return pairs; }

using Ints = std::vector<int64_t>;
using Strings = std::vector<std::string>;

class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text) {
    std::string name = (std::filesystem::temp_directory_path() / "pypto-options-XXXXXX").string();
    folder_ = mkdtemp(name.data());
    path_ = folder_ + "/options.json";
    std::ofstream(path_) << text;
  }
  ~TemporaryFile() { std::filesystem::remove_all(folder_); }
  const std::string& path() const { return path_; }
  const std::string& folder() const { return folder_; }

 private:
  std::string folder_;
  std::string path_;
};

// Sets or unsets TILEFWK_CONFIG_PATH until it goes.
class ConfigPathGuard {
 public:
  explicit ConfigPathGuard(const char* value) {
    if (const char* old = std::getenv(kName)) old_ = old;
    value != nullptr ? setenv(kName, value, 1) : unsetenv(kName);
  }
  ~ConfigPathGuard() { old_ ? setenv(kName, old_->c_str(), 1) : unsetenv(kName); }

 private:
  static constexpr const char* kName = "TILEFWK_CONFIG_PATH";
  std::optional<std::string> old_;
};

}  // namespace pypto::options
