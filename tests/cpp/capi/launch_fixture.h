// A registration of AddRowsFile and its weight, for tests that launch.
#pragma once

#include "capi/capi_fixture.h"

namespace pypto::capi::testing {

class LaunchTest : public CapiWorkerTest {
 protected:
  LaunchTest() {
    EXPECT_EQ(pypto_worker_register(worker_, program_, &registration_), PYPTO_OK) << LastMessage();
    EXPECT_EQ(pypto_tensor_alloc(worker_, PYPTO_FP32, w_.shape.data(), 2, w_.data.data(), &weight_), PYPTO_OK);
  }
  ~LaunchTest() override {
    EXPECT_EQ(pypto_registration_release(registration_), PYPTO_OK);
    EXPECT_EQ(pypto_tensor_release(weight_), PYPTO_OK);
  }

  Floats w_{1, 0.5F};
  pypto_registration* registration_ = nullptr;
  pypto_tensor* weight_ = nullptr;
};

}  // namespace pypto::capi::testing
