// The ranges of page-locked host memory.
#include "pypto/mock_acl/host_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "pypto/base/checked.h"
#include "pypto/mock_acl/device_memory.h"
#include "pypto/mock_acl/reservation.h"

namespace pypto::mock {
namespace {

constexpr uint64_t kAlignment = 64;
constexpr uint64_t kPoisonedBytes = uint64_t{1} << 20;
constexpr uint64_t kSmallUpTo = uint64_t{1} << 20;

}  // namespace

HostMemory::~HostMemory() { Clear(); }

// A kept block that is not much larger, with its capacity; under the mutex.
std::byte* HostMemory::TakeKept(uint64_t* capacity) {
  const auto found = kept_.lower_bound(*capacity);
  if (found == kept_.end() || found->first > *capacity + std::max(kHugePageBytes, *capacity / 4)) return nullptr;
  std::byte* block = found->second;
  *capacity = found->first;
  kept_.erase(found);
  return block;
}

std::byte* HostMemory::AllocateLarge(uint64_t* capacity) {
  std::lock_guard lock(mutex_);
  std::byte* block = TakeKept(capacity);
  if (block != nullptr) return block;
  block = MapAligned(*capacity, PROT_READ | PROT_WRITE);
  if (block == nullptr && !kept_.empty()) {
    PurgeLocked();
    block = MapAligned(*capacity, PROT_READ | PROT_WRITE);
  }
  if (block != nullptr) madvise(block, *capacity, MADV_HUGEPAGE);
  return block;
}

void* HostMemory::Allocate(uint64_t bytes) {
  const bool large = bytes > kSmallUpTo;
  const auto padded = base::CheckedAlignUp(bytes, large ? kHugePageBytes : kAlignment);
  if (!padded) return nullptr;
  uint64_t capacity = *padded;
  void* pointer = large ? AllocateLarge(&capacity) : std::aligned_alloc(kAlignment, *padded);
  if (pointer == nullptr) return nullptr;
  std::memset(pointer, kFreshByte, std::min(bytes, kPoisonedBytes));
  std::lock_guard lock(mutex_);
  ranges_[reinterpret_cast<uint64_t>(pointer)] = {bytes, large ? capacity : 0, true};
  live_bytes_ += bytes;
  ++live_blocks_;
  return pointer;
}

bool HostMemory::Free(void* pointer) {
  {
    std::lock_guard lock(mutex_);
    const auto found = ranges_.find(reinterpret_cast<uint64_t>(pointer));
    if (found == ranges_.end() || !found->second.owned) return false;
    live_bytes_ -= found->second.bytes;
    --live_blocks_;
    const uint64_t capacity = found->second.capacity;
    ranges_.erase(found);
    if (capacity != 0) {
      kept_.emplace(capacity, static_cast<std::byte*>(pointer));
      return true;
    }
  }
  std::free(pointer);
  return true;
}

HostMemory::Ranges::const_iterator HostMemory::Containing(uint64_t address) const {
  const auto after = ranges_.upper_bound(address);
  if (after == ranges_.begin()) return ranges_.end();
  const auto found = std::prev(after);
  return address - found->first < found->second.bytes ? found : ranges_.end();
}

HostMemory::Registration HostMemory::Register(void* pointer, uint64_t bytes) {
  const auto address = reinterpret_cast<uint64_t>(pointer);
  std::lock_guard lock(mutex_);
  const auto next = ranges_.lower_bound(address);
  if (Containing(address) != ranges_.end() || (next != ranges_.end() && next->first - address < bytes)) {
    return Registration::kAlready;
  }
  ranges_[address] = {bytes, 0, false};
  return Registration::kDone;
}

HostMemory::Registration HostMemory::Unregister(void* pointer) {
  std::lock_guard lock(mutex_);
  const auto found = ranges_.find(reinterpret_cast<uint64_t>(pointer));
  if (found == ranges_.end() || found->second.owned) return Registration::kUnknown;
  ranges_.erase(found);
  return Registration::kDone;
}

bool HostMemory::Pinned(const void* pointer, uint64_t bytes) const {
  const auto address = reinterpret_cast<uint64_t>(pointer);
  std::lock_guard lock(mutex_);
  const auto found = Containing(address);
  return found != ranges_.end() && bytes <= found->second.bytes - (address - found->first);
}

void HostMemory::Clear() {
  std::lock_guard lock(mutex_);
  for (const auto& [address, range] : ranges_) {
    if (range.capacity != 0) {
      Unmap(reinterpret_cast<std::byte*>(address), range.capacity);
    } else if (range.owned) {
      std::free(reinterpret_cast<void*>(address));
    }
  }
  PurgeLocked();
  ranges_.clear();
  live_bytes_ = 0;
  live_blocks_ = 0;
}

void HostMemory::Purge() {
  std::lock_guard lock(mutex_);
  PurgeLocked();
}

void HostMemory::PurgeLocked() {
  for (const auto& [capacity, block] : kept_) {
    Unmap(block, capacity);
    CountGiveBackCall();
  }
  kept_.clear();
}

uint64_t HostMemory::kept_bytes() const {
  std::lock_guard lock(mutex_);
  uint64_t bytes = 0;
  for (const auto& [capacity, block] : kept_) bytes += capacity;
  return bytes;
}

uint64_t HostMemory::live_bytes() const {
  std::lock_guard lock(mutex_);
  return live_bytes_;
}

uint64_t HostMemory::live_blocks() const {
  std::lock_guard lock(mutex_);
  return live_blocks_;
}

}  // namespace pypto::mock
