// The program image: one byte string that the device loads and that a program file holds.
//
// Layout, little-endian: magic "PYPTOIMG", format version, platform, fingerprint, section table (kind, offset, bytes,
// checksum), sections: plan, debug, one device binary per chip; a checksum over everything before it at the end.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pypto/base/sha256.h"
#include "pypto/program/plan.h"

namespace pypto::program {

inline constexpr std::array<uint8_t, 8> kImageMagic = {'P', 'Y', 'P', 'T', 'O', 'I', 'M', 'G'};
inline constexpr uint32_t kImageVersion = 3;

// Which cores run a binary; the library wants to be told.
enum class CoreKind : uint8_t { kAiCore = 0, kVector = 1, kCube = 2 };

// What the argument block of a binary's kernel looks like.
enum class BinaryLayout : uint8_t {
  kLaunchBlock = 0,      // launch_block.h; for code generated from the plan
  kPackedArguments = 1,  // the parameters one after another; for kernels of other compilers
};

// AI-core code for one chip, made elsewhere.
struct DeviceBinary {
  std::string chip;   // empty: whatever the library accepts
  std::string entry;  // name of the kernel, without the tail of a mix kernel
  CoreKind core = CoreKind::kAiCore;
  BinaryLayout layout = BinaryLayout::kPackedArguments;
  bool takes_sync_address = false;  // of a mix kernel: the hardware synchronisation address is its first argument
  uint32_t blocks = 1;
  std::vector<uint8_t> bytes;
};

// Immutable once made. Thread-safe.
struct Image {
  std::string platform;  // "a2a3sim", …
  Plan plan;
  DebugInfo debug;
  std::vector<DeviceBinary> binaries;
  base::Digest fingerprint{};  // of plan, platform and format version; not of the debug section
  std::vector<uint8_t> bytes;  // what goes to the device and to files
};

// Serialises, fingerprints, and keeps the bytes.
PYPTO_API std::shared_ptr<const Image> MakeImage(std::string platform, Plan plan, DebugInfo debug,
                                                 std::vector<DeviceBinary> binaries);

// kProgramFormat, with what is wrong, for anything truncated, altered, or of a newer version.
PYPTO_API base::Result<std::shared_ptr<const Image>> ReadImage(std::span<const uint8_t> bytes);
// The same image, with the place of its kernel in this process.
PYPTO_API std::shared_ptr<const Image> WithKernelAt(const Image& image, const std::string& path, int32_t def_line);

// Whether two images are one program from the same places of the source.
PYPTO_API bool IsSame(const Image& a, const Image& b);

// What a file consists of, in its order: "plan", "debug", "binary".
struct SectionInfo {
  std::string name;
  uint64_t bytes = 0;
};
PYPTO_API std::vector<SectionInfo> ListSections(const Image& image);

// SHA-256 in hex of the kernel's source text; empty when the image holds none.
PYPTO_API std::string SourceHash(const DebugInfo& debug);

// Cheap: looks at magic and length only.
PYPTO_API bool LooksLikeImage(std::span<const uint8_t> bytes);

}  // namespace pypto::program
