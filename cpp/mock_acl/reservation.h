// The address space of one device: a range nobody may touch, whose addresses are handed out, and its readable alias.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pypto::mock {

// Anonymous pages, not backed before they are touched, aligned to huge pages; null when the system refuses.
std::byte* MapAligned(uint64_t bytes, int protection);
void Unmap(std::byte* pages, uint64_t bytes) noexcept;
// Calls of madvise and munmap that gave pages of freed blocks back to the system, in this process.
uint64_t GiveBackCalls() noexcept;
void CountGiveBackCall() noexcept;

// Two anonymous reservations of equal size, never backed before they are touched. Owned by DeviceMemory; immutable once
// made. translation: alias = address - base + alias start.
class Reservation {
 public:
  // Reserves room for `budget` bytes of allocations and some slack. When the address space does not allow it the budget
  // is halved, down to 1 GiB (or the wish, if smaller); budget() says what it came to, 0 when nothing was possible.
  explicit Reservation(uint64_t budget);
  ~Reservation();
  Reservation(const Reservation&) = delete;
  Reservation& operator=(const Reservation&) = delete;

  uint64_t base() const noexcept { return base_; }
  uint64_t bytes() const noexcept { return bytes_; }
  uint64_t budget() const noexcept { return budget_; }
  std::byte* alias() const noexcept { return alias_; }
  // Gives the pages of [offset, offset + bytes) back to the system; they read as zero afterwards.
  void Discard(uint64_t offset, uint64_t bytes) noexcept;

 private:
  bool TryReserve(uint64_t budget);

  uint64_t base_ = 0;
  uint64_t bytes_ = 0;
  uint64_t budget_ = 0;
  std::byte* alias_ = nullptr;
};

inline constexpr uint64_t kHugePageBytes = uint64_t{2} << 20;
inline constexpr uint64_t kSmallPageBytes = 4096;
inline constexpr uint64_t kGiantPageBytes = uint64_t{1} << 30;

}  // namespace pypto::mock
