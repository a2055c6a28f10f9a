// Submitted launches that are left to the thread that waits for them.
#include <thread>

#include "device/allocation_counter.h"
#include "runtime/repeat_fixture.h"

namespace pypto::runtime::testing {
namespace {

using base::StatusCode;
using device::testing::AllocationCount;

class LeftLaunchTest : public RepeatFixture {
 protected:
  void SetUp() override {
    x_ = Resident(1);
    y_ = Resident(2);
    out_ = Resident(0);
    ASSERT_EQ(Leave(), 0u);  // nothing to repeat yet
    for (int i = 0; i < 4; ++i) ASSERT_TRUE(CallLong(Views({x_.get(), y_.get(), out_.get()})).ok());
    clear_ = Resident(0);
  }
  uint64_t Leave() { return RepeatFixture::Leave({x_.get(), y_.get(), out_.get()}); }
  uint64_t KernelsRun() { return SideDoor<decltype(mock_kernels_run)>("mock_kernels_run")(); }

  TensorRef x_, y_, out_, clear_;
};

TEST_F(LeftLaunchTest, TheWaiterRunsItAndNothingIsAllocated) {
  const uint64_t launches = worker_->GetCounters().launches;
  const uint64_t allocations = AllocationCount();
  for (int i = 0; i < 100; ++i) {
    const uint64_t ticket = Leave();
    ASSERT_NE(ticket, 0u);
    ASSERT_TRUE(handle_->WaitLeft(ticket));
    ASSERT_FALSE(handle_->WaitLeft(ticket));  // it is over
  }
  EXPECT_EQ(AllocationCount(), allocations);
  EXPECT_EQ(worker_->GetCounters().launches, launches + 100);
  EXPECT_EQ(First(out_), 3);
  EXPECT_EQ(handle_->Report()->launches, launches + 100);
}

TEST_F(LeftLaunchTest, WhoeverEntersMakesItAnOrdinaryOne) {
  const uint64_t ticket = Leave();
  ASSERT_NE(ticket, 0u);
  EXPECT_EQ(Leave(), 0u);  // something is in flight: the long way
  EXPECT_FALSE(handle_->WaitLeft(ticket));
  const auto completion = *handle_->TakeLeft(ticket);
  ASSERT_NE(completion, nullptr);
  EXPECT_EQ(*handle_->TakeLeft(ticket), nullptr);  // taken
  EXPECT_TRUE(completion->Wait(std::nullopt).ok());
  EXPECT_TRUE(completion->Done());
  EXPECT_EQ(First(out_), 3);
}

TEST_F(LeftLaunchTest, ItRunsBeforeWhatIsQueuedBehindIt) {
  const uint64_t ticket = Leave();
  ASSERT_NE(ticket, 0u);
  // Reads what the one that was left writes.
  ASSERT_TRUE(handle_->Call(Views({out_.get(), y_.get(), clear_.get()})).ok());
  EXPECT_EQ(First(clear_), 5);
  EXPECT_TRUE((*handle_->TakeLeft(ticket))->Wait(std::nullopt).ok());
}

TEST_F(LeftLaunchTest, AWorkerThatClosesEndsIt) {
  const uint64_t ticket = Leave();
  ASSERT_NE(ticket, 0u);
  const uint64_t run = KernelsRun();
  ASSERT_TRUE(worker_->Close().ok());
  EXPECT_EQ(KernelsRun(), run + 1);
  EXPECT_FALSE(handle_->WaitLeft(ticket));
  EXPECT_TRUE((*handle_->TakeLeft(ticket))->Wait(std::nullopt).ok());
}

TEST_F(LeftLaunchTest, AContextThatOtherCodeChangedIsFoundAtTheWait) {
  const acl::Table& acl = library_.table();
  const uint64_t ticket = Leave();
  ASSERT_NE(ticket, 0u);
  void* own = nullptr;
  ASSERT_EQ(acl.aclrtGetCurrentContext(&own), 0);
  void* other = nullptr;
  ASSERT_EQ(acl.aclrtCreateContext(&other, 0), 0);  // current from now on
  EXPECT_FALSE(handle_->WaitLeft(ticket));
  EXPECT_EQ(acl.aclGetRecentErrMsg(), nullptr);
  EXPECT_TRUE((*handle_->TakeLeft(ticket))->Wait(std::nullopt).ok());
  ASSERT_EQ(acl.aclrtSetCurrentContext(own), 0);
  ASSERT_EQ(acl.aclrtDestroyContext(other), 0);
}

TEST_F(LeftLaunchTest, AFaultIsToldEachTime) {
  ASSERT_EQ(SideDoor<decltype(mock_fail_kernel)>("mock_fail_kernel")(0, 507015), 0);
  const uint64_t ticket = Leave();
  ASSERT_NE(ticket, 0u);
  EXPECT_FALSE(handle_->WaitLeft(ticket));
  const auto completion = *handle_->TakeLeft(ticket);
  EXPECT_EQ(completion->Wait(std::nullopt).code(), StatusCode::kAcl);
  EXPECT_EQ(completion->Wait(5).code(), StatusCode::kAcl);
  EXPECT_EQ(Leave(), 0u);
}

TEST_F(LeftLaunchTest, ALaterFaultTakesNothingAway) {
  const uint64_t ticket = Leave();
  ASSERT_NE(ticket, 0u);
  ASSERT_EQ(SideDoor<decltype(mock_fail_kernel)>("mock_fail_kernel")(1, 507015), 0);
  const auto second = *handle_->Submit(Views({x_.get(), y_.get(), clear_.get()}));
  EXPECT_EQ(second->Wait(std::nullopt).code(), StatusCode::kAcl);
  EXPECT_TRUE((*handle_->TakeLeft(ticket))->Wait(std::nullopt).ok());
}

// Its fault leaves no figures: those of the call before it, which lie there, must not pass for its own.
TEST_F(LeftLaunchTest, AFaultWithoutFiguresIsNotTakenForTheCallBefore) {
  ASSERT_TRUE(Repeats({x_.get(), y_.get(), out_.get()}));
  ASSERT_EQ(SideDoor<decltype(mock_fail_kernel)>("mock_fail_kernel")(0, 507015), 0);
  const uint64_t ticket = Leave();
  ASSERT_NE(ticket, 0u);
  const auto second = *handle_->Submit(Views({x_.get(), y_.get(), clear_.get()}));
  EXPECT_EQ(second->Wait(std::nullopt).code(), StatusCode::kAcl);
  EXPECT_EQ((*handle_->TakeLeft(ticket))->Wait(std::nullopt).code(), StatusCode::kAcl);
}

TEST_F(LeftLaunchTest, AfterAnAbortTheCountIsReadOnceAndLaunchesAreLeftAgain) {
  const auto fail_call = SideDoor<decltype(mock_fail_call)>("mock_fail_call");
  ASSERT_EQ(fail_call("aclrtSynchronizeStreamWithTimeout", 0, acl_abi::kErrorRtStreamSyncTimeout), 0);
  {
    const WorkerEntry entry(*worker_);
    CallOptions options;
    options.interrupt = {[](void*) { return true; }, nullptr};
    ASSERT_TRUE(handle_->Prepare(Views({x_.get(), y_.get(), out_.get()})).ok());
    ASSERT_EQ(handle_->Run(options).code(), StatusCode::kFailedPrecondition);
  }
  const uint64_t reads = worker_->GetCounters().statistics_reads;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE((*handle_->Submit(Views({x_.get(), y_.get(), out_.get()})))->Wait({}).ok());
  EXPECT_EQ(worker_->GetCounters().statistics_reads, reads + 1);
  const uint64_t ticket = Leave();
  ASSERT_NE(ticket, 0u);
  ASSERT_EQ(SideDoor<decltype(mock_fail_kernel)>("mock_fail_kernel")(1, 507015), 0);
  const auto second = *handle_->Submit(Views({x_.get(), y_.get(), clear_.get()}));
  EXPECT_EQ(second->Wait(std::nullopt).code(), StatusCode::kAcl);
  EXPECT_TRUE((*handle_->TakeLeft(ticket))->Wait(std::nullopt).ok());
}

TEST_F(LeftLaunchTest, AnyThreadMayWait) {
  for (int i = 0; i < 50; ++i) {
    const uint64_t ticket = Leave();
    ASSERT_NE(ticket, 0u);
    std::thread([&] { ASSERT_TRUE(handle_->WaitLeft(ticket) || (*handle_->TakeLeft(ticket))->Wait({}).ok()); }).join();
    ASSERT_TRUE(Repeats({x_.get(), y_.get(), out_.get()}));
  }
}

}  // namespace
}  // namespace pypto::runtime::testing
