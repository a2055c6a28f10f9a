// Targets of timing marks and the text of a record.
#include "pypto/runtime/trace.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>

#include "pypto/base/environment.h"
#include "pypto/log/log.h"

namespace pypto::runtime {

namespace detail {
std::atomic<bool> trace_on{false};
}  // namespace detail

namespace {

using base::Status;

enum class Target : uint8_t { kOff, kStderr, kPlog, kFile, kCallback };

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

// The one target of the process. Never destroyed: threads may dispatch while the process ends.
struct Writer {
  std::mutex mutex;
  bool chosen = false;
  Target target = Target::kOff;
  std::unique_ptr<std::FILE, FileCloser> file;
  std::function<void(std::string_view)> callback;
};

Writer& TheWriter() {
  static auto* writer = new Writer();
  return *writer;
}

void Choose(Writer* writer, Target target) {
  writer->chosen = true;
  writer->target = target;
  if (target != Target::kFile) writer->file.reset();
  if (target != Target::kCallback) writer->callback = nullptr;
  detail::trace_on.store(target != Target::kOff, std::memory_order_relaxed);
}

Status ChooseByName(Writer* writer, std::string_view target) {
  if (target.empty() || target == "off" || target == "0") {
    Choose(writer, Target::kOff);
  } else if (target == "stderr") {
    Choose(writer, Target::kStderr);
  } else if (target == "plog") {
    Choose(writer, Target::kPlog);
  } else {
    const std::string path(target);
    std::FILE* file = std::fopen(path.c_str(), "ae");
    if (file == nullptr) {
      return base::MakeStatus(base::StatusCode::kIo, "cannot open '%s' for timing marks: %s", path.c_str(),
                              std::strerror(errno));
    }
    Choose(writer, Target::kFile);
    writer->file.reset(file);
  }
  return base::OkStatus();
}

void WriteRecord(const Writer& writer, const std::string& record) {
  switch (writer.target) {
    case Target::kOff: return;
    case Target::kStderr: std::fprintf(stderr, "%s\n", record.c_str()); return;
    case Target::kPlog: log::Write(log::Level::kInfo, PYPTO_LOG_FILE, __LINE__, "%s", record.c_str()); return;
    case Target::kFile: std::fprintf(writer.file.get(), "%s\n", record.c_str()); return;
    case Target::kCallback: writer.callback(record); return;
  }
}

}  // namespace

Status SetTrace(std::string_view target) {
  Writer& writer = TheWriter();
  const std::lock_guard<std::mutex> lock(writer.mutex);
  return ChooseByName(&writer, target);
}

void SetTraceCallback(std::function<void(std::string_view)> callback) {
  Writer& writer = TheWriter();
  const std::lock_guard<std::mutex> lock(writer.mutex);
  writer.callback = std::move(callback);
  Choose(&writer, writer.callback ? Target::kCallback : Target::kOff);
}

void ApplyTraceEnvironment() {
  Writer& writer = TheWriter();
  const std::lock_guard<std::mutex> lock(writer.mutex);
  if (std::exchange(writer.chosen, true)) return;
  const Status status = ChooseByName(&writer, base::GetEnvironment("PYPTO_STRACE").value_or(""));
  if (!status.ok()) PYPTO_LOG(kWarning, "PYPTO_STRACE: %s", status.ToString().c_str());
}

void WriteTrace(const base::Digest& program, std::span<const TraceSpan> spans) {
  static std::atomic<uint64_t> dispatches{0};
  const uint64_t number = dispatches.fetch_add(1, std::memory_order_relaxed);
  const std::string hash = base::DigestHex(program).substr(0, 16);
  const long thread = ::syscall(SYS_gettid);
  Writer& writer = TheWriter();
  const std::lock_guard<std::mutex> lock(writer.mutex);
  for (const TraceSpan& span : spans) {
    WriteRecord(writer,
                base::Format("[STRACE] v=1 pid=%d tid=%ld inv=%" PRIu64 " hid=%s depth=%d name=%.*s ts=%" PRId64
                             " dur=%" PRId64 "%s%.*s",
                             ::getpid(), thread, number, hash.c_str(), span.depth, static_cast<int>(span.name.size()),
                             span.name.data(), span.begin_ns, span.duration_ns, span.extra.empty() ? "" : " ",
                             static_cast<int>(span.extra.size()), span.extra.data()));
  }
  if (writer.target == Target::kFile) std::fflush(writer.file.get());
}

}  // namespace pypto::runtime
