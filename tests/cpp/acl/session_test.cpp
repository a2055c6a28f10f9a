// Sharing one library in the process: who initialises, who finalizes, what is reported.
#include "pypto/acl/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "acl/fake_library.h"
#include "pypto/acl/layers/fault_injection.h"
#include "pypto/acl/memory.h"

namespace pypto::acl {
namespace {

using testing::HasSubstr;

class SessionTest : public testing::Test {
 protected:
  SessionTest() { static_cast<void>(TakeLeakReports()); }
  static Session OpenFake(const std::string& file, const std::string& layers = "") {
    static_cast<void>(LoadFake(file));  // counters begin anew
    auto session = Session::Open(PlatformKind::kHardware, FakeOptions(file, layers));
    EXPECT_TRUE(session.ok()) << session.status().ToString();
    return *std::move(session);
  }
  static base::Result<Session> OpenAgain(const std::string& file) {
    return Session::Open(PlatformKind::kHardware, FakeOptions(file));
  }
};

TEST_F(SessionTest, TheFirstInitialisesAndTheLastFinalizes) {
  Session first = OpenFake("complete.so");
  auto& control = ControlOf(first.table());
  auto second = OpenAgain("complete.so");
  ASSERT_TRUE(second.ok());
  Session third = second->Share();
  EXPECT_EQ(&first.table(), &second->table());
  EXPECT_EQ(control.init_calls, 1);
  EXPECT_TRUE(first.Close().ok());
  EXPECT_TRUE(first.Close().ok());
  EXPECT_TRUE(third.Close().ok());
  EXPECT_EQ(control.finalize_calls + control.reference_finalize_calls, 0);
  EXPECT_TRUE(second->Close().ok());
  EXPECT_EQ(control.finalize_calls, 0);
  EXPECT_EQ(control.reference_finalize_calls, 1);

  auto again = OpenAgain("complete.so");
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(control.init_calls, 2);
}

TEST_F(SessionTest, WithoutCountedFinalizingThePlainOneIsUsed) {
  Session session = OpenFake("older.so");
  auto& control = ControlOf(session.table());
  EXPECT_TRUE(session.Close().ok());
  EXPECT_EQ(control.finalize_calls, 1);
}

TEST_F(SessionTest, ALibraryThatSomebodyElseInitialisedIsNotFinalized) {
  const auto table = LoadFake();
  auto& control = ControlOf(*table);
  control.initialised_by_others = true;
  {
    const auto session = OpenAgain("complete.so");
    ASSERT_TRUE(session.ok()) << session.status().ToString();
    EXPECT_EQ(control.init_calls, 1);
  }
  EXPECT_EQ(control.finalize_calls + control.reference_finalize_calls, 0);
}

TEST_F(SessionTest, TwoLibrariesAreTwoSessions) {
  const Session first = OpenFake("complete.so");
  const Session second = OpenFake("second.so");
  EXPECT_NE(&first.table(), &second.table());
}

TEST_F(SessionTest, ThreadsOpenAndCloseInAnyOrder) {
  const auto table = LoadFake();  // keeps the library mapped
  const auto& control = ControlOf(*table);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      for (int round = 0; round < 20; ++round) EXPECT_TRUE(OpenAgain("complete.so").ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GE(control.init_calls, 1);
  EXPECT_EQ(control.init_calls, control.reference_finalize_calls);
}

TEST_F(SessionTest, AFailedInitialiseIsReportedAndLeavesNothingOpen) {
  auto table = LoadFake("complete.so", "fault");
  auto& control = ControlOf(*table);
  table->FindLayer<FaultInjectionLayer>()->Fail(CallId::aclInit, 0, acl_abi::kErrorInvalidFile);
  const auto session = Session::Adopt(std::move(table));
  ASSERT_FALSE(session.ok());
  EXPECT_EQ(session.status().acl_failure()->code, acl_abi::kErrorInvalidFile);
  EXPECT_THAT(session.status().ToString(), HasSubstr("while initialising '" + FakePath("complete.so")));
  EXPECT_EQ(control.reference_finalize_calls, 0);  // the library is still mapped
}

TEST_F(SessionTest, TheSideDoorIsOpenAsLongAsTheSession) {
  const Session session = OpenFake("complete.so");
  EXPECT_NE(session.table().Symbol("fake_acl_control"), nullptr);
  EXPECT_EQ(session.table().Symbol("no_such_symbol"), nullptr);
}

TEST_F(SessionTest, AFailedFinalizeIsReportedAndTriedAgain) {
  auto table = LoadFake("complete.so", "fault");
  auto& control = ControlOf(*table);
  auto* faults = table->FindLayer<FaultInjectionLayer>();
  auto session = Session::Adopt(std::move(table));
  ASSERT_TRUE(session.ok());
  faults->Fail(CallId::aclFinalizeReference, 0, acl_abi::kErrorRtInternal);
  EXPECT_EQ(session->Close().acl_failure()->code, acl_abi::kErrorRtInternal);
  EXPECT_EQ(control.reference_finalize_calls, 1);
  EXPECT_FALSE(session->is_open());
}

TEST_F(SessionTest, FinalizingWhatIsFinalizedIsNoError) {
  auto table = LoadFake("complete.so", "fault");
  auto* faults = table->FindLayer<FaultInjectionLayer>();
  auto session = Session::Adopt(std::move(table));
  ASSERT_TRUE(session.ok());
  faults->Fail(CallId::aclFinalizeReference, 0, acl_abi::kErrorRepeatFinalize);
  EXPECT_TRUE(session->Close().ok());
}

TEST_F(SessionTest, LeaksAreReportedWhenTheLastSessionCloses) {
  Session session = OpenFake("second.so", "validation");
  Session other = session.Share();
  ASSERT_EQ(session.table().aclrtSetDevice(0), 0);
  auto memory = DeviceMemory::Allocate(session.table(), 96);
  ASSERT_TRUE(memory.ok());
  void* raw = memory->Release();
  EXPECT_TRUE(session.Close().ok());
  EXPECT_EQ(TakeLeakReports(), "");
  EXPECT_TRUE(other.Close().ok());
  const std::string report = TakeLeakReports();
  EXPECT_THAT(report, HasSubstr("2 ACL objects are left at the end"));
  EXPECT_THAT(report, HasSubstr(base::Format("device memory %p of 96 bytes (from aclrtMalloc, call ", raw)));
  EXPECT_THAT(report, HasSubstr("device 0 was set 1 times more than reset"));
  EXPECT_EQ(TakeLeakReports(), "");
  std::free(raw);  // as the library allocated it
}

TEST_F(SessionTest, AForkedChildIsRefused) {
  Session session = OpenFake("complete.so");
  auto& control = ControlOf(session.table());
  const pid_t child = fork();
  if (child == 0) {
    const auto again = OpenAgain("complete.so");
    const bool refused = !again.ok() && again.status().code() == base::StatusCode::kFailedPrecondition &&
                         again.status().ToString().find("before this process was forked") != std::string::npos;
    const bool quiet = session.Close().ok() && control.reference_finalize_calls == 0;
    _exit(refused && quiet ? 0 : 1);
  }
  int state = 0;
  ASSERT_EQ(waitpid(child, &state, 0), child);
  EXPECT_EQ(WEXITSTATUS(state), 0);
}

TEST_F(SessionTest, AnEmptySessionIsHarmless) {
  Session session;
  EXPECT_FALSE(session.is_open());
  EXPECT_FALSE(session.Share().is_open());
  EXPECT_TRUE(session.Close().ok());
}

}  // namespace
}  // namespace pypto::acl
