// For each public operation: ACL call number k fails, for k = 0, 1, 2 … until the operation succeeds. Each time the
// error is the call's, nothing is leaked, and the worker is usable or cleanly closed.
#include "runtime/worker_fixture.h"

namespace pypto::runtime {
namespace {

using base::Status;
using base::StatusCode;
using program::DType;
using testing::HostTensor;
using testing::LinearSample;
using testing::SampleImage;

constexpr acl::aclError kCode = acl_abi::kErrorRtInternal;
constexpr int kMostCalls = 200;

class FailEachCallTest : public testing::WorkerFixture {
 protected:
  using Operation = std::function<Status(const std::shared_ptr<Worker>&)>;

  // A fresh worker per round. `check` runs after a failed round, with faults off.
  void Run(const Operation& operation, const Operation& check) {
    for (int k = 0; k < kMostCalls; ++k) {
      SCOPED_TRACE("call " + std::to_string(k));
      const std::shared_ptr<Worker> worker = Open();
      faults_->FailAny(static_cast<uint64_t>(k), kCode);
      const Status status = operation(worker);
      const bool fired = faults_->fired() != 0;
      faults_->Clear();
      if (!status.ok()) ExpectTheFailure(status);
      if (fired && worker->is_open()) {
        const Status after = check(worker);
        EXPECT_TRUE(after.ok()) << after.ToString();
      }
      const Status closed = worker->Close();
      EXPECT_TRUE(closed.ok()) << closed.ToString();
      ExpectNothingLeft();
      if (!fired) {
        EXPECT_TRUE(status.ok()) << status.ToString();
        EXPECT_GT(k, 0);
        return;
      }
    }
    FAIL() << "still failing after " << kMostCalls << " calls";
  }

  static void ExpectTheFailure(const Status& status) {
    ASSERT_NE(status.acl_failure(), nullptr) << status.ToString();
    EXPECT_EQ(status.acl_failure()->code, kCode) << status.ToString();
  }

  void ExpectNothingLeft() {
    EXPECT_TRUE(fake_.blocks.empty());
    EXPECT_TRUE(fake_.handles.empty());
    EXPECT_EQ(validation_->refusals(), 0u) << validation_->last_refusal();
  }

  // Sizes above the inline limit, so that copies are made in both directions.
  std::vector<ArgumentView> Arguments() { return {x_.View(), w_.View(), out_.View()}; }
  Status RegisterAndCall(const std::shared_ptr<Worker>& worker) {
    SampleImage sample = LinearSample();
    sample.unit_per_symbol = 512;
    PYPTO_ASSIGN_OR_RETURN(const std::shared_ptr<Registration> handle, worker->Register(sample.Make()));
    out_.data.assign(out_.data.size(), -1.0F);
    PYPTO_RETURN_IF_ERROR(handle->Call(Arguments()));
    EXPECT_EQ(out_.data[1023], 3.0F);
    return base::OkStatus();
  }

  HostTensor x_{{64, 16}, 1.0F};
  HostTensor w_{{16}, 2.0F};
  HostTensor out_{{64, 16}, -1.0F};
};

TEST_F(FailEachCallTest, Open) {
  for (int k = 0; k < kMostCalls; ++k) {
    SCOPED_TRACE("call " + std::to_string(k));
    std::unique_ptr<acl::Table> table = fake_.MakeTable(true);
    acl::FaultInjectionLayer* faults = table->AddLayer(std::make_unique<acl::FaultInjectionLayer>());
    auto session = acl::Session::Adopt(std::move(table));
    ASSERT_TRUE(session.ok());
    faults->FailAny(static_cast<uint64_t>(k), kCode);
    const auto worker = Worker::OpenOn({}, std::move(session).value());
    if (!worker.ok()) {
      EXPECT_TRUE(worker.status().acl_failure() != nullptr) << worker.status().ToString();
      EXPECT_TRUE(fake_.handles.empty());
      continue;
    }
    EXPECT_GT(k, 3);
    faults->Clear();
    EXPECT_TRUE((*worker)->CheckUsable().ok());
    EXPECT_TRUE((*worker)->Close().ok());
    EXPECT_TRUE(fake_.handles.empty());
    return;
  }
  FAIL();
}

TEST_F(FailEachCallTest, AllocTensor) {
  const HostTensorView memory = x_.Memory();
  TensorRef kept;
  Run(
      [&](const std::shared_ptr<Worker>& worker) {
        PYPTO_ASSIGN_OR_RETURN(kept, worker->AllocTensor(x_.shape, DType::kFp32, &memory));
        return worker->CopyToHost(*kept, out_.Memory());
      },
      [&](const std::shared_ptr<Worker>& worker) -> Status {
        kept = TensorRef();
        PYPTO_ASSIGN_OR_RETURN(const MemoryInfo info, worker->GetMemoryInfo());
        EXPECT_EQ(info.resident, 0u);
        return worker->AllocTensor(x_.shape, DType::kFp32, &memory).status();
      });
}

TEST_F(FailEachCallTest, RawMemory) {
  Run(
      [&](const std::shared_ptr<Worker>& worker) -> Status {
        PYPTO_ASSIGN_OR_RETURN(const uint64_t address, worker->Malloc(4096));
        PYPTO_RETURN_IF_ERROR(worker->CopyTo(address, x_.data.data(), 4096));
        PYPTO_RETURN_IF_ERROR(worker->CopyFrom(out_.data.data(), address, 4096));
        PYPTO_RETURN_IF_ERROR(worker->Free(address));
        return worker->Trim();
      },
      [&](const std::shared_ptr<Worker>& worker) { return worker->Malloc(4096).status(); });
}

TEST_F(FailEachCallTest, RegisterAndUnregister) {
  Run(
      [&](const std::shared_ptr<Worker>& worker) -> Status {
        PYPTO_ASSIGN_OR_RETURN(const auto handle, worker->Register(LinearSample().Make()));
        return handle->Unregister();
      },
      [&](const std::shared_ptr<Worker>& worker) { return RegisterAndCall(worker); });
}

TEST_F(FailEachCallTest, Call) {
  Run([&](const std::shared_ptr<Worker>& worker) { return RegisterAndCall(worker); },
      [&](const std::shared_ptr<Worker>& worker) { return RegisterAndCall(worker); });
}

TEST_F(FailEachCallTest, TheNextCallOfTheSameHandle) {
  for (int k = 0; k < kMostCalls; ++k) {
    SCOPED_TRACE("call " + std::to_string(k));
    const std::shared_ptr<Worker> worker = Open();
    const auto handle = Register(worker, LinearSample());
    faults_->FailAny(static_cast<uint64_t>(k), kCode);
    const Status status = handle->Call(Arguments());
    const bool fired = faults_->fired() != 0;
    faults_->Clear();
    EXPECT_TRUE(fired || status.ok()) << status.ToString();  // putting a context back is tried twice
    out_.data.assign(out_.data.size(), -1.0F);
    const Status next = handle->Call(Arguments());
    EXPECT_TRUE(next.ok()) << next.ToString();
    EXPECT_EQ(out_.data, std::vector<float>(1024, 3.0F));
    EXPECT_TRUE(worker->Close().ok());
    ExpectNothingLeft();
    if (!fired) return;
  }
  FAIL();
}

TEST_F(FailEachCallTest, SubmitAndWait) {
  Run(
      [&](const std::shared_ptr<Worker>& worker) -> Status {
        PYPTO_ASSIGN_OR_RETURN(const auto handle, worker->Register(LinearSample().Make()));
        PYPTO_ASSIGN_OR_RETURN(const auto first, handle->Submit(Arguments()));
        HostTensor other({64, 16}, 0.0F);
        const std::vector<ArgumentView> arguments = {x_.View(), w_.View(), other.View()};
        auto second = handle->Submit(arguments);
        Status status = first->Wait(std::nullopt);
        if (!second.ok()) return std::move(second).status();
        status.Attach((*second)->Wait(std::nullopt));
        EXPECT_TRUE(!status.ok() || other.data[0] == 3.0F);
        return status;
      },
      [&](const std::shared_ptr<Worker>& worker) -> Status {
        PYPTO_RETURN_IF_ERROR(worker->Synchronize());
        return RegisterAndCall(worker);
      });
}

TEST_F(FailEachCallTest, Report) {
  Run(
      [&](const std::shared_ptr<Worker>& worker) -> Status {
        PYPTO_ASSIGN_OR_RETURN(const auto handle, worker->Register(LinearSample().Make()));
        PYPTO_RETURN_IF_ERROR(handle->Call(Arguments()));
        return handle->Report().status();
      },
      [&](const std::shared_ptr<Worker>& worker) { return RegisterAndCall(worker); });
}

TEST_F(FailEachCallTest, Close) {
  for (int k = 0; k < kMostCalls; ++k) {
    SCOPED_TRACE("call " + std::to_string(k));
    const std::shared_ptr<Worker> worker = Open();
    const auto handle = Register(worker, LinearSample());
    ASSERT_TRUE(handle->Call(Arguments()).ok());
    const TensorRef held = *worker->AllocTensor(x_.shape, DType::kFp32);
    const auto completion = *handle->Submit(Arguments());
    faults_->FailAny(static_cast<uint64_t>(k), kCode);
    const Status status = worker->Close();
    const bool fired = faults_->fired() != 0;
    if (!status.ok()) ExpectTheFailure(status);
    EXPECT_FALSE(worker->is_open());
    EXPECT_FALSE(held->is_alive());
    EXPECT_TRUE(completion->finished());
    EXPECT_TRUE(fake_.blocks.empty());
    EXPECT_TRUE(fake_.handles.empty());
    EXPECT_TRUE(worker->Close().ok());
    fake_.queue.clear();
    if (!fired) {
      EXPECT_TRUE(status.ok()) << status.ToString();
      return;
    }
  }
  FAIL();
}

}  // namespace
}  // namespace pypto::runtime
