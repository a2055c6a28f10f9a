// Programs, a worker over the mock and the last error, for tests that call the C ABI only.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "pypto/c_api.h"
#include "pypto/mock_acl.h"

namespace pypto::capi::testing {

// Bytes of program files. out[i] = x[i] + w over rows of 16; n is dynamic. `shift` moves the reads, for a fault.
std::vector<uint8_t> AddRowsFile(int64_t shift = 0);
// out[i] = x[i] * factor; factor is a floating parameter.
std::vector<uint8_t> ScaleRowsFile();

// The mock that the tests' workers use; its side door by name.
const char* MockPath();
void* MockSymbol(const char* name);
#define MOCK_CALL(function) reinterpret_cast<decltype(&function)>(::pypto::capi::testing::MockSymbol(#function))

struct Floats {
  Floats(int64_t rows, float fill) : shape{rows, 16}, data(static_cast<size_t>(rows) * 16, fill) {}
  pypto_argument Argument();
  size_t bytes() const { return data.size() * sizeof(float); }
  std::array<int64_t, 2> shape;
  std::vector<float> data;
};
pypto_argument Resident(pypto_tensor* tensor);
pypto_argument Number(double value);

// Code and text of this thread's last error.
pypto_error LastError();
std::string LastMessage();

pypto_program* Load(const std::vector<uint8_t>& bytes);
pypto_worker* OpenWorker();

// Ends with no handle alive and no byte on the device.
class CapiTest : public ::testing::Test {
 protected:
  CapiTest();
  ~CapiTest() override;

 private:
  size_t handles_before_;
};

// The same with a worker and the program of AddRowsFile.
class CapiWorkerTest : public CapiTest {
 protected:
  ~CapiWorkerTest() override;
  pypto_counters Counters();

  pypto_program* program_ = Load(AddRowsFile());
  pypto_worker* worker_ = OpenWorker();
};

}  // namespace pypto::capi::testing
