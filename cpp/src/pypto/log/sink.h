// Sinks: who gets log records besides the plog file.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "pypto/base/export.h"
#include "pypto/log/level.h"

namespace pypto::log {

// One record. The views and pointers are valid during the call only.
struct RecordView {
  Level level = Level::kInfo;
  std::string_view module;
  const char* file = nullptr;  // base name of the source file; null when the record has no place
  int line = 0;
  std::string_view text;       // what was said, one line, without newline
  std::string_view formatted;  // the whole record as in the file, with its newline
};

// Gets records at or above its own lowest level. Held by the logger from AddSink to RemoveSink; Write is called from
// any thread, several at a time, with no lock held. Records logged inside Write go to the file only.
class PYPTO_API Sink {
 public:
  explicit Sink(Level lowest) noexcept : lowest_(lowest) {}
  virtual ~Sink();
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;

  virtual void Write(const RecordView& record) noexcept = 0;
  Level lowest() const noexcept { return lowest_; }

 private:
  Level lowest_;
};

// Calls a function for each record at or above `lowest`: how a program takes records over, and how the runtime
// forwards warnings and errors to the log of the ACL library.
PYPTO_API std::shared_ptr<Sink> MakeCallbackSink(std::function<void(const RecordView&)> callback, Level lowest);

// Writes records to stderr, each with one write(). Never added unless asked for.
PYPTO_API std::shared_ptr<Sink> MakeStderrSink(Level lowest);

}  // namespace pypto::log
