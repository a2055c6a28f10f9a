// The memory of one simulated device: a pooled allocator over a reserved address range, with poison and guard words.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "pypto/mock_acl/reservation.h"

namespace pypto::mock {

enum class PagePolicy : uint8_t { kHugeFirst, kHugeOnly, kNormalOnly, kGiantOnly };

enum class FreeOutcome : uint8_t { kFreed, kUnknown, kInterior, kAlreadyFree, kGuardBroken };

// Bytes a fresh block, a freed block and the guard behind a block are filled with. 0xff is NaN in every float format.
inline constexpr int kFreshByte = 0xff;
inline constexpr int kFreedByte = 0xfe;
inline constexpr int kGuardByte = 0xfd;

struct Block {
  uint64_t address = 0;
  uint64_t bytes = 0;  // as asked
  uint64_t page_bytes = 0;
};

// Owned by a Device. Thread-safe: Translate and Find take no lock, everything else a short one.
//
// Blocks up to about 1 MiB are slots of spans, each span serving one size class; larger blocks are spans of their own.
// A span covers whole chunks of 2 MiB, and one table maps chunk to span, so any address finds its block in constant
// time. Spans stay allocated while the object lives: a reader racing with a free sees a dead block, never freed memory.
class DeviceMemory {
 public:
  DeviceMemory(uint64_t budget, bool strict);
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  // `bytes` may be used; `charged` bytes are counted, rounded up to whole pages. Returns 0 when there is no room.
  uint64_t Allocate(uint64_t bytes, uint64_t charged, PagePolicy policy);
  // For the mock itself: not counted, and not free-able through Free.
  uint64_t AllocateInternal(uint64_t bytes);
  void FreeInternal(uint64_t address);
  FreeOutcome Free(uint64_t address);
  // Drops every block.
  void Clear();
  // Gives the pages of freed large blocks back to the system; Free itself keeps them for the next block.
  void Purge();

  // Host pointer of [address, address + bytes), or null unless that lies inside one live block.
  std::byte* Translate(uint64_t address, uint64_t bytes) const noexcept;
  // Another number once a block is gone: while it stays the same, what Translate found is valid.
  uint64_t epoch() const noexcept { return epoch_.load(std::memory_order_acquire); }
  // The live block that holds `address`.
  std::optional<Block> Find(uint64_t address) const noexcept;
  bool Owns(uint64_t address) const noexcept { return address - reservation_.base() < reservation_.bytes(); }

  uint64_t total_bytes() const noexcept { return reservation_.budget(); }
  uint64_t free_bytes() const;
  uint64_t live_bytes() const;   // as asked, without internal blocks
  uint64_t live_blocks() const;  // the same
  uint64_t dirty_bytes() const;  // freed large blocks whose pages are still held

 private:
  struct Slot {
    std::atomic<uint64_t> bytes;  // 0: not live
    uint64_t charged;             // whole pages
    uint32_t page_bytes;
    bool internal;
    bool used_before;
  };
  struct SlotsDeleter {
    void operator()(Slot* slots) const { std::free(static_cast<void*>(slots)); }
  };
  struct Span {
    uint64_t start = 0;  // offset in the reservation
    uint32_t chunks = 0;
    uint32_t slot_count = 0;
    uint64_t slot_bytes = 0;
    uint64_t reciprocal = 0;  // of slot_bytes, scaled by 2^46
    uint32_t live = 0;        // slots
    uint32_t touched = 0;     // slots handed out at least once
    uint32_t size_class = 0;
    std::unique_ptr<Slot, SlotsDeleter> slots;
  };
  struct ChunkTableDeleter {
    void operator()(std::atomic<Span*>* table) const { std::free(static_cast<void*>(table)); }
  };
  struct SlotPlace {
    Span* span = nullptr;
    uint32_t slot = 0;
  };
  struct SizeClass {
    std::deque<SlotPlace> free;
    Span* open = nullptr;  // the span with slots never used
  };
  static constexpr uint32_t kLargeClass = 0xffffffff;
  static constexpr uint32_t kClassCount = 87;
  static constexpr uint64_t kLargestSlot = uint64_t{1280} << 10;

  static uint32_t ClassOf(uint64_t bytes);
  static uint64_t ClassBytes(uint32_t size_class);

  Slot* SlotAt(const Span& span, uint32_t slot) const noexcept { return span.slots.get() + slot; }
  uint64_t SlotAddress(const SlotPlace& place) const noexcept {
    return reservation_.base() + place.span->start + place.slot * place.span->slot_bytes;
  }
  std::byte* Alias(uint64_t address) const noexcept { return reservation_.alias() + (address - reservation_.base()); }
  SlotPlace Locate(uint64_t address) const noexcept;
  std::optional<uint64_t> ChargeFor(uint64_t bytes, PagePolicy policy, uint64_t* page_bytes) const;
  SlotPlace TakeSlot(uint64_t needed);
  SlotPlace TakeSmall(uint32_t size_class);
  SlotPlace TakeLarge(uint64_t needed);
  Span* NewSpan(uint32_t chunks, uint64_t slot_bytes, uint32_t slot_count, uint32_t size_class);
  void RetireSpan(Span* span);
  bool ReclaimEmptySpans();
  std::optional<uint64_t> TakeChunks(uint32_t chunks);
  void GiveChunks(uint64_t first, uint32_t chunks);
  void GiveBack(const SlotPlace& place);
  void PurgeLocked();
  uint64_t Publish(const SlotPlace& place, uint64_t bytes);
  // Under the mutex.
  void EndEpoch() noexcept { epoch_.store(epoch_.load(std::memory_order_relaxed) + 1, std::memory_order_release); }
  void Poison(std::byte* block, uint64_t bytes, int value) const;
  bool GuardIntact(const std::byte* guard) const;

  const bool strict_;
  const uint64_t guard_bytes_;
  const uint64_t poison_whole_bytes_;
  Reservation reservation_;
  std::unique_ptr<std::atomic<Span*>, ChunkTableDeleter> chunk_spans_;

  mutable std::mutex mutex_;
  std::deque<std::unique_ptr<Span>> spans_;
  std::vector<Span*> retired_large_;  // span objects for reuse
  std::array<SizeClass, kClassCount> classes_;
  std::map<uint64_t, uint32_t> free_runs_;  // first chunk -> chunks
  std::vector<bool> dirty_;                 // by chunk
  uint64_t dirty_chunks_ = 0;
  std::atomic<uint64_t> epoch_{1};  // written under the mutex
  uint64_t charged_bytes_ = 0;
  uint64_t live_bytes_ = 0;
  uint64_t live_blocks_ = 0;
};

}  // namespace pypto::mock
