// The argument block of a device binary that was built elsewhere: parameters one after another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "pypto/program/prebuilt.h"

namespace pypto::runtime {

// Bytes of one launch, filled from the slots of a launch block. Owned by a Launcher. Thread rule: its owner's.
class PackedArguments {
 public:
  PackedArguments(const program::Plan& plan, const program::DeviceBinary& binary, uint64_t sync_address);

  // `slots`: one per parameter, a device address, an int64 or the bits of a double. kInvalidArgument naming the
  // parameter when an integer does not fit its 4 bytes.
  base::Status Pack(std::span<const uint64_t> slots);

  std::span<std::byte> bytes() noexcept { return {reinterpret_cast<std::byte*>(words_.data()), bytes_}; }
  // Without the synchronisation address, which the library itself puts in front of argument lists.
  std::span<std::byte> listed() noexcept { return bytes().subspan(binary_.takes_sync_address ? sizeof(uint64_t) : 0); }
  uint32_t blocks() const noexcept { return binary_.blocks; }

 private:
  base::Status PackScalar(size_t index, uint64_t slot);

  const program::Plan& plan_;
  const program::DeviceBinary& binary_;
  const program::PackedLayout layout_;
  std::vector<uint64_t> words_;
  size_t bytes_ = 0;
};

}  // namespace pypto::runtime
