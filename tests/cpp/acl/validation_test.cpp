// What the validation layer refuses, and what it reports.
#include "pypto/acl/layers/validation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "acl/fake_library.h"
#include "pypto/acl/binary.h"
#include "pypto/acl/context.h"
#include "pypto/acl/errors.h"
#include "pypto/acl/event.h"
#include "pypto/acl/layers/handle_rules.h"
#include "pypto/acl/memory.h"
#include "pypto/acl/stream.h"

namespace pypto::acl {
namespace {

using testing::HasSubstr;

class Validation : public testing::Test {
 protected:
  Validation() : table_(LoadFake("complete.so", "validation")), layer_(*table_->FindLayer<ValidationLayer>()) {
    EXPECT_EQ(table_->aclrtSetDevice(0), 0);
  }
  void* Malloc(size_t bytes) {
    void* pointer = nullptr;
    EXPECT_EQ(table_->aclrtMalloc(&pointer, bytes, acl_abi::kMallocHugeFirst), 0);
    return pointer;
  }

  std::unique_ptr<Table> table_;
  ValidationLayer& layer_;
};

TEST_F(Validation, OrdinaryUseIsNotDisturbed) {
  {
    const auto stream = Stream::Create(*table_);
    const auto event = Event::Create(*table_);
    const auto memory = DeviceMemory::Allocate(*table_, 64);
    const auto context = Context::Create(*table_, 0);
    ASSERT_TRUE(stream.ok() && event.ok() && memory.ok() && context.ok());
    EXPECT_EQ(layer_.live_count(), 4U);
    EXPECT_TRUE(RecordEvent(*table_, *event, *stream).ok());
    EXPECT_TRUE(RecordEvent(*table_, *event, StreamView()).ok());
    const char host[64] = {};
    EXPECT_EQ(table_->aclrtMemcpy(memory->data(), size_t{64}, host, size_t{64}, acl_abi::kMemcpyHostToDevice), 0);
    EXPECT_EQ(table_->aclrtMemset(memory->data(), size_t{64}, 0, size_t{64}), 0);
  }
  EXPECT_EQ(layer_.refusals(), 0U) << layer_.last_refusal();
  EXPECT_EQ(table_->aclrtResetDevice(0), 0);
  EXPECT_EQ(layer_.LeakReport(), "");
}

TEST_F(Validation, DestroyingTwiceIsRefused) {
  void* pointer = Malloc(8);
  EXPECT_EQ(table_->aclrtFree(pointer), 0);
  EXPECT_EQ(table_->aclrtFree(pointer), acl_abi::kErrorRtInvalidHandle);
  EXPECT_THAT(layer_.last_refusal(), HasSubstr("aclrtFree refused: device memory 0x"));
  EXPECT_THAT(layer_.last_refusal(), HasSubstr("is gone since aclrtFree, call "));
  EXPECT_EQ(layer_.refusals(), 1U);
}

TEST_F(Validation, AnUnknownHandleIsRefused) {
  int marker = 0;
  EXPECT_EQ(table_->aclrtDestroyStream(static_cast<void*>(&marker)), acl_abi::kErrorRtInvalidHandle);
  EXPECT_THAT(layer_.last_refusal(), HasSubstr("was never made here"));
  EXPECT_EQ(table_->aclrtSynchronizeStream(static_cast<void*>(&marker)), acl_abi::kErrorRtInvalidHandle);
}

TEST_F(Validation, AHandleOfAnotherKindIsRefused) {
  auto stream = Stream::Create(*table_);
  ASSERT_TRUE(stream.ok());
  EXPECT_EQ(table_->aclrtDestroyEvent(stream->raw()), acl_abi::kErrorRtInvalidHandle);
  EXPECT_THAT(layer_.last_refusal(), HasSubstr("is not a event"));
  EXPECT_TRUE(stream->Close().ok());
}

TEST_F(Validation, UsingADestroyedHandleIsRefused) {
  const auto event = Event::Create(*table_);
  auto stream = Stream::Create(*table_);
  ASSERT_TRUE(event.ok() && stream.ok());
  void* raw = stream->raw();
  ASSERT_TRUE(stream->Close().ok());
  EXPECT_EQ(table_->aclrtRecordEvent(event->raw(), raw), acl_abi::kErrorRtInvalidHandle);
}

TEST_F(Validation, NullIsLeftToTheLibrary) {
  EXPECT_EQ(table_->aclrtSynchronizeStream(nullptr), 0);
  EXPECT_EQ(table_->aclrtFree(nullptr), acl_abi::kErrorRtInvalidHandle);
  EXPECT_EQ(layer_.refusals(), 0U);
}

TEST_F(Validation, WhatTheLibraryHandsOutIsItsOwn) {
  const ContextView primary = *CurrentContext(*table_);
  EXPECT_EQ(table_->aclrtSetCurrentContext(primary.raw()), 0);
  EXPECT_EQ(table_->aclrtDestroyContext(primary.raw()), acl_abi::kErrorRtInvalidHandle);
  EXPECT_THAT(layer_.last_refusal(), HasSubstr("the library owns context"));
  EXPECT_EQ(layer_.live_count(), 0U);
}

TEST_F(Validation, FunctionsEndWithTheirBinary) {
  const std::byte image[8] = {};
  auto binary = Binary::LoadFromData(*table_, image, acl_abi::kBinaryMagicVector);
  ASSERT_TRUE(binary.ok());
  const auto function = binary->Function("kernel");
  ASSERT_TRUE(function.ok());
  EXPECT_EQ(table_->aclrtLaunchKernel(function->raw(), 1U, nullptr, size_t{0}, nullptr), 0);
  EXPECT_TRUE(binary->Close().ok());
  EXPECT_EQ(table_->aclrtLaunchKernel(function->raw(), 1U, nullptr, size_t{0}, nullptr),
            acl_abi::kErrorRtInvalidHandle);
  EXPECT_THAT(layer_.last_refusal(), HasSubstr("is gone since aclrtBinaryUnLoad"));
}

TEST_F(Validation, CopiesStayInTheirBlock) {
  void* device = Malloc(64);
  char host[128] = {};
  void* inside = static_cast<char*>(device) + 8;
  EXPECT_EQ(table_->aclrtMemcpy(inside, size_t{56}, host, size_t{56}, acl_abi::kMemcpyHostToDevice), 0);
  EXPECT_EQ(table_->aclrtMemcpy(inside, size_t{57}, host, size_t{57}, acl_abi::kMemcpyHostToDevice),
            acl_abi::kErrorRtParamInvalid);
  EXPECT_THAT(layer_.last_refusal(), HasSubstr("57 bytes from offset 8 leave device memory"));
  EXPECT_EQ(table_->aclrtMemcpyAsync(host, size_t{128}, device, size_t{65}, acl_abi::kMemcpyDeviceToHost, nullptr),
            acl_abi::kErrorRtParamInvalid);
  EXPECT_EQ(table_->aclrtMemsetAsync(device, size_t{128}, 0, size_t{65}, nullptr), acl_abi::kErrorRtParamInvalid);
  EXPECT_EQ(table_->aclrtFree(device), 0);
  EXPECT_EQ(table_->aclrtMemcpy(device, size_t{8}, host, size_t{8}, acl_abi::kMemcpyHostToDevice),
            acl_abi::kErrorRtParamInvalid);
}

TEST_F(Validation, FreedHostMemoryMayBecomeAnybodys) {
  auto host = HostMemory::Allocate(*table_, 64);
  ASSERT_TRUE(host.ok());
  const void* address = host->data();
  ASSERT_TRUE(host->Close().ok());
  void* device = Malloc(64);
  EXPECT_EQ(table_->aclrtMemcpy(device, size_t{64}, address, size_t{0}, acl_abi::kMemcpyHostToDevice), 0);
  EXPECT_EQ(layer_.refusals(), 0U) << layer_.last_refusal();
  EXPECT_EQ(table_->aclrtFree(device), 0);
}

TEST_F(Validation, ADeviceIsResetAsOftenAsItWasSet) {
  EXPECT_EQ(table_->aclrtResetDevice(0), 0);
  EXPECT_EQ(table_->aclrtResetDevice(0), acl_abi::kErrorRtParamInvalid);
  EXPECT_THAT(layer_.last_refusal(), HasSubstr("device 0 is not set here"));
}

TEST_F(Validation, TheReportSaysWhatAndWhere) {
  void* pointer = Malloc(24);
  auto stream = Stream::Create(*table_);
  ASSERT_TRUE(stream.ok());
  const std::string report = layer_.LeakReport();
  EXPECT_THAT(report, HasSubstr("3 ACL objects are left at the end:"));
  EXPECT_THAT(report, HasSubstr("device memory 0x"));
  EXPECT_THAT(report, HasSubstr("of 24 bytes (from aclrtMalloc, call "));
  EXPECT_THAT(report, HasSubstr("stream 0x"));
  EXPECT_THAT(report, HasSubstr(" at "));
  EXPECT_THAT(report, HasSubstr("test_acl"));
  EXPECT_EQ(table_->aclrtFree(pointer), 0);
}

// One thread is given the address that another has just freed: the books follow.
TEST_F(Validation, ThreadsThatReuseAddressesAreNotRefused) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      static_cast<void>(table_->aclrtSetDevice(0));
      for (int round = 0; round < 500; ++round) EXPECT_TRUE(DeviceMemory::Allocate(*table_, 16).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(layer_.refusals(), 0U) << layer_.last_refusal();
  EXPECT_EQ(layer_.live_count(), 0U);
}

TEST(HandleRules, EveryFunctionWithAHandleToDestroyHasARule) {
  for (const SlotDescription& slot : Slots()) {
    const std::string_view name = slot.name;
    const bool destroys =
        name.find("Destroy") != std::string_view::npos || name.starts_with("aclrtFree") || name == "aclrtBinaryUnLoad";
    const auto rules = HandleRulesOf(slot.id);
    EXPECT_EQ(destroys, !rules.empty() && rules[0].role == HandleRole::kDestroys) << name;
    const bool creates =
        name.starts_with("aclrtCreate") || name.starts_with("aclrtMalloc") || name.starts_with("aclrtBinaryLoad");
    EXPECT_EQ(creates, !rules.empty() && rules.back().role == HandleRole::kCreates) << name;
  }
}

}  // namespace
}  // namespace pypto::acl
