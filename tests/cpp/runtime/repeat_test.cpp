// Calls that are the last one again: what the short way costs, and what ends it.
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "device/allocation_counter.h"
#include "pypto/log/log.h"
#include "pypto/runtime/trace.h"
#include "runtime/repeat_fixture.h"

namespace pypto::runtime::testing {
namespace {

using base::Status;
using base::StatusCode;
using device::testing::AllocationCount;

class RepeatTest : public RepeatFixture {};

TEST_F(RepeatTest, ResidentTensorsTakeNoMemory) {
  const TensorRef x = Resident(1);
  const TensorRef y = Resident(2);
  const TensorRef out = Resident(0);
  EXPECT_FALSE(Repeats({x.get(), y.get(), out.get()}));  // there is nothing to repeat yet
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(CallLong(Views({x.get(), y.get(), out.get()})).ok());
  const Counters before = worker_->GetCounters();
  const uint64_t allocations = AllocationCount();
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(Repeats({x.get(), y.get(), out.get()}));
  EXPECT_EQ(AllocationCount(), allocations);
  EXPECT_EQ(worker_->GetCounters().launches, before.launches + 100);
  EXPECT_EQ(handle_->Report()->launches, before.launches + 100);
  EXPECT_EQ(First(out), 3);
}

TEST_F(RepeatTest, AContextThatOtherCodeChangedIsFoundAtTheLaunch) {
  const acl::Table& acl = library_.table();
  const auto asked = [this] {
    return SideDoor<decltype(mock_call_count)>("mock_call_count")("aclrtGetCurrentContext");
  };
  const TensorRef x = Resident(1);
  const TensorRef y = Resident(2);
  const TensorRef out = Resident(0);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(CallLong(Views({x.get(), y.get(), out.get()})).ok());
  ASSERT_TRUE(Repeats({x.get(), y.get(), out.get()}));
  const uint64_t before = asked();
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(Repeats({x.get(), y.get(), out.get()}));
  EXPECT_EQ(asked(), before);
  void* own = nullptr;
  ASSERT_EQ(acl.aclrtGetCurrentContext(&own), 0);
  void* other = nullptr;
  ASSERT_EQ(acl.aclrtCreateContext(&other, 0), 0);  // current from now on
  const auto current = [&acl] {
    void* context = nullptr;
    EXPECT_EQ(acl.aclrtGetCurrentContext(&context), 0);
    return context;
  };
  const uint64_t launches = worker_->GetCounters().launches;
  EXPECT_FALSE(Repeats({x.get(), y.get(), out.get()}));
  EXPECT_EQ(Leave({x.get(), y.get(), out.get()}), 0u);
  EXPECT_EQ(worker_->GetCounters().launches, launches);
  EXPECT_EQ(acl.aclGetRecentErrMsg(), nullptr);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(handle_->Call(Views({x.get(), y.get(), out.get()})).ok());
    EXPECT_EQ(current(), other);
  }
  EXPECT_EQ(worker_->GetCounters().launches, launches + 3);
  EXPECT_EQ(First(out), 3);
  ASSERT_EQ(acl.aclrtSetCurrentContext(own), 0);
  ASSERT_EQ(acl.aclrtDestroyContext(other), 0);
  EXPECT_TRUE(Repeats({x.get(), y.get(), out.get()}));
}

TEST_F(RepeatTest, HostTensorsTakeNoMemoryWhereverTheyAre) {
  const TensorRef y = Resident(2);
  Floats x(kRows, 1);
  Floats other(kRows, 5);
  Floats out(kRows, 0);
  const auto views = [&](Floats& first) {
    return std::array{first.View(), ArgumentView::Resident(y.get()), out.View()};
  };
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(CallLong(views(x)).ok());
  const Counters before = worker_->GetCounters();
  const uint64_t allocations = AllocationCount();
  for (int i = 0; i < 50; ++i) {
    const auto first = views(x);
    ASSERT_TRUE(Repeats(std::span<const ArgumentView>(first)));
    ASSERT_EQ(out.data[0], 3);
    const auto second = views(other);
    ASSERT_TRUE(Repeats(std::span<const ArgumentView>(second)));
    ASSERT_EQ(out.data[0], 7);
  }
  EXPECT_EQ(AllocationCount(), allocations);
  const Counters after = worker_->GetCounters();
  EXPECT_EQ(after.launches, before.launches + 100);
  EXPECT_EQ(after.inline_bytes, before.inline_bytes + 100 * sizeof(float) * x.data.size());
  EXPECT_EQ(after.d2h_bytes, before.d2h_bytes + 100 * sizeof(float) * x.data.size());
  EXPECT_EQ(after.device_mallocs, before.device_mallocs);
}

TEST_F(RepeatTest, HostTensorsThatDifferTakeTheLongWay) {
  const TensorRef y = Resident(2);
  Floats x(kRows, 1);
  Floats out(kRows, 0);
  const std::array good{x.View(), ArgumentView::Resident(y.get()), out.View()};
  ASSERT_TRUE(CallLong(good).ok());
  Floats longer(kRows + 1, 1);
  auto half = x.View();
  half.dtype = program::DType::kFp16;
  auto flat = x.View();
  flat.rank = 1;
  auto nowhere = x.View();
  nowhere.data = nullptr;
  for (const ArgumentView& bad : {longer.View(), half, flat, nowhere}) {
    ASSERT_TRUE(CallLong(good).ok());
    const std::array views{bad, good[1], good[2]};
    EXPECT_FALSE(Repeats(std::span<const ArgumentView>(views)));
    EXPECT_FALSE(handle_->Call(views).ok());
    EXPECT_TRUE(handle_->Call(good).ok());
    EXPECT_EQ(out.data[0], 3);
  }
  EXPECT_FALSE(Repeats(std::span<const ArgumentView>(good.data(), 2)));
}

TEST_F(RepeatTest, TensorsLikeThoseOfANumberedPrepare) {
  const TensorRef y = Resident(2);
  const TensorRef other_y = Resident(4);
  Floats x(kRows, 1);
  Floats other(kRows, 5);
  Floats out(kRows, 0);
  const std::array views{x.View(), ArgumentView::Resident(y.get()), out.View()};
  const auto repeats = [&](RepeatArgument first, ResidentTensor* second, uint64_t number) {
    const WorkerEntry entry(*worker_);
    const std::array arguments{first, RepeatArgument{second, nullptr}, RepeatArgument{nullptr, out.data.data()}};
    Status status;
    const bool done = handle_->TryRepeat(arguments, number, &status);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return done;
  };
  EXPECT_EQ(handle_->repeat_number(), 0u);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(CallLong(views).ok());
  const uint64_t number = handle_->repeat_number();
  ASSERT_NE(number, 0u);
  const uint64_t allocations = AllocationCount();
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(repeats({nullptr, x.data.data()}, y.get(), number));
    ASSERT_EQ(out.data[7], 3);
    ASSERT_TRUE(repeats({nullptr, other.data.data()}, y.get(), number));
    ASSERT_EQ(out.data[7], 7);
  }
  EXPECT_EQ(AllocationCount(), allocations);
  EXPECT_EQ(handle_->repeat_number(), number);
  EXPECT_FALSE(repeats({nullptr, x.data.data()}, other_y.get(), number));
  EXPECT_FALSE(repeats({y.get(), nullptr}, y.get(), number));
  EXPECT_FALSE(repeats({nullptr, x.data.data()}, y.get(), number + 1));
  EXPECT_FALSE(repeats({nullptr, x.data.data()}, y.get(), 0));
  ASSERT_TRUE(worker_->FreeTensor(*y).ok());
  EXPECT_FALSE(repeats({nullptr, x.data.data()}, y.get(), number));
  EXPECT_EQ(out.data[7], 7);
  // Whatever is prepared next has another number, also when it is refused.
  EXPECT_FALSE(handle_->Call(views).ok());
  EXPECT_EQ(handle_->repeat_number(), 0u);
  EXPECT_FALSE(repeats({nullptr, x.data.data()}, y.get(), number));
}

TEST_F(RepeatTest, StagingThatASubmittedLaunchHasTakenIsNotUsedAgain) {
  const TensorRef y = Resident(2);
  Floats x(kRows, 1);
  Floats out(kRows, 0);
  Floats late(kRows, 0);
  const std::array views{x.View(), ArgumentView::Resident(y.get()), out.View()};
  const std::array submitted{x.View(), ArgumentView::Resident(y.get()), late.View()};
  ASSERT_TRUE(CallLong(views).ok());
  const auto completion = *handle_->Submit(submitted);
  x.data.assign(x.data.size(), 9);
  ASSERT_TRUE(handle_->Call(views).ok());
  ASSERT_TRUE(completion->Wait(std::nullopt).ok());
  EXPECT_EQ(late.data[0], 3);
  EXPECT_EQ(out.data[0], 11);
  const auto again = *handle_->Submit(submitted);
  ASSERT_TRUE(again->Wait(std::nullopt).ok());
  EXPECT_FALSE(Repeats(std::span<const ArgumentView>(views)));
}

TEST_F(RepeatTest, AFreedTensorAndAnotherOneAtItsPlaceEndIt) {
  TensorRef x = Resident(1);
  const TensorRef y = Resident(2);
  const TensorRef out = Resident(0);
  ASSERT_TRUE(CallLong(Views({x.get(), y.get(), out.get()})).ok());
  ASSERT_TRUE(Repeats({x.get(), y.get(), out.get()}));
  ASSERT_TRUE(worker_->FreeTensor(*x).ok());
  EXPECT_FALSE(Repeats({x.get(), y.get(), out.get()}));
  const uint64_t address = x->address();
  x = Resident(7);
  EXPECT_EQ(x->address(), address);
  EXPECT_FALSE(Repeats({x.get(), y.get(), out.get()}));
  ASSERT_TRUE(handle_->Call(Views({x.get(), y.get(), out.get()})).ok());
  EXPECT_TRUE(Repeats({x.get(), y.get(), out.get()}));
  EXPECT_EQ(First(out), 9);
}

TEST_F(RepeatTest, WhatAsksForMoreThanTheLaunchEndsIt) {
  const TensorRef x = Resident(1);
  const TensorRef y = Resident(2);
  const TensorRef out = Resident(0);
  const auto views = Views({x.get(), y.get(), out.get()});
  ASSERT_TRUE(CallLong(views).ok());
  ASSERT_TRUE(Repeats({x.get(), y.get(), out.get()}));
  log::SetPrintToStdout(true);
  log::SetLevel(log::Level::kInfo);
  EXPECT_FALSE(Repeats({x.get(), y.get(), out.get()}));
  log::ResetLevel();
  log::SetPrintToStdout(false);
  EXPECT_TRUE(Repeats({x.get(), y.get(), out.get()}));
  int spans = 0;
  SetTraceCallback([&spans](std::string_view) { ++spans; });
  EXPECT_FALSE(Repeats({x.get(), y.get(), out.get()}));
  ASSERT_TRUE(handle_->Call(views).ok());
  EXPECT_GT(spans, 0);
  SetTraceCallback({});
  EXPECT_TRUE(Repeats({x.get(), y.get(), out.get()}));
  ASSERT_TRUE(worker_->Close().ok());
  EXPECT_FALSE(Repeats({x.get(), y.get(), out.get()}));
  EXPECT_EQ(handle_->Call(views).code(), StatusCode::kFailedPrecondition);
}

TEST_F(RepeatTest, AFailedLaunchSaysSoAndTheNextTakesTheLongWay) {
  const TensorRef x = Resident(1);
  const TensorRef y = Resident(2);
  const TensorRef out = Resident(0);
  const auto views = Views({x.get(), y.get(), out.get()});
  ASSERT_TRUE(CallLong(views).ok());
  ASSERT_EQ(SideDoor<decltype(mock_fail_call)>("mock_fail_call")("aclrtLaunchKernelWithHostArgs", 0, 207001), 0);
  {
    const WorkerEntry entry(*worker_);
    Status status;
    ASSERT_TRUE(IsLast({x.get(), y.get(), out.get()}) && handle_->TryRepeat(&status));
    EXPECT_FALSE(status.ok());
  }
  EXPECT_TRUE(handle_->Call(views).ok());
  EXPECT_TRUE(Repeats({x.get(), y.get(), out.get()}));
  ASSERT_EQ(SideDoor<decltype(mock_fail_kernel)>("mock_fail_kernel")(0, 507015), 0);
  EXPECT_EQ(handle_->Call(views).code(), StatusCode::kAcl);
  EXPECT_FALSE(Repeats({x.get(), y.get(), out.get()}));
  EXPECT_EQ(handle_->Call(views).code(), StatusCode::kFailedPrecondition);  // broken
}

// out = first + last of many tensors: addresses that lie far back in the block.
TEST_F(RepeatTest, ATensorFarBackInTheBlockIsNotMissed) {
  constexpr size_t kInputs = 31;
  program::Builder b("first_and_last");
  std::vector<program::TensorId> inputs;
  for (size_t i = 0; i < kInputs; ++i) {
    inputs.push_back(*b.AddTensorParameter("x" + std::to_string(i), program::DType::kFp32, {kRows, 16}, {}));
  }
  const auto out = *b.AddTensorParameter("out", program::DType::kFp32, {kRows, 16}, {});
  program::ExprPool& e = b.exprs();
  const auto sum = *b.Op(program::OpCode::kAdd, {TensorOperand(inputs[0]), TensorOperand(inputs.back())}, {});
  ASSERT_TRUE(b.Assemble(out, sum, {e.Const(0), e.Const(0)}).ok());
  const auto handle = *worker_->Register(*compile::Compile(*b.Finish(), {}));
  const TensorRef x = Resident(1);
  const TensorRef result = Resident(0);
  std::vector<TensorRef> lasts;
  for (const float value : {2.0F, 3.0F}) lasts.push_back(Resident(value));
  std::vector<ResidentTensor*> tensors(kInputs + 1, x.get());
  tensors.back() = result.get();
  for (int i = 0; i < 12; ++i) {
    const TensorRef& last = lasts[static_cast<size_t>(i / 4 % 2)];
    tensors[kInputs - 1] = last.get();
    std::vector<ArgumentView> views;
    for (ResidentTensor* tensor : tensors) views.push_back(ArgumentView::Resident(tensor));
    ASSERT_TRUE(handle->Call(views).ok());
    ASSERT_EQ(First(result), 1 + First(last)) << i;
  }
}

TEST_F(RepeatTest, AForkedChildIsRefused) {
  const TensorRef x = Resident(1);
  const TensorRef y = Resident(2);
  const TensorRef out = Resident(0);
  const auto views = Views({x.get(), y.get(), out.get()});
  ASSERT_TRUE(CallLong(views).ok());
  ASSERT_TRUE(Repeats({x.get(), y.get(), out.get()}));
  const pid_t child = fork();
  if (child == 0) {
    const bool repeated = Repeats({x.get(), y.get(), out.get()});
    const Status called = handle_->Call(views);
    _exit(repeated ? 1 : called.code() == StatusCode::kFailedPrecondition ? 0 : 2);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_TRUE(Repeats({x.get(), y.get(), out.get()}));
}

TEST_F(RepeatTest, ACallWithAnInterruptRunsHere) {
  const TensorRef x = Resident(1);
  const TensorRef y = Resident(2);
  const TensorRef out = Resident(0);
  auto* calls = SideDoor<decltype(mock_call_count)>("mock_call_count");
  const uint64_t sliced = calls("aclrtSynchronizeStreamWithTimeout");
  const uint64_t whole = calls("aclrtSynchronizeStream");
  CallOptions options;
  options.interrupt = {[](void*) { return false; }, nullptr};
  options.may_run_here = true;
  RoundTimes times;
  options.times = &times;
  ASSERT_TRUE(handle_->Call(Views({x.get(), y.get(), out.get()}), options).ok());
  EXPECT_EQ(calls("aclrtSynchronizeStreamWithTimeout"), sliced);
  EXPECT_EQ(calls("aclrtSynchronizeStream"), whole + 1);
  EXPECT_EQ(First(out), 3);
}

TEST_F(RepeatTest, ASecondStreamOfTheDeviceTakesTurns) {
  auto* run = SideDoor<decltype(mock_kernels_run)>("mock_kernels_run");
  const TensorRef x = Resident(1);
  const TensorRef y = Resident(2);
  const TensorRef out = Resident(0);
  const auto views = Views({x.get(), y.get(), out.get()});
  ASSERT_TRUE(CallLong(views).ok());
  const uint64_t before = run();
  constexpr int kCalls = 500;
  std::atomic<int> calls{0};
  std::atomic<int> failed{0};
  std::thread first([&] {
    for (; calls < kCalls; ++calls) failed += handle_->Call(views).ok() ? 0 : 1;
  });
  // Comes while the first one runs alone.
  while (calls < kCalls / 10) std::this_thread::yield();
  const auto second = *Worker::Open(worker_->config());
  const auto handle = *second->Register(Sum(kRows));
  Floats host(kRows, 4);
  Floats result(kRows, 0);
  for (int i = 0; i < kCalls; ++i) {
    host.data.assign(host.data.size(), static_cast<float>(i));
    ASSERT_TRUE(handle->Call(std::array{host.View(), host.View(), result.View()}).ok());
    ASSERT_EQ(result.data[5], static_cast<float>(2 * i));
  }
  first.join();
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(First(out), 3);
  EXPECT_EQ(run() - before, 2u * kCalls);
  EXPECT_TRUE(second->Close().ok());
}

TEST_F(RepeatTest, ThreadsShareAHandle) {
  constexpr int kThreads = 4;
  constexpr int kCalls = 200;
  std::vector<std::thread> threads;
  std::array<float, kThreads> results{};
  std::atomic<int> failed{0};
  std::vector<std::array<TensorRef, 3>> tensors;
  for (int i = 0; i < kThreads; ++i) tensors.push_back({Resident(static_cast<float>(i)), Resident(2), Resident(0)});
  const uint64_t before = worker_->GetCounters().launches;
  for (size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      const auto& [x, y, out] = tensors[i];
      const auto views = Views({x.get(), y.get(), out.get()});
      Floats host(kRows, 0);
      const std::array mixed{views[0], views[1], host.View()};
      for (int call = 0; call < kCalls; ++call) {
        if (!handle_->Call(views).ok() || !handle_->Call(mixed).ok()) failed += 1;
        if (host.data[7] != static_cast<float>(i) + 2) failed += 1;
      }
      results[i] = First(out);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed, 0);
  for (size_t i = 0; i < kThreads; ++i) EXPECT_EQ(results[i], static_cast<float>(i) + 2);
  EXPECT_EQ(worker_->GetCounters().launches, before + 2 * kThreads * kCalls);
}

}  // namespace
}  // namespace pypto::runtime::testing
