// Programs out of device binaries that were built elsewhere: a signature and the binary, nothing planned.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "pypto/program/image.h"

namespace pypto::program {

// A dim of a tensor parameter: a size, or the name of a dynamic dim when `symbol` is not empty.
struct PrebuiltDim {
  int64_t size = 0;
  std::string symbol;
};

// For a scalar, `dtype` is how it travels: INT32 or FP32 in 4 bytes, INT64 in 8.
struct PrebuiltParameter {
  std::string name;
  bool is_tensor = true;
  DType dtype = DType::kFp32;
  Direction direction = Direction::kIn;
  std::vector<PrebuiltDim> dims;
};

inline constexpr uint32_t kMaxBlocks = 65535;
inline constexpr size_t kMaxPrebuiltParameters = 128;
inline constexpr size_t kMaxEntryBytes = 512;

// kInvalidArgument with what is wrong: no entry, no bytes, blocks outside 1 … 65,535, more than 128 parameters, a
// scalar of another type, a dim below 1, names that are empty or not unique.
PYPTO_API base::Result<std::shared_ptr<const Image>> MakePrebuilt(std::string platform,
                                                                  std::vector<PrebuiltParameter> parameters,
                                                                  DeviceBinary binary);

// Of the argument block that a packed binary takes: where each parameter lies, in order, at its natural alignment.
struct PackedSlot {
  uint32_t offset = 0;
  uint32_t bytes = 0;
};
struct PackedLayout {
  std::vector<PackedSlot> slots;  // one per parameter
  uint32_t bytes = 0;             // of the block, a multiple of 8
};
// The binary that a launch of the image hands to the library in place of the image; null for a traced program.
inline const DeviceBinary* PackedBinaryOf(const Image& image) noexcept {
  for (const DeviceBinary& binary : image.binaries) {
    if (binary.layout == BinaryLayout::kPackedArguments) return &binary;
  }
  return nullptr;
}

// The block begins with the synchronisation address when the binary takes one.
PYPTO_API PackedLayout LayOutArguments(const Plan& plan, const DeviceBinary& binary);

// What an image must hold for its binaries to be launched; asked by the reader of images.
base::Status CheckBinaries(const Image& image);

}  // namespace pypto::program
