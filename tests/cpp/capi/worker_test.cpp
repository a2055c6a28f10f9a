// Workers, raw memory, resident tensors.
#include <numeric>

#include "capi/capi_fixture.h"

namespace pypto::capi {
namespace {

using ::testing::HasSubstr;
using testing::LastMessage;

class WorkerTest : public testing::CapiTest {
 protected:
  ~WorkerTest() override { EXPECT_EQ(pypto_worker_release(worker_), PYPTO_OK); }
  pypto_memory_info Memory() {
    pypto_memory_info info = PYPTO_STRUCT(pypto_memory_info);
    EXPECT_EQ(pypto_worker_get_memory_info(worker_, &info), PYPTO_OK) << LastMessage();
    return info;
  }
  pypto_tensor_info Info(pypto_tensor* tensor) {
    pypto_tensor_info info = PYPTO_STRUCT(pypto_tensor_info);
    EXPECT_EQ(pypto_tensor_get_info(tensor, &info), PYPTO_OK) << LastMessage();
    return info;
  }
  pypto_worker* worker_ = testing::OpenWorker();
};

TEST_F(WorkerTest, Info) {
  pypto_worker_info info = PYPTO_STRUCT(pypto_worker_info);
  ASSERT_EQ(pypto_worker_get_info(worker_, &info), PYPTO_OK);
  EXPECT_EQ(info.is_open, 1);
  EXPECT_EQ(info.is_mock, 1);
  EXPECT_EQ(info.device_id, 0);
  EXPECT_STREQ(info.platform, "a2a3sim");
  EXPECT_STREQ(info.soc_name, "Ascend910B3");
  void* symbol = nullptr;
  EXPECT_EQ(pypto_worker_get_library_symbol(worker_, "mock_live_bytes", &symbol), PYPTO_OK);
  EXPECT_EQ(symbol, testing::MockSymbol("mock_live_bytes"));
  EXPECT_EQ(pypto_worker_get_library_symbol(worker_, "no_such_symbol", &symbol), PYPTO_ERROR_NOT_FOUND);
  EXPECT_GE(pypto_hardware_library_found(), 0);
}

TEST_F(WorkerTest, WrongConfigs) {
  pypto_worker* worker = nullptr;
  pypto_worker_config config = PYPTO_STRUCT(pypto_worker_config);
  config.platform = "a9";
  EXPECT_EQ(pypto_worker_open(&config, &worker), PYPTO_ERROR_INVALID_ARGUMENT);
  EXPECT_THAT(LastMessage(), HasSubstr("unknown platform 'a9'"));
  config = PYPTO_STRUCT(pypto_worker_config);
  config.mock_library_path = testing::MockPath();
  config.device_id = 99;
  EXPECT_NE(pypto_worker_open(&config, &worker), PYPTO_OK);
  EXPECT_THAT(LastMessage(), HasSubstr("99"));
  config.device_id = 0;
  config.timeout_ms = -5;
  EXPECT_EQ(pypto_worker_open(&config, &worker), PYPTO_ERROR_INVALID_ARGUMENT);
  config.timeout_ms = 0;
  config.mock_library_path = "/nowhere/mock.so";
  EXPECT_EQ(pypto_worker_open(&config, &worker), PYPTO_ERROR_DEVICE_UNAVAILABLE);
  EXPECT_EQ(pypto_worker_open(&config, nullptr), PYPTO_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(worker, nullptr);
}

TEST_F(WorkerTest, CloseAndInit) {
  const int64_t shape[] = {8};
  pypto_tensor* tensor = nullptr;
  ASSERT_EQ(pypto_tensor_alloc(worker_, PYPTO_FP32, shape, 1, nullptr, &tensor), PYPTO_OK);
  EXPECT_EQ(pypto_worker_close(worker_), PYPTO_OK);
  EXPECT_EQ(pypto_worker_close(worker_), PYPTO_OK);
  EXPECT_EQ(pypto_worker_check(worker_), PYPTO_ERROR_FAILED_PRECONDITION);
  EXPECT_THAT(LastMessage(), HasSubstr("is closed"));
  EXPECT_EQ(Info(tensor).is_alive, 0);
  EXPECT_EQ(pypto_worker_init(worker_), PYPTO_OK);
  EXPECT_EQ(pypto_worker_check(worker_), PYPTO_OK);
  float data[8] = {};
  EXPECT_EQ(pypto_tensor_download(tensor, data, sizeof(data)), PYPTO_ERROR_INVALID_ARGUMENT);
  EXPECT_THAT(LastMessage(), HasSubstr("whose worker was closed"));
  EXPECT_EQ(pypto_worker_synchronize(worker_, PYPTO_FOREVER), PYPTO_OK);
  EXPECT_EQ(pypto_worker_synchronize(worker_, 100), PYPTO_OK);
  EXPECT_EQ(pypto_worker_synchronize(worker_, 0), PYPTO_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(pypto_tensor_release(tensor), PYPTO_OK);
}

TEST_F(WorkerTest, RawMemory) {
  uint64_t address = 0;
  ASSERT_EQ(pypto_worker_malloc(worker_, 4096, &address), PYPTO_OK);
  std::vector<uint8_t> sent(4096);
  std::iota(sent.begin(), sent.end(), uint8_t{0});
  std::vector<uint8_t> back(100);
  EXPECT_EQ(pypto_worker_copy_to(worker_, address, sent.data(), 4096), PYPTO_OK);
  EXPECT_EQ(pypto_worker_copy_from(worker_, back.data(), address + 50, 100), PYPTO_OK);
  EXPECT_TRUE(std::equal(back.begin(), back.end(), sent.begin() + 50));
  EXPECT_EQ(pypto_worker_copy_from(worker_, back.data(), address + 4000, 100), PYPTO_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(pypto_worker_copy_to(worker_, address, nullptr, 100), PYPTO_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(pypto_worker_free(worker_, address + 1), PYPTO_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(pypto_worker_free(worker_, address), PYPTO_OK);
  EXPECT_EQ(pypto_worker_free(worker_, address), PYPTO_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(pypto_worker_malloc(worker_, 0, &address), PYPTO_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(pypto_worker_trim(worker_), PYPTO_OK);
  EXPECT_EQ(Memory().resident_bytes, 0u);
  EXPECT_EQ(Memory().cached_bytes, 0u);
  EXPECT_GT(Memory().total_bytes, 0u);
  pypto_counters counters = PYPTO_STRUCT(pypto_counters);
  ASSERT_EQ(pypto_worker_get_counters(worker_, &counters), PYPTO_OK);
  EXPECT_EQ(counters.h2d_bytes, 4096u);
  EXPECT_EQ(counters.d2h_bytes, 100u);
}

TEST_F(WorkerTest, Tensors) {
  const int64_t shape[] = {4, 8};
  std::vector<float> data(32);
  std::iota(data.begin(), data.end(), 0.0F);
  pypto_tensor* tensor = nullptr;
  ASSERT_EQ(pypto_tensor_alloc(worker_, PYPTO_FP32, shape, 2, data.data(), &tensor), PYPTO_OK) << LastMessage();
  const pypto_tensor_info info = Info(tensor);
  EXPECT_EQ(info.rank, 2u);
  EXPECT_EQ(info.shape[0], 4);
  EXPECT_EQ(info.shape[1], 8);
  EXPECT_EQ(info.bytes, 128u);
  EXPECT_EQ(info.is_alive, 1);
  EXPECT_EQ(info.is_view, 0);
  pypto_tensor* view = nullptr;
  ASSERT_EQ(pypto_tensor_view_rows(tensor, 1, 3, &view), PYPTO_OK);
  EXPECT_EQ(Info(view).address, info.address + 32);
  EXPECT_EQ(Info(view).is_view, 1);
  const std::vector<float> ones(16, 1.0F);
  EXPECT_EQ(pypto_tensor_upload(view, ones.data(), 64), PYPTO_OK);
  std::fill(data.begin() + 8, data.begin() + 24, 1.0F);
  std::vector<float> back(32);
  EXPECT_EQ(pypto_tensor_download(tensor, back.data(), 128), PYPTO_OK);
  EXPECT_EQ(back, data);
  EXPECT_EQ(pypto_tensor_upload(view, ones.data(), 60), PYPTO_ERROR_INVALID_ARGUMENT);
  EXPECT_THAT(LastMessage(), HasSubstr("60 bytes were given"));
  EXPECT_EQ(pypto_tensor_view_rows(tensor, 3, 3, &view), PYPTO_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(pypto_tensor_free(view), PYPTO_ERROR_INVALID_ARGUMENT);
  EXPECT_THAT(LastMessage(), HasSubstr("is a view"));
  EXPECT_EQ(pypto_tensor_free(tensor), PYPTO_OK);
  EXPECT_EQ(pypto_tensor_free(tensor), PYPTO_OK);
  EXPECT_EQ(Info(view).is_alive, 0);
  EXPECT_EQ(pypto_tensor_download(view, back.data(), 64), PYPTO_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(pypto_tensor_release(tensor), PYPTO_OK);
  EXPECT_EQ(pypto_tensor_release(view), PYPTO_OK);
  EXPECT_EQ(Memory().resident_bytes, 0u);
}

TEST_F(WorkerTest, TheLastHandleFreesTheMemory) {
  const int64_t shape[] = {4, 8};
  pypto_tensor* tensor = nullptr;
  ASSERT_EQ(pypto_tensor_alloc(worker_, PYPTO_FP32, shape, 2, nullptr, &tensor), PYPTO_OK);
  pypto_tensor* view = nullptr;
  ASSERT_EQ(pypto_tensor_view_rows(tensor, 0, 1, &view), PYPTO_OK);
  EXPECT_EQ(pypto_tensor_release(tensor), PYPTO_OK);
  EXPECT_NE(Memory().resident_bytes, 0u);
  EXPECT_EQ(Info(view).is_alive, 1);
  EXPECT_EQ(pypto_tensor_release(view), PYPTO_OK);
  EXPECT_EQ(Memory().resident_bytes, 0u);
}

TEST_F(WorkerTest, WrongTensors) {
  const int64_t shape[] = {4, 0};
  pypto_tensor* tensor = nullptr;
  EXPECT_EQ(pypto_tensor_alloc(worker_, PYPTO_FP32, shape, 2, nullptr, &tensor), PYPTO_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(pypto_tensor_alloc(worker_, PYPTO_FP32, nullptr, 0, nullptr, &tensor), PYPTO_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(pypto_tensor_alloc(worker_, PYPTO_FP32, nullptr, 1, nullptr, &tensor), PYPTO_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(pypto_tensor_alloc(worker_, PYPTO_INT4 + 1, shape, 1, nullptr, &tensor), PYPTO_ERROR_TYPE_MISMATCH);
  EXPECT_EQ(pypto_tensor_alloc(worker_, PYPTO_FP32, shape, 1, nullptr, nullptr), PYPTO_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(tensor, nullptr);
}

}  // namespace
}  // namespace pypto::capi
