// What the mock needs from whatever executes kernels. engine_backend.cpp implements it with the device engine.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "pypto/base/status.h"

namespace pypto::mock {

class DeviceMemory;

// A loaded binary. Immutable; thread-safe.
class KernelImage {
 public:
  virtual ~KernelImage() = default;
  virtual bool HasKernel(std::string_view name) const = 0;
  // Kernel number `entry`, empty when there is none.
  virtual std::string_view KernelAt(uint64_t entry) const = 0;
  // Whether the kernel has a cube and a vector part: the runtime puts the synchronisation address in front of its
  // argument list.
  virtual bool IsMix(std::string_view) const { return false; }
  // A shared object of the host, see host_object.h.
  bool on_host() const noexcept { return on_host_; }

 protected:
  explicit KernelImage(bool on_host = false) noexcept : on_host_(on_host) {}

 private:
  const bool on_host_;
};

// What begins a launch's bytes is compared with that of the last launch; what lies behind is data, copied unseen.
inline constexpr size_t kVersionedBytes = 384;

// The captured bytes of a launch. While the version is the same and not 0, the first kVersionedBytes at one place have
// not changed.
struct LaunchBytes {
  std::span<const std::byte> bytes;
  uint64_t version = 0;
};

// The cores of one device. Thread rule: one launch or shared work at a time, on any thread.
class KernelCores {
 public:
  using Function = void (*)(void* context, uint32_t core);

  virtual ~KernelCores() = default;
  // Runs one launch to its end; `arguments` are the captured bytes. Ends early once `abort` is set. Returns 0, or the
  // aclError of the failure and its text.
  virtual int32_t Run(const KernelImage& image, std::string_view kernel, uint32_t blocks, const LaunchBytes& arguments,
                      const DeviceMemory& memory, const std::atomic<bool>& abort, std::string* message) = 0;
  // The same for a launch whose block came before, when it is short: once begun it is not aborted. False: nothing was
  // done, Run is to be called.
  virtual bool RunAgain(const KernelImage& image, const LaunchBytes& arguments,
                        const DeviceMemory& memory) noexcept = 0;
  // Calls `function` here as core 0, and on other cores that come in time. False: nothing was done, there are none.
  virtual bool Share(Function function, void* context) = 0;
};

// kProgramFormat when the bytes are no image, kUnsupported when it was made for another chip than `soc`; an empty `soc`
// takes all.
base::Result<std::unique_ptr<KernelImage>> LoadKernelImage(std::span<const uint8_t> bytes, std::string_view soc);
std::unique_ptr<KernelCores> MakeKernelCores(uint32_t cores, uint64_t shake_seed);

}  // namespace pypto::mock
