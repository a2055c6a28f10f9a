// A worker inside somebody else's process: the framework's own device, context and life cycle stay as they were, and
// any thread may call. Over the mock, plain and strict.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <thread>

#include "pypto/acl/loader.h"
#include "pypto/mock_acl.h"
#include "pypto/program/prebuilt.h"
#include "pypto/runtime/worker.h"

namespace pypto::runtime {
namespace {

using base::Status;
using program::Direction;
using program::DType;
using ::testing::HasSubstr;

constexpr int64_t kCount = 64;
constexpr int64_t kShape[] = {kCount};

std::shared_ptr<const program::Image> Axpy() {
  std::ifstream file(PYPTO_TEST_HOST_KERNELS, std::ios::binary);
  program::DeviceBinary binary;
  binary.entry = "axpy";
  binary.bytes.assign(std::istreambuf_iterator<char>(file), {});
  const auto vector = [](const char* name, Direction direction) {
    return program::PrebuiltParameter{name, true, DType::kFp32, direction, {{kCount, ""}}};
  };
  return *program::MakePrebuilt("a2a3sim",
                                {vector("x", Direction::kIn),
                                 vector("y", Direction::kInOut),
                                 {"a", false, DType::kFp32, Direction::kIn, {}},
                                 {"n", false, DType::kInt32, Direction::kIn, {}}},
                                std::move(binary));
}

struct Values {
  std::vector<float> x = std::vector<float>(kCount, 2.0F);
  std::vector<float> y = std::vector<float>(kCount, 1.0F);
  std::vector<ArgumentView> Arguments() {
    return {ArgumentView::Host(x.data(), kShape, 1, DType::kFp32),
            ArgumentView::Host(y.data(), kShape, 1, DType::kFp32), ArgumentView::Float(1), ArgumentView::Int(kCount)};
  }
};

// The framework calls the library itself, past our sessions.
class HostFrameworkTest : public ::testing::TestWithParam<const char*> {
 protected:
  HostFrameworkTest() {
    setenv("PYPTO_MOCK_DEVICES", "2", 1);
    setenv("PYPTO_MOCK_STRICT", GetParam(), 1);
    acl::LoadOptions options;
    options.mock_path = PYPTO_TEST_MOCK_PATH;
    options.layers = "";
    library_ = *acl::LoadFor(acl::PlatformKind::kSimulator, options);
    SideDoor<decltype(mock_reset)>("mock_reset")();
    config_.mock_library_path = PYPTO_TEST_MOCK_PATH;
  }
  ~HostFrameworkTest() override {
    EXPECT_EQ(SideDoor<decltype(mock_live_bytes)>("mock_live_bytes")(-1), 0u);
    SideDoor<decltype(mock_reset)>("mock_reset")();
    unsetenv("PYPTO_MOCK_DEVICES");
    unsetenv("PYPTO_MOCK_STRICT");
  }
  template <typename Function>
  Function* SideDoor(const char* name) {
    return reinterpret_cast<Function*>(library_->Symbol(name));
  }
  void* Current() {
    void* context = nullptr;
    static_cast<void>(library_->aclrtGetCurrentContext(&context));
    return context;
  }

  std::unique_ptr<acl::Table> library_;
  RunConfig config_;
};

TEST_P(HostFrameworkTest, ItsDeviceAndContextStayCurrentThroughEverything) {
  ASSERT_EQ(library_->aclInit(nullptr), 0);
  ASSERT_EQ(library_->aclrtSetDevice(1), 0);
  void* mine = nullptr;
  ASSERT_EQ(library_->aclrtCreateContext(&mine, 1), 0);
  void* stream = nullptr;
  ASSERT_EQ(library_->aclrtCreateStream(&stream), 0);
  const auto untouched = [&](const char* after) {
    int32_t device = -1;
    EXPECT_EQ(library_->aclrtGetDevice(&device), 0) << after;
    EXPECT_EQ(device, 1) << after;
    EXPECT_EQ(Current(), mine) << after;
    // Its stream is refused where another context is current.
    EXPECT_EQ(library_->aclrtSynchronizeStream(stream), 0) << after;
  };
  const auto worker = *Worker::Open(config_);
  untouched("Open");
  const auto handle = *worker->Register(Axpy());
  untouched("Register");
  Values values;
  ASSERT_TRUE(handle->Call(values.Arguments()).ok());
  EXPECT_EQ(values.y[5], 3.0F);
  untouched("Call");
  const auto completion = *handle->Submit(values.Arguments());
  untouched("Submit");
  ASSERT_TRUE(completion->Wait(std::nullopt).ok());
  untouched("Wait");
  const HostTensorView memory{values.x.data(), kShape, DType::kFp32};
  TensorRef tensor = *worker->AllocTensor(kShape, DType::kFp32, &memory);
  untouched("AllocTensor");
  ASSERT_TRUE(worker->CopyFromHost(*tensor, memory).ok());
  untouched("CopyFromHost");
  const HostTensorView back{values.y.data(), kShape, DType::kFp32};
  ASSERT_TRUE(worker->CopyToHost(*tensor, back).ok());
  untouched("CopyToHost");
  ASSERT_TRUE(worker->FreeTensor(*tensor).ok());
  untouched("FreeTensor");
  EXPECT_TRUE(handle->Report().ok());
  untouched("Report");
  ASSERT_TRUE(worker->Synchronize({}, {}).ok());
  untouched("Synchronize");
  EXPECT_FALSE(handle->Call(std::vector<ArgumentView>{}).ok());
  untouched("a refused call");
  ASSERT_TRUE(worker->Close().ok());
  untouched("Close");
  EXPECT_EQ(library_->aclrtDestroyStream(stream), 0);
  EXPECT_EQ(library_->aclrtDestroyContext(mine), 0);
  EXPECT_EQ(library_->aclrtResetDevice(1), 0);
  EXPECT_EQ(library_->aclFinalize(), 0);
}

TEST_P(HostFrameworkTest, WhatItInitialisedIsNotFinalized) {
  ASSERT_EQ(library_->aclInit(nullptr), 0);
  {
    const auto worker = *Worker::Open(config_);
    Values values;
    const auto handle = *worker->Register(Axpy());
    ASSERT_TRUE(handle->Call(values.Arguments()).ok());
    ASSERT_TRUE(worker->Close().ok());
  }
  uint32_t count = 0;
  EXPECT_EQ(library_->aclrtGetDeviceCount(&count), 0);
  EXPECT_EQ(library_->aclrtSetDevice(0), 0);
  EXPECT_EQ(library_->aclrtResetDevice(0), 0);
  EXPECT_EQ(library_->aclFinalize(), 0);
  EXPECT_EQ(library_->aclFinalize(), acl_abi::kErrorRepeatFinalize);
}

TEST_P(HostFrameworkTest, OneThatInitialisesAfterUsKeepsTheLibrary) {
  const auto worker = *Worker::Open(config_);
  EXPECT_EQ(library_->aclInit(nullptr), acl_abi::kErrorRepeatInitialize);
  ASSERT_TRUE(worker->Close().ok());
  EXPECT_EQ(library_->aclrtSetDevice(0), 0);
  EXPECT_EQ(library_->aclrtResetDevice(0), 0);
  EXPECT_EQ(library_->aclFinalize(), 0);
}

TEST_P(HostFrameworkTest, ThreadsThatNeverSawADeviceMayCall) {
  const auto worker = *Worker::Open(config_);
  const auto handle = *worker->Register(Axpy());
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      EXPECT_EQ(Current(), nullptr);
      for (int round = 0; round < 10; ++round) {
        Values values;
        const Status status = handle->Call(values.Arguments());
        EXPECT_TRUE(status.ok()) << status.ToString();
        EXPECT_EQ(values.y[9], 3.0F);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  // A thread with a context of another device gets it back.
  std::thread([&] {
    EXPECT_EQ(library_->aclrtSetDevice(1), 0);
    void* const mine = Current();
    Values values;
    EXPECT_TRUE(handle->Call(values.Arguments()).ok());
    EXPECT_EQ(Current(), mine);
    EXPECT_EQ(library_->aclrtResetDevice(1), 0);
  }).join();
  EXPECT_TRUE(worker->Close().ok());
}

TEST_P(HostFrameworkTest, ADeviceLostInMidRunEndsOnlyThisWorker) {
  const auto worker = *Worker::Open(config_);
  RunConfig other = config_;
  other.device_id = 1;
  const auto second = *Worker::Open(other);
  const auto handle = *worker->Register(Axpy());
  const auto elsewhere = *second->Register(Axpy());
  Values values;
  ASSERT_TRUE(handle->Call(values.Arguments()).ok());
  SideDoor<decltype(mock_fail_kernel)>("mock_fail_kernel")(0, acl_abi::kErrorRtLostHeartbeat);
  const Status lost = handle->Call(values.Arguments());
  ASSERT_NE(lost.acl_failure(), nullptr) << lost.ToString();
  EXPECT_EQ(lost.acl_failure()->failure_class, "device_lost");
  EXPECT_THAT(handle->Call(values.Arguments()).ToString(), HasSubstr("is broken by an earlier failure"));
  EXPECT_TRUE(elsewhere->Call(values.Arguments()).ok());
  EXPECT_TRUE(worker->Close().ok());
  EXPECT_TRUE(elsewhere->Call(values.Arguments()).ok());
  const auto fresh = *Worker::Open(config_);
  EXPECT_TRUE((*fresh->Register(Axpy()))->Call(values.Arguments()).ok());
  EXPECT_TRUE(fresh->Close().ok());
  EXPECT_TRUE(second->Close().ok());
}

TEST_P(HostFrameworkTest, ABusyDeviceIsUnavailableAndAnotherTryWorks) {
  SideDoor<decltype(mock_fail_call)>("mock_fail_call")("aclrtSetDevice", 0, acl_abi::kErrorRtDeviceSetup);
  const auto busy = Worker::Open(config_);
  ASSERT_FALSE(busy.ok());
  EXPECT_EQ(busy.status().code(), base::StatusCode::kDeviceUnavailable);
  EXPECT_THAT(busy.status().ToString(), HasSubstr("device 0 cannot be opened"));
  EXPECT_THAT(busy.status().ToString(), HasSubstr("507033"));
  const auto worker = Worker::Open(config_);
  ASSERT_TRUE(worker.ok()) << worker.status().ToString();
  EXPECT_TRUE((*worker)->Close().ok());
}

INSTANTIATE_TEST_SUITE_P(Modes, HostFrameworkTest, ::testing::Values("0", "7"),
                         [](const auto& mode) { return mode.param[0] == '0' ? "Plain" : "Strict"; });

}  // namespace
}  // namespace pypto::runtime
