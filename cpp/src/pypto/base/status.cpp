// Status and its detail record; the out-of-line half of status.h.
#include "pypto/base/status.h"

#include <cstdarg>
#include <cstdio>
#include <utility>
#include <vector>

namespace pypto::base {

struct Status::Detail {
  StatusCode code;
  std::string message;
  std::vector<std::string> contexts;  // innermost first
  std::vector<std::string> later;
  std::optional<AclFailure> acl;
  std::optional<MemoryShortage> shortage;
  std::string source_file;
  int source_line = 0;
};

std::string_view StatusCodeName(StatusCode code) {
  switch (code) {
    case StatusCode::kOk: return "ok";
    case StatusCode::kInvalidArgument: return "invalid argument";
    case StatusCode::kTypeMismatch: return "type mismatch";
    case StatusCode::kOutOfRange: return "out of range";
    case StatusCode::kNotFound: return "not found";
    case StatusCode::kFailedPrecondition: return "failed precondition";
    case StatusCode::kUnsupported: return "unsupported";
    case StatusCode::kTimeout: return "timeout";
    case StatusCode::kAcl: return "ACL error";
    case StatusCode::kOutOfDeviceMemory: return "out of device memory";
    case StatusCode::kCompile: return "compile error";
    case StatusCode::kWorkspace: return "workspace error";
    case StatusCode::kDeviceUnavailable: return "device unavailable";
    case StatusCode::kProgramFormat: return "program format error";
    case StatusCode::kIo: return "input/output error";
    case StatusCode::kInternal: return "internal error";
  }
  return "unknown";
}

Status::Status(StatusCode code, std::string message) {
  if (code == StatusCode::kOk) return;
  detail_ = new Detail();
  detail_->code = code;
  detail_->message = std::move(message);
}

Status::Status(const Status& other) : detail_(other.detail_ ? new Detail(*other.detail_) : nullptr) {}

Status& Status::operator=(const Status& other) { return *this = Status(other); }

void Status::Destroy() noexcept { delete detail_; }

StatusCode Status::code() const noexcept { return detail_ ? detail_->code : StatusCode::kOk; }

std::string_view Status::message() const noexcept {
  return detail_ ? std::string_view(detail_->message) : std::string_view("ok");
}

std::string Status::ToString() const {
  if (ok()) return "ok";
  std::string text;
  for (auto it = detail_->contexts.rbegin(); it != detail_->contexts.rend(); ++it) text += *it + ": ";
  text += detail_->message;
  for (const std::string& later : detail_->later) text += "; then " + later;
  return text;
}

Status&& Status::WithContext(std::string_view context) && {
  if (detail_) detail_->contexts.emplace_back(context);
  return std::move(*this);
}

void Status::Attach(const Status& later) {
  if (later.ok()) return;
  if (ok()) {
    *this = later;
    return;
  }
  detail_->later.push_back(later.ToString());
}

Status&& Status::WithAclFailure(AclFailure failure) && {
  if (detail_) detail_->acl = std::move(failure);
  return std::move(*this);
}

Status&& Status::WithMemoryShortage(MemoryShortage shortage) && {
  if (detail_) detail_->shortage = std::move(shortage);
  return std::move(*this);
}

Status&& Status::WithSourceLine(std::string file, int line) && {
  if (detail_) {
    detail_->source_file = std::move(file);
    detail_->source_line = line;
  }
  return std::move(*this);
}

const AclFailure* Status::acl_failure() const noexcept { return detail_ && detail_->acl ? &*detail_->acl : nullptr; }

const MemoryShortage* Status::memory_shortage() const noexcept {
  return detail_ && detail_->shortage ? &*detail_->shortage : nullptr;
}

std::string_view Status::source_file() const noexcept {
  return detail_ ? std::string_view(detail_->source_file) : std::string_view();
}

int Status::source_line() const noexcept { return detail_ ? detail_->source_line : 0; }

namespace {

std::string FormatV(const char* format, va_list args) {
  va_list copy;
  va_copy(copy, args);
  const int length = std::vsnprintf(nullptr, 0, format, copy);
  va_end(copy);
  std::string text(length > 0 ? static_cast<size_t>(length) : 0, '\0');
  if (length > 0) std::vsnprintf(text.data(), text.size() + 1, format, args);
  return text;
}

}  // namespace

Status MakeStatus(StatusCode code, const char* format, ...) {
  va_list args;
  va_start(args, format);
  std::string text = FormatV(format, args);
  va_end(args);
  return Status(code, std::move(text));
}

std::string Format(const char* format, ...) {
  va_list args;
  va_start(args, format);
  std::string text = FormatV(format, args);
  va_end(args);
  return text;
}

}  // namespace pypto::base
