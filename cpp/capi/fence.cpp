// The last error of each thread, handle errors, sizes of structs, texts.
#include "fence.h"

#include <string>

namespace pypto::capi {
namespace {

using base::Status;

// Owned by its thread.
struct LastError {
  pypto_status status = PYPTO_OK;
  const char* fixed = nullptr;  // when there was no memory for a text
  std::string message;
  base::AclFailure acl;
  base::MemoryShortage shortage;
  std::string source_file;
  int source_line = 0;
};

LastError& ThreadError() {
  static thread_local LastError error;
  return error;
}

constexpr size_t kSmallestStruct = 2 * sizeof(uint32_t);
constexpr size_t kLargestStruct = 1 << 16;

}  // namespace

pypto_status SetError(pypto_status code, const char* text) noexcept {
  LastError& error = ThreadError();
  error.status = code;
  error.fixed = text;
  error.acl.code = 0;
  error.source_line = 0;
  error.shortage.asked = error.shortage.free = error.shortage.total = 0;
  for (std::string* string : {&error.message, &error.acl.call, &error.acl.text, &error.acl.failure_class,
                              &error.shortage.largest_holders, &error.source_file}) {
    string->clear();
  }
  return code;
}

pypto_status SetError(pypto_status code, const Status& status) noexcept {
  SetError(code, "an error whose text was lost: the process has no memory left");
  LastError& error = ThreadError();
  try {
    error.message = status.ToString();
    error.fixed = nullptr;
    if (status.acl_failure() != nullptr) error.acl = *status.acl_failure();
    if (status.memory_shortage() != nullptr) error.shortage = *status.memory_shortage();
    error.source_file = std::string(status.source_file());
    error.source_line = status.source_line();
  } catch (const std::exception&) {  // no memory: what is set stays
  }
  return code;
}

pypto_status ReportException(const std::exception& exception) noexcept {
  try {
    return SetError(PYPTO_ERROR_INTERNAL,
                    base::MakeStatus(base::StatusCode::kInternal, "an exception was stopped at the C boundary: %s",
                                     exception.what()));
  } catch (const std::exception&) {
    return SetError(PYPTO_ERROR_INTERNAL, "an exception was stopped at the C boundary");
  }
}

pypto_status RefuseHandle(uint64_t handle, Kind kind, const char* what) {
  std::string text = what != nullptr ? std::string(what) + ": " : std::string();
  const Slot* slot = detail::FindSlot(handle);
  if (handle == 0) {
    text += std::string("a null handle in place of ") + KindText(kind);
  } else if (CallbackScope::Inside()) {
    return SetError(PYPTO_ERROR_FAILED_PRECONDITION, "a handle cannot be used inside a callback of the library");
  } else if (slot != nullptr && KindOf(handle) != kind && slot->handle.load(std::memory_order_relaxed) == handle) {
    text += std::string("the handle is that of ") + KindText(KindOf(handle)) + ", not of " + KindText(kind);
  } else {
    text += std::string("not the handle of ") + KindText(kind) +
            " that is alive: it was released, or this library did not make it";
  }
  return SetError(PYPTO_ERROR_INVALID_HANDLE, Status(base::StatusCode::kInvalidArgument, std::move(text)));
}

pypto_status CheckStruct(const char* name, const void* given, size_t known) {
  uint32_t size = 0;
  std::memcpy(&size, given, sizeof(size));
  if (size < kSmallestStruct || size > kLargestStruct) {
    return Refuse("%s.struct_size is %u: set it to sizeof(%s)", name, size, name);
  }
  const auto* bytes = static_cast<const char*>(given);
  for (size_t i = known; i < size; ++i) {
    if (bytes[i] == 0) continue;
    return Report(base::MakeStatus(base::StatusCode::kUnsupported,
                                   "%s has a field set at byte %zu that this library, version %s, does not know", name,
                                   i, pypto_version()));
  }
  return PYPTO_OK;
}

pypto_status CheckOutput(const char* name, const void* out) {
  if (out == nullptr) return Refuse("the pointer to %s must not be null", name);
  uint32_t size = 0;
  std::memcpy(&size, out, sizeof(size));
  if (size >= kSmallestStruct && size <= kLargestStruct) return PYPTO_OK;
  return Refuse("%s.struct_size is %u: set it to sizeof(%s)", name, size, name);
}

pypto_status WriteText(std::string_view text, char* buffer, size_t capacity, size_t* needed) {
  if (buffer != nullptr && capacity != 0) {
    const size_t length = text.size() < capacity ? text.size() : capacity - 1;
    std::memcpy(buffer, text.data(), length);
    buffer[length] = '\0';
  }
  if (needed != nullptr) *needed = text.size() + 1;
  return PYPTO_OK;
}

}  // namespace pypto::capi

using pypto::capi::ThreadError;

extern "C" {

pypto_status pypto_last_error(pypto_error* error) {
  if (error == nullptr || error->struct_size < 2 * sizeof(uint32_t)) return PYPTO_ERROR_INVALID_ARGUMENT;
  return pypto::capi::Fence([&] {
    const auto& last = ThreadError();
    pypto_error value{};
    value.status = last.status;
    value.acl_code = last.acl.code;
    value.source_line = last.source_line;
    value.message = last.fixed != nullptr ? last.fixed : last.message.c_str();
    value.acl_call = last.acl.call.c_str();
    value.acl_text = last.acl.text.c_str();
    value.failure_class = last.acl.failure_class.c_str();
    value.source_file = last.source_file.c_str();
    value.largest_holders = last.shortage.largest_holders.c_str();
    value.asked_bytes = last.shortage.asked;
    value.free_bytes = last.shortage.free;
    value.total_bytes = last.shortage.total;
    return pypto::capi::WriteStruct("pypto_error", value, error);
  });
}

void pypto_clear_error(void) { pypto::capi::SetError(PYPTO_OK, ""); }

const char* pypto_status_name(pypto_status status) {
  using pypto::base::StatusCode;
  if (status == PYPTO_ERROR_INVALID_HANDLE) return "invalid handle";
  if (status == PYPTO_ERROR_OUT_OF_HOST_MEMORY) return "out of host memory";
  if (status < 0 || status > static_cast<int>(StatusCode::kInternal)) return "unknown";
  return pypto::base::StatusCodeName(static_cast<StatusCode>(status)).data();  // names are literals
}

}  // extern "C"
