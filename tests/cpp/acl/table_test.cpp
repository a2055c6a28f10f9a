// Slots, typed methods, missing functions, two tables side by side.
#include "pypto/acl/table.h"

#include <gtest/gtest.h>

#include "acl/fake_library.h"
#include "pypto/acl/errors.h"
#include "pypto/acl/layers/call_log.h"

namespace pypto::acl {
namespace {

TEST(Table, EveryFunctionOfTheListHasItsOwnSlot) {
  ASSERT_EQ(Slots().size(), kCallCount);
  ASSERT_EQ(sizeof(Functions), kCallCount * sizeof(void*));
  for (const SlotDescription& slot : Slots()) {
    Functions functions;
    int marker = 0;
    SetSlotValue(functions, slot, &marker);
    size_t filled = 0;
    for (const SlotDescription& other : Slots()) filled += SlotValue(functions, other) != nullptr ? 1 : 0;
    EXPECT_EQ(filled, 1U) << slot.name;
    EXPECT_EQ(SlotValue(functions, slot), &marker) << slot.name;
    EXPECT_EQ(CallName(slot.id), slot.name);
  }
}

TEST(Table, SlotsOfOneNameFillTheMemberOfThatName) {
  const auto table = LoadFake();
  EXPECT_EQ(reinterpret_cast<void*>(table->functions().aclrtMalloc), table->Symbol("aclrtMalloc"));
  EXPECT_EQ(reinterpret_cast<void*>(table->functions().aclrtProcessReport), table->Symbol("aclrtProcessReport"));
}

TEST(Table, AMissingFunctionAnswersUnsupportedNeverSuccess) {
  const auto table = LoadFake("older.so");
  EXPECT_FALSE(table->Has(CallId::aclrtMallocHost));
  EXPECT_TRUE(table->Has(CallId::aclrtMalloc));
  void* pointer = nullptr;
  EXPECT_EQ(table->aclrtMallocHost(&pointer, size_t{64}), acl_abi::kErrorUnsupported);
  EXPECT_EQ(table->aclrtGetSocName(), nullptr);
  table->aclAppLog(acl_abi::kLogError, "f", "file", 1U, "nothing happens %d", 1);
  const base::Status status = PYPTO_ACL_CALL(*table, aclrtMallocHost, &pointer, size_t{64});
  EXPECT_EQ(status.code(), base::StatusCode::kAcl);
  EXPECT_NE(status.ToString().find("has no function aclrtMallocHost"), std::string::npos) << status.ToString();
  EXPECT_NE(status.ToString().find(table->library_path()), std::string::npos);
  EXPECT_EQ(status.acl_failure()->failure_class, "not_supported");
}

TEST(Table, AMissingFunctionAnswersTheSameThroughLayers) {
  const auto table = LoadFake("older.so", "log");
  void* pointer = nullptr;
  EXPECT_EQ(table->aclrtMallocHost(&pointer, size_t{64}), acl_abi::kErrorUnsupported);
  EXPECT_EQ(table->aclrtGetSocName(), nullptr);
  table->aclAppLog(acl_abi::kLogError, "f", "file", 1U, "nothing happens %d", 1);
  EXPECT_EQ(table->FindLayer<CallLogLayer>()->Lines().size(), 3U);
}

TEST(Table, VariadicArgumentsArrive) {
  for (const char* layers : {"", "log,validation"}) {
    const auto table = LoadFake("complete.so", layers);
    table->aclAppLog(acl_abi::kLogError, "f", "file", 1U, "%s is %d percent", "queue", 90);
    EXPECT_EQ(ControlOf(*table).last_log, "queue is 90 percent");
  }
}

TEST(Table, TextResultsArrive) {
  for (const char* layers : {"", "log"}) {
    const auto table = LoadFake("complete.so", layers);
    EXPECT_STREQ(table->aclrtGetSocName(), "Ascend910B3");
  }
}

TEST(Table, TwoTablesDoNotDisturbEachOther) {
  const auto plain = LoadFake("complete.so");
  const auto layered = LoadFake("second.so", "log");
  EXPECT_EQ(plain->aclInit(nullptr), acl_abi::kSuccess);
  EXPECT_EQ(layered->aclInit(nullptr), acl_abi::kSuccess);
  EXPECT_EQ(layered->aclInit(nullptr), acl_abi::kSuccess);
  EXPECT_EQ(ControlOf(*plain).init_calls, 1);
  EXPECT_EQ(ControlOf(*layered).init_calls, 2);
  EXPECT_EQ(plain->FindLayer<CallLogLayer>(), nullptr);
  EXPECT_EQ(layered->FindLayer<CallLogLayer>()->Lines().size(), 2U);
}

TEST(Table, LaunchRouteIsFoundFromWhatIsThere) {
  EXPECT_EQ(LoadFake("complete.so")->launch_route(), LaunchRoute::kHostArgs);
  EXPECT_EQ(LoadFake("older.so")->launch_route(), LaunchRoute::kKernelArgs);
  EXPECT_EQ(FindLaunchRoute(Functions()), LaunchRoute::kNone);
}

}  // namespace
}  // namespace pypto::acl
