// Programs out of device binaries: what is refused, what the file keeps, where arguments lie.
#include "pypto/program/prebuilt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pypto::program {
namespace {

using ::testing::HasSubstr;

PrebuiltParameter Tensor(std::string name, std::vector<PrebuiltDim> dims, Direction direction = Direction::kIn) {
  return {std::move(name), true, DType::kFp16, direction, std::move(dims)};
}
PrebuiltParameter Scalar(std::string name, DType dtype) { return {std::move(name), false, dtype, Direction::kIn, {}}; }

struct Spec {
  std::vector<PrebuiltParameter> parameters{
      Tensor("x", {{0, "rows"}, {16, ""}}), Scalar("n", DType::kInt32),
      Scalar("scale", DType::kFp32),        Scalar("big", DType::kInt64),
      Scalar("flag", DType::kInt32),        Tensor("out", {{0, "rows"}, {16, ""}}, Direction::kOut)};
  DeviceBinary binary;

  Spec() {
    binary.entry = "axpy";
    binary.core = CoreKind::kVector;
    binary.blocks = 40;
    binary.bytes = {0x7f, 'E', 'L', 'F'};
  }
  auto Make() const { return MakePrebuilt("a2a3", parameters, binary); }
  std::string Refused() const {
    const auto image = Make();
    EXPECT_FALSE(image.ok());
    if (image.ok()) return {};
    EXPECT_EQ(image.status().code(), base::StatusCode::kInvalidArgument);
    return std::string(image.status().message());
  }
};

TEST(Prebuilt, TheFileKeepsEverything) {
  const auto made = Spec().Make();
  ASSERT_TRUE(made.ok()) << made.status().ToString();
  const auto read = ReadImage((*made)->bytes);
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  const Image& image = **read;
  EXPECT_EQ(image.fingerprint, (*made)->fingerprint);
  EXPECT_EQ(image.plan.name, "axpy");
  ASSERT_EQ(image.plan.parameters.size(), 6u);
  EXPECT_EQ(image.plan.parameters[5].direction, Direction::kOut);
  EXPECT_EQ(image.plan.parameters[5].dims[0].symbol, 0);
  ASSERT_EQ(image.plan.symbols.size(), 1u);
  ASSERT_NE(PackedBinaryOf(image), nullptr);
  EXPECT_EQ(PackedBinaryOf(image)->blocks, 40u);
  EXPECT_EQ(PackedBinaryOf(image)->core, CoreKind::kVector);
  Spec other;
  other.binary.blocks = 41;
  EXPECT_NE((*other.Make())->fingerprint, (*made)->fingerprint);
}

TEST(Prebuilt, ParametersLieAtTheirNaturalAlignment) {
  Spec spec;
  const auto offsets = [&] {
    const auto image = spec.Make();
    const PackedLayout layout = LayOutArguments((*image)->plan, *PackedBinaryOf(**image));
    std::vector<uint32_t> found;
    for (const PackedSlot& slot : layout.slots) found.push_back(slot.offset);
    found.push_back(layout.bytes);
    return found;
  };
  // x 0, n 8, scale 12, big 16, flag 24, out 32
  EXPECT_EQ(offsets(), (std::vector<uint32_t>{0, 8, 12, 16, 24, 32, 40}));
  spec.binary.takes_sync_address = true;
  EXPECT_EQ(offsets(), (std::vector<uint32_t>{8, 16, 20, 24, 32, 40, 48}));
  spec.parameters.pop_back();
  EXPECT_EQ(offsets(), (std::vector<uint32_t>{8, 16, 20, 24, 32, 40}));
}

TEST(Prebuilt, WrongSpecificationsAreRefused) {
  const auto with = [](auto change) {
    Spec spec;
    change(spec);
    return spec.Refused();
  };
  EXPECT_THAT(with([](Spec& s) { s.binary.entry.clear(); }), HasSubstr("entry is 0 bytes long"));
  EXPECT_THAT(with([](Spec& s) { s.binary.bytes.clear(); }), HasSubstr("the binary is empty"));
  EXPECT_THAT(with([](Spec& s) { s.binary.blocks = 0; }), HasSubstr("blocks=0 is outside 1 to 65535"));
  EXPECT_THAT(with([](Spec& s) { s.binary.blocks = 65536; }), HasSubstr("blocks=65536"));
  EXPECT_THAT(with([](Spec& s) { s.parameters.clear(); }), HasSubstr("0 parameters: a kernel takes 1 to 128"));
  EXPECT_THAT(with([](Spec& s) { s.parameters[1].name = "x"; }), HasSubstr("two parameters are named 'x'"));
  EXPECT_THAT(with([](Spec& s) { s.parameters[1].name.clear(); }), HasSubstr("a parameter has no name"));
  EXPECT_THAT(with([](Spec& s) { s.parameters[1].dtype = DType::kFp16; }),
              HasSubstr("scalar 'n' has dtype DT_FP16: scalars travel as DT_INT32, DT_INT64 or DT_FP32"));
  EXPECT_THAT(with([](Spec& s) { s.parameters[0].dims[1].size = 0; }), HasSubstr("a dim of 0"));
  EXPECT_THAT(with([](Spec& s) { s.parameters[0].dims.resize(7, {1, ""}); }), HasSubstr("has 7 dims"));
}

TEST(Prebuilt, AFileWithAnImpossibleBinaryIsRefused) {
  const auto made = *Spec().Make();
  const auto refused = [&](auto change) {
    Image copy = *made;
    change(copy);
    const auto image = MakeImage(copy.platform, copy.plan, copy.debug, copy.binaries);
    const auto read = ReadImage(image->bytes);
    EXPECT_FALSE(read.ok());
    return read.ok() ? std::string() : std::string(read.status().message());
  };
  EXPECT_THAT(refused([](Image& i) { i.binaries[0].entry.clear(); }), HasSubstr("no entry, no code or no blocks"));
  EXPECT_THAT(refused([](Image& i) { i.binaries[0].blocks = 70000; }), HasSubstr("no entry, no code or no blocks"));
  EXPECT_THAT(refused([](Image& i) { i.binaries[0].bytes.clear(); }), HasSubstr("no entry, no code or no blocks"));
  EXPECT_THAT(refused([](Image& i) { i.plan.parameters[1].dtype = DType::kBf16; }), HasSubstr("impossible type"));
  EXPECT_THAT(refused([](Image& i) {
                i.plan.parameters.clear();
                i.plan.symbols.clear();
                i.plan.scalars.clear();
              }),
              HasSubstr("too many parameters, or none"));
  EXPECT_THAT(refused([](Image& i) { i.binaries[0].core = static_cast<CoreKind>(9); }), HasSubstr("does not fit"));
}

}  // namespace
}  // namespace pypto::program
