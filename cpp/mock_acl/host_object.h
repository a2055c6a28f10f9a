// Shared objects of the host that stand in for AI-core binaries: loaded from memory, called once per block.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "pypto/base/dynamic_library.h"
#include "pypto/base/status.h"
#include "pypto/mock_acl.h"
#include "pypto/mock_acl/kernel_backend.h"

namespace pypto::mock {

// Immutable once loaded; thread-safe. The object stays mapped as long as it is loaded.
class HostObject final : public KernelImage {
 public:
  static bool LooksLikeElf(std::span<const uint8_t> bytes) noexcept;
  // kProgramFormat: not a shared object for this host, or one that the loader refuses.
  static base::Result<std::unique_ptr<KernelImage>> Load(std::span<const uint8_t> bytes);
  ~HostObject() override;

  bool HasKernel(std::string_view name) const override;
  std::string_view KernelAt(uint64_t) const override { return {}; }
  bool IsMix(std::string_view name) const override;

  // All blocks in order, on the calling thread; a mix kernel's cube part before its vector part. 0, or the code of the
  // fault and its text.
  int32_t Run(std::string_view kernel, uint32_t blocks, std::span<const std::byte> arguments,
              const DeviceMemory& memory, const std::atomic<bool>& abort, std::string* message) const;

 private:
  struct Entries {
    pypto_mock_kernel parts[2] = {nullptr, nullptr};
    bool mix = false;
  };
  HostObject(base::DynamicLibrary library, int file) : KernelImage(true), library_(std::move(library)), file_(file) {}
  Entries Find(std::string_view name) const;

  base::DynamicLibrary library_;
  int file_;  // open as long as the library is: its path is the library's name
};

}  // namespace pypto::mock
