// A worker over the fake library, with fault injection and handle validation between them.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "pypto/acl/layers/fault_injection.h"
#include "pypto/acl/layers/validation.h"
#include "pypto/program/launch_block.h"
#include "pypto/runtime/worker.h"
#include "runtime/fake_acl.h"
#include "runtime/sample_image.h"

namespace pypto::runtime::testing {

// What the fake's kernel sees of a launch.
struct LaunchView {
  explicit LaunchView(std::span<const std::byte> bytes) : block(bytes) {
    std::memcpy(&header, block.data(), sizeof(header));
  }
  uint64_t Slot(size_t parameter) const {
    uint64_t slot = 0;
    std::memcpy(&slot, block.data() + sizeof(header) + 8 * parameter, sizeof(slot));
    return slot;
  }
  int64_t Symbol(size_t index) const { return static_cast<int64_t>(Slot(header.parameter_count + index)); }
  bool IsInline(size_t parameter) const { return (Slot(parameter) & program::kInlineFlag) != 0; }
  // The fake's device memory is host memory.
  template <typename T>
  T* Data(size_t parameter) const {
    const uint64_t slot = Slot(parameter);
    const auto* inline_data = block.data() + (slot & ~program::kInlineFlag);
    const void* data =
        IsInline(parameter) ? static_cast<const void*>(inline_data) : reinterpret_cast<const void*>(slot);
    return static_cast<T*>(const_cast<void*>(data));
  }
  program::LaunchStatistics* statistics() const {
    return reinterpret_cast<program::LaunchStatistics*>(header.statistics_address);
  }

  std::span<const std::byte> block;
  program::LaunchHeader header;
};

// Owned data with the argument that shows it.
struct HostTensor {
  HostTensor(std::vector<int64_t> dims, float fill) : shape(std::move(dims)) {
    size_t count = 1;
    for (const int64_t dim : shape) count *= static_cast<size_t>(dim);
    data.assign(count, fill);
  }
  ArgumentView View() {
    return ArgumentView::Host(data.data(), shape.data(), static_cast<uint8_t>(shape.size()), program::DType::kFp32);
  }
  HostTensorView Memory() { return {data.data(), shape, program::DType::kFp32}; }
  std::vector<int64_t> shape;
  std::vector<float> data;
};

class WorkerFixture : public ::testing::Test {
 protected:
  // out[i][j] = x[i][j] + w[j]; counts in the statistics block; symbol 0 is the number of rows.
  static acl::aclError AddRows(std::span<const std::byte> bytes) {
    const LaunchView launch(bytes);
    const int64_t rows = launch.Symbol(0);
    for (int64_t i = 0; i < rows * 16; ++i) {
      launch.Data<float>(2)[i] = launch.Data<float>(0)[i] + launch.Data<float>(1)[i % 16];
    }
    program::LaunchStatistics& statistics = *launch.statistics();
    statistics.launches += 1;
    statistics.begin_ticks = 1000;
    statistics.end_ticks = 3000;
    statistics.ticks_per_second = 1e9;
    return 0;
  }

  WorkerFixture() { fake_.kernel = AddRows; }

  std::shared_ptr<Worker> Open(const RunConfig& config = {}, bool is_mock = true,
                               const std::function<void(acl::Functions*)>& edit = {}) {
    std::unique_ptr<acl::Table> table = fake_.MakeTable(is_mock, edit);
    faults_ = table->AddLayer(std::make_unique<acl::FaultInjectionLayer>());
    validation_ = table->AddLayer(std::make_unique<acl::ValidationLayer>());
    auto session = acl::Session::Adopt(std::move(table));
    EXPECT_TRUE(session.ok()) << session.status().ToString();
    libraries_.push_back(session->Share());  // the layers stay readable after the worker has closed
    auto worker = Worker::OpenOn(config, std::move(session).value());
    EXPECT_TRUE(worker.ok()) << worker.status().ToString();
    return worker.ok() ? std::move(worker).value() : nullptr;
  }

  std::shared_ptr<Registration> Register(const std::shared_ptr<Worker>& worker, const SampleImage& sample) {
    auto handle = worker->Register(sample.Make());
    EXPECT_TRUE(handle.ok()) << handle.status().ToString();
    return handle.ok() ? std::move(handle).value() : nullptr;
  }

  static MemoryInfo Memory(Worker* worker) {
    const auto info = worker->GetMemoryInfo();
    EXPECT_TRUE(info.ok()) << info.status().ToString();
    return info.ok() ? *info : MemoryInfo{};
  }

  FakeAcl fake_;
  std::vector<acl::Session> libraries_;
  acl::FaultInjectionLayer* faults_ = nullptr;
  acl::ValidationLayer* validation_ = nullptr;
};

}  // namespace pypto::runtime::testing
