// Registering, launching, submitting, reports, times, threads.
#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "capi/launch_fixture.h"

namespace pypto::capi {
namespace {

using testing::Floats;
using ::testing::HasSubstr;
using testing::LastMessage;
using testing::LaunchTest;
using testing::Number;
using testing::Resident;

TEST_F(LaunchTest, HostAndResidentArguments) {
  for (const int64_t rows : {1, 7, 32, 128, 1, 0}) {
    Floats x(rows, static_cast<float>(rows));
    Floats out(rows, -1.0F);
    const std::array<pypto_argument, 3> arguments = {x.Argument(), Resident(weight_), out.Argument()};
    ASSERT_EQ(pypto_registration_launch(registration_, arguments.data(), 3, nullptr), PYPTO_OK) << LastMessage();
    EXPECT_EQ(out.data, std::vector<float>(out.data.size(), static_cast<float>(rows) + 0.5F));
  }
  EXPECT_EQ(Counters().launches, 6u);
  EXPECT_EQ(Counters().program_loads, 1u);
}

TEST_F(LaunchTest, ResidentLoopCopiesAndAllocatesNothing) {
  Floats x(64, 1.0F);
  pypto_tensor* in = nullptr;
  pypto_tensor* out = nullptr;
  ASSERT_EQ(pypto_tensor_alloc(worker_, PYPTO_FP32, x.shape.data(), 2, x.data.data(), &in), PYPTO_OK);
  ASSERT_EQ(pypto_tensor_alloc(worker_, PYPTO_FP32, x.shape.data(), 2, nullptr, &out), PYPTO_OK);
  const std::array<pypto_argument, 3> arguments = {Resident(in), Resident(weight_), Resident(out)};
  ASSERT_EQ(pypto_registration_launch(registration_, arguments.data(), 3, nullptr), PYPTO_OK) << LastMessage();
  const pypto_counters before = Counters();
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(pypto_registration_launch(registration_, arguments.data(), 3, nullptr), PYPTO_OK);
  }
  const pypto_counters after = Counters();
  EXPECT_EQ(after.launches, before.launches + 20);
  EXPECT_EQ(after.h2d_bytes, before.h2d_bytes);
  EXPECT_EQ(after.d2h_bytes, before.d2h_bytes);
  EXPECT_EQ(after.inline_bytes, before.inline_bytes);
  EXPECT_EQ(after.device_mallocs, before.device_mallocs);
  EXPECT_EQ(pypto_tensor_release(in), PYPTO_OK);
  EXPECT_EQ(pypto_tensor_release(out), PYPTO_OK);
}

TEST_F(LaunchTest, Scalars) {
  pypto_program* scale = testing::Load(testing::ScaleRowsFile());
  pypto_registration* registration = nullptr;
  ASSERT_EQ(pypto_worker_register(worker_, scale, &registration), PYPTO_OK);
  Floats x(3, 2.0F);
  Floats out(3, 0.0F);
  std::array<pypto_argument, 3> arguments = {x.Argument(), Number(2.5), out.Argument()};
  ASSERT_EQ(pypto_registration_launch(registration, arguments.data(), 3, nullptr), PYPTO_OK) << LastMessage();
  EXPECT_EQ(out.data, std::vector<float>(48, 5.0F));
  arguments[1].kind = PYPTO_ARGUMENT_INT;
  arguments[1].value.int_value = 3;
  ASSERT_EQ(pypto_registration_launch(registration, arguments.data(), 3, nullptr), PYPTO_OK) << LastMessage();
  EXPECT_EQ(out.data, std::vector<float>(48, 6.0F));
  EXPECT_EQ(pypto_registration_release(registration), PYPTO_OK);
  EXPECT_EQ(pypto_program_release(scale), PYPTO_OK);
}

TEST_F(LaunchTest, WrongArgumentsLeaveTheNextLaunchRight) {
  Floats x(4, 1.0F);
  Floats out(4, 0.0F);
  const std::array<pypto_argument, 3> right = {x.Argument(), Resident(weight_), out.Argument()};
  const auto expect = [&](const std::array<pypto_argument, 3>& arguments, size_t count, pypto_status status,
                          const char* words) {
    EXPECT_EQ(pypto_registration_launch(registration_, arguments.data(), count, nullptr), status);
    EXPECT_THAT(LastMessage(), HasSubstr(words));
    out.data.assign(64, 0.0F);
    EXPECT_EQ(pypto_registration_launch(registration_, right.data(), 3, nullptr), PYPTO_OK) << LastMessage();
    EXPECT_EQ(out.data, std::vector<float>(64, 1.5F));
  };
  expect(right, 2, PYPTO_ERROR_TYPE_MISMATCH, "add_rows");
  std::array<pypto_argument, 3> wrong = right;
  wrong[0].dtype = PYPTO_INT32;
  expect(wrong, 3, PYPTO_ERROR_TYPE_MISMATCH, "argument 'x' of");
  wrong = right;
  wrong[0].dtype = 99;
  expect(wrong, 3, PYPTO_ERROR_INVALID_ARGUMENT, "argument 0: 99 is no pypto_dtype");
  wrong = right;
  wrong[0].rank = 9;
  expect(wrong, 3, PYPTO_ERROR_INVALID_ARGUMENT, "argument 0 has rank 9");
  wrong = right;
  wrong[0].shape = nullptr;
  expect(wrong, 3, PYPTO_ERROR_INVALID_ARGUMENT, "argument 0: the shape must not be null");
  wrong = right;
  wrong[1].kind = 7;
  expect(wrong, 3, PYPTO_ERROR_INVALID_ARGUMENT, "argument 1: 7 is no pypto_argument_kind");
  wrong = right;
  wrong[1].kind = PYPTO_ARGUMENT_INT;
  expect(wrong, 3, PYPTO_ERROR_TYPE_MISMATCH, "argument 'w' of");
  EXPECT_EQ(pypto_registration_launch(registration_, nullptr, 3, nullptr), PYPTO_ERROR_INVALID_ARGUMENT);
  // More arguments than have room on the stack.
  const std::vector<pypto_argument> many(100, right[0]);
  EXPECT_EQ(pypto_registration_launch(registration_, many.data(), many.size(), nullptr), PYPTO_ERROR_TYPE_MISMATCH);
}

// A list that no memory can hold: the allocation throws inside the worker, and the fence stops it.
TEST_F(LaunchTest, AThrowInsideTheWorkerLeavesItUsable) {
  Floats x(4, 1.0F);
  Floats out(4, 0.0F);
  const std::array<pypto_argument, 3> arguments = {x.Argument(), Resident(weight_), out.Argument()};
  EXPECT_EQ(pypto_registration_launch(registration_, arguments.data(), SIZE_MAX / 64, nullptr),
            PYPTO_ERROR_OUT_OF_HOST_MEMORY);
  EXPECT_THAT(LastMessage(), HasSubstr("no memory left"));
  EXPECT_EQ(pypto_registration_launch(registration_, arguments.data(), 3, nullptr), PYPTO_OK) << LastMessage();
  EXPECT_EQ(out.data[63], 1.5F);
}

TEST_F(LaunchTest, TimesAndReport) {
  Floats x(64, 1.0F);
  Floats out(64, 0.0F);
  const std::array<pypto_argument, 3> arguments = {x.Argument(), Resident(weight_), out.Argument()};
  pypto_workspace_report report = PYPTO_STRUCT(pypto_workspace_report);
  ASSERT_EQ(pypto_registration_get_report(registration_, &report), PYPTO_OK) << LastMessage();
  EXPECT_EQ(report.launches, 0u);
  pypto_times times = PYPTO_STRUCT(pypto_times);
  pypto_launch_options options = PYPTO_STRUCT(pypto_launch_options);
  options.times = &times;
  ASSERT_EQ(pypto_registration_launch(registration_, arguments.data(), 3, &options), PYPTO_OK) << LastMessage();
  EXPECT_GT(times.host_ns, 0);
  EXPECT_GT(times.device_ns, 0);
  EXPECT_GE(times.host_ns, times.copy_ns + times.launch_ns);
  ASSERT_EQ(pypto_registration_get_report(registration_, &report), PYPTO_OK) << LastMessage();
  EXPECT_EQ(report.launches, 1u);
  EXPECT_EQ(report.root_instances, 2u);
  EXPECT_GT(report.device_wall_us, 0.0);
  EXPECT_EQ(report.parallelism, 1u);
  times.struct_size = 0;
  EXPECT_EQ(pypto_registration_launch(registration_, arguments.data(), 3, &options), PYPTO_ERROR_INVALID_ARGUMENT);
}

TEST_F(LaunchTest, TasksOfALaunchAtLevelInfo) {
  const int32_t level = pypto_log_get_level();
  Floats x(64, 1.0F);
  Floats out(64, 0.0F);
  const std::array<pypto_argument, 3> arguments = {x.Argument(), Resident(weight_), out.Argument()};
  size_t count = 7;
  ASSERT_EQ(pypto_registration_launch(registration_, arguments.data(), 3, nullptr), PYPTO_OK) << LastMessage();
  ASSERT_EQ(pypto_registration_get_tasks(registration_, nullptr, 0, &count), PYPTO_OK) << LastMessage();
  EXPECT_EQ(count, 0u);
  EXPECT_EQ(pypto_log_set_level(PYPTO_LOG_INFO), PYPTO_OK);
  ASSERT_EQ(pypto_registration_launch(registration_, arguments.data(), 3, nullptr), PYPTO_OK) << LastMessage();
  EXPECT_EQ(pypto_log_set_level(level), PYPTO_OK);
  pypto_task_report task{};
  ASSERT_EQ(pypto_registration_get_tasks(registration_, &task, 1, &count), PYPTO_OK) << LastMessage();
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(task.tasks, 1u);
  EXPECT_EQ(task.stitch_count, 2u);
  EXPECT_EQ(task.alloc_failures, 0u);
  pypto_pool_usage copy{};
  ASSERT_EQ(pypto_registration_get_task_copies(registration_, 0, &copy, 1, &count), PYPTO_OK) << LastMessage();
  EXPECT_EQ(count, 1u);
  for (int pool = 0; pool < PYPTO_POOL_COUNT; ++pool) {
    EXPECT_EQ(copy.current_bytes[pool], task.current_bytes[pool]);
    EXPECT_EQ(copy.peak_bytes[pool], task.peak_bytes[pool]);
    EXPECT_GE(copy.capacity_bytes[pool], copy.peak_bytes[pool]);
  }
  EXPECT_EQ(pypto_registration_get_task_copies(registration_, 1, &copy, 1, &count), PYPTO_ERROR_OUT_OF_RANGE);
  EXPECT_THAT(LastMessage(), HasSubstr("there is no task 1"));
}

TEST_F(LaunchTest, SubmitWaitPollDone) {
  Floats x(64, 1.0F);
  pypto_tensor* a = nullptr;
  pypto_tensor* b = nullptr;
  ASSERT_EQ(pypto_tensor_alloc(worker_, PYPTO_FP32, x.shape.data(), 2, x.data.data(), &a), PYPTO_OK);
  ASSERT_EQ(pypto_tensor_alloc(worker_, PYPTO_FP32, x.shape.data(), 2, nullptr, &b), PYPTO_OK);
  std::vector<pypto_completion*> completions;
  for (int i = 0; i < 100; ++i) {
    const std::array<pypto_argument, 3> arguments = {Resident(i % 2 == 0 ? a : b), Resident(weight_),
                                                     Resident(i % 2 == 0 ? b : a)};
    pypto_completion* completion = nullptr;
    ASSERT_EQ(pypto_registration_submit(registration_, arguments.data(), 3, nullptr, &completion), PYPTO_OK)
        << LastMessage();
    completions.push_back(completion);
  }
  int32_t done = 0;
  while (done == 0) ASSERT_EQ(pypto_completion_poll(completions[50], &done), PYPTO_OK);
  done = 0;
  EXPECT_EQ(pypto_completion_done(completions[50], &done), PYPTO_OK);
  EXPECT_EQ(done, 1);
  for (pypto_completion* completion : completions) {
    EXPECT_EQ(pypto_completion_wait(completion, PYPTO_FOREVER), PYPTO_OK);
    EXPECT_EQ(pypto_completion_wait(completion, 10), PYPTO_OK);
    EXPECT_EQ(pypto_completion_release(completion), PYPTO_OK);
  }
  Floats back(64, 0.0F);
  EXPECT_EQ(pypto_tensor_download(a, back.data.data(), back.bytes()), PYPTO_OK);
  EXPECT_EQ(back.data, std::vector<float>(1024, 51.0F));
  EXPECT_EQ(pypto_tensor_release(a), PYPTO_OK);
  EXPECT_EQ(pypto_tensor_release(b), PYPTO_OK);
}

TEST_F(LaunchTest, ReleasingAnUnfinishedCompletionWaits) {
  Floats x(256, 1.0F);
  Floats out(256, 0.0F);
  const std::array<pypto_argument, 3> arguments = {x.Argument(), Resident(weight_), out.Argument()};
  pypto_completion* completion = nullptr;
  ASSERT_EQ(pypto_registration_submit(registration_, arguments.data(), 3, nullptr, &completion), PYPTO_OK);
  EXPECT_EQ(pypto_completion_release(completion), PYPTO_OK);
  EXPECT_EQ(out.data, std::vector<float>(4096, 1.5F));
  pypto_times times = PYPTO_STRUCT(pypto_times);
  pypto_launch_options options = PYPTO_STRUCT(pypto_launch_options);
  options.times = &times;
  EXPECT_EQ(pypto_registration_submit(registration_, arguments.data(), 3, &options, &completion),
            PYPTO_ERROR_INVALID_ARGUMENT);
}

TEST_F(LaunchTest, OutputsFollowFromInputs) {
  Floats x(5, 1.0F);
  const std::array<pypto_argument, 2> given = {x.Argument(), Resident(weight_)};
  pypto_output output{};
  size_t count = 0;
  ASSERT_EQ(pypto_registration_infer_outputs(registration_, given.data(), 2, &output, 1, &count), PYPTO_OK)
      << LastMessage();
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(output.parameter, 2u);
  EXPECT_EQ(output.rank, 2u);
  EXPECT_EQ(output.shape[0], 5);
  EXPECT_EQ(output.shape[1], 16);
  EXPECT_EQ(pypto_registration_infer_outputs(registration_, given.data(), 1, nullptr, 0, &count),
            PYPTO_ERROR_TYPE_MISMATCH);
}

// A program that never ends on the device unless it is stopped: every launch is delayed by the mock.
struct Stopper {
  int asked = 0;
  bool throws = false;
  static int32_t Ask(void* user) {
    auto* self = static_cast<Stopper*>(user);
    self->asked += 1;
    if (self->throws) throw std::runtime_error("a callback must not throw");
    EXPECT_EQ(pypto_worker_check(nullptr), PYPTO_ERROR_INVALID_HANDLE);
    return 1;
  }
};

TEST_F(LaunchTest, AQuestionThatStopsOrThrowsEndsTheWait) {
  ASSERT_EQ(MOCK_CALL(mock_set_replace)(
                "aclrtSynchronizeStreamWithTimeout", [](void*, const char*, void* const*) -> int32_t { return 507046; },
                nullptr),
            0);
  Floats x(4, 1.0F);
  Floats out(4, 0.0F);
  const std::array<pypto_argument, 3> arguments = {x.Argument(), Resident(weight_), out.Argument()};
  for (const bool throws : {false, true}) {
    Stopper stopper{0, throws};
    pypto_launch_options options = PYPTO_STRUCT(pypto_launch_options);
    options.should_stop = Stopper::Ask;
    options.user = &stopper;
    EXPECT_EQ(pypto_registration_launch(registration_, arguments.data(), 3, &options), PYPTO_ERROR_FAILED_PRECONDITION);
    EXPECT_THAT(LastMessage(), HasSubstr("was interrupted"));
    EXPECT_EQ(stopper.asked, 1);
  }
  MOCK_CALL(mock_clear_hooks)();
  EXPECT_EQ(pypto_worker_synchronize(worker_, PYPTO_FOREVER), PYPTO_OK) << LastMessage();
  EXPECT_EQ(pypto_registration_launch(registration_, arguments.data(), 3, nullptr), PYPTO_OK) << LastMessage();
  EXPECT_EQ(out.data[63], 1.5F);
}

TEST_F(LaunchTest, AFaultBreaksTheWorkerAndANewOneWorks) {
  pypto_program* faulty = testing::Load(testing::AddRowsFile(-8));
  pypto_worker* worker = testing::OpenWorker();
  pypto_registration* registration = nullptr;
  ASSERT_EQ(pypto_worker_register(worker, faulty, &registration), PYPTO_OK);
  Floats x(64, 1.0F);
  Floats out(64, 0.0F);
  const std::array<pypto_argument, 3> arguments = {x.Argument(), w_.Argument(), out.Argument()};
  EXPECT_EQ(pypto_registration_launch(registration, arguments.data(), 3, nullptr), PYPTO_ERROR_ACL);
  EXPECT_EQ(testing::LastError().source_line, 5);
  EXPECT_STREQ(testing::LastError().source_file, "add_rows.py");
  EXPECT_STREQ(testing::LastError().failure_class, "kernel_fault");
  EXPECT_EQ(pypto_worker_check(worker), PYPTO_ERROR_FAILED_PRECONDITION);
  EXPECT_EQ(pypto_worker_release(worker), PYPTO_OK) << LastMessage();
  EXPECT_EQ(pypto_registration_launch(registration, arguments.data(), 3, nullptr), PYPTO_ERROR_FAILED_PRECONDITION);
  EXPECT_EQ(pypto_registration_release(registration), PYPTO_OK);
  EXPECT_EQ(pypto_program_release(faulty), PYPTO_OK);
}

TEST_F(LaunchTest, UnregisterIsIdempotent) {
  pypto_registration* second = nullptr;
  ASSERT_EQ(pypto_worker_register(worker_, program_, &second), PYPTO_OK);
  EXPECT_EQ(Counters().program_loads, 1u);
  EXPECT_EQ(pypto_registration_unregister(second), PYPTO_OK);
  EXPECT_EQ(pypto_registration_unregister(second), PYPTO_OK);
  EXPECT_EQ(pypto_registration_launch(second, nullptr, 0, nullptr), PYPTO_ERROR_FAILED_PRECONDITION);
  EXPECT_THAT(LastMessage(), HasSubstr("is closed"));
  EXPECT_EQ(pypto_registration_release(second), PYPTO_OK);
  EXPECT_EQ(Counters().program_unloads, 0u);
}

TEST_F(LaunchTest, EightThreadsOnOneRegistration) {
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      Floats x(16, static_cast<float>(t));
      Floats out(16, 0.0F);
      const std::array<pypto_argument, 3> arguments = {x.Argument(), Resident(weight_), out.Argument()};
      for (int i = 0; i < 50; ++i) {
        if (pypto_registration_launch(registration_, arguments.data(), 3, nullptr) != PYPTO_OK) wrong += 1;
        if (out.data != std::vector<float>(256, static_cast<float>(t) + 0.5F)) wrong += 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
}

}  // namespace
}  // namespace pypto::capi
