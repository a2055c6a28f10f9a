// Submitted launches: capture of inputs, fetching of outputs, order, limits, threads.
#include <thread>

#include "runtime/worker_fixture.h"

namespace pypto::runtime {
namespace {

using base::StatusCode;
using program::DType;
using ::testing::HasSubstr;
using testing::HostTensor;
using testing::LinearSample;

class SubmitTest : public testing::WorkerFixture {
 protected:
  std::vector<ArgumentView> Arguments() { return {x_.View(), w_.View(), out_.View()}; }
  HostTensor x_{{64, 16}, 1.0F};
  HostTensor w_{{16}, 2.0F};
  HostTensor out_{{64, 16}, -1.0F};
};

TEST_F(SubmitTest, InputsAreCapturedAndOutputsFetchedByTheWaiter) {
  const auto worker = Open();
  const auto handle = Register(worker, LinearSample());
  const auto completion = *handle->Submit(Arguments());
  x_.data.assign(1024, 100.0F);  // staged
  w_.data.assign(16, 100.0F);    // inline
  EXPECT_EQ(out_.data[0], -1.0F);
  EXPECT_FALSE(completion->finished());
  ASSERT_TRUE(completion->Wait(std::nullopt).ok());
  EXPECT_EQ(out_.data, std::vector<float>(1024, 3.0F));
  EXPECT_TRUE(completion->Done());
  EXPECT_TRUE(completion->Wait(1).ok());  // the same each time
}

TEST_F(SubmitTest, DoneFetchesOutputsOnce) {
  const auto worker = Open();
  const auto handle = Register(worker, LinearSample());
  fake_.hold = true;
  const auto completion = *handle->Submit(Arguments());
  EXPECT_FALSE(completion->Done());
  fake_.hold = false;
  EXPECT_TRUE(completion->Done());
  EXPECT_EQ(out_.data[7], 3.0F);
  out_.data[7] = 0;
  EXPECT_TRUE(completion->Done());
  EXPECT_EQ(out_.data[7], 0.0F);
}

TEST_F(SubmitTest, EachSubmitHasItsOwnStaging) {
  const auto worker = Open();
  const auto handle = Register(worker, LinearSample());
  HostTensor other_x({64, 16}, 10.0F);
  HostTensor other_out({64, 16}, 0.0F);
  const auto first = *handle->Submit(Arguments());
  const auto second = *handle->Submit(std::vector<ArgumentView>{other_x.View(), w_.View(), other_out.View()});
  ASSERT_TRUE(second->Wait(std::nullopt).ok());
  ASSERT_TRUE(first->Wait(std::nullopt).ok());
  EXPECT_EQ(out_.data[0], 3.0F);
  EXPECT_EQ(other_out.data[0], 12.0F);
  const uint64_t staging = Memory(worker.get()).staging;
  const auto again = *handle->Submit(Arguments());
  ASSERT_TRUE(again->Wait(std::nullopt).ok());
  EXPECT_EQ(Memory(worker.get()).staging, staging);
}

TEST_F(SubmitTest, ATimeoutLeavesTheWorkRunning) {
  const auto worker = Open();
  const auto handle = Register(worker, LinearSample());
  fake_.hold = true;
  const auto completion = *handle->Submit(Arguments());
  const base::Status late = completion->Wait(1);
  EXPECT_EQ(late.code(), StatusCode::kTimeout);
  EXPECT_THAT(late.ToString(), HasSubstr("'k' × 1"));
  const Interrupt stop{[](void*) { return true; }, nullptr};
  EXPECT_EQ(completion->Wait(std::nullopt, stop).code(), StatusCode::kFailedPrecondition);
  fake_.hold = false;
  EXPECT_TRUE(completion->Wait(std::nullopt).ok());
  EXPECT_EQ(out_.data[0], 3.0F);
}

TEST_F(SubmitTest, DroppingAnUnfinishedCompletionWaitsForIt) {
  const auto worker = Open();
  const auto handle = Register(worker, LinearSample());
  {
    const auto dropped = *handle->Submit(Arguments());
  }
  EXPECT_EQ(fake_.done, 1u);
  EXPECT_EQ(out_.data[0], 3.0F);
}

TEST_F(SubmitTest, ClosingAndUnregisteringFetchWhatIsLeft) {
  const auto worker = Open();
  auto handle = Register(worker, LinearSample());
  const auto first = *handle->Submit(Arguments());
  EXPECT_TRUE(handle->Unregister().ok());
  EXPECT_TRUE(first->finished());
  EXPECT_EQ(out_.data[0], 3.0F);
  handle = Register(worker, LinearSample());
  out_.data.assign(1024, 0.0F);
  const auto second = *handle->Submit(Arguments());
  EXPECT_TRUE(worker->Close().ok());
  EXPECT_TRUE(second->Wait(std::nullopt).ok());
  EXPECT_EQ(out_.data[0], 3.0F);
  EXPECT_TRUE(fake_.blocks.empty());
  EXPECT_TRUE(fake_.handles.empty());
}

TEST_F(SubmitTest, TheSixtyFifthWaitsForTheOldest) {
  const auto worker = Open();
  const auto handle = Register(worker, LinearSample());
  const TensorRef x = *worker->AllocTensor(std::array<int64_t, 2>{64, 16}, DType::kFp32);
  const TensorRef out = *worker->AllocTensor(std::array<int64_t, 2>{64, 16}, DType::kFp32);
  const std::vector<ArgumentView> arguments = {ArgumentView::Resident(x.get()), w_.View(),
                                               ArgumentView::Resident(out.get())};
  fake_.hold = true;
  std::vector<std::shared_ptr<Completion>> completions;
  for (int i = 0; i < 64; ++i) completions.push_back(*handle->Submit(arguments));
  int asked = 0;
  const Interrupt stop{[](void* count) { return ++*static_cast<int*>(count) == 3; }, &asked};
  EXPECT_THAT(handle->Submit(arguments, stop).status().ToString(), HasSubstr("submitting was interrupted"));
  EXPECT_EQ(fake_.launches, 64);
  fake_.hold = false;
  completions.push_back(*handle->Submit(arguments));
  EXPECT_EQ(fake_.launches, 65);
  EXPECT_TRUE(worker->Synchronize().ok());
  for (const auto& completion : completions) EXPECT_TRUE(completion->Done());
}

TEST_F(SubmitTest, AFaultEndsEverythingInFlight) {
  const auto worker = Open();
  const auto handle = Register(worker, LinearSample());
  fake_.kernel = [](std::span<const std::byte>) { return acl_abi::kErrorRtAiCoreException; };
  const auto first = *handle->Submit(Arguments());
  HostTensor other({64, 16}, 0);
  const auto second = *handle->Submit(std::vector<ArgumentView>{x_.View(), w_.View(), other.View()});
  EXPECT_EQ(first->Wait(std::nullopt).code(), StatusCode::kAcl);
  EXPECT_EQ(second->Wait(std::nullopt).code(), StatusCode::kAcl);
  EXPECT_EQ(out_.data[0], -1.0F);
  EXPECT_EQ(handle->Submit(Arguments()).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_TRUE(worker->Close().ok());
  EXPECT_TRUE(fake_.handles.empty());
}

TEST_F(SubmitTest, EightThreadsShareOneWorker) {
  const auto worker = Open();
  const auto handle = Register(worker, LinearSample());
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      HostTensor x({64, 16}, static_cast<float>(t));
      HostTensor w({16}, 0.5F);
      HostTensor out({64, 16}, 0.0F);
      const std::vector<ArgumentView> arguments = {x.View(), w.View(), out.View()};
      for (int i = 0; i < 200; ++i) {
        out.data.assign(1024, -1.0F);
        if (i % 4 == 3) {
          const auto completion = handle->Submit(arguments);
          if (!completion.ok() || !(*completion)->Wait(std::nullopt).ok()) wrong += 1;
        } else if (!handle->Call(arguments).ok()) {
          wrong += 1;
        }
        if (out.data != std::vector<float>(1024, static_cast<float>(t) + 0.5F)) wrong += 1;
        const std::array<int64_t, 1> shape = {8};
        const auto dropped = worker->AllocTensor(shape, DType::kFp32);
        if (!dropped.ok()) wrong += 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(worker->GetCounters().launches, 1600u);
  EXPECT_EQ(Memory(worker.get()).resident, 0u);
}

}  // namespace
}  // namespace pypto::runtime
