// Device and host memory.
#include "pypto/acl/memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "acl/fake_library.h"

namespace pypto::acl {
namespace {

TEST(Memory, IsFreedByItsOwner) {
  const auto table = LoadFake();
  ASSERT_EQ(table->aclrtSetDevice(0), 0);
  {
    auto device = DeviceMemory::Allocate(*table, 100);
    auto host = HostMemory::Allocate(*table, 64);
    ASSERT_TRUE(device.ok() && host.ok());
    EXPECT_EQ(device->bytes(), 100U);
    EXPECT_EQ(device->address(), reinterpret_cast<uintptr_t>(device->data()));
    EXPECT_EQ(host->bytes(), 64U);
    EXPECT_NE(host->data(), nullptr);
    EXPECT_EQ(ControlOf(*table).live.size(), 2U);
    EXPECT_TRUE(device->Close().ok());
    EXPECT_EQ(device->bytes(), 0U);
  }
  EXPECT_TRUE(ControlOf(*table).live.empty());
}

TEST(Memory, OutOfMemorySaysAskedFreeAndTotal) {
  const auto table = LoadFake();
  const auto memory = DeviceMemory::Allocate(*table, 2000);
  ASSERT_FALSE(memory.ok());
  const base::Status& status = memory.status();
  EXPECT_EQ(status.code(), base::StatusCode::kOutOfDeviceMemory);
  ASSERT_NE(status.memory_shortage(), nullptr);
  EXPECT_EQ(status.memory_shortage()->asked, 2000U);
  EXPECT_EQ(status.memory_shortage()->free, 1000U);
  EXPECT_EQ(status.memory_shortage()->total, 5000U);
  EXPECT_THAT(status.ToString(), testing::HasSubstr("2000 bytes: 1000 free of 5000"));
  EXPECT_THAT(status.ToString(), testing::HasSubstr("EL0004: no memory"));
  EXPECT_EQ(status.acl_failure()->code, acl_abi::kErrorRtMemoryAllocation);
}

TEST(Memory, OtherFailuresStayAclErrors) {
  const auto table = LoadFake();
  EXPECT_EQ(DeviceMemory::Allocate(*table, 0).status().code(), base::StatusCode::kAcl);
}

TEST(Memory, ALibraryWithoutHostMemorySaysSo) {
  const auto table = LoadFake("older.so");
  EXPECT_EQ(HostMemory::Allocate(*table, 64).status().acl_failure()->failure_class, "not_supported");
}

TEST(Memory, FreeAndTotalComeFromTheKindTheChipHas) {
  const auto table = LoadFake();
  const auto memory = QueryMemory(*table);
  ASSERT_TRUE(memory.ok());
  EXPECT_EQ(memory->free, 1000U);
  EXPECT_EQ(memory->total, 5000U);
}

}  // namespace
}  // namespace pypto::acl
