// Device memory and page-locked host memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "pypto/acl/handle.h"

namespace pypto::acl {

// Of the current device, in bytes.
struct MemoryInfo {
  uint64_t free = 0;
  uint64_t total = 0;
};
PYPTO_API base::Result<MemoryInfo> QueryMemory(const Table& table);

// One block of device memory of the current context. Freed without waiting for work that uses it.
class PYPTO_API DeviceMemory : public OwnedHandle<HandleKind::kDeviceMemory> {
 public:
  DeviceMemory() noexcept = default;
  DeviceMemory(const Table& table, void* raw, size_t bytes) noexcept : OwnedHandle(table, raw), bytes_(bytes) {}
  // 64-byte aligned, not zeroed. Out of memory: kOutOfDeviceMemory with asked, free and total attached.
  static base::Result<DeviceMemory> Allocate(const Table& table, size_t bytes);

  void* data() const noexcept { return raw_; }
  uint64_t address() const noexcept { return reinterpret_cast<uintptr_t>(raw_); }
  size_t bytes() const noexcept { return raw_ != nullptr ? bytes_ : 0; }

 private:
  size_t bytes_ = 0;
};

// Page-locked host memory: copies from and to it are truly asynchronous. 200001 where the library offers none.
class PYPTO_API HostMemory : public OwnedHandle<HandleKind::kHostMemory> {
 public:
  HostMemory() noexcept = default;
  HostMemory(const Table& table, void* raw, size_t bytes) noexcept : OwnedHandle(table, raw), bytes_(bytes) {}
  static base::Result<HostMemory> Allocate(const Table& table, size_t bytes);

  std::byte* data() const noexcept { return static_cast<std::byte*>(raw_); }
  size_t bytes() const noexcept { return raw_ != nullptr ? bytes_ : 0; }

 private:
  size_t bytes_ = 0;
};

}  // namespace pypto::acl
