// Reading of the ASCEND_* variables.
#include "pypto/log/settings.h"

#include <pwd.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <optional>

#include "pypto/base/environment.h"

namespace pypto::log {
namespace {

constexpr std::array<std::string_view, 17> kModules = {
    "SLOG", "HCCL",     "RUNTIME", "CCE",   "DRV", "TEFUSION", "PROFILING",     "APP",   "AICPU",
    "GE",   "ASCENDCL", "TBE",     "PYPTO", "OP",  "TPRT",     "ASCENDCKERNEL", "ATRACE"};

std::optional<std::string> NonEmpty(const char* name) {
  auto value = base::GetEnvironment(name);
  if (value && value->empty()) return std::nullopt;
  return value;
}

std::optional<Level> ParseLevel(std::string_view text) {
  if (text.size() != 1 || text[0] < '0' || text[0] > '4') return std::nullopt;
  return static_cast<Level>(text[0] - '0');
}

bool IsModule(std::string_view name) {
  for (const std::string_view module : kModules) {
    if (name == module) return true;
  }
  return false;
}

std::string HomeFolder() {
  if (auto home = NonEmpty("HOME")) return *home;
  std::array<char, 4096> buffer;
  passwd entry{};
  passwd* found = nullptr;
  if (getpwuid_r(getuid(), &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr) return found->pw_dir;
  return ".";
}

std::string RootFolder() {
  if (auto path = NonEmpty("ASCEND_PROCESS_LOG_PATH")) return AbsolutePath(*path);
  if (auto path = NonEmpty("ASCEND_WORK_PATH")) return AbsolutePath(*path + "/log");
  return AbsolutePath(HomeFolder() + "/ascend/log");
}

bool PrintToStdout() {
  if (const auto value = base::GetEnvironmentInt("ASCEND_LOG_PRINT_TO_STDOUT", 0, 1)) return *value == 1;
  return base::GetEnvironmentInt("ASCEND_SLOG_PRINT_TO_STDOUT", 0, 1).value_or(0) == 1;
}

}  // namespace

Level Settings::LevelOf(std::string_view module) const noexcept {
  for (const auto& [name, level] : module_levels) {
    if (name == module) return level;
  }
  return global_level;
}

bool ParseModuleLevels(std::string_view text, std::vector<std::pair<std::string, Level>>* levels) {
  levels->clear();
  while (true) {
    const size_t end = text.find(':');
    const std::string_view part = text.substr(0, end);
    const size_t equals = part.find('=');
    const std::string_view name = part.substr(0, equals);
    const auto level = equals == std::string_view::npos ? std::nullopt : ParseLevel(part.substr(equals + 1));
    if (!level || !IsModule(name)) {
      levels->clear();
      return false;
    }
    levels->emplace_back(name, *level);
    if (end == std::string_view::npos) return true;
    text.remove_prefix(end + 1);
  }
}

std::string AbsolutePath(const std::string& path) {
  if (!path.empty() && path[0] == '/') return path;
  std::array<char, PATH_MAX> folder;
  if (getcwd(folder.data(), folder.size()) == nullptr) return path;
  return std::string(folder.data()) + "/" + path;
}

Settings ReadSettings() {
  Settings settings;
  if (const auto level = base::GetEnvironmentInt("ASCEND_GLOBAL_LOG_LEVEL", 0, 4)) {
    settings.global_level = static_cast<Level>(*level);
  }
  if (const auto text = NonEmpty("ASCEND_MODULE_LOG_LEVEL")) {
    static_cast<void>(ParseModuleLevels(*text, &settings.module_levels));
  }
  settings.print_to_stdout = PrintToStdout();
  settings.root = RootFolder();
  settings.files_kept = static_cast<int>(base::GetEnvironmentInt("ASCEND_HOST_LOG_FILE_NUM", 1, 1000).value_or(10));
  return settings;
}

}  // namespace pypto::log
