// Program images: determinism, identity, and damage.
#include "pypto/program/image.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "program/random_plan.h"

namespace pypto::program {
namespace {

using base::StatusCode;

std::shared_ptr<const Image> Sample() { return MakeImage("a2a3sim", SamplePlan(), SampleDebug(), {}); }

// Puts the right checksum behind bytes that were changed on purpose.
std::vector<uint8_t> Sealed(std::vector<uint8_t> bytes) {
  const base::Digest digest = base::HashBytes(std::span(bytes).first(bytes.size() - 32));
  std::copy(digest.begin(), digest.end(), bytes.end() - 32);
  return bytes;
}

std::string Error(std::span<const uint8_t> bytes) {
  const auto image = ReadImage(bytes);
  if (image.ok()) return "";
  EXPECT_EQ(image.status().code(), StatusCode::kProgramFormat);
  return std::string(image.status().message());
}

DeviceBinary Binary(std::string chip, std::vector<uint8_t> bytes) {
  DeviceBinary binary;
  binary.chip = std::move(chip);
  binary.entry = "kernel";
  binary.core = CoreKind::kVector;
  binary.layout = BinaryLayout::kLaunchBlock;
  binary.takes_sync_address = true;
  binary.blocks = 40;
  binary.bytes = std::move(bytes);
  return binary;
}

TEST(ImageTest, RoundTrip) {
  const auto image =
      MakeImage("a2a3", SamplePlan(), SampleDebug(), {Binary("Ascend910B3", {1, 2, 3}), Binary("Ascend910B4", {4})});
  EXPECT_TRUE(LooksLikeImage(image->bytes));
  const auto read = ReadImage(image->bytes);
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ((*read)->platform, "a2a3");
  EXPECT_EQ((*read)->fingerprint, image->fingerprint);
  EXPECT_EQ((*read)->bytes, image->bytes);
  EXPECT_EQ((*read)->debug.files.at(0).text, SampleDebug().files[0].text);
  ASSERT_EQ((*read)->binaries.size(), 2u);
  EXPECT_EQ((*read)->binaries[0].chip, "Ascend910B3");
  EXPECT_EQ((*read)->binaries[0].bytes, (std::vector<uint8_t>{1, 2, 3}));
  EXPECT_EQ((*read)->binaries[0].entry, "kernel");
  EXPECT_EQ((*read)->binaries[0].core, CoreKind::kVector);
  EXPECT_EQ((*read)->binaries[0].layout, BinaryLayout::kLaunchBlock);
  EXPECT_TRUE((*read)->binaries[0].takes_sync_address);
  EXPECT_EQ((*read)->binaries[0].blocks, 40u);
  EXPECT_EQ((*read)->binaries[1].bytes, (std::vector<uint8_t>{4}));
  EXPECT_EQ(SerializePlan((*read)->plan), SerializePlan(image->plan));
}

TEST(ImageTest, EqualInputGivesEqualBytes) { EXPECT_EQ(Sample()->bytes, Sample()->bytes); }

TEST(ImageTest, FingerprintIgnoresDebugOnly) {
  const base::Digest fingerprint = Sample()->fingerprint;
  DebugInfo other = SampleDebug();
  other.places[1].line = 99;
  other.files[0].text = "def kernel():\n    # moved\n    pass\n";
  const auto moved = MakeImage("a2a3sim", SamplePlan(), other, {});
  EXPECT_EQ(moved->fingerprint, fingerprint);
  EXPECT_NE(moved->bytes, Sample()->bytes);
  EXPECT_NE(MakeImage("a5sim", SamplePlan(), SampleDebug(), {})->fingerprint, fingerprint);
  EXPECT_NE(MakeImage("a2a3sim", SamplePlan(), SampleDebug(), {Binary("chip", {1})})->fingerprint, fingerprint);
  EXPECT_NE(MakeImage("a2a3sim", SamplePlan(), SampleDebug(), {Binary("chip", {1})})->fingerprint,
            MakeImage("a2a3sim", SamplePlan(), SampleDebug(), {Binary("chip", {2})})->fingerprint);
}

TEST(ImageTest, FingerprintChangesWithEveryPartOfThePlan) {
  const base::Digest fingerprint = Sample()->fingerprint;
  const auto changed = [&](auto change) {
    Plan plan = SamplePlan();
    change(plan);
    return MakeImage("a2a3sim", std::move(plan), SampleDebug(), {})->fingerprint != fingerprint;
  };
  EXPECT_TRUE(changed([](Plan& plan) { plan.name = "other"; }));
  EXPECT_TRUE(changed([](Plan& plan) { plan.options.stitch_function_max_num = 64; }));
  EXPECT_TRUE(changed([](Plan& plan) { plan.parameters[0].name = "y"; }));
  EXPECT_TRUE(changed([](Plan& plan) { plan.storages[2].tensor_class = TensorClass::kExclusiveOutcast; }));
  EXPECT_TRUE(changed([](Plan& plan) { plan.roots[0].leaves[0].tile[0] = 8; }));
  EXPECT_TRUE(changed([](Plan& plan) { plan.roots[0].leaves[0].ops[0].inputs[1].float_value = 1.25; }));
  EXPECT_TRUE(changed([](Plan& plan) { plan.control[0].parallel = true; }));
  EXPECT_TRUE(changed([](Plan& plan) { plan.exprs.Const(4711); }));
  EXPECT_FALSE(changed([](Plan&) {}));
}

TEST(ImageTest, EveryAlteredByteIsRefused) {
  std::vector<uint8_t> bytes = Sample()->bytes;
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (const int change : {0x01, 0x80, 0xff}) {
      bytes[i] = static_cast<uint8_t>(bytes[i] ^ change);
      ASSERT_NE(Error(bytes), "") << "byte " << i;
      bytes[i] = static_cast<uint8_t>(bytes[i] ^ change);
    }
  }
  EXPECT_EQ(Error(bytes), "");
}

TEST(ImageTest, EveryAlteredByteUnderARightChecksumIsHandled) {
  const std::vector<uint8_t> original = Sample()->bytes;
  for (size_t i = 0; i + 32 < original.size(); ++i) {
    std::vector<uint8_t> bytes = original;
    bytes[i] = static_cast<uint8_t>(bytes[i] ^ 0x41);
    ASSERT_NE(Error(Sealed(bytes)), "") << "byte " << i;
  }
}

TEST(ImageTest, EveryTruncationIsRefused) {
  const std::vector<uint8_t> bytes = Sample()->bytes;
  for (size_t length = 0; length < bytes.size(); ++length)
    ASSERT_NE(Error(std::span(bytes).first(length)), "") << length;
  std::vector<uint8_t> longer = bytes;
  longer.push_back(0);
  EXPECT_THAT(Error(longer), testing::HasSubstr("truncated or extended"));
}

TEST(ImageTest, MessagesSayWhatIsWrong) {
  std::vector<uint8_t> bytes = Sample()->bytes;
  EXPECT_THAT(Error(std::vector<uint8_t>{}), testing::HasSubstr("not a program image"));
  EXPECT_THAT(Error(std::vector<uint8_t>{'E', 'L', 'F'}), testing::HasSubstr("not a program image"));
  EXPECT_THAT(Error(std::span(bytes).first(20)), testing::HasSubstr("truncated: 20 bytes"));
  bytes[8] = 2;
  EXPECT_THAT(Error(bytes), testing::HasSubstr("format version 2, this library reads version 3"));
  bytes[8] = 3;
  bytes[100] = static_cast<uint8_t>(bytes[100] ^ 1);
  EXPECT_THAT(Error(bytes), testing::HasSubstr("its checksum does not match"));
  bytes[100] = static_cast<uint8_t>(bytes[100] ^ 1);
  bytes[30] = static_cast<uint8_t>(bytes[30] ^ 1);
  EXPECT_THAT(Error(Sealed(bytes)), testing::HasSubstr("fingerprint does not match"));
  bytes[30] = static_cast<uint8_t>(bytes[30] ^ 1);
  bytes[12] = 200;
  EXPECT_THAT(Error(Sealed(bytes)), testing::HasSubstr("section table does not fit"));
  bytes[12] = 2;
  bytes[72] = 3;
  EXPECT_THAT(Error(Sealed(bytes)), testing::HasSubstr("a section is missing or of an unknown kind"));
}

// A program file of format version 3, byte for byte: any change here is a new version.
TEST(ImageTest, FormatIsFrozen) {
  Plan plan;
  plan.name = "empty";
  const auto image = MakeImage("a2a3sim", std::move(plan), {}, {});
  EXPECT_EQ(image->bytes.size(), 328u);
  EXPECT_EQ(base::DigestHex(base::HashBytes(image->bytes)),
            "c8105fefc38e7e35a96c4134561feda554f5e2a0866952a45cafdca0f3e2f4a9");
  EXPECT_TRUE(ReadImage(image->bytes).ok());
}

TEST(ImageTest, LooksLikeImageLooksAtMagicAndLength) {
  const std::vector<uint8_t> bytes = Sample()->bytes;
  EXPECT_FALSE(LooksLikeImage(std::span(bytes).first(100)));
  std::vector<uint8_t> other = bytes;
  other[0] = 'X';
  EXPECT_FALSE(LooksLikeImage(other));
}

}  // namespace
}  // namespace pypto::program
