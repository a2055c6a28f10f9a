// Writing and reading of program images.
//
//   0   magic (8)  8 version u32  12 section count u32  16 bytes of the image u64  24 fingerprint (32)
//   56  platform: bytes u32, text; zeros up to a multiple of 8
//       section table: { kind u32, 0 u32, offset u64, bytes u64, SHA-256 (32) } per section
//       sections, each at a multiple of 8, zeros between them: plan, debug, device binaries
//       SHA-256 (32) of everything before it
#include "pypto/program/image.h"

#include <algorithm>
#include <cstring>

#include "pypto/program/bytes.h"
#include "pypto/program/prebuilt.h"

namespace pypto::program {
namespace {

using base::MakeStatus;
using base::Status;
using base::StatusCode;

constexpr size_t kFixedBytes = 56;
constexpr size_t kEntryBytes = 56;
constexpr size_t kDigestBytes = 32;
constexpr size_t kSmallestImage = kFixedBytes + 8 + 2 * kEntryBytes + kDigestBytes;
constexpr size_t kMaxPlatformBytes = 64;
constexpr size_t kMaxSections = 64;

enum class SectionKind : uint32_t { kPlan = 1, kDebug = 2, kBinary = 3 };

struct Section {
  SectionKind kind = SectionKind::kPlan;
  std::vector<uint8_t> bytes;
};

// The description of a device binary, without its code.
template <typename A>
void Code(A& archive, Coded<A, DeviceBinary>& binary) {
  archive.Text(binary.chip);
  archive.Text(binary.entry);
  archive.Enum(binary.core, CoreKind::kCube);
  archive.Enum(binary.layout, BinaryLayout::kPackedArguments);
  archive.Bool(binary.takes_sync_address);
  archive.Number(binary.blocks);
}

size_t AlignUp8(size_t value) { return (value + 7) / 8 * 8; }

base::Digest Fingerprint(const Image& image) {
  ByteWriter writer;
  writer.Append(kImageMagic);
  writer.Number(kImageVersion);
  writer.Text(image.platform);
  const std::vector<uint8_t> plan = SerializePlanIdentity(image.plan);
  writer.Number(static_cast<uint64_t>(plan.size()));
  writer.Append(plan);
  for (const DeviceBinary& binary : image.binaries) {
    Code(writer, binary);
    writer.Number(static_cast<uint64_t>(binary.bytes.size()));
    writer.Append(binary.bytes);
  }
  return base::HashBytes(std::move(writer).Take());
}

std::vector<Section> SectionsOf(const Image& image) {
  std::vector<Section> sections;
  sections.push_back({SectionKind::kPlan, SerializePlan(image.plan)});
  sections.push_back({SectionKind::kDebug, SerializeDebug(image.debug)});
  for (const DeviceBinary& binary : image.binaries) {
    ByteWriter writer;
    Code(writer, binary);
    writer.Append(binary.bytes);
    sections.push_back({SectionKind::kBinary, std::move(writer).Take()});
  }
  return sections;
}

std::vector<uint8_t> Write(const Image& image) {
  const std::vector<Section> sections = SectionsOf(image);
  const size_t table = AlignUp8(kFixedBytes + sizeof(uint32_t) + image.platform.size());
  size_t end = table + sections.size() * kEntryBytes;
  for (const Section& section : sections) end = AlignUp8(end) + section.bytes.size();
  const size_t total = AlignUp8(end) + kDigestBytes;

  ByteWriter writer;
  writer.Append(kImageMagic);
  writer.Number(kImageVersion);
  writer.Number(static_cast<uint32_t>(sections.size()));
  writer.Number(static_cast<uint64_t>(total));
  writer.Append(image.fingerprint);
  writer.Text(image.platform);
  writer.PadTo(8);
  size_t offset = table + sections.size() * kEntryBytes;
  for (const Section& section : sections) {
    writer.Number(static_cast<uint32_t>(section.kind));
    writer.Number(uint32_t{0});
    writer.Number(static_cast<uint64_t>(offset));
    writer.Number(static_cast<uint64_t>(section.bytes.size()));
    writer.Append(base::HashBytes(section.bytes));
    offset = AlignUp8(offset + section.bytes.size());
  }
  for (const Section& section : sections) {
    writer.Append(section.bytes);
    writer.PadTo(8);
  }
  writer.Append(base::HashBytes(writer.bytes()));
  return std::move(writer).Take();
}

Status Damaged(const char* what) {
  return MakeStatus(StatusCode::kProgramFormat, "the program image is damaged: %s", what);
}

// Magic, version and length, in the order that gives the most telling message.
Status CheckFrame(std::span<const uint8_t> bytes) {
  const size_t magic = std::min(bytes.size(), kImageMagic.size());
  if (magic == 0 ||
      !std::equal(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(magic), kImageMagic.begin())) {
    return Status(StatusCode::kProgramFormat, "not a program image: it does not begin with PYPTOIMG");
  }
  if (bytes.size() < kFixedBytes) {
    return MakeStatus(StatusCode::kProgramFormat, "the program image is truncated: %zu bytes", bytes.size());
  }
  uint32_t version = 0;
  uint64_t total = 0;
  std::memcpy(&version, bytes.data() + 8, sizeof version);
  std::memcpy(&total, bytes.data() + 16, sizeof total);
  if (version != kImageVersion) {
    return MakeStatus(
        StatusCode::kProgramFormat,
        "the program image has format version %u, this library reads version %u; compile the kernel again "
        "or use a matching pypto",
        version, kImageVersion);
  }
  if (total != bytes.size() || bytes.size() < kSmallestImage) {
    return MakeStatus(StatusCode::kProgramFormat, "the program image is truncated or extended: %zu bytes, it says %llu",
                      bytes.size(), static_cast<unsigned long long>(total));
  }
  const base::Digest expected = base::HashBytes(bytes.first(bytes.size() - kDigestBytes));
  if (std::equal(expected.begin(), expected.end(), bytes.end() - kDigestBytes)) return base::OkStatus();
  return Damaged("its checksum does not match its content");
}

bool AllZero(std::span<const uint8_t> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](uint8_t byte) { return byte == 0; });
}

Status TakeSection(Image& image, SectionKind kind, std::span<const uint8_t> bytes, size_t index) {
  const bool in_order = index == 0   ? kind == SectionKind::kPlan
                        : index == 1 ? kind == SectionKind::kDebug
                                     : kind == SectionKind::kBinary;
  if (!in_order) return Damaged("a section is missing or of an unknown kind");
  if (kind == SectionKind::kPlan) {
    PYPTO_ASSIGN_OR_RETURN(image.plan, ParsePlan(bytes));
  } else if (kind == SectionKind::kDebug) {
    PYPTO_ASSIGN_OR_RETURN(image.debug, ParseDebug(bytes));
  } else {
    ByteReader reader(bytes);
    DeviceBinary binary;
    Code(reader, binary);
    if (!reader.ok()) return Damaged("the description of a device binary does not fit");
    const auto rest = bytes.subspan(reader.position());
    binary.bytes.assign(rest.begin(), rest.end());
    image.binaries.push_back(std::move(binary));
  }
  return base::OkStatus();
}

Status ReadSections(Image& image, std::span<const uint8_t> bytes) {
  ByteReader reader(bytes.subspan(kFixedBytes));
  reader.Text(image.platform);
  if (!reader.ok() || image.platform.empty() || image.platform.size() > kMaxPlatformBytes) {
    return Damaged("its platform name is cut off, empty or too long");
  }
  uint32_t count = 0;
  std::memcpy(&count, bytes.data() + 12, sizeof count);
  const size_t table = AlignUp8(kFixedBytes + reader.position());
  const size_t limit = bytes.size() - kDigestBytes;
  if (count < 2 || count > kMaxSections || table + count * kEntryBytes > limit) {
    return Damaged("its section table does not fit");
  }
  const size_t platform_end = kFixedBytes + reader.position();
  if (!AllZero(bytes.subspan(platform_end, table - platform_end))) return Damaged("padding is not zero");
  size_t next = table + count * kEntryBytes;
  for (uint32_t i = 0; i < count; ++i) {
    ByteReader entry(bytes.subspan(table + i * kEntryBytes, kEntryBytes));
    uint32_t kind = 0;
    uint32_t reserved = 0;
    uint64_t offset = 0;
    uint64_t size = 0;
    entry.Number(kind);
    entry.Number(reserved);
    entry.Number(offset);
    entry.Number(size);
    if (reserved != 0 || offset != next || size > limit - next) return Damaged("a section lies outside of it");
    const auto content = bytes.subspan(offset, size);
    const base::Digest digest = base::HashBytes(content);
    if (!std::equal(digest.begin(), digest.end(), bytes.data() + table + i * kEntryBytes + entry.position())) {
      return Damaged("the checksum of a section does not match its content");
    }
    PYPTO_RETURN_IF_ERROR(TakeSection(image, static_cast<SectionKind>(kind), content, i));
    next = AlignUp8(offset + size);
    if (next > limit) return Damaged("a section lies outside of it");
    if (!AllZero(bytes.subspan(offset + size, next - offset - size))) return Damaged("padding is not zero");
  }
  return next == limit ? CheckBinaries(image) : Damaged("bytes are left over");
}

}  // namespace

std::shared_ptr<const Image> MakeImage(std::string platform, Plan plan, DebugInfo debug,
                                       std::vector<DeviceBinary> binaries) {
  auto image = std::make_shared<Image>();
  image->platform = std::move(platform);
  image->plan = std::move(plan);
  image->debug = std::move(debug);
  image->binaries = std::move(binaries);
  image->fingerprint = Fingerprint(*image);
  image->bytes = Write(*image);
  return image;
}

base::Result<std::shared_ptr<const Image>> ReadImage(std::span<const uint8_t> bytes) {
  PYPTO_RETURN_IF_ERROR(CheckFrame(bytes));
  auto image = std::make_shared<Image>();
  PYPTO_RETURN_IF_ERROR(ReadSections(*image, bytes));
  image->fingerprint = Fingerprint(*image);
  if (!std::equal(image->fingerprint.begin(), image->fingerprint.end(), bytes.data() + 24)) {
    return Damaged("its fingerprint does not match its content");
  }
  image->bytes.assign(bytes.begin(), bytes.end());
  return std::shared_ptr<const Image>(std::move(image));
}

std::shared_ptr<const Image> WithKernelAt(const Image& image, const std::string& path, int32_t def_line) {
  auto placed = std::make_shared<Image>(image);
  if (!placed->debug.files.empty()) {
    placed->debug.files.front().path = path;
    placed->debug.files.front().def_line = def_line;
  }
  return placed;
}

bool IsSame(const Image& a, const Image& b) {
  return &a == &b ||
         (a.fingerprint == b.fingerprint && a.debug.files == b.debug.files && a.debug.places == b.debug.places);
}

std::vector<SectionInfo> ListSections(const Image& image) {
  std::vector<SectionInfo> listed;
  for (const Section& section : SectionsOf(image)) {
    const char* name = section.kind == SectionKind::kPlan    ? "plan"
                       : section.kind == SectionKind::kDebug ? "debug"
                                                             : "binary";
    listed.push_back({name, section.bytes.size()});
  }
  return listed;
}

std::string SourceHash(const DebugInfo& debug) {
  if (debug.files.empty() || debug.files.front().text.empty()) return {};
  const std::string& text = debug.files.front().text;
  return base::DigestHex(base::HashBytes({reinterpret_cast<const uint8_t*>(text.data()), text.size()}));
}

bool LooksLikeImage(std::span<const uint8_t> bytes) {
  return bytes.size() >= kSmallestImage && std::equal(kImageMagic.begin(), kImageMagic.end(), bytes.begin());
}

}  // namespace pypto::program
