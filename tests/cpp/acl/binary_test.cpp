// Kernel binaries.
#include "pypto/acl/binary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "acl/fake_library.h"

namespace pypto::acl {
namespace {

class BinaryTest : public testing::Test {
 protected:
  BinaryTest() : table_(LoadFake()) { EXPECT_EQ(table_->aclrtSetDevice(0), 0); }
  std::unique_ptr<Table> table_;
  std::array<std::byte, 16> image_{};
};

TEST_F(BinaryTest, LoadsWithItsMagicAndUnloads) {
  {
    const auto binary = Binary::LoadFromData(*table_, image_, acl_abi::kBinaryMagicVector);
    ASSERT_TRUE(binary.ok());
    EXPECT_EQ(ControlOf(*table_).last_magic, acl_abi::kBinaryMagicVector);
    const auto function = binary->Function("kernel");
    ASSERT_TRUE(function.ok());
    EXPECT_NE(function->raw(), nullptr);
  }
  EXPECT_TRUE(ControlOf(*table_).live.empty());
}

TEST_F(BinaryTest, AnUnknownKernelIsNamed) {
  const auto binary = Binary::LoadFromData(*table_, image_, acl_abi::kBinaryMagicAiCore);
  ASSERT_TRUE(binary.ok());
  const auto function = binary->Function("other");
  ASSERT_FALSE(function.ok());
  EXPECT_THAT(function.status().ToString(), testing::HasSubstr("while looking up kernel 'other'"));
}

TEST_F(BinaryTest, FilesAreLoadedByAbsolutePath) {
  EXPECT_TRUE(Binary::LoadFromFile(*table_, "/somewhere/kernel.o").ok());
  const auto relative = Binary::LoadFromFile(*table_, "kernel.o");
  ASSERT_FALSE(relative.ok());
  EXPECT_THAT(relative.status().ToString(), testing::HasSubstr("while loading 'kernel.o'"));
}

}  // namespace
}  // namespace pypto::acl
