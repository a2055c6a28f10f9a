// Fuzzing of the reader of program files. The first byte of an input says what the rest is: 0 a whole file, 1 a plan
// section, 2 a debug section, 3 a whole file whose checksums are put right first, so that damage reaches the parsers.
//
// What is read must print, lay out and write again; written again it must read, byte for byte the same.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "pypto/base/sha256.h"
#include "pypto/program/image.h"
#include "pypto/program/prebuilt.h"

namespace {

using namespace pypto::program;

void Require(bool holds) {
  if (!holds) std::abort();
}

// Writes an image of what was read, reads that, and compares.
void CheckRewrite(const Plan& plan, const DebugInfo& debug, const std::vector<DeviceBinary>& binaries,
                  const std::vector<uint8_t>* original, const std::string& platform) {
  const auto written = MakeImage(platform, plan, debug, binaries);
  if (original != nullptr) Require(written->bytes == *original);
  const auto read = ReadImage(written->bytes);
  Require(read.ok());
  Require(MakeImage(platform, (*read)->plan, (*read)->debug, (*read)->binaries)->bytes == written->bytes);
  Require(!ToText((*read)->plan, (*read)->debug).empty());
  Require(ListSections(**read).size() == 2 + binaries.size());
  static_cast<void>(SourceHash((*read)->debug));
}

void ReadWhole(const std::vector<uint8_t>& bytes) {
  static_cast<void>(LooksLikeImage(bytes));
  const auto read = ReadImage(bytes);
  if (!read.ok()) {
    Require(read.status().code() == pypto::base::StatusCode::kProgramFormat && !read.status().message().empty());
    return;
  }
  CheckRewrite((*read)->plan, (*read)->debug, (*read)->binaries, &bytes, (*read)->platform);
  for (const DeviceBinary& binary : (*read)->binaries) static_cast<void>(LayOutArguments((*read)->plan, binary));
}

void Put(std::vector<uint8_t>& bytes, size_t at, const void* value, size_t size) {
  if (at <= bytes.size() && size <= bytes.size() - at) std::memcpy(bytes.data() + at, value, size);
}
template <typename T>
T Get(const std::vector<uint8_t>& bytes, size_t at) {
  T value{};
  if (at <= bytes.size() && sizeof(T) <= bytes.size() - at) std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

// Length, digests of sections and digest of the file.
void Seal(std::vector<uint8_t>& bytes) {
  constexpr size_t kEntry = 56;
  constexpr size_t kDigest = 32;
  if (bytes.size() < kEntry + kDigest) return;
  const uint64_t total = bytes.size();
  Put(bytes, 0, kImageMagic.data(), kImageMagic.size());
  Put(bytes, 8, &kImageVersion, sizeof(kImageVersion));
  Put(bytes, 16, &total, sizeof(total));
  const uint64_t table = (60 + uint64_t{Get<uint32_t>(bytes, 56)} + 7) / 8 * 8;
  const uint32_t count = Get<uint32_t>(bytes, 12);
  for (uint32_t i = 0; i < count && i < 64; ++i) {
    const uint64_t entry = table + i * kEntry;
    const auto offset = Get<uint64_t>(bytes, entry + 8);
    const auto size = Get<uint64_t>(bytes, entry + 16);
    if (offset > total || size > total - offset) continue;
    const pypto::base::Digest digest = pypto::base::HashBytes({bytes.data() + offset, size});
    Put(bytes, entry + 24, digest.data(), digest.size());
  }
  const pypto::base::Digest digest = pypto::base::HashBytes({bytes.data(), bytes.size() - kDigest});
  Put(bytes, bytes.size() - kDigest, digest.data(), digest.size());
}

void ReadPlanSection(const std::vector<uint8_t>& bytes) {
  const auto plan = ParsePlan(bytes);
  if (!plan.ok()) return;
  Require(SerializePlan(*plan) == bytes);
  CheckRewrite(*plan, DebugInfo{}, {}, nullptr, "a2a3sim");
}

void ReadDebugSection(const std::vector<uint8_t>& bytes) {
  const auto debug = ParseDebug(bytes);
  if (!debug.ok()) return;
  Require(SerializeDebug(*debug) == bytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  std::vector<uint8_t> bytes(data + 1, data + size);
  switch (data[0]) {
    case 0: ReadWhole(bytes); break;
    case 1: ReadPlanSection(bytes); break;
    case 2: ReadDebugSection(bytes); break;
    case 3:
      Seal(bytes);
      ReadWhole(bytes);
      break;
    default: break;
  }
  return 0;
}
