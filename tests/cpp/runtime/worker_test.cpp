// Life of a worker: opening, closing, raw memory, resident tensors, copies, what is left at the end.
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "pypto/log/log.h"
#include "runtime/worker_fixture.h"

namespace pypto::runtime {
namespace {

using base::StatusCode;
using program::DType;
using ::testing::HasSubstr;
using testing::HostTensor;
using testing::LinearSample;

class WorkerTest : public testing::WorkerFixture {};

constexpr std::array<int64_t, 2> kShape = {4, 16};

TEST(RunConfigTest, PlatformsDevicesAndTimeoutsAreChecked) {
  const base::Status platform = ValidateConfig({"gpu", 0, {}, {}});
  EXPECT_EQ(platform.code(), StatusCode::kInvalidArgument);
  for (const char* known : {"'a2a3'", "'a5'", "'a2a3sim'", "'a5sim'", "'gpu'"}) {
    EXPECT_THAT(platform.ToString(), HasSubstr(known));
  }
  EXPECT_EQ(ValidateConfig({"a2a3sim", -1, {}, {}}).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(ValidateConfig({"a2a3sim", 0, 0, {}}).code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(ValidateConfig({"a5", 3, 100, {}}).ok());
  EXPECT_TRUE(IsSimulatorPlatform("a5sim"));
  EXPECT_FALSE(IsSimulatorPlatform("a5"));
  EXPECT_THAT(PackagedMockPath(), ::testing::EndsWith("libpypto_mock_acl.so"));
}

TEST_F(WorkerTest, AMissingLibraryIsDeviceUnavailable) {
  RunConfig config;
  config.mock_library_path = "/nowhere/libpypto_mock_acl.so";
  EXPECT_EQ(Worker::Open(config).status().code(), StatusCode::kDeviceUnavailable);
}

TEST_F(WorkerTest, ADeviceOutsideTheCountNamesTheCount) {
  RunConfig config;
  config.device_id = 7;
  const auto worker = Worker::OpenOn(config, fake_.MakeSession(true));
  ASSERT_FALSE(worker.ok());
  EXPECT_EQ(worker.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(worker.status().ToString(), HasSubstr("2"));
}

TEST_F(WorkerTest, CloseIsIdempotentAndEverythingRefusesAfterwards) {
  const auto worker = Open();
  EXPECT_TRUE(worker->is_open());
  EXPECT_TRUE(worker->Close().ok());
  EXPECT_TRUE(worker->Close().ok());
  EXPECT_FALSE(worker->is_open());
  EXPECT_EQ(worker->Malloc(16).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(worker->CheckUsable().ToString(), HasSubstr("worker a2a3sim:0 is closed"));
  EXPECT_EQ(worker->Register(LinearSample().Make()).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(worker->Synchronize().code(), StatusCode::kFailedPrecondition);
  EXPECT_TRUE(fake_.handles.empty());
  EXPECT_TRUE(fake_.blocks.empty());
}

TEST_F(WorkerTest, RawMemoryIsCheckedAtEveryTurn) {
  const auto worker = Open();
  EXPECT_EQ(worker->Malloc(0).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(worker->Malloc(-4).status().code(), StatusCode::kInvalidArgument);
  const uint64_t address = *worker->Malloc(100);
  EXPECT_EQ(Memory(worker.get()).resident, 100u);
  std::vector<char> data(200, 'a');
  EXPECT_TRUE(worker->CopyTo(address + 10, data.data(), 90).ok());
  EXPECT_THAT(worker->CopyTo(address + 10, data.data(), 91).ToString(), HasSubstr("of 100 bytes: 90 bytes are left"));
  EXPECT_EQ(worker->CopyTo(address, data.data(), 0).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(worker->CopyTo(address, nullptr, 4).code(), StatusCode::kInvalidArgument);
  std::vector<char> back(90, 'b');
  EXPECT_TRUE(worker->CopyFrom(back.data(), address + 10, 90).ok());
  EXPECT_EQ(back, std::vector<char>(90, 'a'));
  EXPECT_EQ(worker->CopyFrom(back.data(), address - 1, 1).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(worker->CopyFrom(nullptr, address, 1).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(worker->Free(address + 1).code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(worker->Free(address).ok());
  EXPECT_EQ(worker->Free(address).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(worker->CopyTo(address, data.data(), 1).code(), StatusCode::kInvalidArgument);
  const Counters counters = worker->GetCounters();
  EXPECT_EQ(counters.h2d_copies, 1u);
  EXPECT_EQ(counters.h2d_bytes, 90u);
  EXPECT_EQ(counters.d2h_bytes, 90u);
}

TEST_F(WorkerTest, AllocTensorChecksShapesAndInit) {
  const auto worker = Open();
  const std::array<int64_t, 2> zero = {4, 0};
  const std::array<int64_t, 3> huge = {int64_t{1} << 40, int64_t{1} << 40, 1};
  const std::vector<int64_t> deep(9, 1);
  EXPECT_EQ(worker->AllocTensor({}, DType::kFp32).status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(worker->AllocTensor(zero, DType::kFp32).status().ToString(), HasSubstr("[4, 0]"));
  EXPECT_EQ(worker->AllocTensor(huge, DType::kFp32).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(worker->AllocTensor(deep, DType::kFp32).status().code(), StatusCode::kInvalidArgument);
  HostTensor init({4, 16}, 2.5F);
  const HostTensorView memory = init.Memory();
  EXPECT_THAT(worker->AllocTensor(kShape, DType::kFp16, &memory).status().ToString(),
              HasSubstr("the tensor is [4, 16] DT_FP16, the host data is [4, 16] DT_FP32"));
  const std::array<int64_t, 2> other = {16, 4};
  EXPECT_EQ(worker->AllocTensor(other, DType::kFp32, &memory).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Memory(worker.get()).resident, 0u);
  const auto tensor = worker->AllocTensor(kShape, DType::kFp32, &memory);
  ASSERT_TRUE(tensor.ok());
  EXPECT_EQ(Memory(worker.get()).resident, 256u);
  HostTensor back({4, 16}, 0);
  EXPECT_TRUE(worker->CopyToHost(**tensor, back.Memory()).ok());
  EXPECT_EQ(back.data, init.data);
}

TEST_F(WorkerTest, FreeTensorTwiceIsANoOpAndStrangersAreRefused) {
  const auto worker = Open();
  const auto other = Open();
  const TensorRef tensor = *worker->AllocTensor(kShape, DType::kFp32);
  EXPECT_EQ(other->FreeTensor(*tensor).code(), StatusCode::kInvalidArgument);
  const TensorRef view = *worker->ViewRows(*tensor, 1, 3);
  EXPECT_THAT(worker->FreeTensor(*view).ToString(), HasSubstr("is a view"));
  EXPECT_THAT(worker->Free(tensor->address()).ToString(), HasSubstr("free_tensor"));
  EXPECT_TRUE(worker->FreeTensor(*tensor).ok());
  EXPECT_TRUE(worker->FreeTensor(*tensor).ok());
  EXPECT_FALSE(view->is_alive());
  EXPECT_EQ(Memory(worker.get()).resident, 0u);
  EXPECT_EQ(worker->ViewRows(*tensor, 0, 1).status().code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(worker->Close().ok());
  EXPECT_TRUE(worker->FreeTensor(*tensor).ok());
}

TEST_F(WorkerTest, ViewsNeedAtLeastOneWholeRow) {
  const auto worker = Open();
  const TensorRef tensor = *worker->AllocTensor(kShape, DType::kFp32);
  EXPECT_EQ(worker->ViewRows(*tensor, -1, 2).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(worker->ViewRows(*tensor, 2, 2).status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(worker->ViewRows(*tensor, 2, 5).status().ToString(), HasSubstr("the 4 rows of DeviceTensor"));
  HostTensor rows({2, 16}, 3.0F);
  const TensorRef view = *worker->ViewRows(*tensor, 2, 4);
  EXPECT_TRUE(worker->CopyFromHost(*view, rows.Memory()).ok());
  HostTensor wrong({4, 16}, 0);
  EXPECT_EQ(worker->CopyFromHost(*view, wrong.Memory()).code(), StatusCode::kInvalidArgument);
  HostTensor all({4, 16}, 0);
  EXPECT_TRUE(worker->CopyToHost(*tensor, all.Memory()).ok());
  EXPECT_EQ(all.data[32], 3.0F);
}

TEST_F(WorkerTest, DroppedTensorsAreFreedAtTheNextEntry) {
  const auto worker = Open();
  TensorRef tensor = *worker->AllocTensor(kShape, DType::kFp32);
  std::thread([dropped = std::move(tensor)]() mutable { dropped = TensorRef(); }).join();
  EXPECT_EQ(Memory(worker.get()).resident, 0u);
}

TEST_F(WorkerTest, CloseFreesWhatIsHeldAndSaysSoOnce) {
  std::vector<std::string> warnings;
  const uint64_t sink = log::AddSink(log::MakeCallbackSink(
      [&](const log::RecordView& record) { warnings.emplace_back(record.text); }, log::Level::kWarning));
  log::SetLevel(log::Level::kWarning);
  log::SetLogRoot((std::filesystem::temp_directory_path() / "pypto_worker_test").string());
  const auto worker = Open();
  const TensorRef tensor = *worker->AllocTensor(kShape, DType::kFp32);
  static_cast<void>(*worker->Malloc(100));
  EXPECT_TRUE(worker->Close().ok());
  log::RemoveSink(sink);
  log::ResetLevel();
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0], HasSubstr("2 tensors or raw buffers were still held, 356 bytes"));
  EXPECT_FALSE(tensor->is_alive());
  EXPECT_TRUE(fake_.blocks.empty());
}

TEST_F(WorkerTest, OldTensorsAndHandlesStayDeadAfterInit) {
  // Init loads the library again, so it is tested on the mock; here what stays dead does.
  const auto worker = Open();
  const auto handle = Register(worker, LinearSample());
  const TensorRef tensor = *worker->AllocTensor(kShape, DType::kFp32);
  EXPECT_TRUE(worker->Close().ok());
  EXPECT_FALSE(handle->is_open());
  EXPECT_EQ(handle->Call({}).code(), StatusCode::kFailedPrecondition);
  HostTensor host({4, 16}, 0);
  EXPECT_EQ(worker->CopyFromHost(*tensor, host.Memory()).code(), StatusCode::kFailedPrecondition);
}

TEST_F(WorkerTest, OutOfDeviceMemoryLeavesTheWorkerUsable) {
  const auto worker = Open();
  fake_.memory_limit = fake_.memory_used + (uint64_t{16} << 20);
  const std::array<int64_t, 2> large = {1024, 1 << 20};
  const auto failed = worker->AllocTensor(large, DType::kFp32);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.status().code(), StatusCode::kOutOfDeviceMemory);
  ASSERT_NE(failed.status().memory_shortage(), nullptr);
  EXPECT_EQ(failed.status().memory_shortage()->asked, uint64_t{4} << 30);
  EXPECT_TRUE(worker->AllocTensor(kShape, DType::kFp32).ok());
}

TEST_F(WorkerTest, AForkedChildGetsAnErrorAndNoHang) {
  const auto worker = Open();
  const auto handle = Register(worker, LinearSample());
  worker->Enter();  // somebody is inside while the process forks
  const pid_t child = fork();
  if (child == 0) {
    const base::Status status = worker->Malloc(16).status();
    const bool clear = status.code() == StatusCode::kFailedPrecondition &&
                       status.ToString().find("forked") != std::string::npos &&
                       handle->Call({}).code() == StatusCode::kFailedPrecondition && worker->Close().ok();
    _exit(clear ? 0 : 1);
  }
  int result = -1;
  ASSERT_EQ(waitpid(child, &result, 0), child);
  worker->Leave();
  EXPECT_EQ(result, 0);
}

TEST_F(WorkerTest, WarningsAndErrorsGoToTheLogOfALibraryThatIsNotTheMock) {
  log::SetLevel(log::Level::kInfo);
  log::SetLogRoot((std::filesystem::temp_directory_path() / "pypto_worker_test").string());
  RunConfig config;
  config.platform = "a2a3";
  const auto worker = Open(config, false);
  const TensorRef tensor = *worker->AllocTensor(kShape, DType::kFp32);
  fake_.app_log.clear();
  PYPTO_LOG(kInfo, "for our files only");
  PYPTO_LOG(kWarning, "for the library %d", 5);
  PYPTO_LOG(kError, "for both %d%%", 6);
  EXPECT_THAT(fake_.app_log, ::testing::ElementsAre("2 for the library 5", "3 for both 6%"));
  EXPECT_TRUE(worker->Close().ok());
  PYPTO_LOG(kWarning, "after closing");
  EXPECT_THAT(fake_.app_log, ::testing::Not(::testing::Contains(::testing::HasSubstr("after closing"))));
  log::ResetLevel();
}

TEST_F(WorkerTest, NothingGoesToTheLogOfTheMock) {
  log::SetLevel(log::Level::kWarning);
  log::SetLogRoot((std::filesystem::temp_directory_path() / "pypto_worker_test").string());
  const auto worker = Open();
  ASSERT_TRUE(worker->is_mock());
  PYPTO_LOG(kWarning, "not for the mock");
  PYPTO_LOG(kError, "nor this");
  EXPECT_THAT(fake_.app_log, ::testing::IsEmpty());
  log::ResetLevel();
}

}  // namespace
}  // namespace pypto::runtime
