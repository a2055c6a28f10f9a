// Fault injection, call log, and how layers stack.
#include "pypto/acl/layers/layers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "acl/fake_library.h"
#include "pypto/acl/layers/call_log.h"
#include "pypto/acl/layers/fault_injection.h"
#include "pypto/acl/layers/validation.h"
#include "pypto/acl/memory.h"

namespace pypto::acl {
namespace {

using testing::ElementsAre;
using testing::MatchesRegex;

TEST(FaultInjection, FailsTheNthCallOfOneFunction) {
  const auto table = LoadFake("complete.so", "fault");
  auto* faults = table->FindLayer<FaultInjectionLayer>();
  faults->Fail(CallId::aclrtSetDevice, 1, acl_abi::kErrorRtDeviceSetup, 2);
  uint32_t count = 0;
  EXPECT_EQ(table->aclrtGetDeviceCount(&count), 0);
  EXPECT_EQ(table->aclrtSetDevice(0), 0);
  EXPECT_EQ(table->aclrtSetDevice(0), acl_abi::kErrorRtDeviceSetup);
  EXPECT_EQ(table->aclrtSetDevice(0), acl_abi::kErrorRtDeviceSetup);
  EXPECT_EQ(table->aclrtSetDevice(0), 0);
  EXPECT_EQ(ControlOf(*table).device_sets[0], 2);
  EXPECT_EQ(faults->fired(), 2U);
  EXPECT_EQ(faults->last_fired(), CallId::aclrtSetDevice);
}

TEST(FaultInjection, FailsTheNthCallOfAnyFunctionThatReportsErrors) {
  const auto table = LoadFake("complete.so", "fault");
  auto* faults = table->FindLayer<FaultInjectionLayer>();
  faults->FailAny(1, 4711);
  uint32_t count = 0;
  EXPECT_NE(table->aclrtGetSocName(), nullptr);
  EXPECT_EQ(table->aclGetRecentErrMsg(), nullptr);
  EXPECT_EQ(table->aclrtGetDeviceCount(&count), 0);
  EXPECT_EQ(table->aclrtSetDevice(0), 4711);
  EXPECT_EQ(table->aclrtSetDevice(0), 0);
  faults->FailAny(0, 4712);
  faults->Clear();
  EXPECT_EQ(table->aclrtSetDevice(0), 0);
  EXPECT_EQ(faults->fired(), 0U);
  EXPECT_FALSE(faults->last_fired().has_value());
}

TEST(CallLog, NotesArgumentsAndResults) {
  const auto table = LoadFake("complete.so", "log");
  auto* log = table->FindLayer<CallLogLayer>();
  EXPECT_EQ(table->aclInit(""), 0);
  EXPECT_EQ(table->aclrtSetDevice(-1 + 1), 0);
  EXPECT_EQ(table->aclrtMalloc(nullptr, size_t{0}, acl_abi::kMallocNormalOnly), acl_abi::kErrorInvalidParam);
  EXPECT_NE(table->aclrtGetSocName(), nullptr);
  table->aclAppLog(acl_abi::kLogWarning, "f", "file.cpp", 7U, "%g", 1.5);
  EXPECT_THAT(log->Lines(),
              ElementsAre("aclInit(\"\") = 0", "aclrtSetDevice(0) = 0", "aclrtMalloc(null, 0, 2) = 100000",
                          "aclrtGetSocName() = \"Ascend910B3\"", "aclAppLog(2, \"f\", \"file.cpp\", 7, \"%g\", 1.5)"));
  log->Clear();
  void* pointer = nullptr;
  EXPECT_EQ(table->aclrtMalloc(&pointer, size_t{8}, acl_abi::kMallocNormalOnly), 0);
  EXPECT_EQ(table->aclrtFree(pointer), 0);
  EXPECT_THAT(log->Lines(), ElementsAre(MatchesRegex("aclrtMalloc\\(0x[0-9a-f]+, 8, 2\\) = 0"),
                                        MatchesRegex("aclrtFree\\(0x[0-9a-f]+\\) = 0")));
}

TEST(CallLog, KeepsABoundedNumberOfLines) {
  const auto table = LoadFake("complete.so", "log");
  uint32_t count = 0;
  for (size_t i = 0; i < CallLogLayer::kKept + 10; ++i) EXPECT_EQ(table->aclrtGetDeviceCount(&count), 0);
  EXPECT_EQ(table->FindLayer<CallLogLayer>()->Lines().size(), CallLogLayer::kKept);
}

// An outer log sees the injected failure, an inner one does not see the call at all.
TEST(Layers, StackInTheOrderOfTheList) {
  const auto outside = LoadFake("complete.so", "log,fault");
  outside->FindLayer<FaultInjectionLayer>()->Fail(CallId::aclrtSetDevice, 0, 5);
  EXPECT_EQ(outside->aclrtSetDevice(0), 5);
  EXPECT_THAT(outside->FindLayer<CallLogLayer>()->Lines(), ElementsAre("aclrtSetDevice(0) = 5"));

  const auto inside = LoadFake("complete.so", "fault,log");
  inside->FindLayer<FaultInjectionLayer>()->Fail(CallId::aclrtSetDevice, 0, 5);
  EXPECT_EQ(inside->aclrtSetDevice(0), 5);
  EXPECT_THAT(inside->FindLayer<CallLogLayer>()->Lines(), ElementsAre());
}

TEST(Layers, AFailureBelowValidationKeepsTheHandleAlive) {
  const auto table = LoadFake("complete.so", "validation,fault");
  ASSERT_EQ(table->aclrtSetDevice(0), 0);
  void* pointer = nullptr;
  ASSERT_EQ(table->aclrtMalloc(&pointer, size_t{8}, acl_abi::kMallocHugeFirst), 0);
  table->FindLayer<FaultInjectionLayer>()->Fail(CallId::aclrtFree, 0, acl_abi::kErrorRtInternal);
  EXPECT_EQ(table->aclrtFree(pointer), acl_abi::kErrorRtInternal);
  EXPECT_EQ(table->FindLayer<ValidationLayer>()->live_count(), 1U);
  EXPECT_EQ(table->aclrtFree(pointer), 0);
  EXPECT_EQ(table->FindLayer<ValidationLayer>()->live_count(), 0U);
}

TEST(Layers, NamesAreChecked) {
  const auto table = LoadFake();
  EXPECT_TRUE(InstallLayers(*table, "").ok());
  EXPECT_TRUE(InstallLayers(*table, " , ").ok());
  EXPECT_EQ(table->FindLayer<CallLogLayer>(), nullptr);
  EXPECT_EQ(InstallLayers(*table, "Log").code(), base::StatusCode::kInvalidArgument);
  EXPECT_TRUE(InstallLayers(*table, "log").ok());
  EXPECT_EQ(table->FindLayer<CallLogLayer>()->name(), "log");
}

}  // namespace
}  // namespace pypto::acl
