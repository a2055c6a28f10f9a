// One formatted record: "[LEVEL] MODULE(pid,process):YYYY-MM-DD-hh:mm:ss.mmm.uuu [file:line]text\n".
#pragma once

#include <array>
#include <cstdarg>
#include <cstdint>
#include <string_view>

#include "pypto/log/level.h"

namespace pypto::log {

inline constexpr size_t kMaxRecordBytes = 1024;  // with the newline

// Where and when a record was made; `file` null leaves [file:line] out.
struct RecordPlace {
  std::string_view module = "PYPTO";
  Level level = Level::kInfo;
  const char* file = nullptr;
  int line = 0;
};

// A record on the stack: formatting allocates nothing. Thread rule: one thread at a time.
class FormattedRecord {
 public:
  // printf style. Control characters become spaces; what does not fit is cut at a character of UTF-8.
  void Format(const RecordPlace& place, const char* format, va_list args) noexcept
      __attribute__((format(printf, 3, 0)));
  void FormatText(const RecordPlace& place, std::string_view text) noexcept;

  // With the newline.
  std::string_view line() const noexcept { return {bytes_.data(), size_}; }
  // Without prefix and newline.
  std::string_view text() const noexcept { return {bytes_.data() + text_begin_, size_ - 1 - text_begin_}; }
  size_t text_begin() const noexcept { return text_begin_; }

 private:
  void FormatPrefix(const RecordPlace& place) noexcept;
  void Finish(size_t wanted) noexcept;

  std::array<char, kMaxRecordBytes + 1> bytes_;
  size_t text_begin_ = 0;
  size_t size_ = 0;
};

// Length of the longest prefix of bytes[0, size) that ends with a whole UTF-8 character.
size_t WholeUtf8Prefix(const char* bytes, size_t size) noexcept;

// Local time as the records and file names show it; for times after 1970.
struct LocalTime {
  int year, month, day, hour, minute, second, millisecond, microsecond;
};
LocalTime ToLocalTime(int64_t microseconds_since_epoch) noexcept;
int64_t MicrosecondsSinceEpoch() noexcept;
// Seconds that local time is ahead of UTC at that time.
int64_t OffsetFromUtc(int64_t seconds_since_epoch) noexcept;

// Around fork: the C library holds a lock of its own while it looks a zone up, and a child that got a copy of the held
// lock would wait for ever.
void LockTimeZone();
void UnlockTimeZone();

}  // namespace pypto::log
