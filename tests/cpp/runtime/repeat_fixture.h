// A worker over the mock with a compiled kernel of three small tensors.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <vector>

#include "pypto/acl/session.h"
#include "pypto/mock_acl.h"
#include "pypto/runtime/worker.h"
#include "runtime/rows_image.h"

namespace pypto::runtime::testing {

// out = x + y, [rows, 16] FP32.
inline std::shared_ptr<const program::Image> Sum(int64_t rows) {
  program::Builder b("sum");
  const auto x = *b.AddTensorParameter("x", program::DType::kFp32, {rows, 16}, {});
  const auto y = *b.AddTensorParameter("y", program::DType::kFp32, {rows, 16}, {});
  const auto out = *b.AddTensorParameter("out", program::DType::kFp32, {rows, 16}, {});
  program::ExprPool& e = b.exprs();
  const auto sum = *b.Op(program::OpCode::kAdd, {TensorOperand(x), TensorOperand(y)}, {});
  EXPECT_TRUE(b.Assemble(out, sum, {e.Const(0), e.Const(0)}).ok());
  auto program = b.Finish();
  EXPECT_TRUE(program.ok()) << program.status().ToString();
  auto image = compile::Compile(*program, {});
  EXPECT_TRUE(image.ok()) << image.status().ToString();
  return *image;
}

class RepeatFixture : public ::testing::Test {
 protected:
  RepeatFixture() {
    acl::LoadOptions options;
    options.mock_path = PYPTO_TEST_MOCK_PATH;
    library_ = *acl::Session::Open(acl::PlatformKind::kSimulator, options);
    RunConfig config;
    config.mock_library_path = PYPTO_TEST_MOCK_PATH;
    worker_ = *Worker::Open(config);
    handle_ = *worker_->Register(Sum(kRows));
  }
  ~RepeatFixture() override {
    handle_.reset();
    EXPECT_TRUE(worker_->Close().ok());
    worker_.reset();
    EXPECT_TRUE(library_.Close().ok());
    EXPECT_EQ(acl::TakeLeakReports(), "");
  }

  static constexpr int64_t kRows = 16;

  TensorRef Resident(float fill) {
    Floats values(kRows, fill);
    const HostTensorView view{values.data.data(), values.shape, program::DType::kFp32};
    return *worker_->AllocTensor(values.shape, program::DType::kFp32, &view);
  }
  float First(const TensorRef& tensor) {
    Floats values(kRows, -1);
    const HostTensorView view{values.data.data(), values.shape, program::DType::kFp32};
    EXPECT_TRUE(worker_->CopyToHost(*tensor, view).ok());
    for (const float value : values.data) EXPECT_EQ(value, values.data[0]);
    return values.data[0];
  }
  static std::vector<ArgumentView> Views(std::initializer_list<ResidentTensor*> tensors) {
    std::vector<ArgumentView> views;
    for (ResidentTensor* tensor : tensors) views.push_back(ArgumentView::Resident(tensor));
    return views;
  }
  // Prepare and Run, as a first call takes them.
  base::Status CallLong(std::span<const ArgumentView> arguments) {
    const WorkerEntry entry(*worker_);
    base::Status status = handle_->Prepare(arguments);
    return status.ok() ? handle_->Run() : status;
  }
  // Whether the short way was taken.
  template <typename Argument>
  bool Repeats(std::span<const Argument> arguments) {
    const WorkerEntry entry(*worker_);
    base::Status status;
    const bool done = handle_->TryRepeat(arguments, &status);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return done;
  }
  // Inside the worker.
  bool IsLast(std::initializer_list<ResidentTensor*> tensors) const {
    const RepeatKey& key = handle_->repeat_key();
    if (key.count != tensors.size()) return false;
    for (size_t i = 0; i < tensors.size(); ++i) {
      if (!key.Names(i, *tensors.begin()[i])) return false;
    }
    return true;
  }
  bool Repeats(std::initializer_list<ResidentTensor*> tensors) {
    const WorkerEntry entry(*worker_);
    base::Status status;
    const bool done = IsLast(tensors) && handle_->TryRepeat(&status);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return done;
  }
  uint64_t Leave(std::initializer_list<ResidentTensor*> tensors) {
    const WorkerEntry entry(*worker_);
    base::Status status;
    const uint64_t ticket = IsLast(tensors) ? handle_->TryLeave(&status) : 0;
    EXPECT_TRUE(status.ok()) << status.ToString();
    return ticket;
  }
  template <typename Function>
  Function* SideDoor(const char* name) {
    return reinterpret_cast<Function*>(library_.table().Symbol(name));
  }

  acl::Session library_;
  std::shared_ptr<Worker> worker_;
  std::shared_ptr<Registration> handle_;
};

}  // namespace pypto::runtime::testing
