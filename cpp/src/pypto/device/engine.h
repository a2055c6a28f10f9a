// The device engine: executes a plan on the cores of one simulated device.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "pypto/base/status.h"
#include "pypto/program/launch_block.h"

namespace pypto::device {

// Of a launch block, from its begin.
inline constexpr size_t kVersionedBytes = program::kHeadBytes;

// What a launch finds, told by numbers.
struct MemoryState {
  uint64_t epoch = 0;  // while it stays the same, what Translate found stays where it is; 0: not known
  // While it stays the same, the block at one place begins with the same kVersionedBytes; 0: not known.
  uint64_t block_version = 0;
};

// From device addresses to host memory. Given by the owner of device memory; called from the launching thread only.
class AddressMap {
 public:
  virtual ~AddressMap() = default;
  // Host pointer of [address, address + bytes), or null when that is not inside one live allocation.
  virtual std::byte* Translate(uint64_t address, uint64_t bytes) const noexcept = 0;
  virtual MemoryState state() const noexcept { return {}; }
};

struct EngineOptions {
  uint32_t cores = 1;       // the calling thread counts as one
  uint64_t shake_seed = 0;  // not 0: strict mode, nothing is assumed about which core runs what
};

// A program image made ready to run. Immutable; thread-safe; shared between launches and devices.
class Executable {
 public:
  // kProgramFormat when the image is damaged.
  static base::Result<std::shared_ptr<const Executable>> Load(std::span<const uint8_t> image);
  virtual ~Executable() = default;
  virtual std::string_view entry() const noexcept = 0;     // the kernel's name
  virtual std::string_view platform() const noexcept = 0;  // the program was compiled for
};

struct LaunchOutcome {
  int32_t acl_code = 0;  // 0, or 507015 for a kernel fault, 107023 when aborted
  std::string message;   // empty on success
};

// What an engine has done since it was made.
struct EngineCounters {
  uint64_t walked = 0;        // launches whose control flow was walked
  uint64_t replayed = 0;      // launches that ran what was stitched before
  uint64_t shared_tasks = 0;  // device tasks that ran on all cores, in the order of their data
};

// The cores of one device. Threads start when a launch first has work for more than one core; they end with the engine.
// Thread rule: one launch at a time; the caller's thread acts as a core.
class Engine {
 public:
  static std::unique_ptr<Engine> Make(const EngineOptions& options);
  virtual ~Engine() = default;
  // Runs a launch to its end. `block` begins with program::LaunchHeader. `abort` is looked at between root instances
  // and between tiles; may be null. No allocation once the same executable has run with the same shapes.
  virtual LaunchOutcome Run(const Executable& executable, std::span<const std::byte> block, const AddressMap& memory,
                            const std::atomic<bool>* abort) = 0;
  // The same for a launch that is a short list of calls and whose block, at the same place and with the same memory,
  // has been run twice. False: nothing was done. Run looks for itself. Nothing is aborted: the caller has looked.
  virtual bool RunAgain(const Executable& executable, std::span<const std::byte> block, MemoryState state) noexcept = 0;
  // Work that is no launch: `function` runs as CoreScheduler::Run says. False, with nothing done, where no other core
  // could take part.
  virtual bool Share(void (*function)(void* context, uint32_t core), void* context) = 0;
  // From any thread.
  virtual EngineCounters counters() const noexcept = 0;
};

}  // namespace pypto::device
