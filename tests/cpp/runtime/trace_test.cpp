// Timing marks: off by default, one record per span, the targets.
#include "pypto/runtime/trace.h"

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "runtime/worker_fixture.h"

namespace pypto::runtime {
namespace {

using ::testing::HasSubstr;
using testing::HostTensor;
using testing::LinearSample;
using ::testing::MatchesRegex;

class TraceTest : public testing::WorkerFixture {
 protected:
  ~TraceTest() override { EXPECT_TRUE(SetTrace("off").ok()); }
  void Dispatch() {
    const auto worker = Open();
    const auto handle = Register(worker, LinearSample());
    const std::vector<ArgumentView> arguments = {x_.View(), w_.View(), out_.View()};
    ASSERT_TRUE(handle->Call(arguments).ok());
  }
  HostTensor x_{{4, 16}, 1.0F};
  HostTensor w_{{16}, 2.0F};
  HostTensor out_{{4, 16}, -1.0F};
};

TEST_F(TraceTest, OneRecordPerSpan) {
  std::vector<std::string> records;
  Dispatch();
  SetTraceCallback([&](std::string_view record) { records.emplace_back(record); });
  Dispatch();
  SetTraceCallback(nullptr);
  Dispatch();
  ASSERT_EQ(records.size(), 7u);
  for (const std::string& record : records) {
    EXPECT_THAT(record, MatchesRegex("\\[STRACE\\] v=1 pid=[0-9]+ tid=[0-9]+ inv=[0-9]+ hid=[0-9a-f]+ depth=[01] "
                                     "name=chip\\.run[a-z0-9._]* ts=[0-9]+ dur=[0-9]+( clk=dev)?"));
  }
  for (const char* name : {"chip.run ", ".validate ", ".bind ", ".h2d ", ".launch ", ".device_wall ", ".d2h "}) {
    EXPECT_THAT(records, ::testing::Contains(HasSubstr(name)));
  }
  EXPECT_THAT(records, ::testing::Contains(HasSubstr("dur=2000 clk=dev")));
  EXPECT_EQ(out_.data[0], 3.0F);
}

TEST_F(TraceTest, AFileIsAppendedTo) {
  const std::string path = (std::filesystem::temp_directory_path() / "pypto_trace_test.txt").string();
  std::remove(path.c_str());
  ASSERT_TRUE(SetTrace(path).ok());
  Dispatch();
  ASSERT_TRUE(SetTrace("off").ok());
  std::ifstream file(path);
  std::string line;
  int lines = 0;
  while (std::getline(file, line)) lines += 1;
  EXPECT_EQ(lines, 7);
  std::remove(path.c_str());
}

TEST_F(TraceTest, ABadPathKeepsTheOldTarget) {
  int records = 0;
  SetTraceCallback([&](std::string_view) { records += 1; });
  EXPECT_EQ(SetTrace("/nowhere/at/all").code(), base::StatusCode::kIo);
  Dispatch();
  EXPECT_EQ(records, 7);
}

}  // namespace
}  // namespace pypto::runtime
