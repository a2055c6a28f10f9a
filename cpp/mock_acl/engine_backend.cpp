// Kernels are program images, executed by the device engine, or host shared objects that stand in for AI-core code.
#include "pypto/device/engine.h"
#include "pypto/device/simd/select.h"
#include "pypto/mock_acl/device_memory.h"
#include "pypto/mock_acl/host_object.h"
#include "pypto/mock_acl/kernel_backend.h"

namespace pypto::mock {
namespace {

class ProgramImage final : public KernelImage {
 public:
  explicit ProgramImage(std::shared_ptr<const device::Executable> executable) : executable_(std::move(executable)) {}

  bool HasKernel(std::string_view name) const override { return name == executable_->entry(); }
  std::string_view KernelAt(uint64_t entry) const override { return entry == 0 ? executable_->entry() : ""; }
  const device::Executable& executable() const { return *executable_; }

 private:
  std::shared_ptr<const device::Executable> executable_;
};

static_assert(device::kVersionedBytes <= kVersionedBytes);

class MemoryMap final : public device::AddressMap {
 public:
  MemoryMap(const DeviceMemory& memory, uint64_t block_version) : memory_(memory), block_version_(block_version) {}
  std::byte* Translate(uint64_t address, uint64_t bytes) const noexcept override {
    return memory_.Translate(address, bytes);
  }
  device::MemoryState state() const noexcept override { return {memory_.epoch(), block_version_}; }

 private:
  const DeviceMemory& memory_;
  uint64_t block_version_;
};

class EngineCores final : public KernelCores {
 public:
  EngineCores(uint32_t cores, uint64_t shake_seed) : engine_(device::Engine::Make({cores, shake_seed})) {}

  int32_t Run(const KernelImage& image, std::string_view kernel, uint32_t blocks, const LaunchBytes& arguments,
              const DeviceMemory& memory, const std::atomic<bool>& abort, std::string* message) override {
    if (image.on_host()) [[unlikely]] {
      return static_cast<const HostObject&>(image).Run(kernel, blocks, arguments.bytes, memory, abort, message);
    }
    const auto& program = static_cast<const ProgramImage&>(image);
    device::LaunchOutcome outcome =
        engine_->Run(program.executable(), arguments.bytes, MemoryMap(memory, arguments.version), &abort);
    if (outcome.acl_code != 0) [[unlikely]]
      *message = std::move(outcome.message);
    return outcome.acl_code;
  }

  bool RunAgain(const KernelImage& image, const LaunchBytes& arguments, const DeviceMemory& memory) noexcept override {
    if (image.on_host()) [[unlikely]]
      return false;
    const auto& program = static_cast<const ProgramImage&>(image);
    return engine_->RunAgain(program.executable(), arguments.bytes, {memory.epoch(), arguments.version});
  }

  bool Share(Function function, void* context) override { return engine_->Share(function, context); }

 private:
  std::unique_ptr<device::Engine> engine_;
};

// Whether a chip of that name belongs to the platform: "a5…" is the 950 family, "a2a3…" the 910B and 910_93.
bool ChipRuns(std::string_view soc, std::string_view platform) {
  if (platform.starts_with("a5")) return soc.starts_with("Ascend950");
  return soc.starts_with("Ascend910B") || soc.starts_with("Ascend910_93");
}

base::Status CheckChip(std::string_view platform, std::string_view soc) {
  if (ChipRuns(soc, platform)) return base::OkStatus();
  return base::MakeStatus(base::StatusCode::kUnsupported, "the program is for platform %.*s, the chip is %.*s",
                          static_cast<int>(platform.size()), platform.data(), static_cast<int>(soc.size()), soc.data());
}

}  // namespace

base::Result<std::unique_ptr<KernelImage>> LoadKernelImage(std::span<const uint8_t> bytes, std::string_view soc) {
  if (HostObject::LooksLikeElf(bytes)) return HostObject::Load(bytes);
  PYPTO_ASSIGN_OR_RETURN(auto executable, device::Executable::Load(bytes));
  if (!soc.empty()) PYPTO_RETURN_IF_ERROR(CheckChip(executable->platform(), soc));
  return std::unique_ptr<KernelImage>(std::make_unique<ProgramImage>(std::move(executable)));
}

std::unique_ptr<KernelCores> MakeKernelCores(uint32_t cores, uint64_t shake_seed) {
  return std::make_unique<EngineCores>(cores, shake_seed);
}

}  // namespace pypto::mock

extern "C" [[gnu::visibility("default")]] const char* pypto_mock_simd() {
  const pypto::device::simd::KernelTable* table = pypto::device::simd::ActiveKernels().table;
  return table != nullptr ? table->name : nullptr;
}
