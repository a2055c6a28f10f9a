// Opening and closing a device.
#include "pypto/acl/device.h"

#include <utility>

#include "pypto/acl/errors.h"
#include "pypto/log/log.h"

namespace pypto::acl {
namespace {

base::Status CheckDeviceId(const Table& table, int32_t device_id) {
  base::Status why;
  const uint32_t count = DeviceCount(table, &why);
  if (count == 0) {
    std::string text = "the ACL library '" + table.library_path() + "' shows no device";
    if (!why.ok()) text += ": " + why.ToString();
    text += "; check npu-smi info and ASCEND_RT_VISIBLE_DEVICES";
    base::Status status(base::StatusCode::kDeviceUnavailable, std::move(text));
    if (why.acl_failure() == nullptr) return status;
    return std::move(status).WithAclFailure(*why.acl_failure());
  }
  if (device_id >= 0 && static_cast<uint32_t>(device_id) < count) return base::OkStatus();
  return base::MakeStatus(base::StatusCode::kInvalidArgument, "device_id %d is out of range: %u device%s visible (0%s)",
                          device_id, count, count == 1 ? " is" : "s are",
                          count == 1 ? "" : (" to " + std::to_string(count - 1)).c_str());
}

}  // namespace

uint32_t DeviceCount(const Table& table, base::Status* why) {
  uint32_t count = 0;
  base::Status status = PYPTO_ACL_CALL(table, aclrtGetDeviceCount, &count);
  if (!status.ok()) count = 0;
  if (why != nullptr) *why = std::move(status);
  return count;
}

Device::Device(Device&& other) noexcept
    : session_(std::move(other.session_)),
      id_(other.id_),
      context_(std::exchange(other.context_, ContextView())),
      set_(std::exchange(other.set_, false)) {}

Device& Device::operator=(Device&& other) noexcept {
  std::swap(session_, other.session_);
  std::swap(id_, other.id_);
  std::swap(context_, other.context_);
  std::swap(set_, other.set_);
  return *this;
}

Device::~Device() {
  if (!session_.is_open() || !table().usable()) return;
  if (!Close().ok()) {
    const base::Status again = Close();
    if (!again.ok()) PYPTO_LOG(kWarning, "device %d is left open: %s", id_, again.ToString().c_str());
  }
}

base::Result<Device> Device::Open(Session session, int32_t device_id) {
  Device device;
  device.session_ = std::move(session);
  device.id_ = device_id;
  const Table& table = device.table();
  PYPTO_RETURN_IF_ERROR(CheckDeviceId(table, device_id));
  PYPTO_ASSIGN_OR_RETURN(const ContextView former, CurrentContext(table));
  const base::Status opened = PYPTO_ACL_CALL(table, aclrtSetDevice, device_id);
  if (!opened.ok()) {
    return base::MakeStatus(base::StatusCode::kDeviceUnavailable, "device %d cannot be opened: %s", device_id,
                            opened.ToString().c_str())
        .WithAclFailure(*opened.acl_failure());
  }
  device.set_ = true;
  PYPTO_ASSIGN_OR_RETURN(device.context_, CurrentContext(table));
  PYPTO_RETURN_IF_ERROR(PutBack(table, former));
  return device;
}

std::string Device::SocName() const {
  const char* name = table().aclrtGetSocName();
  return name != nullptr ? name : "";
}

base::Status Device::Close() {
  if (!session_.is_open()) return base::OkStatus();
  if (set_ && table().usable()) {
    PYPTO_RETURN_IF_ERROR(PYPTO_ACL_CALL(table(), aclrtResetDevice, id_));
    set_ = false;
  }
  context_ = ContextView();
  return session_.Close();
}

}  // namespace pypto::acl
