// Spans, errors and results of the C++17 face, and the choice between results and exceptions. Part of pypto/pypto.hpp.
#ifndef PYPTO_OUTCOME_HPP_
#define PYPTO_OUTCOME_HPP_

#include <cstddef>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "pypto/c_api.h"

#if !defined(__cpp_exceptions) && !defined(PYPTO_HPP_RESULTS)
#define PYPTO_HPP_RESULTS
#endif

#if defined(PYPTO_HPP_RESULTS)
#define PYPTO_HPP_POLICY results
#else
#define PYPTO_HPP_POLICY throwing
#endif

namespace pypto {
inline namespace PYPTO_HPP_POLICY {

// A view of contiguous values, as std::span of C++20.
template <typename T>
class Span {
 public:
  constexpr Span() noexcept = default;
  constexpr Span(T* data, size_t size) noexcept : data_(data), size_(size) {}
  template <size_t N>
  constexpr Span(T (&values)[N]) noexcept : data_(values), size_(N) {}
  // Of std::vector, std::array, std::string and whatever else has data() and size().
  template <typename C, typename = decltype(static_cast<T*>(std::declval<C&>().data())),
            typename = decltype(std::declval<C&>().size())>
  constexpr Span(C&& values) noexcept : data_(values.data()), size_(values.size()) {}
  // Good for the call it is written in: Alloc({64, 16}).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winit-list-lifetime"
#endif
  template <typename U = T, typename = std::enable_if_t<std::is_const_v<U>>>
  constexpr Span(std::initializer_list<std::remove_const_t<U>> values) noexcept
      : data_(values.begin()), size_(values.size()) {}
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

  constexpr T* data() const noexcept { return data_; }
  constexpr size_t size() const noexcept { return size_; }
  constexpr bool empty() const noexcept { return size_ == 0; }
  constexpr T* begin() const noexcept { return data_; }
  constexpr T* end() const noexcept { return data_ + size_; }
  constexpr T& operator[](size_t i) const noexcept { return data_[i]; }

 private:
  T* data_ = nullptr;
  size_t size_ = 0;
};

using Shape = Span<const int64_t>;

// What a failing call reported: the code, the text, and what the device library said.
class Error : public std::exception {
 public:
  Error() = default;
  // The last error of this thread, which a call that returned `status` left.
  static Error Last(pypto_status status) {
    pypto_error last = PYPTO_STRUCT(pypto_error);
    Error error;
    error.status_ = status;
    if (pypto_last_error(&last) != PYPTO_OK) return error;
    error.message_ = last.message;
    error.acl_code_ = last.acl_code;
    error.acl_call_ = last.acl_call;
    error.failure_class_ = last.failure_class;
    error.source_file_ = last.source_file;
    error.source_line_ = last.source_line;
    return error;
  }
  const char* what() const noexcept override { return message_.c_str(); }
  pypto_status status() const noexcept { return status_; }
  const std::string& message() const noexcept { return message_; }
  int32_t acl_code() const noexcept { return acl_code_; }  // 0 when no ACL call was involved
  const std::string& acl_call() const noexcept { return acl_call_; }
  const std::string& failure_class() const noexcept { return failure_class_; }
  const std::string& source_file() const noexcept { return source_file_; }
  int32_t source_line() const noexcept { return source_line_; }

 private:
  pypto_status status_ = PYPTO_OK;
  int32_t acl_code_ = 0;
  int32_t source_line_ = 0;
  std::string message_;
  std::string acl_call_;
  std::string failure_class_;
  std::string source_file_;
};

struct Nothing {};

// A value, or the Error that says why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Error error) : error_(std::move(error)) {}

  bool ok() const noexcept { return value_.has_value(); }
  explicit operator bool() const noexcept { return ok(); }
  const Error& error() const noexcept { return error_; }
  // Only when ok().
  T& operator*() & noexcept { return *value_; }
  const T& operator*() const& noexcept { return *value_; }
  T&& operator*() && noexcept { return std::move(*value_); }
  T* operator->() noexcept { return &*value_; }
  const T* operator->() const noexcept { return &*value_; }
#if defined(__cpp_exceptions)
  // The value, or the error thrown.
  T value() && {
    if (!ok()) throw error_;
    return std::move(*value_);
  }
#endif

 private:
  std::optional<T> value_;
  Error error_;
};

namespace detail {

// Outcome<T> is what functions return under the policy, Finish makes it.
#if defined(PYPTO_HPP_RESULTS)
template <typename T>
using Outcome = Result<T>;
using Done = Result<Nothing>;
inline Done Finish(pypto_status status) {
  if (status == PYPTO_OK) return Nothing{};
  return Error::Last(status);
}
template <typename T>
Outcome<T> Finish(pypto_status status, T value) {
  if (status == PYPTO_OK) return value;
  return Error::Last(status);
}
#else
template <typename T>
using Outcome = T;
using Done = void;
inline Done Finish(pypto_status status) {
  if (status != PYPTO_OK) throw Error::Last(status);
}
template <typename T>
Outcome<T> Finish(pypto_status status, T value) {
  if (status != PYPTO_OK) throw Error::Last(status);
  return value;
}
#endif

// Owns a handle of the C ABI.
template <typename H, pypto_status (*ReleaseHandle)(H*)>
class Owner {
 public:
  Owner() noexcept = default;
  explicit Owner(H* handle) noexcept : handle_(handle) {}
  Owner(Owner&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Owner& operator=(Owner&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Owner() { static_cast<void>(ReleaseHandle(handle_)); }
  // The handle for calls of the C ABI; still owned here.
  H* get() const noexcept { return handle_; }
  explicit operator bool() const noexcept { return handle_ != nullptr; }
  // Gives the handle back now and says what that reported.
  Done Release() { return Finish(ReleaseHandle(std::exchange(handle_, nullptr))); }

 private:
  H* handle_ = nullptr;
};

}  // namespace detail

template <typename T>
using Outcome = detail::Outcome<T>;
using Done = detail::Done;

}  // namespace PYPTO_HPP_POLICY
}  // namespace pypto

#endif  // PYPTO_OUTCOME_HPP_
