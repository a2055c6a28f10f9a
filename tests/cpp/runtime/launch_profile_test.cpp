// Profiles over the real mock: sums, what is given back, each ACL call failing, other libraries, damaged profiles.
#include "pypto/runtime/launch_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "pypto/acl/layers/fault_injection.h"
#include "pypto/acl/session.h"
#include "pypto/mock_acl.h"
#include "pypto/program/prebuilt.h"
#include "pypto/runtime/worker.h"
#include "runtime/rows_image.h"

namespace pypto::runtime::testing {
namespace {

using base::StatusCode;
using ::testing::HasSubstr;

class LaunchProfileTest : public ::testing::Test {
 protected:
  LaunchProfileTest() {
    config_.mock_library_path = PYPTO_TEST_MOCK_PATH;
    acl::LoadOptions options;
    options.mock_path = PYPTO_TEST_MOCK_PATH;
    options.layers = "fault,validation";
    library_ = std::move(acl::Session::Open(acl::PlatformKind::kSimulator, options)).value();
    faults_ = library_.table().FindLayer<acl::FaultInjectionLayer>();
  }
  ~LaunchProfileTest() override {
    EXPECT_EQ(LiveBytes(), 0u);
    EXPECT_TRUE(library_.Close().ok());
    EXPECT_EQ(acl::TakeLeakReports(), "");
  }
  uint64_t LiveBytes() {
    auto* live = reinterpret_cast<decltype(&mock_live_bytes)>(library_.table().Symbol("mock_live_bytes"));
    return live(-1);
  }
  base::Result<LaunchProfile> Profile(const std::shared_ptr<Registration>& handle, int64_t rows) {
    x_ = Floats(rows, 0.5F);
    out_ = Floats(rows, 0.0F);
    return handle->Profile(std::vector{x_.View(), w_.View(), out_.View()});
  }
  bool IsRight() const { return out_.data == std::vector<float>(out_.data.size(), 16.0F); }

  RunConfig config_;
  acl::Session library_;
  acl::FaultInjectionLayer* faults_ = nullptr;
  Floats x_{1, 0.0F};
  Floats w_{16, 1.0F};
  Floats out_{1, 0.0F};
};

TEST_F(LaunchProfileTest, SumsFitTheReport) {
  const auto worker = *Worker::Open(config_);
  const auto handle = *worker->Register(Rows());
  for (const int64_t rows : {5, 40, 5}) {
    const auto profile = Profile(handle, rows);
    ASSERT_TRUE(profile.ok()) << profile.status().ToString();
    EXPECT_TRUE(IsRight());
    const LaunchReport report = *handle->Report();
    EXPECT_EQ(profile->kernel, "rows");
    EXPECT_NEAR(profile->device_ns, report.device_wall_us * 1e3, 1);
    EXPECT_EQ(profile->root_instances, static_cast<uint64_t>(rows));
    EXPECT_EQ(profile->leaf_tiles, report.statistics.leaf_tiles);
    ASSERT_EQ(profile->leaves.size(), 2u);
    EXPECT_EQ(profile->leaves[0].kind, "cube");
    EXPECT_EQ(profile->leaves[0].operations[0].name, "matmul");
    EXPECT_EQ(profile->leaves[1].operations[0].name, "add");
    EXPECT_EQ(profile->leaves[0].instances, static_cast<uint64_t>(rows));
    EXPECT_EQ(profile->leaves[0].bytes, static_cast<uint64_t>(rows) * (16 + 256 + 16) * 4);
    EXPECT_EQ(profile->leaves[1].bytes, static_cast<uint64_t>(rows) * 2 * 16 * 4);
    EXPECT_EQ(profile->runs.size(), 2 * static_cast<size_t>(rows));
    double in_lines = 0;
    for (const ProfileLine& line : profile->lines) in_lines += line.ns;
    EXPECT_NEAR(in_lines, profile->busy_ns, 1e-6 * profile->busy_ns);
    EXPECT_LE(profile->busy_ns, profile->device_ns * profile->cores);
    EXPECT_TRUE(report.tasks.empty());
  }
  EXPECT_TRUE(worker->Close().ok());
}

TEST_F(LaunchProfileTest, NothingStaysBehind) {
  const auto worker = *Worker::Open(config_);
  const auto handle = *worker->Register(Rows());
  ASSERT_TRUE(Profile(handle, 5).ok());
  const uint64_t programs = worker->GetMemoryInfo()->programs;
  const Counters before = worker->GetCounters();
  ASSERT_TRUE(handle->Call(std::vector{x_.View(), w_.View(), out_.View()}).ok());
  EXPECT_EQ(worker->GetCounters().statistics_reads, before.statistics_reads);
  ASSERT_TRUE(Profile(handle, 5).ok());
  EXPECT_EQ(worker->GetMemoryInfo()->programs, programs);
  EXPECT_TRUE(worker->Close().ok());
}

TEST_F(LaunchProfileTest, FailingEachCallLeavesNothing) {
  const auto image = Rows();
  bool ran_clean = false;
  for (int k = 0; k < 200 && !ran_clean; ++k) {
    SCOPED_TRACE("call " + std::to_string(k));
    const auto worker = *Worker::Open(config_);
    const auto handle = *worker->Register(image);
    faults_->FailAny(static_cast<uint64_t>(k), acl_abi::kErrorRtInternal);
    const auto failed = Profile(handle, 8);
    ran_clean = faults_->fired() == 0;
    faults_->Clear();
    EXPECT_EQ(ran_clean, failed.ok());
    EXPECT_TRUE(Profile(handle, 8).ok());
    EXPECT_TRUE(IsRight());
    EXPECT_TRUE(worker->Close().ok());
    EXPECT_EQ(LiveBytes(), 0u);
  }
  EXPECT_TRUE(ran_clean);
}

TEST_F(LaunchProfileTest, ClosedHandlesSaySo) {
  const auto worker = *Worker::Open(config_);
  const auto handle = *worker->Register(Rows());
  ASSERT_TRUE(handle->Unregister().ok());
  EXPECT_EQ(Profile(handle, 5).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_TRUE(worker->Close().ok());
}

// What the engine writes for `image`, with one run.
std::vector<std::byte> Written(uint32_t leaves, uint32_t operations, uint64_t runs) {
  std::vector<std::byte> bytes(program::ProfileBytes(leaves, operations, runs));
  program::ProfileHeader header;
  header.leaves = leaves;
  header.operations = operations;
  header.cores = 1;
  header.runs = runs;
  std::memcpy(bytes.data(), &header, sizeof(header));
  return bytes;
}

TEST_F(LaunchProfileTest, ProfilesThatDoNotFitTheProgramAreRefused) {
  const auto image = Rows();
  EXPECT_TRUE(ReadProfile(*image, {}, Written(2, 2, 3)).ok());
  EXPECT_EQ(ReadProfile(*image, {}, {}).status().code(), StatusCode::kProgramFormat);
  EXPECT_EQ(ReadProfile(*image, {}, Written(1, 2, 0)).status().code(), StatusCode::kProgramFormat);
  EXPECT_EQ(ReadProfile(*image, {}, Written(3, 2, 0)).status().code(), StatusCode::kProgramFormat);
  auto cut = Written(2, 2, 3);
  cut.resize(cut.size() - 8);
  EXPECT_EQ(ReadProfile(*image, {}, cut).status().code(), StatusCode::kProgramFormat);
  auto wild = Written(2, 2, 0);
  program::LeafEntry leaf;
  leaf.first_operation = UINT32_MAX;
  leaf.operations = 2;
  std::memcpy(wild.data() + sizeof(program::ProfileHeader), &leaf, sizeof(leaf));
  const base::Status status = ReadProfile(*image, {}, wild).status();
  EXPECT_THAT(status.ToString(), HasSubstr("the profile that the device wrote does not fit the program"));
}

TEST_F(LaunchProfileTest, TextAndTrace) {
  LaunchProfile profile;
  profile.kernel = "k";
  profile.device_ns = 2000;
  profile.busy_ns = 3000;
  profile.cores = 2;
  profile.dropped_runs = 7;
  profile.leaves = {{3, "root \"a\"", "vector", "k.py", 4, {{"add", "k.py", "", 4, 3000, 64}}, 1, 2, 3000, 64}};
  profile.runs = {{3, 0, 0, 1, 100, 1500, 1, 32}, {9, 0, 0, 0, 0, 1, 1, 0}};
  profile.lines = {{"k.py", "", 4, "x + y", {"add"}, 3000, 64, 2}};
  const std::string text = profile.ToText();
  EXPECT_THAT(text, HasSubstr("k: 2.0 us on the device, 2 cores 75 % busy"));
  EXPECT_THAT(text, HasSubstr("k.py:4"));
  EXPECT_THAT(text, HasSubstr("add  | x + y"));
  EXPECT_THAT(text, HasSubstr("7 runs are in the sums only"));
  const std::string trace = profile.ToChromeTrace();
  EXPECT_THAT(trace, HasSubstr("\"ts\":0.100,\"dur\":1.500"));
  EXPECT_THAT(trace, HasSubstr("root \\\"a\\\""));
  EXPECT_THAT(trace, ::testing::Not(HasSubstr("\"leaf\":9")));
}

}  // namespace
}  // namespace pypto::runtime::testing
