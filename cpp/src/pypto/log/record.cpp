// Formatting of records.
#include "pypto/log/record.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <mutex>

#include "pypto/base/process.h"

namespace pypto::log {
namespace {

// The offset from UTC is asked for once per quarter of an hour: no zone changes its clock in between.
constexpr int64_t kZoneSlotSeconds = 900;
constexpr unsigned kZoneOffsetBits = 20;
constexpr uint64_t kZoneOffsetMask = (uint64_t{1} << kZoneOffsetBits) - 1;
constexpr int64_t kZoneOffsetBias = 524288;      // half of the range
std::atomic<uint64_t> zone_cache{~uint64_t{0}};  // slot and biased offset
std::mutex zone_mutex;

// The number of this process: a system call once per process, forked ones too.
int ProcessId() noexcept {
  static std::atomic<uint64_t> known{0};  // generation and number
  const auto generation = static_cast<uint32_t>(base::ProcessGeneration());
  const uint64_t value = known.load(std::memory_order_relaxed);
  if (value >> 32 == generation) [[likely]]
    return static_cast<int>(value & 0xFFFFFFFFU);
  const int number = getpid();
  known.store(uint64_t{generation} << 32 | static_cast<uint32_t>(number), std::memory_order_relaxed);
  return number;
}

// Writes behind each other into a buffer; what does not fit is left out.
class Cursor {
 public:
  Cursor(char* begin, size_t room) noexcept : begin_(begin), room_(room) {}

  Cursor& Text(std::string_view text) noexcept {
    const size_t count = std::min(text.size(), room_ - used_);
    std::memcpy(begin_ + used_, text.data(), count);
    used_ += count;
    return *this;
  }
  Cursor& Number(int number) noexcept {
    std::array<char, 12> digits;
    const char* end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    return Text({digits.data(), static_cast<size_t>(end - digits.data())});
  }
  Cursor& Digits(int number, size_t count) noexcept {
    std::array<char, 4> digits;
    for (size_t i = count; i-- > 0; number /= 10) digits[i] = static_cast<char>('0' + number % 10);
    return Text({digits.data(), count});
  }
  size_t used() const noexcept { return used_; }

 private:
  char* begin_;
  size_t room_;
  size_t used_ = 0;
};

}  // namespace

size_t WholeUtf8Prefix(const char* bytes, size_t size) noexcept {
  size_t end = size;
  for (size_t back = 1; back <= 4 && back <= size; ++back) {
    const unsigned byte = static_cast<unsigned char>(bytes[size - back]);
    if ((byte & 0xC0U) == 0x80U) continue;
    const size_t length = byte < 0x80 ? 1 : byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
    if (length > back) end = size - back;
    break;
  }
  return end;
}

int64_t MicrosecondsSinceEpoch() noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<int64_t>(now.tv_sec) * 1'000'000 + now.tv_nsec / 1000;
}

int64_t OffsetFromUtc(int64_t seconds) noexcept {
  const auto slot = static_cast<uint64_t>(seconds / kZoneSlotSeconds);
  const uint64_t cached = zone_cache.load(std::memory_order_relaxed);
  if (cached >> kZoneOffsetBits == slot) [[likely]] {
    return static_cast<int64_t>(cached & kZoneOffsetMask) - kZoneOffsetBias;
  }
  const std::lock_guard lock(zone_mutex);
  const time_t time = seconds;
  tm local{};
  localtime_r(&time, &local);
  const auto biased = static_cast<uint64_t>(local.tm_gmtoff + kZoneOffsetBias);
  zone_cache.store((slot << kZoneOffsetBits) | biased, std::memory_order_relaxed);
  return local.tm_gmtoff;
}

void LockTimeZone() { zone_mutex.lock(); }
void UnlockTimeZone() { zone_mutex.unlock(); }

LocalTime ToLocalTime(int64_t microseconds_since_epoch) noexcept {
  const int64_t seconds = microseconds_since_epoch / 1'000'000;
  const int fraction = static_cast<int>(microseconds_since_epoch % 1'000'000);
  const int64_t local = seconds + OffsetFromUtc(seconds);
  const std::chrono::sys_days day{std::chrono::days{local / 86'400}};
  const std::chrono::year_month_day date{day};
  const int second = static_cast<int>(local % 86'400);
  return {static_cast<int>(date.year()),
          static_cast<int>(static_cast<unsigned>(date.month())),
          static_cast<int>(static_cast<unsigned>(date.day())),
          second / 3600,
          second / 60 % 60,
          second % 60,
          fraction / 1000,
          fraction % 1000};
}

void FormattedRecord::FormatPrefix(const RecordPlace& place) noexcept {
  const LocalTime now = ToLocalTime(MicrosecondsSinceEpoch());
  Cursor at(bytes_.data(), kMaxRecordBytes - 1);
  at.Text("[").Text(LevelName(place.level)).Text("] ").Text(place.module).Text("(").Number(ProcessId());
  at.Text(",").Text(std::string_view(program_invocation_short_name).substr(0, 255)).Text("):");
  at.Digits(now.year, 4).Text("-").Digits(now.month, 2).Text("-").Digits(now.day, 2).Text("-");
  at.Digits(now.hour, 2).Text(":").Digits(now.minute, 2).Text(":").Digits(now.second, 2).Text(".");
  at.Digits(now.millisecond, 3).Text(".").Digits(now.microsecond, 3).Text(" ");
  if (place.file != nullptr) at.Text("[").Text(place.file).Text(":").Number(place.line).Text("]");
  text_begin_ = at.used();
}

void FormattedRecord::Finish(size_t wanted) noexcept {
  const size_t room = kMaxRecordBytes - 1 - text_begin_;
  size_t length = wanted;
  if (wanted > room) length = WholeUtf8Prefix(bytes_.data() + text_begin_, room);
  size_ = text_begin_ + length;
  for (size_t i = 0; i < size_; ++i) {
    const auto byte = static_cast<unsigned char>(bytes_[i]);
    if (byte < 0x20 || byte == 0x7F) bytes_[i] = ' ';
  }
  bytes_[size_++] = '\n';
}

void FormattedRecord::Format(const RecordPlace& place, const char* format, va_list args) noexcept {
  FormatPrefix(place);
  const int length = std::vsnprintf(bytes_.data() + text_begin_, kMaxRecordBytes - text_begin_, format, args);
  Finish(length > 0 ? static_cast<size_t>(length) : 0);
}

void FormattedRecord::FormatText(const RecordPlace& place, std::string_view text) noexcept {
  FormatPrefix(place);
  std::memcpy(bytes_.data() + text_begin_, text.data(), std::min(text.size(), kMaxRecordBytes - 1 - text_begin_));
  Finish(text.size());
}

}  // namespace pypto::log
