// What a layer over the ACL table sees of a call, and the interface of a layer.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "pypto/acl/call_ids.h"
#include "pypto/acl_abi/error_codes.h"

namespace pypto::acl {

enum class ArgumentKind : uint8_t { kPointer, kText, kSigned, kUnsigned, kFloating };

// One argument of a call: where its value lies and how to read it.
struct ArgumentView {
  const void* value = nullptr;
  ArgumentKind kind = ArgumentKind::kPointer;
  uint8_t size = 0;
};

// A char* is a buffer to be filled, not text.
template <typename T>
ArgumentView MakeArgument(const T& value) {
  constexpr ArgumentKind kKind = std::is_same_v<T, const char*>                      ? ArgumentKind::kText
                                 : std::is_pointer_v<T> || std::is_null_pointer_v<T> ? ArgumentKind::kPointer
                                 : std::is_floating_point_v<T>                       ? ArgumentKind::kFloating
                                 : std::is_signed_v<T>                               ? ArgumentKind::kSigned
                                                                                     : ArgumentKind::kUnsigned;
  return {&value, kKind, sizeof(T)};
}

// One call on its way through the layers. Lives on the caller's stack.
class Call {
 public:
  Call(CallId id, const ArgumentView* arguments, size_t argument_count, bool returns_error) noexcept
      : id_(id), returns_error_(returns_error), arguments_(arguments), argument_count_(argument_count) {}

  CallId id() const noexcept { return id_; }
  std::string_view name() const noexcept { return CallName(id_); }
  // Counts the calls of the table that went through layers, from 1.
  uint64_t number() const noexcept { return number_; }
  size_t argument_count() const noexcept { return argument_count_; }
  // T must be the declared type of the argument.
  template <typename T>
  T Argument(size_t index) const noexcept {
    return *static_cast<const T*>(arguments_[index].value);
  }
  std::string ArgumentText(size_t index) const;

  // False for the few functions that return text or nothing.
  bool returns_error() const noexcept { return returns_error_; }
  // A layer answered in place of the library.
  bool answered() const noexcept { return answered_; }
  acl_abi::aclError code() const noexcept { return code_; }
  const char* text() const noexcept { return text_; }

 private:
  friend class LayerChain;
  friend class Table;

  CallId id_;
  bool returns_error_;
  bool answered_ = false;
  acl_abi::aclError code_ = acl_abi::kSuccess;
  uint64_t number_ = 0;
  const ArgumentView* arguments_;
  size_t argument_count_;
  const char* text_ = nullptr;  // result of functions that return text
};

// Watches, refuses or answers calls. Owned by the table it is installed in. Thread rule: the three functions are
// called from any thread, also at the same time; calls that a layer itself makes through the table skip all layers.
class Layer {
 public:
  virtual ~Layer() = default;
  virtual std::string_view name() const noexcept = 0;
  // A code returned here answers the call: the layers further in and the library do not see it.
  virtual std::optional<acl_abi::aclError> Before(const Call& call) {
    static_cast<void>(call);
    return std::nullopt;
  }
  // Sees the result. Not called when this layer or one further out has answered.
  virtual void After(const Call& call) { static_cast<void>(call); }
  // The last session of the library is about to finalize: what is still alive, empty when nothing is.
  virtual std::string LeakReport() { return {}; }
};

}  // namespace pypto::acl
