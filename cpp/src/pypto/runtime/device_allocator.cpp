// Size classes, chunks, and what happens when the device has no more memory.
#include "pypto/runtime/device_allocator.h"

#include <algorithm>
#include <bit>
#include <cinttypes>

#include "pypto/acl/errors.h"
#include "pypto/base/checked.h"

namespace pypto::runtime {
namespace {

using base::Result;
using base::Status;
using base::StatusCode;

constexpr uint64_t kGranule = 512;
constexpr uint64_t kSmallLimit = uint64_t{1} << 20;
constexpr uint64_t kPage = uint64_t{2} << 20;
// The library adds 32 bytes to what it is asked for; asking for that much less fills whole pages.
constexpr uint64_t kPadding = 32;
constexpr uint64_t kChunkBytes = 2 * kPage - kPadding;
// Sizes where arithmetic on them could overflow; no device has that much.
constexpr uint64_t kAbsurd = uint64_t{1} << 60;
// Free large blocks beyond this go back to the device when they are freed.
constexpr uint64_t kMaxCachedLarge = uint64_t{1} << 30;
// Classes up to kSteps granules are exact; above, each doubling has kSteps of them.
constexpr uint64_t kSteps = 8;

// Smallest class that holds `bytes`: 512 … 4096 by 512, then eight steps per doubling.
uint64_t ClassBytes(uint64_t bytes) {
  const uint64_t granules = (bytes + kGranule - 1) / kGranule;
  if (granules <= kSteps) return granules * kGranule;
  const uint64_t step = std::bit_floor(granules - 1) / kSteps;
  return base::AlignUp(granules, std::max<uint64_t>(step, 1)) * kGranule;
}

size_t ClassIndex(uint64_t class_bytes) {
  const uint64_t granules = class_bytes / kGranule;
  if (granules <= kSteps) return static_cast<size_t>(granules - 1);
  const uint64_t floor = std::bit_floor(granules - 1);
  const uint64_t step = std::max<uint64_t>(floor / kSteps, 1);
  const auto doubling =
      static_cast<uint64_t>(std::countr_zero(floor)) - static_cast<uint64_t>(std::countr_zero(kSteps));
  return static_cast<size_t>(kSteps + doubling * kSteps + (granules - floor) / step - 1);
}

uint64_t LargeCapacity(uint64_t bytes) { return base::AlignUp(bytes + kPadding, kPage) - kPadding; }

}  // namespace

DeviceAllocator::DeviceAllocator(const acl::Table& table, bool pooled, Counters* counters)
    : table_(table), pooled_(pooled), counters_(counters), free_small_(ClassIndex(kSmallLimit) + 1) {}

Result<uint64_t> DeviceAllocator::Allocate(uint64_t bytes, MemoryKind kind, std::string label) {
  Live live;
  live.bytes = bytes;
  live.kind = kind;
  live.label = std::move(label);
  Result<uint64_t> address = Take(bytes, kind, Fit::kRoomy, &live);
  if (!address.ok() && address.status().code() == StatusCode::kOutOfDeviceMemory) {
    Status emptied = Trim();
    for (const Fit fit : {Fit::kRoomy, Fit::kTight}) {
      const bool again = !address.ok() && address.status().code() == StatusCode::kOutOfDeviceMemory;
      if (again && emptied.ok()) address = Take(bytes, kind, fit, &live);
    }
    if (!address.ok() && address.status().code() == StatusCode::kOutOfDeviceMemory) {
      Status explained = ExplainShortage(address.status(), bytes);
      explained.Attach(emptied);
      return explained;
    }
  }
  if (!address.ok()) return std::move(address).status();
  bytes_[static_cast<size_t>(kind)] += bytes;
  used_ += live.capacity;
  AddLive(*address, std::move(live));
  return address;
}

Result<uint64_t> DeviceAllocator::Take(uint64_t bytes, MemoryKind kind, Fit fit, Live* live) {
  if (!pooled_ || kind == MemoryKind::kWorkspace || bytes >= kAbsurd) {
    live->capacity = bytes;
    return AskLibrary(bytes);
  }
  live->small = bytes <= kSmallLimit;
  if (live->small) {
    live->capacity = ClassBytes(bytes);
    return TakeSmall(live->capacity, fit);
  }
  live->capacity = fit == Fit::kRoomy ? LargeCapacity(bytes) : base::AlignUp(bytes, kGranule);
  if (const uint64_t address = TakeFreeLarge(&live->capacity); address != 0) return address;
  return AskLibrary(live->capacity);
}

uint64_t DeviceAllocator::TakeFreeLarge(uint64_t* capacity) {
  const auto kept = free_large_.lower_bound(*capacity);
  if (kept == free_large_.end() || kept->first > *capacity + std::max(kPage, *capacity / 4)) return 0;
  *capacity = kept->first;
  const uint64_t address = kept->second;
  free_large_.erase(kept);
  return address;
}

uint64_t DeviceAllocator::TakePooled(uint64_t bytes) {
  if (!pooled_ || bytes >= kAbsurd) return 0;
  Live live;
  live.bytes = bytes;
  live.small = bytes <= kSmallLimit;
  live.capacity = live.small ? ClassBytes(bytes) : LargeCapacity(bytes);
  const uint64_t address = live.small ? TakeFreeSmall(live.capacity) : TakeFreeLarge(&live.capacity);
  if (address == 0) return 0;
  bytes_[static_cast<size_t>(MemoryKind::kResident)] += bytes;
  used_ += live.capacity;
  AddLive(address, std::move(live));
  return address;
}

void DeviceAllocator::AddLive(uint64_t address, Live live) {
  if (spare_.empty()) {
    live_.emplace(address, std::move(live));
    return;
  }
  spare_.key() = address;
  spare_.mapped() = std::move(live);
  live_.insert(std::move(spare_));
}

bool DeviceAllocator::ReturnPooled(uint64_t address) {
  const auto found = live_.find(address);
  if (found == live_.end() || !(found->second.small || CanKeep(found->second))) return false;
  const Live& live = found->second;
  bytes_[static_cast<size_t>(live.kind)] -= live.bytes;
  used_ -= live.capacity;
  if (live.small) {
    ReturnSmall(address, live);
  } else {
    free_large_.emplace(live.capacity, address);
  }
  spare_ = live_.extract(found);
  return true;
}

bool DeviceAllocator::CanKeep(const Live& live) const noexcept {
  return pooled_ && live.kind != MemoryKind::kWorkspace && live.bytes < kAbsurd && cached_bytes() <= kMaxCachedLarge;
}

uint64_t DeviceAllocator::TakeFreeSmall(uint64_t capacity) {
  std::vector<uint64_t>& free = free_small_[ClassIndex(capacity)];
  if (free.empty()) return 0;
  const uint64_t address = free.back();
  free.pop_back();
  ChunkOf(address)->second.used += 1;
  return address;
}

Result<uint64_t> DeviceAllocator::TakeSmall(uint64_t capacity, Fit fit) {
  if (const uint64_t address = TakeFreeSmall(capacity); address != 0) return address;
  for (auto& [start, chunk] : chunks_) {
    if (chunk.bytes - chunk.cut < capacity) continue;
    const uint64_t address = start + chunk.cut;
    chunk.cut += capacity;
    chunk.used += 1;
    return address;
  }
  return fit == Fit::kRoomy ? TakeChunk(kChunkBytes, capacity) : TakeTightChunk(capacity);
}

// A quarter of what is free, so that large blocks find room too, and less where that is refused. Whole blocks of this
// capacity: a rest would serve smaller ones only.
Result<uint64_t> DeviceAllocator::TakeTightChunk(uint64_t capacity) {
  PYPTO_ASSIGN_OR_RETURN(const acl::MemoryInfo memory, acl::QueryMemory(table_));
  const auto whole = [&](uint64_t bytes) { return std::max(capacity, bytes / capacity * capacity); };
  uint64_t chunk = whole(std::min(kChunkBytes, memory.free / 4));
  Result<uint64_t> start = TakeChunk(chunk, capacity);
  while (!start.ok() && start.status().code() == StatusCode::kOutOfDeviceMemory && chunk > capacity) {
    chunk = whole(chunk / 2);
    start = TakeChunk(chunk, capacity);
  }
  return start;
}

Result<uint64_t> DeviceAllocator::TakeChunk(uint64_t bytes, uint64_t capacity) {
  PYPTO_ASSIGN_OR_RETURN(const uint64_t start, AskLibrary(bytes));
  chunks_.emplace(start, Chunk{bytes, capacity, 1});
  return start;
}

Result<uint64_t> DeviceAllocator::AskLibrary(uint64_t bytes) {
  void* raw = nullptr;
  const acl::aclError code = table_.aclrtMalloc(&raw, bytes, acl_abi::kMallocHugeFirst);
  PYPTO_RETURN_IF_ERROR(acl::ToStatus(table_, code, acl::CallId::aclrtMalloc));
  counters_->device_mallocs += 1;
  held_ += bytes;
  return static_cast<uint64_t>(reinterpret_cast<uintptr_t>(raw));
}

Status DeviceAllocator::GiveBack(uint64_t address, uint64_t bytes) {
  Status status = PYPTO_ACL_CALL(table_, aclrtFree, reinterpret_cast<void*>(address));
  if (status.ok()) {
    counters_->device_frees += 1;
    held_ -= bytes;
    return status;
  }
  refused_.emplace(address, bytes);
  return status;
}

std::map<uint64_t, DeviceAllocator::Chunk>::iterator DeviceAllocator::ChunkOf(uint64_t address) {
  const bool is_last = last_chunk_ != chunks_.end() && address - last_chunk_->first < last_chunk_->second.bytes;
  if (!is_last) last_chunk_ = std::prev(chunks_.upper_bound(address));
  return last_chunk_;
}

Status DeviceAllocator::Free(uint64_t address) {
  const auto found = live_.find(address);
  if (found == live_.end()) {
    return base::MakeStatus(StatusCode::kInternal, "no live block of device memory begins at 0x%" PRIx64, address);
  }
  if (ReturnPooled(address)) return base::OkStatus();
  const Live live = std::move(found->second);
  live_.erase(found);
  bytes_[static_cast<size_t>(live.kind)] -= live.bytes;
  used_ -= live.capacity;
  return GiveBack(address, live.capacity);
}

void DeviceAllocator::ReturnSmall(uint64_t address, const Live& live) {
  ChunkOf(address)->second.used -= 1;
  free_small_[ClassIndex(live.capacity)].push_back(address);
}

Status DeviceAllocator::Trim() {
  Status first;
  last_chunk_ = chunks_.end();
  for (const auto& [address, bytes] : std::exchange(refused_, {})) first.Attach(GiveBack(address, bytes));
  for (const auto& [capacity, address] : std::exchange(free_large_, {})) first.Attach(GiveBack(address, capacity));
  for (auto chunk = chunks_.begin(); chunk != chunks_.end();) {
    if (chunk->second.used != 0) {
      ++chunk;
      continue;
    }
    const uint64_t begin = chunk->first;
    const uint64_t end = begin + chunk->second.bytes;
    for (std::vector<uint64_t>& free : free_small_) {
      std::erase_if(free, [&](uint64_t address) { return address >= begin && address < end; });
    }
    const uint64_t bytes = chunk->second.bytes;
    chunk = chunks_.erase(chunk);
    first.Attach(GiveBack(begin, bytes));
  }
  return first;
}

Status DeviceAllocator::ReleaseAll() {
  for (auto it = live_.begin(); it != live_.end();) {
    const uint64_t address = it->first;
    ++it;
    const Status ignored = Free(address);  // a refusal is kept in refused_ and tried again below
    static_cast<void>(ignored);
  }
  Status status = Trim();
  if (!refused_.empty()) status.Attach(Trim());
  return status;
}

Status DeviceAllocator::ExplainShortage(Status status, uint64_t asked) const {
  base::MemoryShortage shortage;
  shortage.asked = asked;
  if (const auto memory = acl::QueryMemory(table_); memory.ok()) {
    shortage.free = memory->free;
    shortage.total = memory->total;
  }
  shortage.largest_holders = LargestHolders();
  const char* why =
      shortage.free < asked ? "" : ", in pieces that are too small or lack what the device adds to a block";
  const base::AclFailure failure = status.acl_failure() != nullptr ? *status.acl_failure() : base::AclFailure{};
  return base::MakeStatus(StatusCode::kOutOfDeviceMemory,
                          "out of device memory: asked for %" PRIu64 " bytes, %" PRIu64 " of %" PRIu64
                          " bytes are free on the device%s; the largest holders of this worker are: %s. Free tensors "
                          "that are not needed, or lower the workspace depths (%s gave %d)",
                          asked, shortage.free, shortage.total, why, shortage.largest_holders.c_str(),
                          failure.call.c_str(), failure.code)
      .WithAclFailure(failure)
      .WithMemoryShortage(shortage);
}

std::string DeviceAllocator::LargestHolders() const {
  constexpr size_t kShown = 3;
  using Holder = std::pair<const uint64_t, Live>;
  std::vector<const Holder*> holders;
  for (const Holder& holder : live_) holders.push_back(&holder);
  const size_t shown = std::min(kShown, holders.size());
  std::partial_sort(holders.begin(), holders.begin() + static_cast<std::ptrdiff_t>(shown), holders.end(),
                    [](const Holder* a, const Holder* b) { return a->second.bytes > b->second.bytes; });
  std::string text;
  for (size_t i = 0; i < shown; ++i) {
    if (i != 0) text += ", ";
    const auto& [address, live] = *holders[i];
    const std::string name = live.label.empty() && name_of_ ? name_of_(address) : live.label;
    text += base::Format("%s (%" PRIu64 " bytes)", name.c_str(), live.bytes);
  }
  return text.empty() ? "none" : text;
}

}  // namespace pypto::runtime
