// What every function of the C ABI is built of: the fence that lets no exception out, the record of the last error,
// pins that say what is wrong with a handle, and size-stamped structs.
#pragma once

#include <cxxabi.h>

#include <cstring>
#include <exception>
#include <new>
#include <type_traits>

#include "handle_table.h"
#include "pypto/base/status.h"
#include "pypto/c_api.h"

namespace pypto::capi {

// Keeps an error for pypto_last_error of this thread; returns its code. Never throws: without memory the text is lost.
pypto_status SetError(pypto_status code, const base::Status& status) noexcept;
pypto_status SetError(pypto_status code, const char* text) noexcept;
// The code of a status, kept when it is an error.
inline pypto_status Report(const base::Status& status) noexcept {
  if (status.ok()) [[likely]]
    return PYPTO_OK;
  return SetError(static_cast<pypto_status>(status.code()), status);
}
template <typename... Arguments>
[[gnu::cold]] pypto_status Refuse(const char* format, Arguments... arguments) {
  return Report(base::MakeStatus(base::StatusCode::kInvalidArgument, format, arguments...));
}
pypto_status ReportException(const std::exception& exception) noexcept;

// Runs the body of a C function. Exceptions end here; the unwinding of a cancelled thread is none and goes on.
template <typename Body>
pypto_status Fence(Body&& body) {
  try {
    return body();
  } catch (const abi::__forced_unwind&) {
    throw;
  } catch (const std::bad_alloc&) {
    return SetError(PYPTO_ERROR_OUT_OF_HOST_MEMORY, "the process has no memory left for this call");
  } catch (const std::exception& exception) {
    return ReportException(exception);
  } catch (...) {
    return SetError(PYPTO_ERROR_INTERNAL, "an exception of an unknown type was stopped at the C boundary");
  }
}

template <typename Handle>
uint64_t BitsOf(const Handle* handle) noexcept {
  return reinterpret_cast<uintptr_t>(handle);
}

// Says why a handle is none of the kind, or why it cannot be used now.
[[gnu::cold]] pypto_status RefuseHandle(uint64_t handle, Kind kind, const char* what = nullptr);

// Keeps the object of a handle for a call.
template <typename T>
class Pin {
 public:
  template <typename Handle>
  explicit Pin(const Handle* handle) : handle_(BitsOf(handle)), slot_(handle_, T::kKind) {}
  explicit operator bool() const noexcept { return slot_.object() != nullptr; }
  T* operator->() const noexcept { return static_cast<T*>(slot_.object()); }
  T& operator*() const noexcept { return *static_cast<T*>(slot_.object()); }
  uint64_t handle() const noexcept { return handle_; }
  pypto_status Refused() const { return RefuseHandle(handle_, T::kKind); }

 private:
  uint64_t handle_;
  std::conditional_t<T::kKind == Kind::kCompletion, CountedSlot, PinnedSlot> slot_;
};

template <typename Handle>
void GiveHandle(uint64_t bits, Handle** out) noexcept {
  *out = reinterpret_cast<Handle*>(static_cast<uintptr_t>(bits));
}
// Makes the handle of a new object.
template <typename T, typename Handle>
void GiveHandle(std::unique_ptr<T> object, Handle** out) {
  GiveHandle(AddObject(T::kKind, std::move(object)), out);
}
// The end of every release: nobody names the object from now on, and it is deleted once nobody uses it.
template <typename T>
pypto_status Remove(const Pin<T>& pin) {
  if (!Invalidate(pin.handle())) return pin.Refused();
  Reclaim(pin.handle()).reset();
  return PYPTO_OK;
}

// Reads a size-stamped struct: fields beyond the caller's size keep the default, set fields beyond ours are refused.
pypto_status CheckStruct(const char* name, const void* given, size_t known);
template <typename T>
pypto_status ReadStruct(const char* name, const T* given, T* out) {
  const pypto_status status = CheckStruct(name, given, sizeof(T));
  if (status != PYPTO_OK) return status;
  std::memcpy(out, given, given->struct_size < sizeof(T) ? given->struct_size : sizeof(T));
  return PYPTO_OK;
}
// Writes as much as the caller has room for; room beyond ours is zeroed. The caller's size stays.
pypto_status CheckOutput(const char* name, const void* out);
template <typename T>
pypto_status WriteStruct(const char* name, T value, T* out) {
  const pypto_status status = CheckOutput(name, out);
  if (status != PYPTO_OK) return status;
  value.struct_size = out->struct_size;
  const size_t room = out->struct_size;
  std::memcpy(out, &value, room < sizeof(T) ? room : sizeof(T));
  if (room > sizeof(T)) std::memset(reinterpret_cast<char*>(out) + sizeof(T), 0, room - sizeof(T));
  return PYPTO_OK;
}

// Copies a text by the rule for (buffer, capacity, needed).
pypto_status WriteText(std::string_view text, char* buffer, size_t capacity, size_t* needed);
// Into an array of a struct: cut to fit, always ended by NUL.
template <size_t N>
void WriteArray(std::string_view text, char (&out)[N]) noexcept {
  const size_t length = text.size() < N ? text.size() : N - 1;
  std::memcpy(out, text.data(), length);
  out[length] = '\0';
}

}  // namespace pypto::capi

// A null pointer where something must be.
#define PYPTO_REQUIRE(pointer)           \
  if ((pointer) == nullptr) [[unlikely]] \
  return ::pypto::capi::Refuse("the argument '%s' must not be null", #pointer)
