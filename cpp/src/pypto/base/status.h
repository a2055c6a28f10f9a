// Status and Result: the error values of the core. No exception leaves a library of the core.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "pypto/base/export.h"

namespace pypto::base {

// What kind of failure it was. The bindings map each code to one Python exception class.
enum class StatusCode : uint8_t {
  kOk = 0,
  kInvalidArgument,     // ValueError
  kTypeMismatch,        // TypeError
  kOutOfRange,          // IndexError
  kNotFound,            // KeyError
  kFailedPrecondition,  // RuntimeError: closed object, broken worker, wrong order of calls
  kUnsupported,         // NotImplementedError
  kTimeout,             // TimeoutError
  kAcl,                 // pypto.AclError
  kOutOfDeviceMemory,   // pypto.OutOfDeviceMemoryError
  kCompile,             // pypto.CompileError
  kWorkspace,           // pypto.WorkspaceError
  kDeviceUnavailable,   // pypto.DeviceUnavailableError
  kProgramFormat,       // pypto.ProgramFormatError
  kIo,                  // OSError
  kInternal,            // pypto.PyptoError: a broken promise inside the core
};

PYPTO_API std::string_view StatusCodeName(StatusCode code);

// What an ACL call reported. Attached to a Status of code kAcl, kOutOfDeviceMemory, kTimeout or kDeviceUnavailable.
struct AclFailure {
  int32_t code = 0;           // the aclError
  std::string call;           // the function, such as "aclrtMalloc"
  std::string text;           // text from aclGetRecentErrMsg, may be empty
  std::string failure_class;  // "out_of_memory", "timeout", "kernel_fault", "device_lost", …
};

// Numbers behind an out-of-memory error, in bytes.
struct MemoryShortage {
  uint64_t asked = 0;
  uint64_t free = 0;
  uint64_t total = 0;
  std::string largest_holders;
};

// Success, or a code with a message, a context chain and optional details. One pointer wide; success allocates nothing.
// Thread rule: a value; share it only when nobody changes it.
class [[nodiscard]] PYPTO_API Status {
 public:
  Status() noexcept = default;
  Status(StatusCode code, std::string message);
  Status(const Status& other);
  Status& operator=(const Status& other);
  Status(Status&& other) noexcept : detail_(std::exchange(other.detail_, nullptr)) {}
  Status& operator=(Status&& other) noexcept {
    std::swap(detail_, other.detail_);
    return *this;
  }
  ~Status() {
    if (detail_ != nullptr) [[unlikely]]
      Destroy();
  }

  bool ok() const noexcept { return detail_ == nullptr; }
  StatusCode code() const noexcept;
  // The message without the context chain.
  std::string_view message() const noexcept;
  // Outermost context first: "while registering program 'x': while loading the binary: message".
  std::string ToString() const;

  // Adds what was being done, outside of what is known already. No effect on success.
  Status&& WithContext(std::string_view context) &&;
  // Keeps this error and adds the text of a later (clean-up) error behind it; success becomes `later`.
  void Attach(const Status& later);

  Status&& WithAclFailure(AclFailure failure) &&;
  Status&& WithMemoryShortage(MemoryShortage shortage) &&;
  Status&& WithSourceLine(std::string file, int line) &&;
  const AclFailure* acl_failure() const noexcept;
  const MemoryShortage* memory_shortage() const noexcept;
  // Kernel source place; line 0 when unknown.
  std::string_view source_file() const noexcept;
  int source_line() const noexcept;

 private:
  struct Detail;
  void Destroy() noexcept;
  Detail* detail_ = nullptr;  // owned
};

inline Status OkStatus() noexcept { return Status(); }

// printf-style, for messages with numbers.
PYPTO_API Status MakeStatus(StatusCode code, const char* format, ...) __attribute__((format(printf, 2, 3)));
PYPTO_API std::string Format(const char* format, ...) __attribute__((format(printf, 1, 2)));

// A value or the Status that says why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Status status) : status_(std::move(status)) {}

  bool ok() const noexcept { return value_.has_value(); }
  const Status& status() const& noexcept { return status_; }
  Status&& status() && noexcept { return std::move(status_); }
  T& value() & noexcept { return *value_; }
  const T& value() const& noexcept { return *value_; }
  T&& value() && noexcept { return *std::move(value_); }
  T& operator*() & noexcept { return *value_; }
  const T& operator*() const& noexcept { return *value_; }
  T&& operator*() && noexcept { return *std::move(value_); }
  T* operator->() noexcept { return &*value_; }
  const T* operator->() const noexcept { return &*value_; }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace pypto::base

#define PYPTO_CONCAT_INNER(a, b) a##b
#define PYPTO_CONCAT(a, b) PYPTO_CONCAT_INNER(a, b)

#define PYPTO_RETURN_IF_ERROR(expression)              \
  do {                                                 \
    ::pypto::base::Status pypto_status = (expression); \
    if (!pypto_status.ok()) [[unlikely]]               \
      return pypto_status;                             \
  } while (false)

// PYPTO_ASSIGN_OR_RETURN(auto value, Compute());
#define PYPTO_ASSIGN_OR_RETURN(target, expression) \
  PYPTO_ASSIGN_OR_RETURN_INNER(PYPTO_CONCAT(pypto_result_, __LINE__), target, expression)
#define PYPTO_ASSIGN_OR_RETURN_INNER(result, target, expression) \
  auto result = (expression);                                    \
  if (!result.ok()) [[unlikely]]                                 \
    return std::move(result).status();                           \
  target = std::move(result).value()
