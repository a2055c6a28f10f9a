// The state of the mock library: devices, tables of handles, life cycle.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "pypto/acl_abi/error_codes.h"
#include "pypto/mock_acl/arguments.h"
#include "pypto/mock_acl/context.h"
#include "pypto/mock_acl/copy_team.h"
#include "pypto/mock_acl/device.h"
#include "pypto/mock_acl/fork_safe.h"
#include "pypto/mock_acl/handle_table.h"
#include "pypto/mock_acl/host_memory.h"
#include "pypto/mock_acl/settings.h"
#include "pypto/mock_acl/stream.h"
#include "pypto/mock_acl/thread_state.h"

namespace pypto::mock {

// One per loaded copy of the library, never destroyed, so that threads which outlive the exit handlers find it; a
// forked child gets a new one. Thread-safe: the life cycle of devices, contexts, streams and events is guarded by one
// lock, look-ups take none.
class Instance {
 public:
  static Instance& Get() { return current_.Get(); }
  Instance();
  Instance* left_behind = nullptr;

  acl_abi::aclError Initialize(const char* config_path);
  acl_abi::aclError Finalize(bool whatever_the_count, uint64_t* left);
  bool initialized() const noexcept { return initialized_.load(std::memory_order_acquire); }
  const Settings& settings() const noexcept { return settings_; }
  // As after load.
  void Reset();

  // Null, with a text, when ACL is not initialised or the id is out of range; `code` says which.
  Device* FindDevice(int64_t id, acl_abi::aclError* code) const;
  acl_abi::aclError SetDevice(int32_t id);
  acl_abi::aclError ResetDevice(int32_t id, bool force);
  acl_abi::aclError CreateContext(int32_t device, void** handle);
  acl_abi::aclError DestroyContext(void* handle);
  acl_abi::aclError CreateStream(Context& context, uint32_t flags, void** handle);
  acl_abi::aclError DestroyStream(Stream& stream, bool wait_for_work);
  acl_abi::aclError CreateEvent(Context& context, uint32_t flags, bool extended, void** handle);
  void DestroyEvent(Event& event);
  acl_abi::aclError LoadBinary(Context& context, std::span<const uint8_t> bytes, void** handle);
  // Waits for the streams of its device first: a queued launch may need it.
  void UnloadBinary(Binary& binary);
  acl_abi::aclError GetFunction(Binary& binary, std::string_view name, void** handle);
  // The first error of a stream of the device, or 507046 when the deadline passed.
  acl_abi::aclError SynchronizeDevice(Device& device, Deadline deadline);
  // Handles of the streams that a synchronise of the device waits for.
  std::vector<void*> StreamsToWaitFor(const Device& device) const;
  uint64_t HardwareSyncAddress(Device& device) {
    std::lock_guard lock(life_);
    return device.HardwareSyncAddress();
  }

  // Copies as memmove does, by as many threads as a device has cores where that is faster. The cores of the device that
  // holds `device_address`, if one does, may help.
  void CopyBytes(void* to, const void* from, size_t bytes, uint64_t device_address) {
    copies.Copy(to, from, bytes, settings_.cores, DeviceOfAddress(device_address));
  }
  // Pages of freed blocks, on all devices and of page-locked memory, go back to the system.
  void GiveBackPages();
  // Tells the streams to stop, briefly waits for what runs, and lets their threads park.
  void StopForExit() noexcept;
  // The device whose range holds the address, or null.
  Device* DeviceOfAddress(uint64_t address) const noexcept {
    for (const auto& device : devices_) {
      if (device->started() && device->memory().Owns(address)) return device.get();
    }
    return nullptr;
  }

  // The same where there is one device alone: what it does not own is host memory. Null where there are several.
  Device* OnlyDevice() const noexcept { return devices_.size() == 1 ? devices_.front().get() : nullptr; }

  HandleTable<Context, HandleKind::kContext> contexts;
  HandleTable<Stream, HandleKind::kStream> streams;
  HandleTable<Event, HandleKind::kEvent> events;
  HandleTable<Binary, HandleKind::kBinary> binaries;
  HandleTable<Function, HandleKind::kFunction> functions;
  HostMemory host_memory;
  CopyTeam copies;
  RecordPool records;
  std::vector<std::unique_ptr<Device>> const& devices() const noexcept { return devices_; }
  uint64_t guard_violations() const noexcept { return guard_violations_.load(std::memory_order_relaxed); }
  void CountGuardViolation() noexcept { guard_violations_.fetch_add(1, std::memory_order_relaxed); }

 private:
  static void ForgetInForkedChild() noexcept;
  // With life_ held.
  Context* OpenContext(Device& device, bool primary);
  Stream* OpenStream(Context& context, uint32_t flags);
  // Without life_: they wait for work, which may call back. The handles are stale already.
  void EndContext(Context& context, bool wait_for_work);
  void EndStream(Stream& stream, bool wait_for_work);
  void EndEvent(Event& event);
  void EndBinary(Binary& binary);
  void CloseAll();
  void ReportLeaks() const;

  static ForkSafe<Instance> current_;

  std::mutex life_;  // of everything below, and of create and close
  std::atomic<bool> initialized_{false};
  uint64_t init_count_ = 0;
  bool first_config_known_ = false;
  std::string first_config_;
  Settings settings_;
  std::vector<std::unique_ptr<Device>> devices_;
  int32_t next_stream_id_ = 0;
  std::atomic<uint64_t> guard_violations_{0};
};

// The context current in the calling thread, or null.
inline Context* CurrentContext(const ThreadState& thread) noexcept {
  Context* context = thread.context;
  if (context == nullptr || context->handle.load(std::memory_order_acquire) != thread.context_handle) return nullptr;
  return context;
}

// 100001 with its text: aclInit is missing, in this process.
acl_abi::aclError NotInitialized();
// 100001 before aclInit, else 107002, with its text.
acl_abi::aclError NoContext();

}  // namespace pypto::mock
