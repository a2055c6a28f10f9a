// Page-locked host memory: what aclrtMallocHost gave out and what aclrtHostRegister took.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>

namespace pypto::mock {

// Owned by the instance. Thread-safe. Blocks above 1 MiB lie in huge pages of their own and are kept for reuse when
// they are freed.
class HostMemory {
 public:
  enum class Registration : uint8_t { kDone, kAlready, kUnknown };

  HostMemory() = default;
  ~HostMemory();
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;

  // 64-byte aligned, filled with kFreshByte up to 1 MiB; null when the system has no memory.
  void* Allocate(uint64_t bytes);
  bool Free(void* pointer);
  Registration Register(void* pointer, uint64_t bytes);
  Registration Unregister(void* pointer);
  // Whether [pointer, pointer + bytes) lies inside one page-locked range.
  bool Pinned(const void* pointer, uint64_t bytes) const;
  // Gives everything back.
  void Clear();
  // Gives freed blocks back to the system.
  void Purge();

  uint64_t live_bytes() const;
  uint64_t live_blocks() const;
  uint64_t kept_bytes() const;  // of freed blocks

 private:
  struct Range {
    uint64_t bytes = 0;
    uint64_t capacity = 0;  // whole huge pages; 0: from the C library, or not owned
    bool owned = false;
  };
  using Ranges = std::map<uint64_t, Range>;
  Ranges::const_iterator Containing(uint64_t address) const;
  std::byte* TakeKept(uint64_t* capacity);
  std::byte* AllocateLarge(uint64_t* capacity);
  void PurgeLocked();

  mutable std::mutex mutex_;
  Ranges ranges_;
  std::multimap<uint64_t, std::byte*> kept_;  // capacity → freed block
  uint64_t live_bytes_ = 0;
  uint64_t live_blocks_ = 0;
};

}  // namespace pypto::mock
