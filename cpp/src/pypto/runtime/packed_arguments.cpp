// Filling the argument block of a device binary.
#include "pypto/runtime/packed_arguments.h"

#include <bit>
#include <cstring>
#include <limits>

namespace pypto::runtime {

using base::MakeStatus;
using base::Status;
using base::StatusCode;

PackedArguments::PackedArguments(const program::Plan& plan, const program::DeviceBinary& binary, uint64_t sync_address)
    : plan_(plan), binary_(binary), layout_(program::LayOutArguments(plan, binary)), bytes_(layout_.bytes) {
  words_.resize(bytes_ / sizeof(uint64_t));
  if (binary.takes_sync_address) words_.front() = sync_address;
}

Status PackedArguments::Pack(std::span<const uint64_t> slots) {
  for (size_t i = 0; i < layout_.slots.size(); ++i) {
    if (plan_.parameters[i].is_tensor) {
      std::memcpy(bytes().data() + layout_.slots[i].offset, &slots[i], sizeof(uint64_t));
    } else {
      PYPTO_RETURN_IF_ERROR(PackScalar(i, slots[i]));
    }
  }
  return base::OkStatus();
}

Status PackedArguments::PackScalar(size_t index, uint64_t slot) {
  std::byte* place = bytes().data() + layout_.slots[index].offset;
  switch (plan_.parameters[index].dtype) {
    case program::DType::kFp32: {
      const auto value = static_cast<float>(std::bit_cast<double>(slot));
      std::memcpy(place, &value, sizeof(value));
      return base::OkStatus();
    }
    case program::DType::kInt32: {
      const auto wide = static_cast<int64_t>(slot);
      const auto value = static_cast<int32_t>(wide);
      if (value != wide) {
        return MakeStatus(StatusCode::kInvalidArgument, "argument '%s' of %s is %lld, which does not fit 32 bits",
                          plan_.parameters[index].name.c_str(), plan_.name.c_str(), static_cast<long long>(wide));
      }
      std::memcpy(place, &value, sizeof(value));
      return base::OkStatus();
    }
    default: std::memcpy(place, &slot, sizeof(slot)); return base::OkStatus();
  }
}

}  // namespace pypto::runtime
