// Faults, time-outs and interrupts: what the caller gets, and what still works afterwards.
#include "runtime/worker_fixture.h"

namespace pypto::runtime {
namespace {

using base::StatusCode;
using program::DType;
using ::testing::HasSubstr;
using testing::HostTensor;
using testing::LaunchView;
using testing::LinearSample;

class FaultTest : public testing::WorkerFixture {
 protected:
  std::vector<ArgumentView> Arguments() { return {x_.View(), w_.View(), out_.View()}; }
  static acl::aclError Fault(std::span<const std::byte> block) {
    program::LaunchStatistics& statistics = *LaunchView(block).statistics();
    statistics.fault = static_cast<uint32_t>(program::FaultKind::kNegativeOffset);
    statistics.fault_place = 1;
    statistics.fault_value = -3;
    return acl_abi::kErrorRtAiCoreException;
  }
  HostTensor x_{{64, 16}, 1.0F};
  HostTensor w_{{16}, 2.0F};
  HostTensor out_{{64, 16}, -1.0F};
};

TEST_F(FaultTest, AKernelFaultNamesKernelReasonAndLineAndBreaksTheWorker) {
  const auto worker = Open();
  const auto handle = Register(worker, LinearSample());
  const TensorRef tensor = *worker->AllocTensor(std::array<int64_t, 1>{16}, DType::kFp32);
  fake_.kernel = Fault;
  const base::Status status = handle->Call(Arguments());
  EXPECT_EQ(status.code(), StatusCode::kAcl);
  ASSERT_NE(status.acl_failure(), nullptr);
  EXPECT_EQ(status.acl_failure()->failure_class, "kernel_fault");
  EXPECT_EQ(status.source_file(), "sample.py");
  EXPECT_EQ(status.source_line(), 7);
  EXPECT_THAT(status.ToString(), HasSubstr("kernel 'k' faulted: a view starts before its base (value -3)"));
  EXPECT_THAT(status.ToString(),
              ::testing::EndsWith("make a new one\n  File \"sample.py\", line 7, column 1, counted from its def"));
  EXPECT_EQ(out_.data[0], -1.0F);
  for (const base::Status& later : {handle->Call(Arguments()), worker->Malloc(8).status(), worker->Synchronize()}) {
    EXPECT_EQ(later.code(), StatusCode::kFailedPrecondition);
    EXPECT_THAT(later.ToString(), HasSubstr("is broken by an earlier failure"));
  }
  EXPECT_TRUE(worker->Close().ok());
  EXPECT_TRUE(fake_.blocks.empty());
  EXPECT_TRUE(fake_.handles.empty());
  fake_.sticky = 0;
  fake_.kernel = AddRows;
  fake_.queue.clear();
  const auto fresh = Open();
  EXPECT_TRUE(Register(fresh, LinearSample())->Call(Arguments()).ok());
}

TEST_F(FaultTest, ALostDeviceBreaksTheWorkerToo) {
  const auto worker = Open();
  const auto handle = Register(worker, LinearSample());
  fake_.kernel = [](std::span<const std::byte>) { return acl_abi::kErrorRtLostHeartbeat; };
  EXPECT_EQ(handle->Call(Arguments()).acl_failure()->failure_class, "device_lost");
  EXPECT_EQ(worker->CheckUsable().code(), StatusCode::kFailedPrecondition);
  EXPECT_TRUE(worker->Close().ok());
}

TEST_F(FaultTest, AFailedCopyLeavesTheNextCallRight) {
  const auto worker = Open();
  const auto handle = Register(worker, LinearSample());
  for (const uint64_t n : {uint64_t{0}, uint64_t{1}}) {  // to the device, and back
    faults_->Fail(acl::CallId::aclrtMemcpy, n, acl_abi::kErrorRtParamInvalid);
    EXPECT_EQ(handle->Call(Arguments()).code(), StatusCode::kAcl);
    faults_->Clear();
    EXPECT_TRUE(handle->Call(Arguments()).ok());
    EXPECT_EQ(out_.data, std::vector<float>(1024, 3.0F));
  }
}

TEST_F(FaultTest, ATimeoutListsWhatIsInFlightAndTheWorkGoesOn) {
  RunConfig config;
  config.timeout_ms = 60;
  const auto worker = Open(config);
  const auto handle = Register(worker, LinearSample());
  fake_.hold = true;
  const base::Status status = handle->Call(Arguments());
  EXPECT_EQ(status.code(), StatusCode::kTimeout);
  EXPECT_THAT(status.ToString(), HasSubstr("did not finish within 60 ms; in flight: 'k' × 1"));
  EXPECT_THAT(worker->Synchronize(1).ToString(), HasSubstr("'k' × 1"));
  EXPECT_EQ(worker->Synchronize(0).code(), StatusCode::kInvalidArgument);
  fake_.hold = false;
  EXPECT_TRUE(worker->Synchronize().ok());
  EXPECT_EQ(fake_.done, 1u);
  const uint64_t staging = Memory(worker.get()).staging;
  EXPECT_TRUE(handle->Call(Arguments()).ok());
  EXPECT_EQ(out_.data[0], 3.0F);
  EXPECT_EQ(Memory(worker.get()).staging, staging);  // the buffers of the late launch came back
}

TEST_F(FaultTest, AnInterruptAbortsAndTheWorkerStaysUsable) {
  const auto worker = Open();
  const auto handle = Register(worker, LinearSample());
  fake_.hold = true;
  int asked = 0;
  CallOptions options;
  options.interrupt = {[](void* count) { return ++*static_cast<int*>(count) == 2; }, &asked};
  const base::Status status = handle->Call(Arguments(), options);
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.ToString(), HasSubstr("was interrupted"));
  EXPECT_EQ(asked, 2);
  EXPECT_TRUE(fake_.queue.empty());  // aborted
  EXPECT_TRUE(handle->Call(Arguments(), options).ok());
  EXPECT_EQ(out_.data[0], 3.0F);
}

TEST_F(FaultTest, WithoutAbortTheNextCallWaitsForTheInterruptedWork) {
  const auto worker = Open({}, true, [](acl::Functions* functions) { functions->aclrtStreamAbort = nullptr; });
  const auto handle = Register(worker, LinearSample());
  fake_.hold = true;
  CallOptions options;
  options.interrupt = {[](void*) { return true; }, nullptr};
  EXPECT_EQ(handle->Call(Arguments(), options).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(fake_.queue.size(), 1u);
  fake_.hold = false;
  EXPECT_TRUE(handle->Call(Arguments()).ok());
  EXPECT_EQ(fake_.done, 2u);
  EXPECT_EQ(out_.data[0], 3.0F);
}

TEST_F(FaultTest, WaitsWorkOnLibrariesWithoutTimedWaits) {
  RunConfig config;
  config.timeout_ms = 5;
  const auto worker =
      Open(config, true, [](acl::Functions* functions) { functions->aclrtSynchronizeStreamWithTimeout = nullptr; });
  const auto handle = Register(worker, LinearSample());
  // The fake's query says "busy" until somebody waits.
  EXPECT_EQ(handle->Call(Arguments()).code(), StatusCode::kTimeout);
  fake_.queue.clear();
  EXPECT_TRUE(worker->Synchronize().ok());
}

TEST_F(FaultTest, FreeingWaitsForTheWorkThatUsesIt) {
  const auto worker = Open();
  const auto handle = Register(worker, LinearSample());
  const TensorRef w = *worker->AllocTensor(std::array<int64_t, 1>{16}, DType::kFp32);
  std::vector<ArgumentView> arguments = Arguments();
  arguments[1] = ArgumentView::Resident(w.get());
  const auto completion = *handle->Submit(arguments);
  EXPECT_EQ(fake_.done, 0u);
  EXPECT_TRUE(worker->FreeTensor(*w).ok());
  EXPECT_EQ(fake_.done, 1u);
  EXPECT_TRUE(completion->Wait(std::nullopt).ok());
}

}  // namespace
}  // namespace pypto::runtime
