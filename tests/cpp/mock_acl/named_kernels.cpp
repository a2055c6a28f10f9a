// Kernels for tests of the mock library that need no compiler: an image is the word TESTKERNELS and a list of names.
//
//   nop                does nothing
//   fill               {address, bytes, value}: fills device memory with a byte
//   copy               {destination, source, bytes}
//   echo               copies its whole argument block to the address in its first 8 bytes
//   fault              ends with 507015
//   who                {address}: stores the number of the thread that runs it
//   spin               {address}: waits until the 32-bit word at the address is not 0, or until it is aborted
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include "pypto/mock_acl/device_memory.h"
#include "pypto/mock_acl/kernel_backend.h"

namespace pypto::mock {
namespace {

constexpr std::string_view kMagic = "TESTKERNELS ";
constexpr int32_t kFault = 507015;
constexpr int32_t kAborted = 107023;

class NamedKernels final : public KernelImage {
 public:
  explicit NamedKernels(std::vector<std::string> names) : names_(std::move(names)) {}
  bool HasKernel(std::string_view name) const override {
    return std::find(names_.begin(), names_.end(), name) != names_.end();
  }
  std::string_view KernelAt(uint64_t entry) const override {
    return entry < names_.size() ? std::string_view(names_[entry]) : std::string_view();
  }

 private:
  std::vector<std::string> names_;
};

uint64_t Word(std::span<const std::byte> arguments, size_t index) {
  uint64_t value = 0;
  if ((index + 1) * sizeof(value) <= arguments.size()) {
    std::memcpy(&value, arguments.data() + index * sizeof(value), sizeof(value));
  }
  return value;
}

class TestCores final : public KernelCores {
 public:
  bool RunAgain(const KernelImage&, const LaunchBytes&, const DeviceMemory&) noexcept override { return false; }
  bool Share(Function function, void* context) override {
    function(context, 0);
    return true;
  }
  int32_t Run(const KernelImage&, std::string_view kernel, uint32_t, const LaunchBytes& arguments,
              const DeviceMemory& memory, const std::atomic<bool>& abort, std::string* message) override {
    if (kernel == "nop") return 0;
    const Outcome outcome = Execute(kernel, arguments.bytes, memory, abort);
    *message = outcome.message;
    return outcome.code;
  }

 private:
  struct Outcome {
    int32_t code = 0;
    std::string message;
  };

  static Outcome Execute(std::string_view kernel, std::span<const std::byte> arguments, const DeviceMemory& memory,
                         const std::atomic<bool>& abort) {
    if (kernel == "fault") return {kFault, "asked to fail"};
    if (kernel == "fill") return Fill(arguments, memory);
    if (kernel == "copy") return Copy(arguments, memory);
    if (kernel == "echo") return Echo(arguments, memory);
    if (kernel == "who") return Who(arguments, memory);
    return Spin(arguments, memory, abort);
  }
  static Outcome Fill(std::span<const std::byte> arguments, const DeviceMemory& memory) {
    std::byte* block = memory.Translate(Word(arguments, 0), Word(arguments, 1));
    if (block == nullptr) return {kFault, "address outside of live memory"};
    std::memset(block, static_cast<int>(Word(arguments, 2)), Word(arguments, 1));
    return {};
  }
  static Outcome Copy(std::span<const std::byte> arguments, const DeviceMemory& memory) {
    const uint64_t bytes = Word(arguments, 2);
    std::byte* destination = memory.Translate(Word(arguments, 0), bytes);
    const std::byte* source = memory.Translate(Word(arguments, 1), bytes);
    if (destination == nullptr || source == nullptr) return {kFault, "address outside of live memory"};
    std::memcpy(destination, source, bytes);
    return {};
  }
  static Outcome Echo(std::span<const std::byte> arguments, const DeviceMemory& memory) {
    std::byte* destination = memory.Translate(Word(arguments, 0), arguments.size());
    if (destination == nullptr) return {kFault, "address outside of live memory"};
    std::memcpy(destination, arguments.data(), arguments.size());
    return {};
  }
  static Outcome Who(std::span<const std::byte> arguments, const DeviceMemory& memory) {
    std::byte* destination = memory.Translate(Word(arguments, 0), sizeof(int64_t));
    if (destination == nullptr) return {kFault, "address outside of live memory"};
    const int64_t thread = gettid();
    std::memcpy(destination, &thread, sizeof(thread));
    return {};
  }
  static Outcome Spin(std::span<const std::byte> arguments, const DeviceMemory& memory,
                      const std::atomic<bool>& abort) {
    std::byte* word = memory.Translate(Word(arguments, 0), sizeof(uint32_t));
    if (word == nullptr) return {kFault, "address outside of live memory"};
    const std::atomic_ref<uint32_t> flag(*reinterpret_cast<uint32_t*>(word));
    while (flag.load(std::memory_order_acquire) == 0) {
      if (abort.load(std::memory_order_relaxed)) return {kAborted, "aborted"};
    }
    return {};
  }
};

}  // namespace

base::Result<std::unique_ptr<KernelImage>> LoadKernelImage(std::span<const uint8_t> bytes, std::string_view) {
  const std::string text(bytes.begin(), bytes.end());
  if (!text.starts_with(kMagic)) return base::Status(base::StatusCode::kProgramFormat, "not a list of test kernels");
  std::istringstream words(text.substr(kMagic.size()));
  std::vector<std::string> names;
  for (std::string name; words >> name;) names.push_back(name);
  return std::unique_ptr<KernelImage>(std::make_unique<NamedKernels>(std::move(names)));
}

std::unique_ptr<KernelCores> MakeKernelCores(uint32_t, uint64_t) { return std::make_unique<TestCores>(); }

}  // namespace pypto::mock
