// The functions of log.h and the logger behind them.
#include "pypto/log/log.h"

#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <utility>

#include "pypto/log/logger.h"
#include "pypto/log/record.h"

namespace pypto::log {
namespace {

constexpr std::string_view kModule = "PYPTO";

alignas(Logger) std::byte logger_storage[sizeof(Logger)];
std::atomic<bool> logger_made{false};

// Runs when the library is unloaded or the process ends, after all exit handlers.
[[gnu::destructor]] void EndLogger() {
  if (logger_made.load()) Logger::Get().End();
}

void WriteToStdout(std::string_view bytes) noexcept {
  while (!bytes.empty()) {
    const ssize_t count = write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    bytes.remove_prefix(static_cast<size_t>(count));
  }
}

void EmitRecord(const RecordPlace& place, const FormattedRecord& record) noexcept {
  const RecordView view{place.level, place.module, place.file, place.line, record.text(), record.line()};
  Logger::Get().Emit(record.line(), {&view, 1});
}

}  // namespace

namespace detail {

constinit std::atomic<uint8_t> threshold{0};

bool EnabledAfterSetup(Level level) noexcept {
  Logger::Get().EnsureReady();
  return static_cast<uint8_t>(level) + 1 >= threshold.load(std::memory_order_relaxed);
}

}  // namespace detail

Logger& Logger::Get() noexcept {
  static Logger* const logger = [] {
    auto* made = new (logger_storage) Logger;
    logger_made.store(true);
    return made;
  }();
  return *logger;
}

// When the library is loaded: a fork may come before the first record, while another thread makes one.
[[maybe_unused]] const bool forks_watched = Logger::WatchForks();

void Logger::StoreThreshold() noexcept {
  const Level level = level_set_.value_or(settings_.LevelOf(kModule));
  detail::threshold.store(static_cast<uint8_t>(static_cast<uint8_t>(level) + 1), std::memory_order_relaxed);
}

void Logger::Setup() noexcept {
  const std::lock_guard lock(mutex_);
  if (ready_.load(std::memory_order_relaxed)) return;
  settings_ = ReadSettings();
  file_.Configure(settings_.root, settings_.files_kept);
  StoreThreshold();
  ready_.store(true, std::memory_order_release);
}

bool Logger::WatchForks() noexcept {
  static_cast<void>(Get());
  return pthread_atfork(BeforeFork, AfterForkInParent, AfterForkInChild) == 0;
}

void Logger::BeforeFork() {
  Get().sinks_.LockForFork();
  Get().mutex_.lock();
  LockTimeZone();
}

void Logger::AfterForkInParent() {
  UnlockTimeZone();
  Get().mutex_.unlock();
  Get().sinks_.UnlockAfterFork();
}

void Logger::AfterForkInChild() {
  Get().file_.Detach();
  AfterForkInParent();
}

void Logger::Emit(std::string_view lines, std::span<const RecordView> records) noexcept {
  EnsureReady();
  {
    const std::lock_guard lock(mutex_);
    if (ended_) return;
    if (settings_.print_to_stdout) {
      WriteToStdout(lines);
    } else {
      file_.Append(lines);
    }
  }
  sinks_.Dispatch(records);
}

void Logger::SetLevel(std::optional<Level> level) noexcept {
  EnsureReady();
  const std::lock_guard lock(mutex_);
  level_set_ = level;
  StoreThreshold();
}

Level Logger::level() noexcept {
  EnsureReady();
  return static_cast<Level>(detail::threshold.load(std::memory_order_relaxed) - 1);
}

Level Logger::EnvironmentLevelOf(std::string_view module) noexcept {
  EnsureReady();
  const std::lock_guard lock(mutex_);
  return settings_.LevelOf(module);
}

void Logger::SetRoot(const std::string& root) {
  EnsureReady();
  const std::lock_guard lock(mutex_);
  settings_.root = AbsolutePath(root);
  file_.Configure(settings_.root, settings_.files_kept);
}

void Logger::SetPrintToStdout(bool on) noexcept {
  EnsureReady();
  const std::lock_guard lock(mutex_);
  settings_.print_to_stdout = on;
  if (on) file_.Close();
}

std::string Logger::CurrentFile() {
  const std::lock_guard lock(mutex_);
  return file_.path();
}

void Logger::End() noexcept {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  file_.Configure({}, 1);
  settings_ = Settings();
}

void SetLevel(Level level) noexcept { Logger::Get().SetLevel(level); }
Level GetLevel() noexcept { return Logger::Get().level(); }
void ResetLevel() noexcept { Logger::Get().SetLevel(std::nullopt); }
Level EnvironmentLevelOf(std::string_view module) noexcept { return Logger::Get().EnvironmentLevelOf(module); }
void SetLogRoot(const std::string& root) { Logger::Get().SetRoot(root); }
void SetPrintToStdout(bool on) noexcept { Logger::Get().SetPrintToStdout(on); }
std::string CurrentLogFile() { return Logger::Get().CurrentFile(); }
uint64_t AddSink(std::shared_ptr<Sink> sink) { return Logger::Get().sinks().Add(std::move(sink)); }
bool RemoveSink(uint64_t id) { return Logger::Get().sinks().Remove(id); }

void WriteV(Level level, const char* file, int line, const char* format, va_list args) {
  if (level == Level::kNull) return;
  const RecordPlace place{kModule, level, file, line};
  FormattedRecord record;
  record.Format(place, format, args);
  EmitRecord(place, record);
}

void Write(Level level, const char* file, int line, const char* format, ...) {
  va_list args;
  va_start(args, format);
  WriteV(level, file, line, format, args);
  va_end(args);
}

void WriteAs(const char* module, Level level, const char* file, int line, std::string_view text) {
  if (level == Level::kNull) return;
  const RecordPlace place{module, level, file, line};
  FormattedRecord record;
  record.FormatText(place, text);
  EmitRecord(place, record);
}

}  // namespace pypto::log
