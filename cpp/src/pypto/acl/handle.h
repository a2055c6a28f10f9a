// Views and owners of ACL handles: the interface makes all of them void*, these types keep the kinds apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "pypto/acl/table.h"
#include "pypto/base/export.h"
#include "pypto/base/status.h"

namespace pypto::acl {

enum class HandleKind : uint8_t { kContext, kStream, kEvent, kBinary, kFunction, kDeviceMemory, kHostMemory };

std::string_view HandleKindName(HandleKind kind);

// A handle that is used and never destroyed. A value. Empty by default; an empty stream view means the default stream
// of the current context.
template <HandleKind kKind>
class HandleView {
 public:
  constexpr HandleView() noexcept = default;
  explicit constexpr HandleView(void* raw) noexcept : raw_(raw) {}
  HandleView(std::nullptr_t) = delete;
  HandleView(int) = delete;  // 0
  constexpr void* raw() const noexcept { return raw_; }
  explicit constexpr operator bool() const noexcept { return raw_ != nullptr; }
  friend constexpr bool operator==(HandleView, HandleView) = default;

 private:
  void* raw_ = nullptr;
};

// The destroying call of the kind.
PYPTO_API base::Status DestroyHandle(const Table& table, HandleKind kind, void* raw);
// For destructors: tries twice, logs at WARNING; does nothing while the process ends or in a forked child.
PYPTO_API void DestroyHandleQuietly(const Table& table, HandleKind kind, void* raw) noexcept;

// Destroys its handle when it goes. Owned by one place, must not outlive the table, and where the library wants it
// (streams, events, binaries) its context must be current. Thread rule: one thread at a time.
template <HandleKind kKind>
class OwnedHandle {
 public:
  using View = HandleView<kKind>;

  OwnedHandle() noexcept = default;
  OwnedHandle(const Table& table, void* raw) noexcept : table_(&table), raw_(raw) {}
  OwnedHandle(const Table& table, std::nullptr_t) = delete;
  OwnedHandle(OwnedHandle&& other) noexcept : table_(other.table_), raw_(std::exchange(other.raw_, nullptr)) {}
  OwnedHandle& operator=(OwnedHandle&& other) noexcept {
    std::swap(table_, other.table_);
    std::swap(raw_, other.raw_);
    return *this;
  }
  ~OwnedHandle() {
    if (raw_ != nullptr) DestroyHandleQuietly(*table_, kKind, raw_);
  }

  bool is_open() const noexcept { return raw_ != nullptr; }
  View view() const noexcept { return View(raw_); }
  operator View() const noexcept { return view(); }
  void* raw() const noexcept { return raw_; }
  const Table& table() const noexcept { return *table_; }
  // Destroys now and says how that went; no effect when empty. After a failure the handle is still owned, and the
  // destructor tries again.
  base::Status Close() {
    if (raw_ == nullptr) return base::OkStatus();
    PYPTO_RETURN_IF_ERROR(DestroyHandle(*table_, kKind, raw_));
    raw_ = nullptr;
    return base::OkStatus();
  }
  // Gives the handle away: the caller destroys it.
  void* Release() noexcept { return std::exchange(raw_, nullptr); }

 protected:
  const Table* table_ = nullptr;
  void* raw_ = nullptr;
};

}  // namespace pypto::acl
