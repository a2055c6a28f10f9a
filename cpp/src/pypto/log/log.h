// Logging of the process: level test, records, the sinks. The plog files follow the vendor's layout and variables.
#pragma once

#include <atomic>
#include <cstdarg>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pypto/base/export.h"
#include "pypto/log/level.h"
#include "pypto/log/sink.h"

namespace pypto::log {

class FormattedRecord;

namespace detail {
// 0: the environment has not been read; else 1 + the lowest level that is written.
PYPTO_API extern std::atomic<uint8_t> threshold;
// Reads the environment once, then answers.
PYPTO_API bool EnabledAfterSetup(Level level) noexcept;
}  // namespace detail

// Whether records of this level are written now: one relaxed load. Thread-safe.
inline bool Enabled(Level level) noexcept {
  const uint8_t lowest = detail::threshold.load(std::memory_order_relaxed);
  if (static_cast<uint8_t>(level) + 1 < lowest) [[likely]]
    return false;
  return lowest != 0 || detail::EnabledAfterSetup(level);
}

// Level of module PYPTO: the call wins over the environment. Thread-safe.
PYPTO_API void SetLevel(Level level) noexcept;
PYPTO_API Level GetLevel() noexcept;
// The level of the environment rules again.
PYPTO_API void ResetLevel() noexcept;
// Level that the environment gives to another module, such as "ASCENDCL".
PYPTO_API Level EnvironmentLevelOf(std::string_view module) noexcept;

// Root folder of the log files, and whether records go to stdout in place of files; the calls win over the
// environment. A file that is open is closed; the next record opens one in the new place. Thread-safe.
PYPTO_API void SetLogRoot(const std::string& root);
PYPTO_API void SetPrintToStdout(bool on) noexcept;
// Path of the plog file that is open, empty when none is.
PYPTO_API std::string CurrentLogFile();

// Writes one record of module PYPTO. Does not test the level: use PYPTO_LOG, or ask Enabled first. Records with their
// own switch (timing marks) are written this way whatever the level. `file` must outlive the call only. Thread-safe.
PYPTO_API void Write(Level level, const char* file, int line, const char* format, ...)
    __attribute__((format(printf, 4, 5)));
PYPTO_API void WriteV(Level level, const char* file, int line, const char* format, va_list args)
    __attribute__((format(printf, 4, 0)));
// Writes one record of another module; without a file the record has no [file:line].
PYPTO_API void WriteAs(const char* module, Level level, const char* file, int line, std::string_view text);

// Sinks get every record that is written, besides the file. The number returned names the sink for RemoveSink.
PYPTO_API uint64_t AddSink(std::shared_ptr<Sink> sink);
// After it returns no call of the sink is under way in another thread and none begins: call it without a lock that the
// sink's Write takes (such as the GIL). False when the number is unknown. From inside the sink's own Write it does not
// wait, nor in a forked child for a sink of the parent.
PYPTO_API bool RemoveSink(uint64_t id);

// Collects records and writes them with one write(): all records of a launch lie together in the file. Module PYPTO.
// Owned by whoever makes the records. Thread rule: one thread at a time.
class PYPTO_API RecordBatch {
 public:
  RecordBatch();
  ~RecordBatch();  // writes what is left
  RecordBatch(const RecordBatch&) = delete;
  RecordBatch& operator=(const RecordBatch&) = delete;

  // `file` must be a string that lives until Write, such as __FILE_NAME__.
  void Add(Level level, const char* file, int line, const char* format, ...) __attribute__((format(printf, 5, 6)));
  void AddText(Level level, const char* file, int line, std::string_view text);
  // Writes the records and empties the batch.
  void Write() noexcept;
  size_t size() const noexcept { return items_.size(); }

 private:
  struct Item {
    Level level;
    const char* file;
    int line;
    size_t begin;  // of the formatted record in buffer_
    size_t text;   // of its text in buffer_
    size_t end;    // behind its newline
  };
  void Keep(Level level, const char* file, int line, const FormattedRecord& record);

  std::string buffer_;
  std::vector<Item> items_;
};

}  // namespace pypto::log

#if defined(__FILE_NAME__)
#define PYPTO_LOG_FILE __FILE_NAME__
#else
#define PYPTO_LOG_FILE ::pypto::log::BaseName(__FILE__)
#endif

// PYPTO_LOG(kInfo, "opened device %d", id): printf style; nothing is evaluated unless the level is written.
#define PYPTO_LOG(level, ...)                                                                 \
  do {                                                                                        \
    if (::pypto::log::Enabled(::pypto::log::Level::level)) [[unlikely]]                       \
      ::pypto::log::Write(::pypto::log::Level::level, PYPTO_LOG_FILE, __LINE__, __VA_ARGS__); \
  } while (false)

// PYPTO_LOG_TO(batch, kInfo, "task %d", id): the same into a RecordBatch.
#define PYPTO_LOG_TO(batch, level, ...)                                               \
  do {                                                                                \
    if (::pypto::log::Enabled(::pypto::log::Level::level)) [[unlikely]]               \
      (batch).Add(::pypto::log::Level::level, PYPTO_LOG_FILE, __LINE__, __VA_ARGS__); \
  } while (false)
