// Kernel binaries on a device, and their functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "pypto/acl/handle.h"

namespace pypto::acl {

using FunctionView = HandleView<HandleKind::kFunction>;

// Load and unload in the same current context; nothing of it may still run when it is unloaded.
class PYPTO_API Binary : public OwnedHandle<HandleKind::kBinary> {
 public:
  using OwnedHandle::OwnedHandle;
  // `magic` is one of acl_abi::kBinaryMagic…: always given, the library's default depends on the chip.
  static base::Result<Binary> LoadFromData(const Table& table, std::span<const std::byte> image, uint32_t magic);
  // An absolute path; the magic stands in the .json beside the file.
  static base::Result<Binary> LoadFromFile(const Table& table, const std::string& path);
  // By name, without the tail of a mix kernel. Valid while the binary is loaded.
  base::Result<FunctionView> Function(const std::string& kernel_name) const;
};

}  // namespace pypto::acl
