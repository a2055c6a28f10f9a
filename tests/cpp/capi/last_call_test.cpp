// Launches and submits that repeat the last call: short ways that show nothing of themselves.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <set>
#include <thread>

#include "capi/launch_fixture.h"
#include "pypto/capi/handle_table.h"

namespace pypto::capi {
namespace {

using testing::Floats;
using ::testing::HasSubstr;
using testing::LastMessage;
using testing::LaunchTest;
using testing::Resident;

// A submit that repeats the last launch is left to its waiter: what is seen of it is what any submit shows.
class LeftSubmitTest : public LaunchTest {
 protected:
  LeftSubmitTest() {
    Floats x(16, 1.0F);
    EXPECT_EQ(pypto_tensor_alloc(worker_, PYPTO_FP32, x.shape.data(), 2, x.data.data(), &in_), PYPTO_OK);
    EXPECT_EQ(pypto_tensor_alloc(worker_, PYPTO_FP32, x.shape.data(), 2, x.data.data(), &out_), PYPTO_OK);
    arguments_ = {Resident(in_), Resident(weight_), Resident(out_)};
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(pypto_registration_launch(registration_, arguments_.data(), 3, nullptr), PYPTO_OK) << LastMessage();
    }
    Floats zeros(16, 0.0F);
    EXPECT_EQ(pypto_tensor_upload(out_, zeros.data.data(), zeros.bytes()), PYPTO_OK);
  }
  ~LeftSubmitTest() override {
    EXPECT_EQ(pypto_tensor_release(in_), PYPTO_OK);
    EXPECT_EQ(pypto_tensor_release(out_), PYPTO_OK);
  }
  pypto_completion* Submit() {
    pypto_completion* completion = nullptr;
    EXPECT_EQ(pypto_registration_submit(registration_, arguments_.data(), 3, nullptr, &completion), PYPTO_OK)
        << LastMessage();
    return completion;
  }
  void ExpectSum() {
    Floats back(16, -1.0F);
    EXPECT_EQ(pypto_tensor_download(out_, back.data.data(), back.bytes()), PYPTO_OK);
    EXPECT_EQ(back.data, std::vector<float>(256, 1.5F));
  }

  pypto_tensor* in_ = nullptr;
  pypto_tensor* out_ = nullptr;
  std::array<pypto_argument, 3> arguments_{};
};

TEST_F(LaunchTest, ACountOfEverythingBeforeTheFirstCall) {
  const pypto_argument none{};
  EXPECT_EQ(pypto_registration_launch(registration_, &none, SIZE_MAX, nullptr), PYPTO_ERROR_OUT_OF_HOST_MEMORY);
  pypto_completion* completion = nullptr;
  EXPECT_EQ(pypto_registration_submit(registration_, &none, SIZE_MAX, nullptr, &completion),
            PYPTO_ERROR_OUT_OF_HOST_MEMORY);
}

TEST_F(LeftSubmitTest, EveryWayToItsEnd) {
  const uint64_t launches = Counters().launches;
  int32_t done = 1;
  pypto_completion* completion = Submit();
  EXPECT_EQ(pypto_completion_done(completion, &done), PYPTO_OK);
  EXPECT_EQ(done, 0);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(pypto_completion_wait(completion, PYPTO_FOREVER), PYPTO_OK);
  EXPECT_EQ(pypto_completion_done(completion, &done), PYPTO_OK);
  EXPECT_EQ(done, 1);
  EXPECT_EQ(pypto_completion_release(completion), PYPTO_OK);
  completion = Submit();
  EXPECT_EQ(pypto_completion_wait(completion, 10'000), PYPTO_OK);
  EXPECT_EQ(pypto_completion_release(completion), PYPTO_OK);
  completion = Submit();
  for (done = 0; done == 0;) ASSERT_EQ(pypto_completion_poll(completion, &done), PYPTO_OK);
  EXPECT_EQ(pypto_completion_release(completion), PYPTO_OK);
  EXPECT_EQ(pypto_completion_release(Submit()), PYPTO_OK);
  EXPECT_EQ(Counters().launches, launches + 4);
  ExpectSum();
}

TEST_F(LeftSubmitTest, HandlesMayBeReleasedBeforeTheWait) {
  pypto_tensor* other = nullptr;
  Floats x(16, 1.0F);
  ASSERT_EQ(pypto_tensor_alloc(worker_, PYPTO_FP32, x.shape.data(), 2, x.data.data(), &other), PYPTO_OK);
  arguments_[0] = Resident(other);
  for (int i = 0; i < 4; ++i) {
    ASSERT_EQ(pypto_registration_launch(registration_, arguments_.data(), 3, nullptr), PYPTO_OK);
  }
  pypto_registration* second = nullptr;
  ASSERT_EQ(pypto_worker_register(worker_, program_, &second), PYPTO_OK);
  pypto_completion* completion = Submit();
  ASSERT_EQ(pypto_tensor_release(other), PYPTO_OK);
  ASSERT_EQ(pypto_registration_release(registration_), PYPTO_OK);
  registration_ = second;
  EXPECT_EQ(pypto_completion_wait(completion, PYPTO_FOREVER), PYPTO_OK) << LastMessage();
  EXPECT_EQ(pypto_completion_release(completion), PYPTO_OK);
  ExpectSum();
}

// What a thread releases it keeps for its next submit, under another name.
TEST_F(LeftSubmitTest, AReleasedNameIsGoneForGood) {
  std::set<pypto_completion*> names;
  for (int i = 0; i < 20; ++i) {
    pypto_completion* completion = Submit();
    EXPECT_TRUE(names.insert(completion).second);
    if (i % 3 != 0) {
      EXPECT_EQ(pypto_completion_wait(completion, PYPTO_FOREVER), PYPTO_OK);
    }
    EXPECT_EQ(pypto_completion_release(completion), PYPTO_OK);
    EXPECT_EQ(pypto_completion_release(completion), PYPTO_ERROR_INVALID_HANDLE);
    EXPECT_EQ(pypto_completion_wait(completion, PYPTO_FOREVER), PYPTO_ERROR_INVALID_HANDLE);
  }
  std::vector<pypto_completion*> many(20);
  for (pypto_completion*& completion : many) completion = Submit();
  for (pypto_completion* completion : many) EXPECT_TRUE(names.insert(completion).second);
  for (pypto_completion* completion : many) EXPECT_EQ(pypto_completion_release(completion), PYPTO_OK);
  ExpectSum();
}

// What this thread kept, and what is open, is of use in the child; the worker is not.
TEST_F(LeftSubmitTest, AForkedChildReleasesWhatWasSubmitted) {
  EXPECT_EQ(pypto_completion_release(Submit()), PYPTO_OK);
  pypto_completion* completion = Submit();
  const pid_t child = fork();
  if (child == 0) {
    int failed = 0;
    if (pypto_completion_wait(completion, PYPTO_FOREVER) != PYPTO_ERROR_FAILED_PRECONDITION) failed |= 1;
    if (pypto_completion_release(completion) != PYPTO_OK) failed |= 2;
    if (pypto_completion_release(completion) != PYPTO_ERROR_INVALID_HANDLE) failed |= 4;
    pypto_completion* refused = nullptr;
    const pypto_status status = pypto_registration_submit(registration_, arguments_.data(), 3, nullptr, &refused);
    if (status != PYPTO_ERROR_FAILED_PRECONDITION || refused != nullptr) failed |= 8;
    _exit(failed);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(pypto_completion_wait(completion, PYPTO_FOREVER), PYPTO_OK);
  EXPECT_EQ(pypto_completion_release(completion), PYPTO_OK);
  ExpectSum();
}

// A launch that brings the names of the last one is told by them, as long as they stand for the same.
class LastCallTest : public LeftSubmitTest {
 protected:
  pypto_status Launch() { return pypto_registration_launch(registration_, arguments_.data(), 3, nullptr); }
  pypto_status SubmitAndWait() {
    pypto_completion* completion = nullptr;
    const pypto_status status = pypto_registration_submit(registration_, arguments_.data(), 3, nullptr, &completion);
    if (status != PYPTO_OK) return status;
    EXPECT_EQ(pypto_completion_wait(completion, PYPTO_FOREVER), PYPTO_OK);
    EXPECT_EQ(pypto_completion_release(completion), PYPTO_OK);
    return PYPTO_OK;
  }
};

TEST_F(LastCallTest, NamesThatAreReleased) {
  pypto_tensor* view = nullptr;
  ASSERT_EQ(pypto_tensor_view_rows(in_, 0, 16, &view), PYPTO_OK);
  arguments_[0] = Resident(view);
  for (int i = 0; i < 4; ++i) ASSERT_EQ(Launch(), PYPTO_OK);
  ASSERT_EQ(SubmitAndWait(), PYPTO_OK);
  ASSERT_EQ(pypto_tensor_release(view), PYPTO_OK);
  EXPECT_EQ(Launch(), PYPTO_ERROR_INVALID_HANDLE);
  EXPECT_EQ(SubmitAndWait(), PYPTO_ERROR_INVALID_HANDLE);
  arguments_[0] = Resident(in_);
  for (int i = 0; i < 4; ++i) ASSERT_EQ(Launch(), PYPTO_OK);
  ExpectSum();
}

TEST_F(LastCallTest, TensorsThatAreFreed) {
  pypto_tensor* other = nullptr;
  Floats x(16, 1.0F);
  ASSERT_EQ(pypto_tensor_alloc(worker_, PYPTO_FP32, x.shape.data(), 2, x.data.data(), &other), PYPTO_OK);
  arguments_[0] = Resident(other);
  for (int i = 0; i < 4; ++i) ASSERT_EQ(Launch(), PYPTO_OK);
  ASSERT_EQ(pypto_tensor_free(other), PYPTO_OK);
  EXPECT_EQ(Launch(), PYPTO_ERROR_INVALID_ARGUMENT);
  EXPECT_THAT(LastMessage(), HasSubstr("freed"));
  EXPECT_EQ(SubmitAndWait(), PYPTO_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(pypto_tensor_release(other), PYPTO_OK);
  arguments_[0] = Resident(in_);
  ASSERT_EQ(Launch(), PYPTO_OK);
  ExpectSum();
}

TEST_F(LastCallTest, OthersMayComeAndGoBetween) {
  for (int i = 0; i < 20; ++i) {
    Floats zeros(16, 0.0F);
    ASSERT_EQ(pypto_tensor_upload(out_, zeros.data.data(), zeros.bytes()), PYPTO_OK);
    pypto_tensor* other = nullptr;
    ASSERT_EQ(pypto_tensor_alloc(worker_, PYPTO_FP32, zeros.shape.data(), 2, nullptr, &other), PYPTO_OK);
    ASSERT_EQ(i % 2 == 0 ? Launch() : SubmitAndWait(), PYPTO_OK);
    ExpectSum();
    std::swap(arguments_[0], arguments_[2]);
    arguments_[2] = Resident(other);
    ASSERT_EQ(Launch(), PYPTO_OK);  // other = out + weight
    arguments_[2] = arguments_[0];
    arguments_[0] = Resident(in_);
    ASSERT_EQ(Launch(), PYPTO_OK);
    ExpectSum();
    ASSERT_EQ(pypto_tensor_release(other), PYPTO_OK);
    ASSERT_EQ(Launch(), PYPTO_OK);
    ExpectSum();
  }
}

TEST_F(LastCallTest, OtherArgumentsAreNotTakenForThem) {
  EXPECT_EQ(pypto_registration_launch(registration_, nullptr, 3, nullptr), PYPTO_ERROR_INVALID_ARGUMENT);
  EXPECT_NE(pypto_registration_launch(registration_, arguments_.data(), 2, nullptr), PYPTO_OK);
  arguments_[1].kind = PYPTO_ARGUMENT_INT;
  EXPECT_NE(Launch(), PYPTO_OK);
  arguments_[1].kind = PYPTO_ARGUMENT_TENSOR;
  ASSERT_EQ(Launch(), PYPTO_OK);
  Floats x(16, 2.0F);
  const pypto_argument in = arguments_[0];
  arguments_[0] = x.Argument();
  ASSERT_EQ(Launch(), PYPTO_OK);
  Floats back(16, -1.0F);
  EXPECT_EQ(pypto_tensor_download(out_, back.data.data(), back.bytes()), PYPTO_OK);
  EXPECT_EQ(back.data, std::vector<float>(256, 2.5F));
  arguments_[0] = in;
  ASSERT_EQ(Launch(), PYPTO_OK);
  ExpectSum();
}

TEST_F(LeftSubmitTest, SeveralThreadsWaitForOne) {
  for (int i = 0; i < 50; ++i) {
    pypto_completion* completion = Submit();
    std::atomic<int> failed{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([&, t] {
        int32_t done = 0;
        if (t == 0) failed += pypto_completion_poll(completion, &done) != PYPTO_OK;
        failed += pypto_completion_wait(completion, t == 1 ? 10'000 : PYPTO_FOREVER) != PYPTO_OK;
        failed += pypto_completion_done(completion, &done) != PYPTO_OK || done != 1;
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(failed, 0);
    EXPECT_EQ(pypto_completion_release(completion), PYPTO_OK);
    ASSERT_EQ(pypto_registration_launch(registration_, arguments_.data(), 3, nullptr), PYPTO_OK);
  }
  ExpectSum();
}

// Threads come and go, keep what they released, and release what others submitted; calls that use a name while another
// thread releases it end well or find it gone.
TEST_F(LeftSubmitTest, ThreadsReleaseWhatOthersSubmit) {
  constexpr int kThreads = 3;
  constexpr int kSubmits = 60;
  std::atomic<int> wrong{0};
  std::atomic<int> released{0};
  std::mutex mutex;
  std::set<pypto_completion*> names;
  std::atomic<pypto_completion*> passed{nullptr};
  const auto release = [&](pypto_completion* completion) {
    if (completion == nullptr) return;
    const pypto_status waited = pypto_completion_wait(completion, PYPTO_FOREVER);
    if (waited != PYPTO_OK && waited != PYPTO_ERROR_INVALID_HANDLE) wrong += 1;
    const pypto_status status = pypto_completion_release(completion);
    if (status == PYPTO_OK) released += 1;
    if (status != PYPTO_OK && status != PYPTO_ERROR_INVALID_HANDLE) wrong += 1;
  };
  const auto work = [&] {
    for (int i = 0; i < kSubmits; ++i) {
      pypto_completion* completion = nullptr;
      if (pypto_registration_submit(registration_, arguments_.data(), 3, nullptr, &completion) != PYPTO_OK) wrong += 1;
      {
        const std::lock_guard<std::mutex> lock(mutex);
        if (!names.insert(completion).second) wrong += 1;
      }
      pypto_completion* other = passed.exchange(completion);
      int32_t done = 0;
      const pypto_status asked = pypto_completion_poll(completion, &done);
      if (asked != PYPTO_OK && asked != PYPTO_ERROR_INVALID_HANDLE) wrong += 1;
      release(other);
      if (i % 4 == 0) release(other);
      if (i % 8 == 0) release(completion);  // another thread may be at it
    }
  };
  for (int round = 0; round < 4; ++round) {
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) threads.emplace_back(work);
    for (std::thread& thread : threads) thread.join();
  }
  release(passed.load());
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(released, 4 * kThreads * kSubmits);
  EXPECT_EQ(names.size(), size_t{4 * kThreads * kSubmits});
  ExpectSum();
}

// A release waits for a call of another thread; a slot that has been through all generations is given up, not kept.
TEST_F(LeftSubmitTest, RetiringWaitsForTheUserAndKeepsNoWornSlot) {
  std::atomic<bool> counted{false};
  std::atomic<bool> retired{false};
  std::atomic<bool> may_leave{false};
  const uint64_t handle = AddObject(Kind::kCompletion, std::make_unique<Object>());
  std::thread user([&] {
    const CountedSlot slot(handle, Kind::kCompletion);
    EXPECT_NE(slot.object(), nullptr);
    counted = true;
    while (!may_leave.load()) std::this_thread::yield();
    EXPECT_FALSE(retired.load());
  });
  while (!counted.load()) std::this_thread::yield();
  const uint32_t first = detail::first_generation.exchange(GenerationOf(NextHandle(handle)));
  std::thread remover([&] {
    const CountedSlot slot(handle, Kind::kCompletion);
    EXPECT_TRUE(Retire(handle));
    retired = true;
    EXPECT_FALSE(Retire(handle));
    const int kept = detail::ThisThread()->spare_count;
    KeepSpare(handle);
    EXPECT_EQ(detail::ThisThread()->spare_count, kept);
  });
  while (detail::FindSlot(handle)->handle.load() != 0) std::this_thread::yield();
  const CountedSlot late(handle, Kind::kCompletion);
  EXPECT_EQ(late.object(), nullptr);
  may_leave = true;
  user.join();
  remover.join();
  detail::first_generation = first;
  const uint64_t next = AddObject(Kind::kOptions, std::make_unique<Object>());
  EXPECT_NE(next & 0xffffff, handle & 0xffffff);
  EXPECT_TRUE(Invalidate(next));
  Reclaim(next).reset();
}

}  // namespace
}  // namespace pypto::capi
