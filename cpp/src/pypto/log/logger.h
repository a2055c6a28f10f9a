// The logger of the process: settings, the plog file and the sinks behind the functions of log.h.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "pypto/log/level.h"
#include "pypto/log/plog_file.h"
#include "pypto/log/settings.h"
#include "pypto/log/sink_list.h"

namespace pypto::log {

// One per copy of this library, in static storage and never destroyed: threads may log while the process ends.
// Thread-safe.
class Logger {
 public:
  static Logger& Get() noexcept;

  // Writes whole records to the file or to stdout, then gives them to the sinks.
  void Emit(std::string_view lines, std::span<const RecordView> records) noexcept;
  // Reads the environment the first time.
  void EnsureReady() noexcept {
    if (!ready_.load(std::memory_order_acquire)) [[unlikely]]
      Setup();
  }

  void SetLevel(std::optional<Level> level) noexcept;
  Level level() noexcept;
  Level EnvironmentLevelOf(std::string_view module) noexcept;
  void SetRoot(const std::string& root);
  void SetPrintToStdout(bool on) noexcept;
  std::string CurrentFile();
  SinkList& sinks() noexcept { return sinks_; }
  bool HasSinks() const noexcept { return !sinks_.empty(); }

  // Makes the logger and registers the fork handlers: no lock of it is held by a vanished thread in a child.
  static bool WatchForks() noexcept;

  // The library goes: closes the file; later records are dropped.
  void End() noexcept;

 private:
  Logger() = default;
  void Setup() noexcept;
  void StoreThreshold() noexcept;
  static void BeforeFork();
  static void AfterForkInParent();
  static void AfterForkInChild();

  std::atomic<bool> ready_{false};
  std::mutex mutex_;  // of all below but the sinks
  Settings settings_;
  std::optional<Level> level_set_;  // by SetLevel
  bool ended_ = false;
  PlogFile file_;
  SinkList sinks_;
};

}  // namespace pypto::log
