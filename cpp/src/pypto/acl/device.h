// One device of an open ACL library.
#pragma once

#include <cstdint>
#include <string>

#include "pypto/acl/context.h"
#include "pypto/acl/session.h"

namespace pypto::acl {

// Visible devices; 0 when the library reports an error, which is then in `why` unless that is null.
PYPTO_API uint32_t DeviceCount(const Table& table, base::Status* why = nullptr);

// Keeps the primary context of a device alive (counted by the library) and the session open. What lives on the device
// (contexts, streams, events, memory, binaries) is closed before it. Thread rule: one thread at a time.
class PYPTO_API Device {
 public:
  Device() noexcept = default;
  Device(Device&& other) noexcept;
  Device& operator=(Device&& other) noexcept;
  ~Device();

  // kInvalidArgument when the number is outside the device count, kDeviceUnavailable when there is no device or it
  // cannot be opened. The context that was current in this thread stays so; with none, the device's becomes current.
  static base::Result<Device> Open(Session session, int32_t device_id);

  bool is_open() const noexcept { return session_.is_open(); }
  const Table& table() const noexcept { return session_.table(); }
  const Session& session() const noexcept { return session_; }
  int32_t id() const noexcept { return id_; }
  // The primary context, shared by all threads of the process.
  ContextView context() const noexcept { return context_; }
  // Such as "Ascend910B3"; empty when the library does not say.
  std::string SocName() const;
  // Resets the device (counted) and closes the session. After a failed reset the device is still owned and the
  // destructor tries again.
  base::Status Close();

 private:
  Session session_;
  int32_t id_ = -1;
  ContextView context_;
  bool set_ = false;  // one aclrtSetDevice of ours is open
};

}  // namespace pypto::acl
