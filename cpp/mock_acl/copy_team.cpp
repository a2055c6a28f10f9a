// Copies in pieces that whoever is free takes next: a thread that comes late, or not at all, delays nothing.
#include "pypto/mock_acl/copy_team.h"

#include <algorithm>

#include "pypto/base/bulk_copy.h"
#include "pypto/mock_acl/device.h"

namespace pypto::mock {
namespace {

constexpr size_t kPiece = size_t{256} << 10;
constexpr size_t kLine = 64;

// One copy; the pieces of the target begin at lines.
struct Job {
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  size_t bytes = 0;
  size_t lead = 0;  // bytes from the line before the target to it
  base::CopyWay way = base::CopyWay::kLibrary;
  std::atomic<size_t> next{0};  // piece

  void Work() noexcept {
    while (true) {
      const size_t piece = next.fetch_add(1, std::memory_order_relaxed);
      const size_t begin = piece == 0 ? 0 : piece * kPiece - lead;
      if (begin >= bytes) return;
      const size_t end = std::min(bytes, (piece + 1) * kPiece - lead);
      base::CopyBy(way, to + begin, from + begin, end - begin);
    }
  }
};

void WorkOn(void* job, uint32_t core) {
  if (core < CopyTeam::kMostThreads) static_cast<Job*>(job)->Work();
}

}  // namespace

void CopyTeam::Copy(void* to, const void* from, size_t bytes, uint32_t cores, Device* device) {
  if (bytes < kLeastShared || cores < 2 || base::RangesOverlap(to, from, bytes)) {
    return base::BulkCopy(to, from, bytes);
  }
  Job job;
  job.to = static_cast<std::byte*>(to);
  job.from = static_cast<const std::byte*>(from);
  job.bytes = bytes;
  job.lead = reinterpret_cast<uintptr_t>(to) % kLine;
  job.way = base::WayForBytes(bytes);
  const bool on_cores = device != nullptr && bytes <= kMostOnCores && device->ShareIdleCores(WorkOn, &job);
  if (on_cores) {
    on_cores_.fetch_add(1, std::memory_order_relaxed);
  } else if (!Share(&job, cores)) {
    return base::BulkCopy(to, from, bytes);
  }
  shared_.fetch_add(1, std::memory_order_relaxed);
}

bool CopyTeam::Share(void* job, uint32_t cores) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return false;
  const uint32_t wanted = std::min(cores, kMostThreads);
  if (scheduler_ == nullptr || scheduler_->cores() != wanted) {
    scheduler_ = std::make_unique<device::CoreScheduler>(wanted);
  }
  if (!scheduler_->HasOtherProcessors()) return false;
  scheduler_->Run(WorkOn, job);
  return true;
}

void CopyTeam::Stop() {
  const std::lock_guard lock(mutex_);
  scheduler_.reset();
}

}  // namespace pypto::mock
