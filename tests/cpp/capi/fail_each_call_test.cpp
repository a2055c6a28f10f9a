// ACL call number k fails, for k = 0, 1, 2 … until the operation succeeds: the right error, nothing leaked, and what is
// open stays usable.
#include <functional>

#include "capi/capi_fixture.h"

namespace pypto::capi {
namespace {

using testing::Floats;
using testing::LastError;
using testing::LastMessage;
using testing::Resident;

constexpr int32_t kCode = 507000;  // an internal error, which breaks no context
constexpr int kMostCalls = 300;

class FailEachTest : public testing::CapiTest {
 protected:
  ~FailEachTest() override {
    MOCK_CALL(mock_clear_faults)();
    EXPECT_EQ(pypto_program_release(program_), PYPTO_OK);
  }

  // `operation` on a fresh worker per round; `check` afterwards, with faults off.
  void Run(const std::function<pypto_status(pypto_worker*)>& operation) {
    for (int k = 0; k < kMostCalls; ++k) {
      SCOPED_TRACE("call " + std::to_string(k));
      pypto_worker* worker = testing::OpenWorker();
      MOCK_CALL(mock_fail_call)(nullptr, static_cast<uint64_t>(k), kCode);
      const pypto_status status = operation(worker);
      const bool fired = MOCK_CALL(mock_pending_faults)() == 0;
      MOCK_CALL(mock_clear_faults)();
      if (status != PYPTO_OK) {
        EXPECT_EQ(LastError().acl_code, kCode) << LastMessage();
      }
      EXPECT_TRUE(fired || status == PYPTO_OK) << LastMessage();
      EXPECT_EQ(Use(worker), PYPTO_OK) << LastMessage();
      EXPECT_EQ(pypto_worker_release(worker), PYPTO_OK) << LastMessage();
      ExpectNothingLeft();
      if (!fired) {
        EXPECT_GT(k, 0);
        return;
      }
    }
    FAIL() << "still failing after " << kMostCalls << " calls";
  }

  static void ExpectNothingLeft() {
    EXPECT_EQ(MOCK_CALL(mock_live_bytes)(-1), 0u);
    EXPECT_EQ(MOCK_CALL(mock_live_handles)(MOCK_HANDLE_STREAM), 0u);
    EXPECT_EQ(MOCK_CALL(mock_live_handles)(MOCK_HANDLE_EVENT), 0u);
    EXPECT_EQ(MOCK_CALL(mock_live_handles)(MOCK_HANDLE_BINARY), 0u);
  }

  // Alloc, register, launch, submit, wait, release; every handle it makes is gone when it returns.
  pypto_status Use(pypto_worker* worker) {
    pypto_tensor* weight = nullptr;
    pypto_registration* registration = nullptr;
    pypto_completion* completion = nullptr;
    pypto_status status = pypto_tensor_alloc(worker, PYPTO_FP32, w_.shape.data(), 2, w_.data.data(), &weight);
    if (status == PYPTO_OK) status = pypto_worker_register(worker, program_, &registration);
    out_.data.assign(out_.data.size(), 0.0F);
    const std::array<pypto_argument, 3> arguments = {x_.Argument(), Resident(weight), out_.Argument()};
    if (status == PYPTO_OK) status = pypto_registration_launch(registration, arguments.data(), 3, nullptr);
    if (status == PYPTO_OK) {
      EXPECT_EQ(out_.data[1023], 1.5F);
    }
    if (status == PYPTO_OK) status = pypto_registration_submit(registration, arguments.data(), 3, nullptr, &completion);
    if (status == PYPTO_OK) status = pypto_completion_wait(completion, PYPTO_FOREVER);
    Release(&status, pypto_completion_release(completion));
    const pypto_status released = pypto_registration_release(registration);
    if (released == PYPTO_ERROR_TIMEOUT) {
      ADD_FAILURE() << LastMessage();
    }
    Release(&status, released);
    Release(&status, pypto_tensor_release(weight));
    return status;
  }
  static void Release(pypto_status* first, pypto_status next) {
    if (*first == PYPTO_OK) *first = next;
  }

  Floats x_{64, 1.0F};
  Floats w_{1, 0.5F};
  Floats out_{64, 0.0F};
  pypto_program* program_ = testing::Load(testing::AddRowsFile());
};

TEST_F(FailEachTest, Open) {
  for (int k = 0; k < kMostCalls; ++k) {
    SCOPED_TRACE("call " + std::to_string(k));
    pypto_worker_config config = PYPTO_STRUCT(pypto_worker_config);
    config.mock_library_path = testing::MockPath();
    MOCK_CALL(mock_fail_call)(nullptr, static_cast<uint64_t>(k), kCode);
    pypto_worker* worker = nullptr;
    const pypto_status status = pypto_worker_open(&config, &worker);
    const bool fired = MOCK_CALL(mock_pending_faults)() == 0;
    MOCK_CALL(mock_clear_faults)();
    EXPECT_EQ(worker == nullptr, status != PYPTO_OK);
    EXPECT_TRUE(fired || status == PYPTO_OK) << LastMessage();
    if (status == PYPTO_OK) {
      EXPECT_EQ(Use(worker), PYPTO_OK) << LastMessage();
      EXPECT_EQ(pypto_worker_release(worker), PYPTO_OK);
    }
    ExpectNothingLeft();
    if (!fired) return;
  }
  FAIL();
}

TEST_F(FailEachTest, Alloc) {
  Run([&](pypto_worker* worker) {
    pypto_tensor* tensor = nullptr;
    const pypto_status status = pypto_tensor_alloc(worker, PYPTO_FP32, x_.shape.data(), 2, x_.data.data(), &tensor);
    EXPECT_EQ(tensor == nullptr, status != PYPTO_OK);
    pypto_status freed = status;
    if (status == PYPTO_OK) freed = pypto_tensor_free(tensor);
    EXPECT_EQ(pypto_tensor_release(tensor), PYPTO_OK);
    return freed;
  });
}

TEST_F(FailEachTest, RegisterLaunchSubmit) {
  Run([&](pypto_worker* worker) { return Use(worker); });
}

TEST_F(FailEachTest, Close) {
  for (int k = 0; k < kMostCalls; ++k) {
    SCOPED_TRACE("call " + std::to_string(k));
    pypto_worker* worker = testing::OpenWorker();
    pypto_tensor* weight = nullptr;
    pypto_registration* registration = nullptr;
    ASSERT_EQ(pypto_tensor_alloc(worker, PYPTO_FP32, w_.shape.data(), 2, w_.data.data(), &weight), PYPTO_OK);
    ASSERT_EQ(pypto_worker_register(worker, program_, &registration), PYPTO_OK);
    const std::array<pypto_argument, 3> arguments = {x_.Argument(), Resident(weight), out_.Argument()};
    ASSERT_EQ(pypto_registration_launch(registration, arguments.data(), 3, nullptr), PYPTO_OK);
    MOCK_CALL(mock_fail_call)(nullptr, static_cast<uint64_t>(k), kCode);
    const pypto_status status = pypto_worker_close(worker);
    const bool fired = MOCK_CALL(mock_pending_faults)() == 0;
    MOCK_CALL(mock_clear_faults)();
    if (status != PYPTO_OK) {
      EXPECT_EQ(LastError().acl_code, kCode) << LastMessage();
    }
    EXPECT_EQ(pypto_worker_check(worker), PYPTO_ERROR_FAILED_PRECONDITION);
    EXPECT_EQ(pypto_registration_release(registration), PYPTO_OK);
    EXPECT_EQ(pypto_tensor_release(weight), PYPTO_OK);
    EXPECT_EQ(pypto_worker_release(worker), PYPTO_OK);
    if (!fired) {
      EXPECT_EQ(status, PYPTO_OK);
      ExpectNothingLeft();
      return;
    }
    MOCK_CALL(mock_reset)();  // what a failing call could not give back
  }
  FAIL();
}

}  // namespace
}  // namespace pypto::capi
