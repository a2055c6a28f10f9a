// The worker's pool of device memory: the one place that asks the library for memory.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "pypto/acl/memory.h"
#include "pypto/runtime/counters.h"

namespace pypto::runtime {

enum class MemoryKind : uint8_t { kResident = 0, kStaging = 1, kWorkspace = 2, kPrograms = 3 };
inline constexpr int kMemoryKindCount = 4;

// Small blocks (up to 1 MiB) are cut from chunks in size classes that are multiples of 512 bytes; large ones come from
// the library in whole 2-MiB pages and are kept for reuse when freed. When the device has no room for a whole chunk or
// page, the smallest piece that does is taken. Workspace is never pooled: it is one block that
// grows. Without pooling (a strict mock) each block is the library's own.
// Owned by a worker; its context must be current. Thread rule: inside the worker's gate.
class DeviceAllocator {
 public:
  DeviceAllocator(const acl::Table& table, bool pooled, Counters* counters);
  DeviceAllocator(const DeviceAllocator&) = delete;
  DeviceAllocator& operator=(const DeviceAllocator&) = delete;

  // bytes > 0; 64-byte aligned at least. Out of memory: the pool is emptied and the call tried once more, then
  // kOutOfDeviceMemory with asked, free, total and the largest holders. `label` names the holder there.
  // An empty one: NameHolder's function is asked when the name is needed.
  base::Result<uint64_t> Allocate(uint64_t bytes, MemoryKind kind, std::string label);
  // The same for a resident block without a label that the pool has; 0 when it has none.
  uint64_t TakePooled(uint64_t bytes);
  // Free for a block that the pool takes back. False: nothing was done.
  bool ReturnPooled(uint64_t address);
  void NameHolders(std::function<std::string(uint64_t address)> name_of) { name_of_ = std::move(name_of); }
  // The start of a live block. When the library refuses, the block counts as free and is given back at Trim.
  base::Status Free(uint64_t address);
  // Gives everything back that nobody uses.
  base::Status Trim();
  // Gives everything back, used or not: the worker closes. Returns the first error after trying each twice.
  base::Status ReleaseAll();

  uint64_t bytes(MemoryKind kind) const noexcept { return bytes_[static_cast<size_t>(kind)]; }
  // Held from the library and not in use.
  uint64_t cached_bytes() const noexcept { return held_ - used_; }
  size_t live_blocks() const noexcept { return live_.size(); }
  bool pooled() const noexcept { return pooled_; }

 private:
  struct Live {
    uint64_t bytes = 0;     // asked for
    uint64_t capacity = 0;  // taken
    MemoryKind kind = MemoryKind::kResident;
    bool small = false;
    std::string label;
  };
  struct Chunk {
    uint64_t bytes = 0;
    uint64_t cut = 0;   // bytes cut off so far
    uint32_t used = 0;  // blocks in use
  };

  // How much more than is needed may be asked of the library.
  enum class Fit : uint8_t { kRoomy, kTight };
  base::Result<uint64_t> Take(uint64_t bytes, MemoryKind kind, Fit fit, Live* live);
  base::Result<uint64_t> TakeSmall(uint64_t capacity, Fit fit);
  base::Result<uint64_t> TakeTightChunk(uint64_t capacity);
  base::Result<uint64_t> TakeChunk(uint64_t bytes, uint64_t capacity);
  base::Result<uint64_t> AskLibrary(uint64_t bytes);
  base::Status GiveBack(uint64_t address, uint64_t bytes);
  // Whether a freed large block stays in the pool.
  bool CanKeep(const Live& live) const noexcept;
  uint64_t TakeFreeSmall(uint64_t capacity);
  uint64_t TakeFreeLarge(uint64_t* capacity);
  void ReturnSmall(uint64_t address, const Live& live);
  void AddLive(uint64_t address, Live live);
  std::map<uint64_t, Chunk>::iterator ChunkOf(uint64_t address);
  base::Status ExplainShortage(base::Status status, uint64_t asked) const;
  std::string LargestHolders() const;

  const acl::Table& table_;
  bool pooled_;
  Counters* counters_;
  std::function<std::string(uint64_t address)> name_of_;
  std::array<uint64_t, kMemoryKindCount> bytes_{};
  uint64_t held_ = 0;  // bytes taken from the library
  uint64_t used_ = 0;  // of them, in live blocks
  std::unordered_map<uint64_t, Live> live_;
  std::unordered_map<uint64_t, Live>::node_type spare_;  // of the block that the pool took back last
  std::map<uint64_t, Chunk> chunks_;
  std::map<uint64_t, Chunk>::iterator last_chunk_ = chunks_.end();  // that was looked for
  std::vector<std::vector<uint64_t>> free_small_;                   // per size class
  std::multimap<uint64_t, uint64_t> free_large_;                    // capacity → address
  std::map<uint64_t, uint64_t> refused_;  // blocks the library did not take back: address → bytes
};

}  // namespace pypto::runtime
