// Records and reports of launches over the real mock: submitted, timed, failing, ignored options.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "pypto/acl/layers/fault_injection.h"
#include "pypto/acl/session.h"
#include "pypto/log/log.h"
#include "pypto/mock_acl.h"
#include "pypto/runtime/worker.h"
#include "runtime/rows_image.h"

namespace pypto::runtime::testing {
namespace {

using base::Status;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class LaunchRecordsTest : public ::testing::Test {
 protected:
  LaunchRecordsTest() {
    config_.mock_library_path = PYPTO_TEST_MOCK_PATH;
    acl::LoadOptions options;
    options.mock_path = PYPTO_TEST_MOCK_PATH;
    options.layers = "fault,validation";
    library_ = std::move(acl::Session::Open(acl::PlatformKind::kSimulator, options)).value();
    faults_ = library_.table().FindLayer<acl::FaultInjectionLayer>();
    log::SetLogRoot((std::filesystem::temp_directory_path() / "pypto_launch_records_test").string());
    log::SetLevel(log::Level::kInfo);
    sink_ = log::AddSink(log::MakeCallbackSink(
        [this](const log::RecordView& record) {
          if (record.text.find("Workspace Runtime") != std::string_view::npos) records_.emplace_back(record.text);
          if (record.level > log::Level::kInfo) warnings_.emplace_back(record.text);
          all_.emplace_back(record.text);
        },
        log::Level::kInfo));
    worker_ = *Worker::Open(config_);
  }
  ~LaunchRecordsTest() override {
    EXPECT_TRUE(worker_->Close().ok());
    log::RemoveSink(sink_);
    log::ResetLevel();
    EXPECT_EQ(LiveBytes(), 0u);
    EXPECT_TRUE(library_.Close().ok());
    EXPECT_EQ(acl::TakeLeakReports(), "");
  }

  uint64_t LiveBytes() {
    auto* live = reinterpret_cast<decltype(&mock_live_bytes)>(library_.table().Symbol("mock_live_bytes"));
    return live(-1);
  }
  Status Call(const std::shared_ptr<Registration>& handle, int64_t rows) {
    x_ = Floats(rows, 0.5F);
    out_ = Floats(rows, 0.0F);
    const Status status = handle->Call(std::vector{x_.View(), w_.View(), out_.View()});
    EXPECT_TRUE(!status.ok() || out_.data == std::vector<float>(out_.data.size(), 16.0F));
    return status;
  }
  std::vector<std::string> TakeRecords() { return std::exchange(records_, {}); }

  RunConfig config_;
  acl::Session library_;
  acl::FaultInjectionLayer* faults_ = nullptr;
  uint64_t sink_ = 0;
  std::vector<std::string> records_;
  std::vector<std::string> warnings_;
  std::vector<std::string> all_;
  std::shared_ptr<Worker> worker_;
  Floats x_{1, 0.0F};
  Floats w_{16, 1.0F};
  Floats out_{1, 0.0F};
};

TEST_F(LaunchRecordsTest, AllRecordsOfALaunchInOrder) {
  const auto handle = *worker_->Register(Rows(PerPool(2)));
  ASSERT_TRUE(Call(handle, 3).ok());
  EXPECT_THAT(
      TakeRecords(),
      ElementsAre("[Workspace Runtime Alloc Failure] kernel=rows, taskId=0, pool=rootInner, requested=512, "
                  "available=0, capacity=1024",
                  "[Workspace Runtime Pool] kernel=rows, parallelId=0, "
                  "rootInner={current=1024,peak=1024,capacity=1024}, "
                  "assembleOutcast={current=0,peak=0,capacity=0}, exclusiveOutcast={current=0,peak=0,capacity=0}",
                  "[Workspace Runtime Tuning] kernel=rows, taskId=0, stitchCount=2, "
                  "configuredDepths={rootInner=2,assembleOutcast=0,exclusive=0}, "
                  "recommendedDepths={rootInner=2,assembleOutcast=0,exclusive=0}",
                  "[Workspace Runtime Pool] kernel=rows, parallelId=0, "
                  "rootInner={current=512,peak=512,capacity=1024}, "
                  "assembleOutcast={current=0,peak=0,capacity=0}, exclusiveOutcast={current=0,peak=0,capacity=0}",
                  "[Workspace Runtime Tuning] kernel=rows, taskId=1, stitchCount=1, "
                  "configuredDepths={rootInner=2,assembleOutcast=0,exclusive=0}, "
                  "recommendedDepths={rootInner=1,assembleOutcast=0,exclusive=0}",
                  "[Workspace Runtime Summary] kernel=rows, parallelId=0, rootInner={peak=1024,capacity=1024}, "
                  "assembleOutcast={peak=0,capacity=0}, exclusiveOutcast={peak=0,capacity=0}",
                  "[Workspace Runtime Recommendation] kernel=rows, "
                  "actualDepths={rootInner=2,assembleOutcast=0,exclusive=0}, "
                  "recommendedDepths={rootInner=2,assembleOutcast=0,exclusive=0}, "
                  "rawPerParallelBytes={rootInner=512,assembleOutcast=0,exclusive=0}, "
                  "nextDepthTotalBytes={rootInner=0,assembleOutcast=0,exclusive=0}, parallelism=1"));
  ASSERT_TRUE(Call(handle, 0).ok());
  EXPECT_THAT(TakeRecords(), ElementsAre(StartsWith("[Workspace Runtime Summary]"),
                                         HasSubstr("recommendedDepths={rootInner=1,assembleOutcast=0,exclusive=0}")));
}

TEST_F(LaunchRecordsTest, NoAllocationAfterTheFirstLaunchAndNoReadsWhenTheLevelIsOff) {
  const auto handle = *worker_->Register(Rows(PerPool(1)));
  ASSERT_TRUE(Call(handle, 64).ok());
  const Counters before = worker_->GetCounters();
  const uint64_t programs = worker_->GetMemoryInfo()->programs;
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(Call(handle, 64).ok());
  EXPECT_EQ(worker_->GetCounters().device_mallocs, before.device_mallocs);
  EXPECT_EQ(worker_->GetCounters().statistics_reads, before.statistics_reads + 5);
  EXPECT_EQ(worker_->GetMemoryInfo()->programs, programs);
  log::SetLevel(log::Level::kWarning);
  records_.clear();
  ASSERT_TRUE(Call(handle, 64).ok());
  EXPECT_THAT(records_, IsEmpty());
  EXPECT_EQ(worker_->GetCounters().statistics_reads, before.statistics_reads + 5);
  EXPECT_THAT(handle->Report()->tasks, IsEmpty());
}

TEST_F(LaunchRecordsTest, SubmittedLaunchesKeepTheirRecordsApart) {
  const auto handle = *worker_->Register(Rows(PerPool(1)));
  std::vector<Floats> inputs;
  std::vector<Floats> outputs;
  for (const int64_t rows : {1, 3, 2}) {
    inputs.emplace_back(rows, 0.5F);
    outputs.emplace_back(rows, 0.0F);
  }
  std::vector<std::shared_ptr<Completion>> completions;
  for (size_t i = 0; i < inputs.size(); ++i) {
    completions.push_back(*handle->Submit(std::vector{inputs[i].View(), w_.View(), outputs[i].View()}));
  }
  EXPECT_THAT(records_, IsEmpty());
  for (size_t i = inputs.size(); i-- > 0;) {
    ASSERT_TRUE(completions[i]->Wait(std::nullopt).ok());
    const std::vector<std::string> records = TakeRecords();
    const auto tasks = std::count_if(records.begin(), records.end(),
                                     [](const std::string& r) { return r.find("Tuning") != std::string::npos; });
    EXPECT_EQ(tasks, inputs[i].shape[0]);
  }
  const uint64_t programs = worker_->GetMemoryInfo()->programs;
  for (int i = 0; i < 10; ++i) {
    const auto completion = *handle->Submit(std::vector{inputs[0].View(), w_.View(), outputs[0].View()});
    ASSERT_TRUE(completion->Wait(std::nullopt).ok());
  }
  EXPECT_EQ(worker_->GetMemoryInfo()->programs, programs);
}

TEST_F(LaunchRecordsTest, IgnoredOptionsAreNamedOnce) {
  program::PlanOptions options = PerPool(4);
  options.stitch_function_max_num = 8;
  options.max_workspace_kb = 100;
  const auto handle = *worker_->Register(Rows(options));
  ASSERT_TRUE(Call(handle, 1).ok());
  ASSERT_TRUE(Call(handle, 1).ok());
  const auto named = [](const std::string& text) { return text.find("ignored: ") != std::string::npos; };
  ASSERT_EQ(std::count_if(all_.begin(), all_.end(), named), 1);
  EXPECT_EQ(*std::find_if(all_.begin(), all_.end(), named),
            "kernel=rows: stitch_function_num_per_pool=[4, 0, 0] rules; ignored: stitch_function_max_num=8, "
            "max_workspace_kb=100");
}

TEST_F(LaunchRecordsTest, TasksBehindThe1024thAreSummed) {
  const auto handle = *worker_->Register(Rows(PerPool(1)));
  ASSERT_TRUE(Call(handle, 1100).ok());
  const std::vector<std::string> records = TakeRecords();
  EXPECT_EQ(std::count_if(records.begin(), records.end(), [](const auto& r) { return r.find("Tuning") < r.size(); }),
            1025);
  const auto sum =
      std::find_if(all_.begin(), all_.end(), [](const auto& r) { return r.find("task 1024 sum 76 tasks") < r.size(); });
  ASSERT_NE(sum, all_.end());
  EXPECT_EQ(*sum, "kernel=rows: the records of task 1024 sum 76 tasks, 75 of them closed by a full pool");
  const LaunchReport report = *handle->Report();
  EXPECT_EQ(report.statistics.device_tasks, 1100u);
  EXPECT_EQ(report.statistics.alloc_failures, 1099u);
  ASSERT_EQ(report.tasks.size(), 1025u);
  EXPECT_EQ(report.tasks.back().tasks, 76u);
  EXPECT_EQ(report.tasks.back().stitch_count, 76u);
}

TEST_F(LaunchRecordsTest, FailingEachCallOfARecordedLaunchLeavesRightNumbersAndNothingElse) {
  const auto image = Rows(PerPool(1));
  bool ran_clean = false;
  for (int k = 0; k < 200 && !ran_clean; ++k) {
    SCOPED_TRACE("call " + std::to_string(k));
    const auto worker = *Worker::Open(config_);
    const auto handle = *worker->Register(image);
    faults_->FailAny(static_cast<uint64_t>(k), acl_abi::kErrorRtInternal);
    const Status failed = Call(handle, 8);
    ran_clean = faults_->fired() == 0;
    faults_->Clear();
    EXPECT_TRUE(!ran_clean || failed.ok());
    EXPECT_TRUE(Call(handle, 8).ok());
    EXPECT_TRUE(worker->Close().ok());
  }
  EXPECT_TRUE(ran_clean);
  EXPECT_THAT(warnings_, ::testing::Contains(HasSubstr("leaves no workspace records")));
  EXPECT_THAT(warnings_, ::testing::Contains(HasSubstr("the workspace records of 'rows' cannot be read")));
}

TEST_F(LaunchRecordsTest, TheReportHasEveryCopyAndTheMaximumOverAllLaunches) {
  program::PlanOptions options;
  options.parallelism = 2;
  const auto handle = *worker_->Register(Rows(options));
  for (const int64_t rows : {5, 9, 2}) ASSERT_TRUE(Call(handle, rows).ok());
  const LaunchReport report = *handle->Report();
  EXPECT_EQ(report.launches, 3u);
  EXPECT_EQ(report.recommendation.recommended_depths, (workspace::PerPoolDepths{2, 0, 0}));
  EXPECT_EQ(report.max_recommended_depths, (workspace::PerPoolDepths{9, 0, 0}));
  ASSERT_EQ(report.copies.size(), 2u);  // the loop is not parallel: all in copy 0
  EXPECT_EQ(report.copies[0].peak[0], 1024u);
  EXPECT_EQ(report.copies[1].peak[0], 0u);
  EXPECT_EQ(report.copies[1].capacity[0], 128u * 512);
  ASSERT_EQ(report.tasks.size(), 1u);
  EXPECT_EQ(report.tasks[0].copies.size(), 2u);
}

}  // namespace
}  // namespace pypto::runtime::testing
