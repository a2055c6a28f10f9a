// The ACL side of an open worker: library, device, context, stream, and waiting for it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "pypto/acl/device.h"
#include "pypto/acl/errors.h"
#include "pypto/acl/stream.h"
#include "pypto/log/log.h"
#include "pypto/runtime/interrupt.h"
#include "pypto/runtime/run_config.h"

namespace pypto::runtime {

// How a wait ended.
enum class WaitEnd : uint8_t { kDone, kTimedOut, kInterrupted, kFailed };

// Owned by a worker. Thread rule: inside the worker's gate, except table() and EnterContext.
class DeviceSession {
 public:
  DeviceSession() = default;
  DeviceSession(const DeviceSession&) = delete;
  DeviceSession& operator=(const DeviceSession&) = delete;
  ~DeviceSession();

  // Loads the library of the platform, opens the device, makes a context and a stream of our own.
  static base::Result<std::unique_ptr<DeviceSession>> Open(const RunConfig& config);
  static base::Result<std::unique_ptr<DeviceSession>> OpenOn(acl::Session library, int32_t device_id);
  // Destroys stream and context, resets the device, closes the library. First error; everything is gone in any case.
  base::Status Close();

  const acl::Table& table() const noexcept { return device_.table(); }
  acl::StreamView stream() const noexcept { return stream_.view(); }
  acl::ContextView context() const noexcept { return context_.view(); }
  const acl::Device& device() const noexcept { return device_; }

  // Waits for all work of the stream, in slices of at most kWaitSliceMs when there is a time limit or an interrupt.
  // kFailed: *status says why; kTimedOut and kInterrupted leave the work running.
  WaitEnd Wait(std::optional<int64_t> timeout_ms, const Interrupt& interrupt, base::Status* status);
  // Aborts all work and puts a fresh stream in place. False when the library cannot abort: the work goes on.
  // A status that is not ok: it was aborted, but the stream could not be replaced.
  base::Result<bool> Abort();

 private:
  base::Status StepAside();
  WaitEnd WaitSliced(std::optional<int64_t> timeout_ms, const Interrupt& interrupt, base::Status* status);
  // One slice: code 0, a time-out code, or a failure.
  acl::aclError WaitSlice(int32_t slice_ms);
  void ForwardLog();

  acl::Device device_;
  acl::Context context_;
  acl::Stream stream_;
  uint64_t log_sink_ = 0;
};

}  // namespace pypto::runtime
