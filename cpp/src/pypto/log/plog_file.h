// The plog files of a process: exclusive creation, rotation, number of files kept.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

namespace pypto::log {

inline constexpr uint64_t kMaxFileBytes = 20ULL << 20;

// Files "<root>/debug/plog/plog-<pid>_<YYYYMMDDhhmmssmmm>.log". Opens the first one when the first record comes.
// A folder or disk that takes nothing gives one message on stderr; later records are lost without a word.
// Owned by the logger. Thread rule: callers take turns.
class PlogFile {
 public:
  PlogFile() = default;
  ~PlogFile() { Close(); }
  PlogFile(const PlogFile&) = delete;
  PlogFile& operator=(const PlogFile&) = delete;

  // Closes the file that is open; the next record opens one under the new root. Files of the old root stay.
  void Configure(std::string root, int files_kept, uint64_t max_bytes = kMaxFileBytes);
  // Appends whole records, each ending in a newline, with one write() unless they pass the size of a file.
  void Append(std::string_view records) noexcept;
  // Closes the file and makes it read-only.
  void Close() noexcept;
  // In a forked child: leaves the parent's file alone; the next record opens one for this process.
  void Detach() noexcept;

  // Of the open file; empty when none is.
  const std::string& path() const noexcept { return path_; }

 private:
  bool Open();
  bool OpenExclusively(const std::string& folder, int64_t milliseconds);
  bool WriteWhole(std::string_view bytes) noexcept;
  void Report(const char* what, const std::string& path, int error) noexcept;

  std::string root_;
  int files_kept_ = 10;
  uint64_t max_bytes_ = kMaxFileBytes;
  int descriptor_ = -1;
  uint64_t size_ = 0;
  std::string path_;
  std::deque<std::string> files_;  // made by this process under root_, oldest first
  int64_t last_name_time_ = 0;     // in ms: names of one process rise, even past names that are free again
  bool given_up_ = false;          // no file can be made
  bool reported_ = false;          // the message on stderr is out
};

}  // namespace pypto::log
