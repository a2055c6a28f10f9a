// Temporary folders, environment variables put back, and runs of the log probe.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace pypto::log {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "pypto-log-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Sets or unsets a variable until it goes.
class EnvironmentGuard {
 public:
  EnvironmentGuard(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    value != nullptr ? setenv(name, value, 1) : unsetenv(name);
  }
  ~EnvironmentGuard() { old_ ? setenv(name_, old_->c_str(), 1) : unsetenv(name_); }

 private:
  const char* name_;
  std::optional<std::string> old_;
};

inline std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

inline std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::stringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// Paths of the plog files under a root, by name (that is, by time).
inline std::vector<std::string> PlogFiles(const std::string& root) {
  std::vector<std::string> files;
  const std::string folder = root + "/debug/plog";
  if (std::filesystem::exists(folder)) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

inline mode_t ModeOf(const std::string& path) {
  struct stat status{};
  return stat(path.c_str(), &status) == 0 ? status.st_mode & 0777 : 0;
}

struct ProbeResult {
  int code = -1;
  std::string out;
  std::string err;
};

// Runs the probe with nothing but the given variables ("NAME=value …") set of those that matter to logging.
inline ProbeResult RunProbe(const std::string& variables, const std::string& actions) {
  const TemporaryFolder folder;
  const std::string out = folder.path() + "/out";
  const std::string err = folder.path() + "/err";
  const std::string command =
      "env -u ASCEND_GLOBAL_LOG_LEVEL -u ASCEND_MODULE_LOG_LEVEL -u ASCEND_PROCESS_LOG_PATH "
      "-u ASCEND_WORK_PATH -u ASCEND_LOG_PRINT_TO_STDOUT -u ASCEND_SLOG_PRINT_TO_STDOUT "
      "-u ASCEND_HOST_LOG_FILE_NUM HOME=" +
      folder.path() + " " + variables + " " + PYPTO_LOG_PROBE + " " + actions + " >" + out + " 2>" + err;
  ProbeResult result;
  const int status = std::system(command.c_str());
  result.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  result.out = ReadFile(out);
  result.err = ReadFile(err);
  return result;
}

}  // namespace pypto::log
