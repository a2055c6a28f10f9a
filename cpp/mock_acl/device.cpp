// Start and end of a device.
#include "pypto/mock_acl/device.h"

#include "pypto/mock_acl/mock_log.h"
#include "pypto/mock_acl/stream.h"

namespace pypto::mock {

constinit std::atomic<uint64_t> Device::ended_devices_kernels{0};

Device::~Device() { ended_devices_kernels.fetch_add(kernels_run(), std::memory_order_relaxed); }

bool Device::Start() {
  if (started()) return true;
  auto memory = std::make_unique<DeviceMemory>(settings_.memory_bytes, settings_.strict());
  if (memory->total_bytes() == 0) return false;
  if (memory->total_bytes() < settings_.memory_bytes) {
    MockLog(log::Level::kWarning, "device %d has %llu MiB in place of %llu: the address space allows no more", id_,
            static_cast<unsigned long long>(memory->total_bytes() >> 20),
            static_cast<unsigned long long>(settings_.memory_bytes >> 20));
  }
  cores_ = MakeKernelCores(settings_.cores, settings_.strict_seed);
  memory_ = std::move(memory);
  return true;
}

void Device::LetIn(Stream* stream) {
  Stream* alone = alone_.load(std::memory_order_relaxed);
  if (alone == nullptr) {
    alone_.store(stream, std::memory_order_seq_cst);
    return;
  }
  several_ = true;
  alone_.store(nullptr, std::memory_order_seq_cst);
  alone->WaitForShortLaunch();
}

uint64_t Device::HardwareSyncAddress() {
  constexpr uint64_t kSyncBytes = 64;
  // Clearing the device's memory takes the word away.
  if (memory_->Translate(sync_address_, kSyncBytes) == nullptr) sync_address_ = memory_->AllocateInternal(kSyncBytes);
  return sync_address_;
}

}  // namespace pypto::mock
