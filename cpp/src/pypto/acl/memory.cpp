// Device memory, page-locked host memory, and the numbers behind an out-of-memory error.
#include "pypto/acl/memory.h"

#include "pypto/acl/errors.h"

namespace pypto::acl {

base::Result<MemoryInfo> QueryMemory(const Table& table) {
  size_t free = 0;
  size_t total = 0;
  PYPTO_RETURN_IF_ERROR(PYPTO_ACL_CALL(table, aclrtGetMemInfo, acl_abi::kMemHbm, &free, &total));
  // A chip without the asked kind of memory answers 0 of 0.
  if (total == 0) PYPTO_RETURN_IF_ERROR(PYPTO_ACL_CALL(table, aclrtGetMemInfo, acl_abi::kMemDdr, &free, &total));
  return MemoryInfo{free, total};
}

base::Result<DeviceMemory> DeviceMemory::Allocate(const Table& table, size_t bytes) {
  void* raw = nullptr;
  base::Status status = PYPTO_ACL_CALL(table, aclrtMalloc, &raw, bytes, acl_abi::kMallocHugeFirst);
  if (status.ok()) return DeviceMemory(table, raw, bytes);
  if (status.code() != base::StatusCode::kOutOfDeviceMemory) return status;
  base::MemoryShortage shortage{bytes, 0, 0, {}};
  if (const auto memory = QueryMemory(table); memory.ok()) {
    shortage.free = memory->free;
    shortage.total = memory->total;
  }
  const base::AclFailure failure = *status.acl_failure();
  return base::MakeStatus(base::StatusCode::kOutOfDeviceMemory,
                          "no device memory for %zu bytes: %llu free of %llu on the device; free resident tensors or "
                          "lower the workspace budget (%s, ACL code %d%s%s)",
                          bytes, static_cast<unsigned long long>(shortage.free),
                          static_cast<unsigned long long>(shortage.total), failure.call.c_str(), failure.code,
                          failure.text.empty() ? "" : ": ", failure.text.c_str())
      .WithAclFailure(failure)
      .WithMemoryShortage(shortage);
}

base::Result<HostMemory> HostMemory::Allocate(const Table& table, size_t bytes) {
  void* raw = nullptr;
  PYPTO_RETURN_IF_ERROR(PYPTO_ACL_CALL(table, aclrtMallocHost, &raw, bytes));
  return HostMemory(table, raw, bytes);
}

}  // namespace pypto::acl
