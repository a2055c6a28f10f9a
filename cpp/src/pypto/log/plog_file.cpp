// Creation, rotation and closing of plog files.
#include "pypto/log/plog_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "pypto/base/status.h"
#include "pypto/log/record.h"

namespace pypto::log {
namespace {

constexpr int kMaxNameClashes = 10'000;
constexpr mode_t kFolderMode = 0750;
constexpr mode_t kOpenMode = 0640;
constexpr mode_t kClosedMode = 0440;

// Makes the folder and what is missing above it. The error number, 0 on success.
int MakeFolders(const std::string& path) {
  for (size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    const std::string part = path.substr(0, slash);
    if (mkdir(part.c_str(), kFolderMode) != 0 && errno != EEXIST) {
      const int error = errno;
      struct stat status{};
      if (stat(part.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return error;
    }
    if (slash == std::string::npos) return 0;
  }
}

// Length of the records at the front that fit into `limit` bytes; of the first record when even that does not.
size_t WholeRecords(std::string_view records, uint64_t limit) {
  if (records.size() <= limit) return records.size();
  const size_t last = limit == 0 ? std::string_view::npos : records.rfind('\n', limit - 1);
  return (last == std::string_view::npos ? records.find('\n') : last) + 1;
}

}  // namespace

void PlogFile::Configure(std::string root, int files_kept, uint64_t max_bytes) {
  Close();
  files_.clear();
  root_ = std::move(root);
  files_kept_ = files_kept;
  max_bytes_ = max_bytes;
  given_up_ = false;
}

void PlogFile::Report(const char* what, const std::string& path, int error) noexcept {
  if (std::exchange(reported_, true)) return;
  const std::string text = base::Format(
      "pypto: log records are lost: %s %s: %s. Set ASCEND_PROCESS_LOG_PATH to a folder that can be written.\n", what,
      path.c_str(), std::strerror(error));
  static_cast<void>(!write(STDERR_FILENO, text.data(), text.size()));
}

bool PlogFile::OpenExclusively(const std::string& folder, int64_t milliseconds) {
  int error = EEXIST;
  for (int clash = 0; clash < kMaxNameClashes && error == EEXIST; ++clash) {
    const LocalTime time = ToLocalTime((milliseconds + clash) * 1000);
    path_ = base::Format("%s/plog-%d_%04d%02d%02d%02d%02d%02d%03d.log", folder.c_str(), static_cast<int>(getpid()),
                         time.year, time.month, time.day, time.hour, time.minute, time.second, time.millisecond);
    descriptor_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, kOpenMode);
    if (descriptor_ >= 0) {
      last_name_time_ = milliseconds + clash;
      static_cast<void>(fchmod(descriptor_, kOpenMode));  // whatever the umask
      return true;
    }
    error = errno;
  }
  Report("cannot create", path_, error);
  path_.clear();
  return false;
}

bool PlogFile::Open() {
  if (given_up_) return false;
  const std::string folder = root_ + "/debug/plog";
  const int error = MakeFolders(folder);
  if (error != 0) Report("cannot create", folder, error);
  const int64_t now = MicrosecondsSinceEpoch() / 1000;
  if (error != 0 || !OpenExclusively(folder, std::max(now, last_name_time_ + 1))) {
    given_up_ = true;
    return false;
  }
  size_ = 0;
  files_.push_back(path_);
  while (files_.size() > static_cast<size_t>(files_kept_)) {
    unlink(files_.front().c_str());
    files_.pop_front();
  }
  return true;
}

bool PlogFile::WriteWhole(std::string_view bytes) noexcept {
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = write(descriptor_, bytes.data() + done, bytes.size() - done);
    if (count > 0) {
      done += static_cast<size_t>(count);
      continue;
    }
    if (count < 0 && errno == EINTR) continue;
    Report("cannot write", path_, count < 0 ? errno : EIO);
    if (done != 0) static_cast<void>(!ftruncate(descriptor_, static_cast<off_t>(size_)));
    return false;
  }
  size_ += done;
  return true;
}

void PlogFile::Append(std::string_view records) noexcept {
  while (!records.empty()) {
    const size_t length = WholeRecords(records, max_bytes_);
    if (size_ != 0 && size_ + length > max_bytes_) Close();
    if (descriptor_ < 0 && !Open()) return;
    if (!WriteWhole(records.substr(0, length))) return;
    records.remove_prefix(length);
  }
}

void PlogFile::Close() noexcept {
  if (descriptor_ < 0) return;
  static_cast<void>(fchmod(descriptor_, kClosedMode));
  close(std::exchange(descriptor_, -1));
  path_.clear();
  size_ = 0;
}

void PlogFile::Detach() noexcept {
  if (descriptor_ >= 0) close(std::exchange(descriptor_, -1));
  path_.clear();
  files_.clear();
  size_ = 0;
  given_up_ = false;
}

}  // namespace pypto::log
