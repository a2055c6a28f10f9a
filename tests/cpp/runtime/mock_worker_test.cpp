// The worker over the real mock library: compiled kernels, right numbers, the side door's own counts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "pypto/acl/layers/fault_injection.h"
#include "pypto/acl/session.h"
#include "pypto/compile/compile.h"
#include "pypto/mock_acl.h"
#include "pypto/program/builder.h"
#include "pypto/runtime/worker.h"

namespace pypto::runtime {
namespace {

using base::Status;
using base::StatusCode;
using program::DType;
using program::Operand;
using ::testing::HasSubstr;

std::shared_ptr<const program::Image> Finish(program::Builder* builder) {
  auto program = builder->Finish();
  EXPECT_TRUE(program.ok()) << program.status().ToString();
  auto image = compile::Compile(*program, {});
  EXPECT_TRUE(image.ok()) << image.status().ToString();
  return *image;
}

Operand T(program::TensorId tensor) {
  Operand operand;
  operand.tensor = tensor;
  return operand;
}

// out[i] = x[i] + w, rows in steps of 32; n is dynamic. `shift` moves the reads, for a fault.
std::shared_ptr<const program::Image> AddRows(int64_t shift = 0) {
  program::Builder b("add_rows");
  static_cast<void>(b.AddFile({"add_rows.py", "", "", 0}));
  const auto x = *b.AddTensorParameter("x", DType::kFp32, {std::nullopt, 16}, {"n", ""});
  const auto w = *b.AddTensorParameter("w", DType::kFp32, {1, 16}, {});
  const auto out = *b.AddTensorParameter("out", DType::kFp32, {std::nullopt, 16}, {"n", ""});
  program::ExprPool& e = b.exprs();
  b.SetPlace({0, 5, 1});
  const auto i = *b.BeginLoop("rows", e.Const(0), e.Symbol(0), e.Const(32), false, false);
  const auto tile = *b.Slice(x, {32, 16}, {e.Add(i, e.Const(shift)), e.Const(0)}, {});
  const auto sum = *b.Op(program::OpCode::kAdd, {T(tile), T(w)}, {});
  EXPECT_TRUE(b.Assemble(out, sum, {i, e.Const(0)}).ok());
  EXPECT_TRUE(b.EndLoop().ok());
  return Finish(&b);
}

struct Floats {
  Floats(int64_t rows, float fill) : shape{rows, 16}, data(static_cast<size_t>(rows) * 16, fill) {}
  ArgumentView View() { return ArgumentView::Host(data.data(), shape.data(), 2, DType::kFp32); }
  HostTensorView Memory() { return {data.data(), shape, DType::kFp32}; }
  std::array<int64_t, 2> shape;
  std::vector<float> data;
};

class MockWorkerTest : public ::testing::Test {
 protected:
  MockWorkerTest() {
    config_.mock_library_path = PYPTO_TEST_MOCK_PATH;
    acl::LoadOptions options;
    options.mock_path = PYPTO_TEST_MOCK_PATH;
    options.layers = "fault,validation";
    auto library = acl::Session::Open(acl::PlatformKind::kSimulator, options);
    EXPECT_TRUE(library.ok()) << library.status().ToString();
    library_ = std::move(library).value();
    faults_ = library_.table().FindLayer<acl::FaultInjectionLayer>();
  }
  ~MockWorkerTest() override {
    EXPECT_EQ(LiveBytes(), 0u);
    EXPECT_TRUE(library_.Close().ok());
    EXPECT_EQ(acl::TakeLeakReports(), "");
  }

  std::shared_ptr<Worker> Open() {
    auto worker = Worker::Open(config_);
    EXPECT_TRUE(worker.ok()) << worker.status().ToString();
    return *worker;
  }
  uint64_t LiveBytes() {
    auto* live = reinterpret_cast<decltype(&mock_live_bytes)>(library_.table().Symbol("mock_live_bytes"));
    return live(-1);
  }

  RunConfig config_;
  acl::Session library_;
  acl::FaultInjectionLayer* faults_ = nullptr;
};

TEST_F(MockWorkerTest, HostAndResidentArgumentsGiveRightNumbers) {
  const auto worker = Open();
  EXPECT_TRUE(worker->is_mock());
  const auto handle = *worker->Register(AddRows());
  Floats w(1, 0.5F);
  const std::array<int64_t, 2> w_shape = {1, 16};
  const HostTensorView w_memory = w.Memory();
  const TensorRef resident = *worker->AllocTensor(w_shape, DType::kFp32, &w_memory);
  for (const int64_t rows : {1, 7, 32, 128, 1, 0}) {
    Floats x(rows, static_cast<float>(rows));
    Floats out(rows, -1.0F);
    const Status status = handle->Call(std::vector{x.View(), ArgumentView::Resident(resident.get()), out.View()});
    ASSERT_TRUE(status.ok()) << status.ToString();
    EXPECT_EQ(out.data, std::vector<float>(out.data.size(), static_cast<float>(rows) + 0.5F));
  }
  EXPECT_EQ(worker->GetCounters().launches, 6u);
  const LaunchReport report = *handle->Report();
  EXPECT_EQ(report.launches, 6u);
  EXPECT_GT(report.device_wall_us, 0.0);
  EXPECT_TRUE(worker->Close().ok());
}

TEST_F(MockWorkerTest, TwentyDispatchesOneLoadNoAllocationNoCopyOfTheResident) {
  const auto worker = Open();
  const auto handle = *worker->Register(AddRows());
  Floats w(1, 0.5F);
  Floats x(256, 1.0F);
  Floats out(256, 0.0F);
  const HostTensorView w_memory = w.Memory();
  const TensorRef resident = *worker->AllocTensor(w.shape, DType::kFp32, &w_memory);
  const std::vector<ArgumentView> arguments = {x.View(), ArgumentView::Resident(resident.get()), out.View()};
  ASSERT_TRUE(handle->Call(arguments).ok());
  const Counters before = worker->GetCounters();
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(handle->Call(arguments).ok());
  const Counters after = worker->GetCounters();
  EXPECT_EQ(after.program_loads, 1u);
  EXPECT_EQ(after.device_mallocs, before.device_mallocs);
  EXPECT_EQ(after.h2d_bytes - before.h2d_bytes, 20u * 256 * 64);
  EXPECT_EQ(after.d2h_bytes - before.d2h_bytes, 20u * 256 * 64);
}

TEST_F(MockWorkerTest, SubmittedLaunchesRunInOrder) {
  const auto worker = Open();
  const auto handle = *worker->Register(AddRows());
  Floats w(1, 1.0F);
  Floats x(64, 1.0F);
  const HostTensorView x_memory = x.Memory();
  const TensorRef a = *worker->AllocTensor(x.shape, DType::kFp32, &x_memory);
  const TensorRef b = *worker->AllocTensor(x.shape, DType::kFp32);
  std::vector<std::shared_ptr<Completion>> completions;
  for (int i = 0; i < 100; ++i) {
    const TensorRef& from = i % 2 == 0 ? a : b;
    const TensorRef& to = i % 2 == 0 ? b : a;
    auto submitted =
        handle->Submit(std::vector{ArgumentView::Resident(from.get()), w.View(), ArgumentView::Resident(to.get())});
    ASSERT_TRUE(submitted.ok()) << submitted.status().ToString();
    completions.push_back(std::move(submitted).value());
  }
  for (const auto& completion : completions) {
    const Status status = completion->Wait(std::nullopt);
    ASSERT_TRUE(status.ok()) << status.ToString();
  }
  Floats back(64, 0.0F);
  ASSERT_TRUE(worker->CopyToHost(*a, back.Memory()).ok());
  EXPECT_EQ(back.data, std::vector<float>(1024, 101.0F));
}

TEST_F(MockWorkerTest, AKernelFaultBreaksTheWorkerAndANewOneWorks) {
  auto worker = Open();
  const auto handle = *worker->Register(AddRows(-8));
  Floats w(1, 0.5F);
  Floats x(64, 1.0F);
  Floats out(64, 0.0F);
  const std::vector<ArgumentView> arguments = {x.View(), w.View(), out.View()};
  const Status status = handle->Call(arguments);
  EXPECT_EQ(status.code(), StatusCode::kAcl);
  EXPECT_THAT(status.ToString(), HasSubstr("a view starts before its base (value -8)"));
  EXPECT_EQ(status.source_line(), 5);
  EXPECT_THAT(handle->Call(arguments).ToString(), HasSubstr("is broken by an earlier failure"));
  EXPECT_TRUE(worker->Close().ok());
  const auto fresh = Open();
  const auto right = *fresh->Register(AddRows());
  EXPECT_TRUE(right->Call(arguments).ok());
  EXPECT_EQ(out.data[0], 1.5F);
}

TEST_F(MockWorkerTest, AFaultOfASubmittedLaunchComesFromItsCompletion) {
  const auto worker = Open();
  const auto handle = *worker->Register(AddRows(-8));
  Floats w(1, 0.5F);
  Floats x(64, 1.0F);
  Floats out(64, 7.0F);
  const auto completion = *handle->Submit(std::vector{x.View(), w.View(), out.View()});
  EXPECT_THAT(completion->Wait(std::nullopt).ToString(), HasSubstr("a view starts before its base"));
  EXPECT_EQ(out.data[0], 7.0F);
  EXPECT_TRUE(worker->Close().ok());
}

TEST_F(MockWorkerTest, ASmallSubmittedLaunchIsRunByItsWaiterWithoutAnEvent) {
  const auto worker = Open();
  const auto handle = *worker->Register(AddRows());
  Floats w(1, 0.5F);
  Floats x(64, 1.0F);
  Floats out(64, 0.0F);
  faults_->Fail(acl::CallId::aclrtRecordEvent, 0, acl_abi::kErrorRtParamInvalid);
  for (int i = 0; i < 3; ++i) {
    x.data.assign(1024, static_cast<float>(i));
    const auto completion = *handle->Submit(std::vector{x.View(), w.View(), out.View()});
    x.data.assign(1024, 100.0F);
    EXPECT_FALSE(completion->finished());
    ASSERT_TRUE(completion->Wait(std::nullopt).ok());
    EXPECT_EQ(out.data, std::vector<float>(1024, static_cast<float>(i) + 0.5F));
  }
  EXPECT_EQ(faults_->fired(), 0u);
  faults_->Clear();
}

TEST_F(MockWorkerTest, ASmallSubmittedLaunchIsSealedBeforeAnythingElse) {
  const auto worker = Open();
  const auto handle = *worker->Register(AddRows());
  Floats w(1, 0.5F);
  Floats x(64, 1.0F);
  Floats first(64, 0.0F);
  Floats second(64, 0.0F);
  const std::vector arguments = {x.View(), w.View(), first.View()};
  auto completion = *handle->Submit(arguments);
  while (!completion->Done()) std::this_thread::yield();
  EXPECT_EQ(first.data, std::vector<float>(1024, 1.5F));
  first.data.assign(1024, 0.0F);
  completion = *handle->Submit(arguments);
  EXPECT_TRUE(completion->Wait(10'000).ok());
  EXPECT_EQ(first.data, std::vector<float>(1024, 1.5F));
  first.data.assign(1024, 0.0F);
  completion = *handle->Submit(arguments);
  EXPECT_TRUE(handle->Call(std::vector{x.View(), w.View(), second.View()}).ok());
  EXPECT_TRUE(completion->Wait(std::nullopt).ok());
  EXPECT_EQ(first.data, second.data);
  // Without the event its end is waited for where the event was wanted.
  first.data.assign(1024, 0.0F);
  completion = *handle->Submit(arguments);
  faults_->Fail(acl::CallId::aclrtRecordEvent, 0, acl_abi::kErrorRtParamInvalid);
  EXPECT_TRUE(completion->Done());
  EXPECT_EQ(faults_->fired(), 1u);
  faults_->Clear();
  EXPECT_EQ(first.data, std::vector<float>(1024, 1.5F));
}

// What a later failure leaves of launches that had ended before it and were not asked for.
class LaterFailureTest : public MockWorkerTest {
 protected:
  std::shared_ptr<Completion> Submit(const std::shared_ptr<Registration>& handle, Floats* out) {
    auto submitted = handle->Submit(std::vector{x_.View(), w_.View(), out->View()});
    EXPECT_TRUE(submitted.ok()) << submitted.status().ToString();
    return *submitted;
  }
  Floats x_{64, 1.0F};
  Floats w_{1, 0.5F};
  Floats first_{64, 0.0F};
  Floats bad_{64, 7.0F};
  Floats after_{64, 7.0F};
};

TEST_F(LaterFailureTest, OfASubmittedLaunchIsItsOwn) {
  const auto worker = Open();
  const auto good = *worker->Register(AddRows());
  const auto wrong = *worker->Register(AddRows(-8));
  const auto first = Submit(good, &first_);
  const auto bad = Submit(wrong, &bad_);
  const auto after = Submit(good, &after_);
  EXPECT_THAT(bad->Wait(std::nullopt).ToString(), HasSubstr("a view starts before its base"));
  EXPECT_TRUE(first->Done());
  EXPECT_TRUE(first->Wait(std::nullopt).ok()) << first->Wait(std::nullopt).ToString();
  EXPECT_EQ(first_.data, std::vector<float>(1024, 1.5F));
  EXPECT_THAT(after->Wait(std::nullopt).ToString(), HasSubstr("a view starts before its base"));
  EXPECT_EQ(bad_.data[0], 7.0F);
  EXPECT_EQ(after_.data[0], 7.0F);
  EXPECT_EQ(worker->GetCounters().d2h_copies, 1u);
  EXPECT_TRUE(worker->Close().ok());
}

TEST_F(LaterFailureTest, IsNotBlamedOnTheOneAskedFirst) {
  const auto worker = Open();
  const auto first = Submit(*worker->Register(AddRows()), &first_);
  const auto bad = Submit(*worker->Register(AddRows(-8)), &bad_);
  EXPECT_TRUE(first->Wait(std::nullopt).ok());  // by now the other may have faulted or not
  EXPECT_EQ(first_.data[0], 1.5F);
  EXPECT_FALSE(bad->Wait(std::nullopt).ok());
}

TEST_F(LaterFailureTest, OfACallLeavesTheSubmitted) {
  const auto worker = Open();
  const auto first = Submit(*worker->Register(AddRows()), &first_);
  const auto wrong = *worker->Register(AddRows(-8));
  EXPECT_FALSE(wrong->Call(std::vector{x_.View(), w_.View(), bad_.View()}).ok());
  EXPECT_EQ(worker->CheckUsable().code(), StatusCode::kFailedPrecondition);
  EXPECT_TRUE(first->Wait(std::nullopt).ok());
  EXPECT_EQ(first_.data[0], 1.5F);
}

TEST_F(LaterFailureTest, OutputsAreDeliveredByCloseToo) {
  const auto worker = Open();
  const auto first = Submit(*worker->Register(AddRows()), &first_);
  const auto bad = Submit(*worker->Register(AddRows(-8)), &bad_);
  EXPECT_FALSE(bad->Wait(std::nullopt).ok());
  EXPECT_TRUE(worker->Close().ok());
  EXPECT_TRUE(first->Wait(std::nullopt).ok());
  EXPECT_EQ(first_.data[0], 1.5F);
}

TEST_F(LaterFailureTest, OfACopyBackIsWaitedFor) {
  const auto worker = Open();
  const auto good = *worker->Register(AddRows());
  for (const uint64_t n : {uint64_t{0}, uint64_t{1}}) {  // the output's copy, the mark's
    faults_->Fail(acl::CallId::aclrtMemcpyAsync, n, acl_abi::kErrorRtParamInvalid);
    first_.data.assign(1024, 0.0F);
    const auto first = Submit(good, &first_);
    faults_->Clear();
    EXPECT_TRUE(first->Wait(std::nullopt).ok());
    EXPECT_EQ(first_.data, std::vector<float>(1024, 1.5F));
  }
  EXPECT_TRUE(Submit(good, &first_)->Wait(std::nullopt).ok());
}

TEST_F(MockWorkerTest, InitOpensAgainAndOldThingsStayDead) {
  const auto worker = Open();
  const auto handle = *worker->Register(AddRows());
  Floats w(1, 0.5F);
  const TensorRef old = *worker->AllocTensor(w.shape, DType::kFp32);
  EXPECT_TRUE(worker->Close().ok());
  ASSERT_TRUE(worker->Init().ok());
  ASSERT_TRUE(worker->Init().ok());
  Floats x(4, 1.0F);
  Floats out(4, 0.0F);
  EXPECT_THAT(handle->Call(std::vector{x.View(), w.View(), out.View()}).ToString(), HasSubstr("is closed"));
  const auto again = *worker->Register(AddRows());
  EXPECT_THAT(again->Call(std::vector{x.View(), ArgumentView::Resident(old.get()), out.View()}).ToString(),
              HasSubstr("whose worker was closed"));
  EXPECT_TRUE(again->Call(std::vector{x.View(), w.View(), out.View()}).ok());
}

TEST_F(MockWorkerTest, WorkersOnOneDeviceFromSeveralThreads) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int round = 0; round < 5; ++round) {
        const auto worker = Worker::Open(config_);
        if (!worker.ok()) {
          wrong += 1;
          continue;
        }
        const auto handle = (*worker)->Register(AddRows());
        Floats w(1, 0.5F);
        Floats x(100, 1.0F);
        Floats out(100, 0.0F);
        if (!handle.ok() || !(*handle)->Call(std::vector{x.View(), w.View(), out.View()}).ok()) wrong += 1;
        if (out.data != std::vector<float>(1600, 1.5F)) wrong += 1;
        if (!(*worker)->Close().ok()) wrong += 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

// Idle cores of the device help with copies; short launches of other streams come between them.
TEST_F(MockWorkerTest, LargeCopiesBesideShortLaunches) {
  auto* shared = reinterpret_cast<decltype(&mock_shared_copies)>(library_.table().Symbol("mock_shared_copies"));
  const uint64_t before = shared();
  const auto image = AddRows();
  std::atomic<int> wrong{0};
  std::atomic<bool> copied{false};
  std::vector<std::thread> threads;
  threads.emplace_back([&] {
    const auto worker = Open();
    constexpr int64_t kRows = 70'000;  // 4.3 MiB
    const std::array<int64_t, 2> shape = {kRows, 16};
    for (int round = 0; round < 10; ++round) {
      Floats there(kRows, static_cast<float>(round));
      Floats back(kRows, -1.0F);
      const HostTensorView memory = there.Memory();
      const TensorRef tensor = *worker->AllocTensor(shape, DType::kFp32, &memory);
      if (!worker->CopyToHost(*tensor, back.Memory()).ok() || back.data != there.data) wrong += 1;
    }
    copied = true;
    if (!worker->Close().ok()) wrong += 1;
  });
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      const auto worker = Open();
      const auto handle = *worker->Register(image);
      for (int round = 0; !copied || round < 100; ++round) {
        const auto value = static_cast<float>(round % 7 + t);
        Floats w(1, 0.5F);
        Floats x(4, value);
        Floats out(4, -1.0F);
        if (!handle->Call(std::vector{x.View(), w.View(), out.View()}).ok()) wrong += 1;
        if (out.data != std::vector<float>(64, value + 0.5F)) wrong += 1;
      }
      if (!worker->Close().ok()) wrong += 1;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  if (std::thread::hardware_concurrency() > 1) {
    EXPECT_GT(shared(), before);
  }
}

TEST_F(MockWorkerTest, FailingEachCallLeavesNothingOnTheDevice) {
  Floats w(1, 0.5F);
  Floats x(64, 1.0F);
  const auto image = AddRows();
  const auto use = [&](const std::shared_ptr<Worker>& worker) -> Status {
    const HostTensorView w_memory = w.Memory();
    PYPTO_ASSIGN_OR_RETURN(const TensorRef resident, worker->AllocTensor(w.shape, DType::kFp32, &w_memory));
    PYPTO_ASSIGN_OR_RETURN(const auto handle, worker->Register(image));
    Floats out(64, 0.0F);
    const std::vector<ArgumentView> arguments = {x.View(), ArgumentView::Resident(resident.get()), out.View()};
    PYPTO_RETURN_IF_ERROR(handle->Call(arguments));
    PYPTO_ASSIGN_OR_RETURN(const auto completion, handle->Submit(arguments));
    PYPTO_RETURN_IF_ERROR(completion->Wait(std::nullopt));
    EXPECT_EQ(out.data[1023], 1.5F);
    return handle->Unregister();
  };
  bool ran_clean = false;
  for (int k = 0; k < 300 && !ran_clean; ++k) {
    SCOPED_TRACE("call " + std::to_string(k));
    faults_->Clear();
    faults_->FailAny(static_cast<uint64_t>(k), acl_abi::kErrorRtInternal);
    auto worker = Worker::Open(config_);
    const Status status = worker.ok() ? use(*worker) : worker.status();
    ran_clean = faults_->fired() == 0;
    faults_->Clear();
    EXPECT_TRUE(!ran_clean || status.ok()) << status.ToString();
    if (!worker.ok()) continue;
    const Status again = use(*worker);
    EXPECT_TRUE(again.ok()) << again.ToString();
    EXPECT_TRUE((*worker)->Close().ok());
    EXPECT_EQ(LiveBytes(), 0u);
  }
  EXPECT_TRUE(ran_clean);
}

TEST_F(MockWorkerTest, LaunchesThatNobodyAsksForGiveTheirBuffersToOthers) {
  constexpr int kCount = 300;
  const auto worker = Open();
  const auto handle = *worker->Register(AddRows());
  Floats w(1, 0.5F);
  std::vector<Floats> outputs(kCount, Floats(128, 0.0F));
  std::vector<std::shared_ptr<Completion>> completions;
  uint64_t staging = 0;
  for (int i = 0; i < kCount; ++i) {
    Floats x(128, static_cast<float>(i));
    auto& out = outputs[static_cast<size_t>(i)];
    completions.push_back(*handle->Submit(std::vector{x.View(), w.View(), out.View()}));
    if (i == 100) staging = worker->GetMemoryInfo()->staging;
  }
  EXPECT_EQ(worker->GetMemoryInfo()->staging, staging) << "of at most 64 launches at a time";
  EXPECT_EQ(outputs[0].data[0], 0.0F) << "written by who waits";
  while (!completions.empty()) {
    EXPECT_TRUE(completions.back()->Wait(std::nullopt).ok());
    completions.pop_back();
  }
  for (int i = 0; i < kCount; ++i) {
    const auto& out = outputs[static_cast<size_t>(i)];
    EXPECT_EQ(out.data, std::vector<float>(out.data.size(), static_cast<float>(i) + 0.5F)) << i;
  }
  EXPECT_TRUE(worker->Close().ok());
}

}  // namespace
}  // namespace pypto::runtime
