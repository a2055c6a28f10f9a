// Null, wrong, stale and foreign handles in every function; releases against uses in other threads; generations.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <map>
#include <thread>

#include "capi/capi_fixture.h"
#include "pypto/capi/handle_table.h"

namespace pypto::capi {
namespace {

using testing::Floats;
using ::testing::HasSubstr;
using testing::LastMessage;
using testing::Resident;

template <typename Handle>
Handle* FromBits(uint64_t bits) {
  return reinterpret_cast<Handle*>(static_cast<uintptr_t>(bits));
}

using Call = std::function<pypto_status(uint64_t)>;

// Every function that takes a handle of the kind, with arguments that would do otherwise.
std::vector<std::pair<const char*, Call>> ProgramCalls() {
  const auto h = FromBits<pypto_program>;
  return {
      {"save", [h](uint64_t b) { return pypto_program_save(h(b), "/nowhere/x"); }},
      {"get_info",
       [h](uint64_t b) {
         auto s = PYPTO_STRUCT(pypto_program_info);
         return pypto_program_get_info(h(b), &s);
       }},
      {"get_text",
       [h](uint64_t b) {
         const char* text = nullptr;
         return pypto_program_get_text(h(b), &text);
       }},
      {"get_parameter",
       [h](uint64_t b) {
         auto s = PYPTO_STRUCT(pypto_parameter);
         return pypto_program_get_parameter(h(b), 0, &s);
       }},
      {"get_budget",
       [h](uint64_t b) { return pypto_program_get_budget(h(b), nullptr, 0, nullptr, nullptr, 0, nullptr); }},
  };
}

std::vector<std::pair<const char*, Call>> WorkerCalls() {
  const auto h = FromBits<pypto_worker>;
  static const int64_t shape[] = {4};
  static float data[4];
  return {
      {"close", [h](uint64_t b) { return pypto_worker_close(h(b)); }},
      {"init", [h](uint64_t b) { return pypto_worker_init(h(b)); }},
      {"check", [h](uint64_t b) { return pypto_worker_check(h(b)); }},
      {"synchronize", [h](uint64_t b) { return pypto_worker_synchronize(h(b), PYPTO_FOREVER); }},
      {"trim", [h](uint64_t b) { return pypto_worker_trim(h(b)); }},
      {"get_info",
       [h](uint64_t b) {
         auto s = PYPTO_STRUCT(pypto_worker_info);
         return pypto_worker_get_info(h(b), &s);
       }},
      {"get_library_path", [h](uint64_t b) { return pypto_worker_get_library_path(h(b), nullptr, 0, nullptr); }},
      {"get_library_symbol",
       [h](uint64_t b) {
         void* s = nullptr;
         return pypto_worker_get_library_symbol(h(b), "aclInit", &s);
       }},
      {"get_counters",
       [h](uint64_t b) {
         auto s = PYPTO_STRUCT(pypto_counters);
         return pypto_worker_get_counters(h(b), &s);
       }},
      {"get_memory_info",
       [h](uint64_t b) {
         auto s = PYPTO_STRUCT(pypto_memory_info);
         return pypto_worker_get_memory_info(h(b), &s);
       }},
      {"malloc",
       [h](uint64_t b) {
         uint64_t a = 0;
         return pypto_worker_malloc(h(b), 8, &a);
       }},
      {"free", [h](uint64_t b) { return pypto_worker_free(h(b), 8); }},
      {"copy_to", [h](uint64_t b) { return pypto_worker_copy_to(h(b), 8, data, 8); }},
      {"copy_from", [h](uint64_t b) { return pypto_worker_copy_from(h(b), data, 8, 8); }},
      {"tensor_alloc",
       [h](uint64_t b) {
         pypto_tensor* t = nullptr;
         return pypto_tensor_alloc(h(b), PYPTO_FP32, shape, 1, nullptr, &t);
       }},
      {"register",
       [h](uint64_t b) {
         pypto_registration* r = nullptr;
         return pypto_worker_register(h(b), nullptr, &r);
       }},
      {"run", [h](uint64_t b) { return pypto_worker_run(h(b), nullptr, nullptr, 0, nullptr); }},
      {"enter", [h](uint64_t b) { return pypto_worker_enter(h(b)); }},
      {"leave", [h](uint64_t b) { return pypto_worker_leave(h(b)); }},
  };
}

std::vector<std::pair<const char*, Call>> TensorCalls() {
  const auto h = FromBits<pypto_tensor>;
  static float data[4];
  return {
      {"view_rows",
       [h](uint64_t b) {
         pypto_tensor* t = nullptr;
         return pypto_tensor_view_rows(h(b), 0, 1, &t);
       }},
      {"upload", [h](uint64_t b) { return pypto_tensor_upload(h(b), data, sizeof(data)); }},
      {"download", [h](uint64_t b) { return pypto_tensor_download(h(b), data, sizeof(data)); }},
      {"free", [h](uint64_t b) { return pypto_tensor_free(h(b)); }},
      {"get_info",
       [h](uint64_t b) {
         auto s = PYPTO_STRUCT(pypto_tensor_info);
         return pypto_tensor_get_info(h(b), &s);
       }},
  };
}

std::vector<std::pair<const char*, Call>> RegistrationCalls() {
  const auto h = FromBits<pypto_registration>;
  return {
      {"unregister", [h](uint64_t b) { return pypto_registration_unregister(h(b)); }},
      {"launch", [h](uint64_t b) { return pypto_registration_launch(h(b), nullptr, 0, nullptr); }},
      {"submit",
       [h](uint64_t b) {
         pypto_completion* c = nullptr;
         return pypto_registration_submit(h(b), nullptr, 0, nullptr, &c);
       }},
      {"infer_outputs",
       [h](uint64_t b) {
         size_t n = 0;
         return pypto_registration_infer_outputs(h(b), nullptr, 0, nullptr, 0, &n);
       }},
      {"get_tasks",
       [h](uint64_t b) {
         size_t n = 0;
         return pypto_registration_get_tasks(h(b), nullptr, 0, &n);
       }},
      {"get_task_copies",
       [h](uint64_t b) {
         size_t n = 0;
         return pypto_registration_get_task_copies(h(b), 0, nullptr, 0, &n);
       }},
      {"benchmark",
       [h](uint64_t b) {
         auto s = PYPTO_STRUCT(pypto_benchmark);
         return pypto_registration_benchmark(h(b), nullptr, 0, 1, 0, nullptr, nullptr, &s);
       }},
      {"profile",
       [h](uint64_t b) {
         auto s = PYPTO_STRUCT(pypto_profile);
         return pypto_registration_profile(h(b), nullptr, 0, nullptr, nullptr, &s, nullptr, 0, nullptr);
       }},
      {"get_report",
       [h](uint64_t b) {
         auto s = PYPTO_STRUCT(pypto_workspace_report);
         return pypto_registration_get_report(h(b), &s);
       }},
  };
}

std::vector<std::pair<const char*, Call>> CompletionCalls() {
  const auto h = FromBits<pypto_completion>;
  return {
      {"wait", [h](uint64_t b) { return pypto_completion_wait(h(b), 1); }},
      {"poll",
       [h](uint64_t b) {
         int32_t d = 0;
         return pypto_completion_poll(h(b), &d);
       }},
      {"done",
       [h](uint64_t b) {
         int32_t d = 0;
         return pypto_completion_done(h(b), &d);
       }},
  };
}

std::vector<std::pair<const char*, Call>> OptionsCalls() {
  const auto h = FromBits<pypto_options>;
  return {
      {"child",
       [h](uint64_t b) {
         pypto_options* c = nullptr;
         return pypto_options_child(h(b), "x", &c);
       }},
      {"update", [h](uint64_t b) { return pypto_options_update(h(b), "{}"); }},
      {"reset", [h](uint64_t b) { return pypto_options_reset(h(b)); }},
      {"get", [h](uint64_t b) { return pypto_options_get(h(b), "runtime.run_mode", nullptr, 0, nullptr); }},
      {"get_json", [h](uint64_t b) { return pypto_options_get_json(h(b), nullptr, 0, nullptr); }},
      {"describe", [h](uint64_t b) { return pypto_options_describe(h(b), nullptr, 0, nullptr); }},
  };
}

const std::map<Kind, std::vector<std::pair<const char*, Call>>>& CallsByKind() {
  static const std::map<Kind, std::vector<std::pair<const char*, Call>>> calls = {
      {Kind::kProgram, ProgramCalls()},       {Kind::kWorker, WorkerCalls()},
      {Kind::kTensor, TensorCalls()},         {Kind::kRegistration, RegistrationCalls()},
      {Kind::kCompletion, CompletionCalls()}, {Kind::kOptions, OptionsCalls()},
  };
  return calls;
}

std::vector<std::pair<Kind, Call>> Releases() {
  return {
      {Kind::kProgram, [](uint64_t b) { return pypto_program_release(FromBits<pypto_program>(b)); }},
      {Kind::kWorker, [](uint64_t b) { return pypto_worker_release(FromBits<pypto_worker>(b)); }},
      {Kind::kTensor, [](uint64_t b) { return pypto_tensor_release(FromBits<pypto_tensor>(b)); }},
      {Kind::kRegistration, [](uint64_t b) { return pypto_registration_release(FromBits<pypto_registration>(b)); }},
      {Kind::kCompletion, [](uint64_t b) { return pypto_completion_release(FromBits<pypto_completion>(b)); }},
      {Kind::kOptions, [](uint64_t b) { return pypto_options_release(FromBits<pypto_options>(b)); }},
  };
}

class HandlesTest : public testing::CapiTest {
 protected:
  HandlesTest() {
    program_ = testing::Load(testing::AddRowsFile());
    worker_ = testing::OpenWorker();
    const int64_t shape[] = {4, 16};
    EXPECT_EQ(pypto_tensor_alloc(worker_, PYPTO_FP32, shape, 2, nullptr, &tensor_), PYPTO_OK);
    EXPECT_EQ(pypto_worker_register(worker_, program_, &registration_), PYPTO_OK);
    const std::array<pypto_argument, 3> arguments = {x_.Argument(), w_.Argument(), out_.Argument()};
    EXPECT_EQ(pypto_registration_submit(registration_, arguments.data(), 3, nullptr, &completion_), PYPTO_OK);
    EXPECT_EQ(pypto_options_create(nullptr, &options_), PYPTO_OK);
    bits_ = {{Kind::kProgram, reinterpret_cast<uintptr_t>(program_)},
             {Kind::kWorker, reinterpret_cast<uintptr_t>(worker_)},
             {Kind::kTensor, reinterpret_cast<uintptr_t>(tensor_)},
             {Kind::kRegistration, reinterpret_cast<uintptr_t>(registration_)},
             {Kind::kCompletion, reinterpret_cast<uintptr_t>(completion_)},
             {Kind::kOptions, reinterpret_cast<uintptr_t>(options_)}};
  }
  ~HandlesTest() override { ReleaseAll(); }

  void ReleaseAll() {
    if (released_) return;
    released_ = true;
    EXPECT_EQ(pypto_completion_release(completion_), PYPTO_OK);
    EXPECT_EQ(pypto_registration_release(registration_), PYPTO_OK);
    EXPECT_EQ(pypto_tensor_release(tensor_), PYPTO_OK);
    EXPECT_EQ(pypto_worker_release(worker_), PYPTO_OK);
    EXPECT_EQ(pypto_program_release(program_), PYPTO_OK);
    EXPECT_EQ(pypto_options_release(options_), PYPTO_OK);
  }
  // Every function of a kind refuses the handle, in the words given.
  static void ExpectRefused(Kind kind, uint64_t bits, const char* words) {
    for (const auto& [name, call] : CallsByKind().at(kind)) {
      SCOPED_TRACE(std::string(KindText(kind)) + " " + name);
      pypto_clear_error();
      EXPECT_EQ(call(bits), PYPTO_ERROR_INVALID_HANDLE);
      EXPECT_EQ(testing::LastError().status, PYPTO_ERROR_INVALID_HANDLE);
      EXPECT_THAT(LastMessage(), HasSubstr(words));
    }
  }

  Floats x_{4, 1.0F};
  Floats w_{1, 2.0F};
  Floats out_{4, 0.0F};
  pypto_program* program_ = nullptr;
  pypto_worker* worker_ = nullptr;
  pypto_tensor* tensor_ = nullptr;
  pypto_registration* registration_ = nullptr;
  pypto_completion* completion_ = nullptr;
  pypto_options* options_ = nullptr;
  std::map<Kind, uint64_t> bits_;
  bool released_ = false;
};

TEST_F(HandlesTest, Null) {
  for (const auto& [kind, calls] : CallsByKind()) ExpectRefused(kind, 0, "a null handle in place of");
  for (const auto& [kind, release] : Releases()) EXPECT_EQ(release(0), PYPTO_OK);
}

TEST_F(HandlesTest, OfAnotherType) {
  for (const auto& [kind, calls] : CallsByKind()) {
    for (const auto& [other, bits] : bits_) {
      if (other != kind) ExpectRefused(kind, bits, "the handle is that of");
    }
  }
  for (const auto& [kind, release] : Releases()) {
    for (const auto& [other, bits] : bits_) {
      if (other != kind) {
        EXPECT_EQ(release(bits), PYPTO_ERROR_INVALID_HANDLE);
      }
    }
  }
  EXPECT_EQ(pypto_tensor_free(FromBits<pypto_tensor>(bits_.at(Kind::kWorker))), PYPTO_ERROR_INVALID_HANDLE);
  EXPECT_EQ(LastMessage(), "the handle is that of a worker, not of a tensor");
}

TEST_F(HandlesTest, Stale) {
  ReleaseAll();
  for (const auto& [kind, bits] : bits_) ExpectRefused(kind, bits, "it was released");
  for (const auto& [kind, release] : Releases()) EXPECT_EQ(release(bits_.at(kind)), PYPTO_ERROR_INVALID_HANDLE);
}

TEST_F(HandlesTest, StaleAfterTheSlotIsUsedAgain) {
  ReleaseAll();
  std::vector<pypto_options*> fresh(16);
  for (pypto_options*& options : fresh) ASSERT_EQ(pypto_options_create(nullptr, &options), PYPTO_OK);
  for (const auto& [kind, bits] : bits_) ExpectRefused(kind, bits, "not the handle of");
  for (pypto_options* options : fresh) EXPECT_EQ(pypto_options_release(options), PYPTO_OK);
}

TEST_F(HandlesTest, Foreign) {
  int on_the_stack = 0;
  const auto heap = std::make_unique<int>(0);
  const uint64_t values[] = {1,
                             reinterpret_cast<uintptr_t>(&on_the_stack),
                             reinterpret_cast<uintptr_t>(heap.get()),
                             reinterpret_cast<uintptr_t>(&pypto_version),
                             ~uint64_t{0},
                             uint64_t{1} << 63,
                             bits_.at(Kind::kWorker) ^ uint64_t{1} << 40,
                             bits_.at(Kind::kWorker) + 1'000'000};
  for (const uint64_t value : values) {
    for (const auto& [kind, calls] : CallsByKind()) ExpectRefused(kind, value, "this library did not make it");
    for (const auto& [kind, release] : Releases()) EXPECT_EQ(release(value), PYPTO_ERROR_INVALID_HANDLE);
  }
}

TEST_F(HandlesTest, HandlesAreNoAddresses) {
  for (const auto& [kind, bits] : bits_) {
    EXPECT_EQ(bits >> 63, 1u);
    EXPECT_EQ(KindOf(bits), kind);
  }
}

TEST_F(HandlesTest, ArgumentsOfALaunch) {
  std::array<pypto_argument, 3> arguments = {x_.Argument(), w_.Argument(), out_.Argument()};
  const auto launch = [&] { return pypto_registration_launch(registration_, arguments.data(), 3, nullptr); };
  EXPECT_EQ(launch(), PYPTO_OK);
  arguments[0] = Resident(nullptr);
  EXPECT_EQ(launch(), PYPTO_ERROR_INVALID_HANDLE);
  EXPECT_EQ(LastMessage(), "argument 0: a null handle in place of a tensor");
  arguments[0] = Resident(FromBits<pypto_tensor>(bits_.at(Kind::kProgram)));
  EXPECT_EQ(launch(), PYPTO_ERROR_INVALID_HANDLE);
  EXPECT_EQ(LastMessage(), "argument 0: the handle is that of a program, not of a tensor");
  pypto_worker* other = testing::OpenWorker();
  pypto_tensor* foreign = nullptr;
  const int64_t shape[] = {4, 16};
  ASSERT_EQ(pypto_tensor_alloc(other, PYPTO_FP32, shape, 2, nullptr, &foreign), PYPTO_OK);
  arguments[0] = Resident(foreign);
  EXPECT_EQ(launch(), PYPTO_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(LastMessage(),
            "argument 0 is a tensor of another worker; tensors belong to the worker that allocated them");
  EXPECT_EQ(pypto_tensor_release(foreign), PYPTO_OK);
  EXPECT_EQ(launch(), PYPTO_ERROR_INVALID_HANDLE);
  EXPECT_THAT(LastMessage(), HasSubstr("argument 0: not the handle of a tensor that is alive"));
  EXPECT_EQ(pypto_worker_release(other), PYPTO_OK);
  arguments[0] = Resident(tensor_);
  EXPECT_EQ(launch(), PYPTO_OK) << LastMessage();
}

// Threads launch with tensors that others release and make again; what they get is a result or a clear refusal.
TEST_F(HandlesTest, ReleasesAgainstLaunches) {
  ASSERT_EQ(pypto_tensor_upload(tensor_, x_.data.data(), x_.bytes()), PYPTO_OK);
  std::atomic<uintptr_t> shared{reinterpret_cast<uintptr_t>(tensor_)};
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::atomic<int> launched{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      Floats w(1, 2.0F);
      Floats out(4, 0.0F);
      while (!stop.load()) {
        auto* tensor = FromBits<pypto_tensor>(shared.load());
        const std::array<pypto_argument, 3> arguments = {Resident(tensor), w.Argument(), out.Argument()};
        const pypto_status status = pypto_registration_launch(registration_, arguments.data(), 3, nullptr);
        if (status == PYPTO_OK) {
          launched += 1;
          if (out.data != std::vector<float>(64, 3.0F)) wrong += 1;
        } else if (status != PYPTO_ERROR_INVALID_HANDLE) {
          wrong += 1;
        }
        pypto_tensor_info info = PYPTO_STRUCT(pypto_tensor_info);
        const pypto_status seen = pypto_tensor_get_info(tensor, &info);
        if (seen != PYPTO_OK && seen != PYPTO_ERROR_INVALID_HANDLE) wrong += 1;
        if (seen == PYPTO_OK && info.bytes != 256) wrong += 1;
      }
    });
  }
  const int64_t shape[] = {4, 16};
  for (int round = 0; round < 300 || launched.load() < 20; ++round) {
    pypto_tensor* fresh = nullptr;
    ASSERT_EQ(pypto_tensor_alloc(worker_, PYPTO_FP32, shape, 2, x_.data.data(), &fresh), PYPTO_OK);
    const uintptr_t old = shared.exchange(reinterpret_cast<uintptr_t>(fresh));
    ASSERT_EQ(pypto_tensor_release(FromBits<pypto_tensor>(old)), PYPTO_OK);
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
  tensor_ = FromBits<pypto_tensor>(shared.load());
}

// What other threads used at the time of the fork holds nothing up in the child; the parent's worker is refused there.
TEST_F(HandlesTest, AForkedChild) {
  const uint64_t handle = AddObject(Kind::kOptions, std::make_unique<Object>());
  std::atomic<bool> pinned{false};
  std::atomic<bool> may_leave{false};
  std::thread user([&] {
    const PinnedSlot pin(handle, Kind::kOptions);
    pinned = true;
    while (!may_leave.load()) std::this_thread::yield();
  });
  while (!pinned.load()) std::this_thread::yield();
  const pid_t child = fork();
  if (child == 0) {
    int failed = 0;
    if (!Invalidate(handle)) failed |= 1;
    Reclaim(handle).reset();
    if (pypto_worker_check(worker_) != PYPTO_ERROR_FAILED_PRECONDITION) failed |= 2;
    if (pypto_tensor_release(tensor_) != PYPTO_OK) failed |= 4;
    pypto_options* fresh = nullptr;
    if (pypto_options_create(nullptr, &fresh) != PYPTO_OK || pypto_options_release(fresh) != PYPTO_OK) failed |= 8;
    _exit(failed);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  may_leave = true;
  user.join();
  EXPECT_TRUE(Invalidate(handle));
  Reclaim(handle).reset();
}

// A release waits for a call of another thread that uses the handle.
TEST_F(HandlesTest, ReleaseWaitsForTheUser) {
  struct Tally final : Object {
    explicit Tally(std::atomic<bool>* flag) : gone(flag) {}
    ~Tally() override { *gone = true; }
    std::atomic<bool>* gone;
  };
  std::atomic<bool> gone{false};
  std::atomic<bool> pinned{false};
  std::atomic<bool> may_leave{false};
  const uint64_t handle = AddObject(Kind::kOptions, std::make_unique<Tally>(&gone));
  std::thread user([&] {
    const PinnedSlot pin(handle, Kind::kOptions);
    EXPECT_NE(pin.object(), nullptr);
    pinned = true;
    while (!may_leave.load()) std::this_thread::yield();
    EXPECT_FALSE(gone.load());
  });
  while (!pinned.load()) std::this_thread::yield();
  EXPECT_TRUE(Invalidate(handle));
  EXPECT_FALSE(Invalidate(handle));
  std::thread remover([&] { Reclaim(handle).reset(); });
  const PinnedSlot late(handle, Kind::kOptions);
  EXPECT_EQ(late.object(), nullptr);
  may_leave = true;
  user.join();
  remover.join();
  EXPECT_TRUE(gone.load());
}

}  // namespace
}  // namespace pypto::capi
