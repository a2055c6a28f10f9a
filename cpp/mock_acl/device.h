// One simulated device: its memory, its cores, its contexts' home.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "pypto/acl_abi/error_codes.h"
#include "pypto/mock_acl/device_memory.h"
#include "pypto/mock_acl/interception.h"
#include "pypto/mock_acl/kernel_backend.h"
#include "pypto/mock_acl/settings.h"
#include "pypto/mock_acl/wait_point.h"

namespace pypto::mock {

class Context;
class Stream;

inline constexpr uint32_t kMaxStreams = 1984;
inline constexpr uint32_t kMaxEvents = 65536;

// Owned by the instance. Memory and cores appear when the device is first set. Life cycle members are guarded by the
// instance's lock; RunKernel is thread-safe.
class Device {
 public:
  Device(int32_t id, const Settings& settings) : id_(id), settings_(settings) {}
  ~Device();

  // Reserves the memory and makes the cores, once; false when no address space is left.
  bool Start();
  bool started() const noexcept { return memory_ != nullptr; }
  // One launch at a time: waits for a launch of another stream.
  int32_t RunKernel(Stream* stream, const KernelImage& image, std::string_view kernel, uint32_t blocks,
                    const LaunchBytes& arguments, const std::atomic<bool>& abort, std::string* message) {
    AcquireCores(stream);
    int32_t code = TakeKernelFault();
    if (code == 0) [[likely]] {
      try {
        code = cores_->Run(image, kernel, blocks, arguments, *memory_, abort, message);
      } catch (...) {
        code = acl_abi::kErrorBadAlloc;
      }
    }
    CountKernel();
    running_.Release();
    return code;
  }
  // The launch as a whole, when it is a short one that the cores have run before. False: nothing was done.
  bool RunAgain(Stream* stream, const KernelImage& image, const LaunchBytes& arguments) {
    AcquireCores(stream);
    const bool ran = RunOnCoresAgain(image, arguments);
    running_.Release();
    return ran;
  }
  // The same for a stream whose execution lock is in the state for short launches: where no other stream has run a
  // kernel, that lock guards the cores. Never waits: false too when another stream has the cores.
  bool RunShort(const Stream* stream, const KernelImage& image, const LaunchBytes& arguments) {
    if (alone_.load(std::memory_order_seq_cst) == stream) [[likely]]
      return RunOnCoresAgain(image, arguments);
    if (!running_.TryAcquire()) return false;
    const bool ran = several_ && RunOnCoresAgain(image, arguments);
    running_.Release();
    return ran;
  }
  // `function` on the cores, where they run nothing now. False: nothing was done. Short launches of a stream alone may
  // run meanwhile: they take no other core.
  bool ShareIdleCores(KernelCores::Function function, void* context) {
    if (!running_.TryAcquire()) return false;
    const bool shared = cores_->Share(function, context);
    running_.Release();
    return shared;
  }
  // The stream is closed and runs nothing.
  void Forget(Stream* stream) noexcept { alone_.compare_exchange_strong(stream, nullptr); }

  // A word of device memory of the mock's own; kernels here do not use it. 0 when there is no room.
  uint64_t HardwareSyncAddress();
  // Kernels executed to their end, faults included.
  uint64_t kernels_run() const noexcept { return kernels_run_.load(std::memory_order_relaxed); }
  // Those of devices that are gone.
  static std::atomic<uint64_t> ended_devices_kernels;

  int32_t id() const noexcept { return id_; }
  DeviceMemory& memory() const noexcept { return *memory_; }

  Context* primary = nullptr;
  uint32_t contexts = 0;   // that have not ended
  uint64_t set_count = 0;  // aclrtSetDevice minus aclrtResetDevice
  std::atomic<uint32_t> streams{0};
  std::atomic<uint32_t> events{0};

 private:
  void AcquireCores(Stream* stream) {
    running_.Acquire();
    if (alone_.load(std::memory_order_relaxed) != stream && !several_) [[unlikely]]
      LetIn(stream);
  }
  // With running_ held: the first stream runs alone, until a second one comes.
  void LetIn(Stream* stream);
  bool RunOnCoresAgain(const KernelImage& image, const LaunchBytes& arguments) noexcept {
    if (kernel_faults.load(std::memory_order_relaxed) != 0) [[unlikely]]
      return false;
    const bool ran = cores_->RunAgain(image, arguments, *memory_);
    if (ran) [[likely]]
      CountKernel();
    return ran;
  }
  void CountKernel() noexcept { kernels_run_.store(kernels_run() + 1, std::memory_order_relaxed); }

  const int32_t id_;
  const Settings& settings_;
  std::unique_ptr<DeviceMemory> memory_;
  std::unique_ptr<KernelCores> cores_;
  ExecutionLock running_;
  std::atomic<Stream*> alone_{nullptr};   // may do without running_ for short launches; set under it
  bool several_ = false;                  // have run kernels: none may. Under running_
  std::atomic<uint64_t> kernels_run_{0};  // written by who runs one
  uint64_t sync_address_ = 0;             // under the instance's lock
};

}  // namespace pypto::mock
