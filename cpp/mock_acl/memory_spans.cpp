// Spans and chunks of DeviceMemory: size classes, the map from chunk to span, free runs of chunks, giving pages back.
#include <bit>
#include <iterator>

#include "pypto/mock_acl/device_memory.h"

namespace pypto::mock {
namespace {

constexpr uint64_t kFineUpTo = 512;     // classes in steps of 64
constexpr uint64_t kMediumUpTo = 4096;  // then in steps of 512, then eight per doubling
constexpr uint32_t kFineClasses = 8;
constexpr uint32_t kMediumClasses = 7;

uint32_t ChunksPerSpan(uint64_t slot_bytes) {
  if (slot_bytes <= (uint64_t{32} << 10)) return 1;
  return slot_bytes <= (uint64_t{256} << 10) ? 2 : 4;
}

}  // namespace

uint32_t DeviceMemory::ClassOf(uint64_t bytes) {
  const uint64_t last = bytes - 1;
  if (bytes <= kFineUpTo) return static_cast<uint32_t>(last / 64);
  if (bytes <= kMediumUpTo) return kFineClasses + static_cast<uint32_t>(last / 512) - 1;
  const auto width = static_cast<uint32_t>(std::bit_width(last));
  return kFineClasses + kMediumClasses + (width - 13) * 8 + static_cast<uint32_t>((last >> (width - 4)) & 7);
}

uint64_t DeviceMemory::ClassBytes(uint32_t size_class) {
  if (size_class < kFineClasses) return (size_class + 1) * uint64_t{64};
  size_class -= kFineClasses;
  if (size_class < kMediumClasses) return (size_class + 2) * uint64_t{512};
  size_class -= kMediumClasses;
  const uint32_t width = 13 + size_class / 8;
  return uint64_t{9 + size_class % 8} << (width - 4);
}

DeviceMemory::SlotPlace DeviceMemory::TakeSlot(uint64_t needed) {
  const auto take = [&] { return needed <= kLargestSlot ? TakeSmall(ClassOf(needed)) : TakeLarge(needed); };
  SlotPlace place = take();
  if (place.span == nullptr && ReclaimEmptySpans()) place = take();
  if (place.span != nullptr) ++place.span->live;
  return place;
}

DeviceMemory::SlotPlace DeviceMemory::TakeSmall(uint32_t size_class) {
  SizeClass& pool = classes_[size_class];
  // Strict mode lets freed slots rest as long as possible, so that stale addresses show.
  if (!pool.free.empty() && (!strict_ || pool.open == nullptr)) {
    const SlotPlace place = strict_ ? pool.free.front() : pool.free.back();
    strict_ ? pool.free.pop_front() : pool.free.pop_back();
    return place;
  }
  if (pool.open == nullptr) {
    const uint64_t slot_bytes = ClassBytes(size_class);
    const uint32_t chunks = ChunksPerSpan(slot_bytes);
    pool.open = NewSpan(chunks, slot_bytes, static_cast<uint32_t>(chunks * kHugePageBytes / slot_bytes), size_class);
    if (pool.open == nullptr) return {};
  }
  const SlotPlace place{pool.open, pool.open->touched++};
  if (pool.open->touched == pool.open->slot_count) pool.open = nullptr;
  return place;
}

DeviceMemory::SlotPlace DeviceMemory::TakeLarge(uint64_t needed) {
  const uint64_t chunks = (needed + kHugePageBytes - 1) / kHugePageBytes;
  if (chunks > reservation_.bytes() / kHugePageBytes) return {};
  Span* span = NewSpan(static_cast<uint32_t>(chunks), chunks * kHugePageBytes, 1, kLargeClass);
  return {span, 0};
}

DeviceMemory::Span* DeviceMemory::NewSpan(uint32_t chunks, uint64_t slot_bytes, uint32_t slot_count,
                                          uint32_t size_class) {
  const auto first = TakeChunks(chunks);
  if (!first) return nullptr;
  Span* span = nullptr;
  if (slot_count == 1 && !retired_large_.empty()) {
    span = retired_large_.back();
    retired_large_.pop_back();
  } else {
    spans_.push_back(std::make_unique<Span>());
    span = spans_.back().get();
    span->slots.reset(static_cast<Slot*>(std::calloc(slot_count, sizeof(Slot))));
    if (span->slots == nullptr) {
      spans_.pop_back();
      GiveChunks(*first, chunks);
      return nullptr;
    }
  }
  span->start = *first * kHugePageBytes;
  span->chunks = chunks;
  span->slot_count = slot_count;
  span->slot_bytes = slot_bytes;
  span->reciprocal = ((uint64_t{1} << 46) + slot_bytes - 1) / slot_bytes;
  span->live = 0;
  span->touched = 0;
  span->size_class = size_class;
  for (uint32_t i = 0; i < chunks; ++i) chunk_spans_.get()[*first + i].store(span, std::memory_order_release);
  return span;
}

void DeviceMemory::RetireSpan(Span* span) {
  const uint64_t first = span->start / kHugePageBytes;
  for (uint32_t i = 0; i < span->chunks; ++i) {
    chunk_spans_.get()[first + i].store(nullptr, std::memory_order_release);
    if (!dirty_[first + i]) {
      dirty_[first + i] = true;
      ++dirty_chunks_;
    }
  }
  GiveChunks(first, span->chunks);
  if (span->slot_count == 1) retired_large_.push_back(span);
}

bool DeviceMemory::ReclaimEmptySpans() {
  bool any = false;
  for (auto& pool : classes_) {
    std::erase_if(pool.free, [](const SlotPlace& place) { return place.span->live == 0; });
    if (pool.open != nullptr && pool.open->live == 0) pool.open = nullptr;
  }
  for (const auto& span : spans_) {
    const bool small = span->size_class != kLargeClass;
    const bool mapped = span->chunks > 0 && chunk_spans_.get()[span->start / kHugePageBytes].load() == span.get();
    if (!small || !mapped || span->live != 0 || span.get() == classes_[span->size_class].open) continue;
    RetireSpan(span.get());
    span->chunks = 0;
    any = true;
  }
  return any;
}

std::optional<uint64_t> DeviceMemory::TakeChunks(uint32_t chunks) {
  for (auto run = free_runs_.begin(); run != free_runs_.end(); ++run) {
    if (run->second < chunks) continue;
    const uint64_t first = run->first;
    const uint32_t rest = run->second - chunks;
    free_runs_.erase(run);
    if (rest > 0) free_runs_[first + chunks] = rest;
    for (uint32_t i = 0; i < chunks; ++i) {
      if (!dirty_[first + i]) continue;
      dirty_[first + i] = false;
      --dirty_chunks_;
    }
    return first;
  }
  return std::nullopt;
}

void DeviceMemory::GiveChunks(uint64_t first, uint32_t chunks) {
  auto run = free_runs_.emplace(first, chunks).first;
  const auto next = std::next(run);
  if (next != free_runs_.end() && run->first + run->second == next->first) {
    run->second += next->second;
    free_runs_.erase(next);
  }
  if (run == free_runs_.begin()) return;
  const auto previous = std::prev(run);
  if (previous->first + previous->second != run->first) return;
  previous->second += run->second;
  free_runs_.erase(run);
}

void DeviceMemory::Purge() {
  std::lock_guard lock(mutex_);
  PurgeLocked();
}

void DeviceMemory::PurgeLocked() {
  for (uint64_t chunk = 0; dirty_chunks_ > 0 && chunk < dirty_.size(); ++chunk) {
    if (!dirty_[chunk]) continue;
    uint64_t end = chunk;
    for (; end < dirty_.size() && dirty_[end]; ++end) {
      dirty_[end] = false;
      --dirty_chunks_;
    }
    reservation_.Discard(chunk * kHugePageBytes, (end - chunk) * kHugePageBytes);
    chunk = end;
  }
}

void DeviceMemory::Clear() {
  std::lock_guard lock(mutex_);
  for (auto& pool : classes_) {
    pool.free.clear();
    pool.open = nullptr;
  }
  for (const auto& span : spans_) {
    const uint64_t first = span->start / kHugePageBytes;
    if (span->chunks == 0 || chunk_spans_.get()[first].load() != span.get()) continue;
    for (uint32_t i = 0; i < span->slot_count; ++i) SlotAt(*span, i)->bytes.store(0, std::memory_order_release);
    RetireSpan(span.get());
    span->chunks = 0;
    span->live = 0;
  }
  EndEpoch();
  PurgeLocked();
  charged_bytes_ = 0;
  live_bytes_ = 0;
  live_blocks_ = 0;
}

}  // namespace pypto::mock
