// Blocks of device memory: allocation, release, look-up, poison and guards. Spans and chunks are in memory_spans.cpp.
#include "pypto/mock_acl/device_memory.h"

#include <algorithm>
#include <cstring>

#include "pypto/base/checked.h"

namespace pypto::mock {
namespace {

constexpr uint64_t kGuardBytes = 32;
constexpr uint64_t kStrictGuardBytes = 4096;
constexpr uint64_t kPoisonWhole = uint64_t{1} << 20;
constexpr uint64_t kStrictPoisonWhole = uint64_t{64} << 20;
constexpr uint64_t kPoisonEnds = uint64_t{64} << 10;
constexpr uint64_t kSmallPagesUpTo = uint64_t{1} << 20;

}  // namespace

DeviceMemory::DeviceMemory(uint64_t budget, bool strict)
    : strict_(strict),
      guard_bytes_(strict ? kStrictGuardBytes : kGuardBytes),
      poison_whole_bytes_(strict ? kStrictPoisonWhole : kPoisonWhole),
      reservation_(budget),
      // Zero pages until touched; zero bytes are null pointers.
      chunk_spans_(static_cast<std::atomic<Span*>*>(
          std::calloc(reservation_.bytes() / kHugePageBytes + 1, sizeof(std::atomic<Span*>)))),
      dirty_(reservation_.bytes() / kHugePageBytes, false) {
  if (reservation_.bytes() > 0) free_runs_[0] = static_cast<uint32_t>(reservation_.bytes() / kHugePageBytes);
}

std::optional<uint64_t> DeviceMemory::ChargeFor(uint64_t bytes, PagePolicy policy, uint64_t* page_bytes) const {
  const uint64_t room = reservation_.budget() - std::min(charged_bytes_, reservation_.budget());
  const auto fits = [&](uint64_t page) -> std::optional<uint64_t> {
    const auto charge = base::CheckedAlignUp(bytes, page);
    if (!charge || *charge > room) return std::nullopt;
    *page_bytes = page;
    return charge;
  };
  switch (policy) {
    case PagePolicy::kNormalOnly: return fits(kSmallPageBytes);
    case PagePolicy::kHugeOnly: return fits(kHugePageBytes);
    case PagePolicy::kGiantOnly: return fits(kGiantPageBytes);
    case PagePolicy::kHugeFirst: break;
  }
  if (bytes <= kSmallPagesUpTo) return fits(kSmallPageBytes);
  const auto huge = fits(kHugePageBytes);
  return huge ? huge : fits(kSmallPageBytes);
}

uint64_t DeviceMemory::Allocate(uint64_t bytes, uint64_t charged, PagePolicy policy) {
  SlotPlace place;
  {
    std::lock_guard lock(mutex_);
    uint64_t page_bytes = 0;
    const auto charge = ChargeFor(charged, policy, &page_bytes);
    if (!charge) return 0;
    place = TakeSlot(base::AlignUp(bytes, 32) + guard_bytes_);
    if (place.span == nullptr) return 0;
    Slot* slot = SlotAt(*place.span, place.slot);
    slot->charged = *charge;
    slot->page_bytes = static_cast<uint32_t>(page_bytes);
    slot->internal = false;
    charged_bytes_ += *charge;
    live_bytes_ += bytes;
    ++live_blocks_;
  }
  return Publish(place, bytes);
}

uint64_t DeviceMemory::AllocateInternal(uint64_t bytes) {
  SlotPlace place;
  {
    std::lock_guard lock(mutex_);
    place = TakeSlot(base::AlignUp(bytes, 32) + guard_bytes_);
    if (place.span == nullptr) return 0;
    Slot* slot = SlotAt(*place.span, place.slot);
    slot->charged = 0;
    slot->page_bytes = static_cast<uint32_t>(kSmallPageBytes);
    slot->internal = true;
  }
  return Publish(place, bytes);
}

uint64_t DeviceMemory::Publish(const SlotPlace& place, uint64_t bytes) {
  const uint64_t address = SlotAddress(place);
  std::byte* block = Alias(address);
  Poison(block, bytes, kFreshByte);
  std::memset(block + bytes, kGuardByte, guard_bytes_);
  Slot* slot = SlotAt(*place.span, place.slot);
  slot->used_before = true;
  slot->bytes.store(bytes, std::memory_order_release);
  return address;
}

void DeviceMemory::Poison(std::byte* block, uint64_t bytes, int value) const {
  if (bytes <= poison_whole_bytes_) {
    std::memset(block, value, bytes);
    return;
  }
  std::memset(block, value, kPoisonEnds);
  std::memset(block + bytes - kPoisonEnds, value, kPoisonEnds);
}

bool DeviceMemory::GuardIntact(const std::byte* guard) const {
  return std::all_of(guard, guard + guard_bytes_, [](std::byte b) { return std::to_integer<int>(b) == kGuardByte; });
}

FreeOutcome DeviceMemory::Free(uint64_t address) {
  SlotPlace place;
  uint64_t bytes = 0;
  {
    std::lock_guard lock(mutex_);
    place = Locate(address);
    if (place.span == nullptr) return FreeOutcome::kUnknown;
    Slot* slot = SlotAt(*place.span, place.slot);
    bytes = slot->bytes.load(std::memory_order_relaxed);
    if (bytes == 0 && slot->used_before && address == SlotAddress(place)) return FreeOutcome::kAlreadyFree;
    if (bytes == 0 || slot->internal) return FreeOutcome::kUnknown;
    if (address != SlotAddress(place)) return FreeOutcome::kInterior;
    slot->bytes.store(0, std::memory_order_release);
    EndEpoch();
    charged_bytes_ -= slot->charged;
    live_bytes_ -= bytes;
    --live_blocks_;
  }
  // The slot is dead but not yet in a free list: nobody else touches it while it is checked and poisoned.
  const bool intact = GuardIntact(Alias(address) + bytes);
  Poison(Alias(address), bytes, kFreedByte);
  GiveBack(place);
  return intact ? FreeOutcome::kFreed : FreeOutcome::kGuardBroken;
}

void DeviceMemory::FreeInternal(uint64_t address) {
  SlotPlace place;
  {
    std::lock_guard lock(mutex_);
    place = Locate(address);
    if (place.span == nullptr) return;
    SlotAt(*place.span, place.slot)->bytes.store(0, std::memory_order_release);
    EndEpoch();
  }
  GiveBack(place);
}

void DeviceMemory::GiveBack(const SlotPlace& place) {
  std::lock_guard lock(mutex_);
  --place.span->live;
  if (place.span->size_class == kLargeClass) {
    RetireSpan(place.span);
    return;
  }
  classes_[place.span->size_class].free.push_back(place);
}

DeviceMemory::SlotPlace DeviceMemory::Locate(uint64_t address) const noexcept {
  const uint64_t offset = address - reservation_.base();
  if (offset >= reservation_.bytes()) return {};
  Span* span = chunk_spans_.get()[offset / kHugePageBytes].load(std::memory_order_acquire);
  if (span == nullptr) return {};
  // Multi-slot spans are shorter than 2^23 bytes, for which the scaled reciprocal divides exactly.
  const uint64_t slot = span->slot_count == 1 ? 0 : ((offset - span->start) * span->reciprocal) >> 46;
  if (slot >= span->slot_count) return {};
  return {span, static_cast<uint32_t>(slot)};
}

std::byte* DeviceMemory::Translate(uint64_t address, uint64_t bytes) const noexcept {
  const SlotPlace place = Locate(address);
  if (place.span == nullptr) return nullptr;
  const uint64_t live = SlotAt(*place.span, place.slot)->bytes.load(std::memory_order_acquire);
  const uint64_t offset = address - SlotAddress(place);
  if (offset >= live || bytes > live - offset) return nullptr;
  return Alias(address);
}

std::optional<Block> DeviceMemory::Find(uint64_t address) const noexcept {
  const SlotPlace place = Locate(address);
  if (place.span == nullptr) return std::nullopt;
  const Slot* slot = SlotAt(*place.span, place.slot);
  const uint64_t live = slot->bytes.load(std::memory_order_acquire);
  if (slot->internal || address - SlotAddress(place) >= live) return std::nullopt;
  return Block{SlotAddress(place), live, slot->page_bytes};
}

uint64_t DeviceMemory::free_bytes() const {
  std::lock_guard lock(mutex_);
  return reservation_.budget() - charged_bytes_;
}

uint64_t DeviceMemory::live_bytes() const {
  std::lock_guard lock(mutex_);
  return live_bytes_;
}

uint64_t DeviceMemory::live_blocks() const {
  std::lock_guard lock(mutex_);
  return live_blocks_;
}

uint64_t DeviceMemory::dirty_bytes() const {
  std::lock_guard lock(mutex_);
  return dirty_chunks_ * kHugePageBytes;
}

}  // namespace pypto::mock
