// Log levels and their names.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace pypto::log {

// The numbers of ASCEND_GLOBAL_LOG_LEVEL. kNull as a level setting: nothing is written.
enum class Level : uint8_t { kDebug = 0, kInfo = 1, kWarning = 2, kError = 3, kNull = 4 };

constexpr std::string_view LevelName(Level level) noexcept {
  switch (level) {
    case Level::kDebug: return "DEBUG";
    case Level::kInfo: return "INFO";
    case Level::kWarning: return "WARNING";
    case Level::kError: return "ERROR";
    case Level::kNull: return "NULL";
  }
  return "NULL";
}

// The part of a path behind its last slash.
constexpr const char* BaseName(const char* path) noexcept {
  const char* base = path;
  for (const char* c = path; *c != '\0'; ++c) {
    if (*c == '/') base = c + 1;
  }
  return base;
}

}  // namespace pypto::log
