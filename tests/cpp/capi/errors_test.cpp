// The fence, the last error of a thread, size-stamped structs, texts into buffers.
#include <cstring>
#include <thread>

#include "capi/capi_fixture.h"
#include "pypto/capi/fence.h"

namespace pypto::capi {
namespace {

using ::testing::HasSubstr;
using testing::LastError;
using testing::LastMessage;

class ErrorsTest : public testing::CapiTest {};

TEST_F(ErrorsTest, NothingThrownLeavesTheFence) {
  EXPECT_EQ(Fence([]() -> pypto_status { throw std::runtime_error("on purpose"); }), PYPTO_ERROR_INTERNAL);
  EXPECT_EQ(LastMessage(), "an exception was stopped at the C boundary: on purpose");
  EXPECT_EQ(Fence([]() -> pypto_status { throw 42; }), PYPTO_ERROR_INTERNAL);
  EXPECT_EQ(LastMessage(), "an exception of an unknown type was stopped at the C boundary");
  EXPECT_EQ(Fence([]() -> pypto_status { throw std::bad_alloc(); }), PYPTO_ERROR_OUT_OF_HOST_MEMORY);
  EXPECT_THAT(LastMessage(), HasSubstr("no memory left"));
  EXPECT_EQ(Fence([] { return PYPTO_OK; }), PYPTO_OK);
  EXPECT_EQ(LastError().status, PYPTO_ERROR_OUT_OF_HOST_MEMORY);  // success does not touch it
}

TEST_F(ErrorsTest, OfEachThread) {
  EXPECT_EQ(pypto_worker_close(nullptr), PYPTO_ERROR_INVALID_HANDLE);
  std::thread([] {
    EXPECT_EQ(LastError().status, PYPTO_OK);
    EXPECT_EQ(LastMessage(), "");
    EXPECT_EQ(pypto_global_get("no.such", nullptr, 0, nullptr), PYPTO_ERROR_NOT_FOUND);
  }).join();
  EXPECT_EQ(LastError().status, PYPTO_ERROR_INVALID_HANDLE);
  pypto_clear_error();
  EXPECT_EQ(LastError().status, PYPTO_OK);
  EXPECT_EQ(LastMessage(), "");
}

TEST_F(ErrorsTest, AnAclErrorHasItsCodeAndCall) {
  ASSERT_EQ(MOCK_CALL(mock_fail_call)("aclrtMalloc", 0, 507899), 0);
  pypto_worker* worker = testing::OpenWorker();
  uint64_t address = 0;
  EXPECT_EQ(pypto_worker_malloc(worker, 1 << 20, &address), PYPTO_ERROR_ACL);
  const pypto_error error = LastError();
  EXPECT_EQ(error.status, PYPTO_ERROR_ACL);
  EXPECT_EQ(error.acl_code, 507899);
  EXPECT_STREQ(error.acl_call, "aclrtMalloc");
  EXPECT_EQ(address, 0u);
  EXPECT_EQ(pypto_worker_close(nullptr), PYPTO_ERROR_INVALID_HANDLE);
  EXPECT_EQ(LastError().acl_code, 0);
  EXPECT_STREQ(LastError().acl_call, "");
  EXPECT_EQ(pypto_worker_release(worker), PYPTO_OK);
}

TEST_F(ErrorsTest, OutOfDeviceMemorySaysTheNumbers) {
  pypto_worker* worker = testing::OpenWorker();
  const int64_t shape[] = {int64_t{1} << 40};
  pypto_tensor* tensor = nullptr;
  EXPECT_EQ(pypto_tensor_alloc(worker, PYPTO_FP32, shape, 1, nullptr, &tensor), PYPTO_ERROR_OUT_OF_DEVICE_MEMORY);
  EXPECT_EQ(LastError().asked_bytes, uint64_t{1} << 42);
  EXPECT_GT(LastError().total_bytes, 0u);
  EXPECT_EQ(tensor, nullptr);
  EXPECT_EQ(pypto_worker_release(worker), PYPTO_OK);
}

TEST_F(ErrorsTest, NamesOfCodes) {
  EXPECT_STREQ(pypto_status_name(PYPTO_OK), "ok");
  EXPECT_STREQ(pypto_status_name(PYPTO_ERROR_PROGRAM_FORMAT), "program format error");
  EXPECT_STREQ(pypto_status_name(PYPTO_ERROR_INTERNAL), "internal error");
  EXPECT_STREQ(pypto_status_name(PYPTO_ERROR_INVALID_HANDLE), "invalid handle");
  EXPECT_STREQ(pypto_status_name(PYPTO_ERROR_OUT_OF_HOST_MEMORY), "out of host memory");
  EXPECT_STREQ(pypto_status_name(16), "unknown");
  EXPECT_STREQ(pypto_status_name(-1), "unknown");
}

TEST_F(ErrorsTest, StructsOfOtherSizes) {
  pypto_worker* worker = testing::OpenWorker();
  // An older caller: less is written.
  pypto_counters counters;
  std::memset(&counters, 0x5a, sizeof(counters));
  counters.struct_size = offsetof(pypto_counters, d2h_copies);
  EXPECT_EQ(pypto_worker_get_counters(worker, &counters), PYPTO_OK);
  EXPECT_EQ(counters.h2d_copies, 0u);
  EXPECT_EQ(counters.struct_size, offsetof(pypto_counters, d2h_copies));
  EXPECT_EQ(counters.d2h_copies, 0x5a5a5a5a5a5a5a5au);
  // A newer caller: what the library does not know is 0.
  struct Newer {
    pypto_counters known;
    uint64_t more;
  } newer{{}, 7};
  newer.known.struct_size = sizeof(newer);
  EXPECT_EQ(pypto_worker_get_counters(worker, &newer.known), PYPTO_OK);
  EXPECT_EQ(newer.more, 0u);
  for (const uint32_t size : {0U, 4U, 1U << 20}) {
    counters.struct_size = size;
    EXPECT_EQ(pypto_worker_get_counters(worker, &counters), PYPTO_ERROR_INVALID_ARGUMENT);
    EXPECT_THAT(LastMessage(), HasSubstr("set it to sizeof(pypto_counters)"));
  }
  EXPECT_EQ(pypto_worker_get_counters(worker, nullptr), PYPTO_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(pypto_worker_release(worker), PYPTO_OK);
  pypto_error error{};
  EXPECT_EQ(pypto_last_error(&error), PYPTO_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(pypto_last_error(nullptr), PYPTO_ERROR_INVALID_ARGUMENT);
}

TEST_F(ErrorsTest, ConfigsOfOtherSizes) {
  struct Newer {
    pypto_worker_config known;
    uint64_t more;
  } newer{PYPTO_STRUCT(pypto_worker_config), 0};
  newer.known.struct_size = sizeof(newer);
  newer.known.mock_library_path = testing::MockPath();
  pypto_worker* worker = nullptr;
  ASSERT_EQ(pypto_worker_open(&newer.known, &worker), PYPTO_OK) << LastMessage();
  EXPECT_EQ(pypto_worker_release(worker), PYPTO_OK);
  newer.more = 1;
  EXPECT_EQ(pypto_worker_open(&newer.known, &worker), PYPTO_ERROR_UNSUPPORTED);
  EXPECT_THAT(LastMessage(), HasSubstr("pypto_worker_config has a field set at byte"));
  newer.known.struct_size = 1;
  EXPECT_EQ(pypto_worker_open(&newer.known, &worker), PYPTO_ERROR_INVALID_ARGUMENT);
  // An older caller that knows the first fields only.
  pypto_worker_config older = PYPTO_STRUCT(pypto_worker_config);
  older.struct_size = offsetof(pypto_worker_config, platform);
  older.device_id = 77;
  older.platform = "no platform";
  EXPECT_EQ(pypto_worker_open(&older, &worker), PYPTO_ERROR_DEVICE_UNAVAILABLE);
  EXPECT_THAT(LastMessage(), ::testing::Not(HasSubstr("no platform")));
}

TEST_F(ErrorsTest, TextsIntoBuffers) {
  pypto_worker* worker = testing::OpenWorker();
  size_t needed = 0;
  EXPECT_EQ(pypto_worker_get_library_path(worker, nullptr, 0, &needed), PYPTO_OK);
  const std::string path = testing::MockPath();
  EXPECT_EQ(needed, path.size() + 1);
  std::vector<char> buffer(needed, 'x');
  EXPECT_EQ(pypto_worker_get_library_path(worker, buffer.data(), buffer.size(), nullptr), PYPTO_OK);
  EXPECT_EQ(buffer.data(), path);
  char small[8] = {'x', 'x', 'x', 'x', 'x', 'x', 'x', 'x'};
  EXPECT_EQ(pypto_worker_get_library_path(worker, small, 4, &needed), PYPTO_OK);
  EXPECT_EQ(std::string(small), path.substr(0, 3));
  EXPECT_EQ(small[4], 'x');
  EXPECT_EQ(needed, path.size() + 1);
  EXPECT_EQ(pypto_worker_release(worker), PYPTO_OK);
}

}  // namespace
}  // namespace pypto::capi

extern "C" int capi_header_in_c11(void);

TEST(HeaderTest, InC11) { EXPECT_EQ(capi_header_in_c11(), 0); }
