// Reserves the device's address range and its alias.
#include "pypto/mock_acl/reservation.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>

#include "pypto/base/checked.h"

namespace pypto::mock {
namespace {

constexpr uint64_t kLeastBudget = uint64_t{1} << 30;
// Room for one span of every size class beside a full budget.
constexpr uint64_t kLeastSlack = uint64_t{512} << 20;

constinit std::atomic<uint64_t> give_back_calls{0};

}  // namespace

uint64_t GiveBackCalls() noexcept { return give_back_calls.load(std::memory_order_relaxed); }

void CountGiveBackCall() noexcept { give_back_calls.fetch_add(1, std::memory_order_relaxed); }

std::byte* MapAligned(uint64_t bytes, int protection) {
  const uint64_t padded = bytes + kHugePageBytes;
  void* raw = mmap(nullptr, padded, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  const auto start = reinterpret_cast<uint64_t>(raw);
  const uint64_t aligned = base::AlignUp(start, kHugePageBytes);
  if (aligned > start) munmap(raw, aligned - start);
  const uint64_t tail = start + padded - (aligned + bytes);
  auto* result = static_cast<std::byte*>(raw) + (aligned - start);
  if (tail > 0) munmap(result + bytes, tail);
  return result;
}

void Unmap(std::byte* pages, uint64_t bytes) noexcept { munmap(pages, bytes); }

Reservation::Reservation(uint64_t budget) {
  const uint64_t least = std::min(budget, kLeastBudget);
  for (uint64_t wish = budget; wish >= least && wish > 0; wish /= 2) {
    if (TryReserve(wish)) return;
  }
}

bool Reservation::TryReserve(uint64_t budget) {
  // The slack covers guards and free ranges too small for a large block.
  const uint64_t bytes = base::AlignUp(budget + std::max(budget / 4, kLeastSlack), kHugePageBytes);
  std::byte* range = MapAligned(bytes, PROT_NONE);
  if (range == nullptr) return false;
  std::byte* alias = MapAligned(bytes, PROT_READ | PROT_WRITE);
  if (alias == nullptr) {
    munmap(range, bytes);
    return false;
  }
  madvise(alias, bytes, MADV_HUGEPAGE);
  // A forked child starts without the device; copying its page tables would be for nothing.
  madvise(alias, bytes, MADV_DONTFORK);
  madvise(alias, bytes, MADV_DONTDUMP);
  base_ = reinterpret_cast<uint64_t>(range);
  alias_ = alias;
  bytes_ = bytes;
  budget_ = budget;
  return true;
}

Reservation::~Reservation() {
  if (bytes_ == 0) return;
  munmap(reinterpret_cast<void*>(base_), bytes_);
  munmap(alias_, bytes_);
}

void Reservation::Discard(uint64_t offset, uint64_t bytes) noexcept {
  madvise(alias_ + offset, bytes, MADV_DONTNEED);
  CountGiveBackCall();
}

}  // namespace pypto::mock
