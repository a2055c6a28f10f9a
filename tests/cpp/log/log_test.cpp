// The logger of a process: levels, places, forks, threads, failures; seen from outside through the log probe.
#include "pypto/log/log.h"

#include <gmock/gmock.h>

#include <cmath>
#include <ctime>

#include "log/log_test_support.h"

namespace pypto::log {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::MatchesRegex;

// All lines of all plog files under the root.
std::vector<std::string> AllLines(const std::string& root) {
  std::vector<std::string> lines;
  for (const std::string& path : PlogFiles(root)) {
    for (std::string& line : Lines(ReadFile(path))) lines.push_back(std::move(line));
  }
  return lines;
}

class LogTest : public testing::Test {
 protected:
  ProbeResult Run(const std::string& actions, const std::string& variables = "") {
    return RunProbe("ASCEND_PROCESS_LOG_PATH=" + root_.path() + " " + variables, actions);
  }
  std::vector<std::string> Logged() { return AllLines(root_.path()); }
  TemporaryFolder root_;
};

TEST_F(LogTest, TheDefaultLevelIsErrorAndNothingGoesToTheTerminal) {
  const ProbeResult result = Run("debug:a info:b warning:c error:d print-level");
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.out, "level 3\n");
  EXPECT_EQ(result.err, "");
  EXPECT_THAT(
      Logged(),
      ElementsAre(MatchesRegex("\\[ERROR\\] PYPTO\\([0-9]+,log_probe\\):[-0-9:.]+ \\[log_probe\\.cpp:[0-9]+\\]d")));
}

TEST_F(LogTest, NoRecordNoFolder) {
  EXPECT_EQ(Run("info:a file").out, "file \n");
  EXPECT_TRUE(std::filesystem::is_empty(root_.path()));
}

TEST_F(LogTest, LevelsOfTheEnvironment) {
  Run("debug:a info:b warning:c", "ASCEND_GLOBAL_LOG_LEVEL=1");
  EXPECT_THAT(Logged(), ElementsAre(EndsWith("]b"), EndsWith("]c")));
}

TEST_F(LogTest, TheModuleLevelWins) {
  const ProbeResult result = Run("debug:a print-level-of:ASCENDCL print-level-of:PYPTO",
                                 "ASCEND_GLOBAL_LOG_LEVEL=4 ASCEND_MODULE_LOG_LEVEL=PYPTO=0");
  EXPECT_EQ(result.out, "ASCENDCL 4\nPYPTO 0\n");
  EXPECT_THAT(Logged(), ElementsAre(EndsWith("]a")));
}

TEST_F(LogTest, NullWritesNothing) {
  Run("debug:a error:b", "ASCEND_GLOBAL_LOG_LEVEL=4");
  EXPECT_TRUE(Logged().empty());
}

TEST_F(LogTest, TheCallWinsOverTheEnvironment) {
  const ProbeResult result =
      Run("info:a level:1 info:b level:4 error:c reset-level error:d info:e print-level", "ASCEND_GLOBAL_LOG_LEVEL=2");
  EXPECT_THAT(Logged(), ElementsAre(EndsWith("]b"), EndsWith("]d")));
  EXPECT_EQ(result.out, "level 2\n");
}

TEST_F(LogTest, ArgumentsBelowTheLevelAreNotEvaluated) {
  EXPECT_EQ(Run("evaluated").out, "evaluated 0\n");
  EXPECT_EQ(Run("evaluated", "ASCEND_GLOBAL_LOG_LEVEL=0").out, "evaluated 1\n");
}

TEST_F(LogTest, RecordsWithTheirOwnSwitchIgnoreTheLevel) {
  Run("always:mark");
  EXPECT_THAT(Logged(), ElementsAre(EndsWith("[mark.cc:7]mark")));
}

TEST_F(LogTest, OtherModulesHaveTheirOwnName) {
  Run("app:text");
  EXPECT_THAT(Logged(), ElementsAre(MatchesRegex("\\[WARNING\\] APP\\([0-9]+,log_probe\\):[-0-9:.]+ text")));
}

TEST_F(LogTest, StdoutInPlaceOfFiles) {
  EXPECT_THAT(Run("error:a", "ASCEND_LOG_PRINT_TO_STDOUT=1").out, EndsWith("]a\n"));
  EXPECT_THAT(Run("error:a", "ASCEND_SLOG_PRINT_TO_STDOUT=1").out, EndsWith("]a\n"));
  EXPECT_TRUE(Logged().empty());
  EXPECT_EQ(Run("stdout:0 error:b", "ASCEND_LOG_PRINT_TO_STDOUT=1").out, "");
  EXPECT_THAT(Logged(), ElementsAre(EndsWith("]b")));
}

TEST_F(LogTest, TheFileIsReadOnlyAfterTheProcess) {
  Run("error:a");
  const auto files = PlogFiles(root_.path());
  ASSERT_EQ(files.size(), 1U);
  EXPECT_EQ(ModeOf(files[0]), 0440U);
}

TEST_F(LogTest, ANewRootByCall) {
  const TemporaryFolder other;
  Run("error:a root:" + other.path() + " error:b");
  EXPECT_THAT(Logged(), ElementsAre(EndsWith("]a")));
  EXPECT_THAT(AllLines(other.path()), ElementsAre(EndsWith("]b")));
}

TEST_F(LogTest, ARelativeRootStaysWhenTheWorkingFolderChanges) {
  const TemporaryFolder elsewhere;
  RunProbe("ASCEND_PROCESS_LOG_PATH=./wk",
           "chdir:" + root_.path() + " error:a chdir:" + elsewhere.path() + " stdout:1 stdout:0 error:b");
  EXPECT_EQ(AllLines(root_.path() + "/wk").size(), 2U);
  EXPECT_TRUE(std::filesystem::is_empty(elsewhere.path()));
}

TEST_F(LogTest, TheChildOfAForkWritesAFileOfItsOwn) {
  const ProbeResult result = Run("error:before fork:child error:after");
  EXPECT_THAT(result.out, HasSubstr("status 0"));
  const auto files = PlogFiles(root_.path());
  ASSERT_EQ(files.size(), 2U);
  int children = 0;
  for (const std::string& path : files) {
    const auto lines = Lines(ReadFile(path));
    const std::string pid = path.substr(path.rfind('-') + 1, path.rfind('_') - path.rfind('-') - 1);
    for (const std::string& line : lines) EXPECT_THAT(line, HasSubstr("PYPTO(" + pid + ",")) << path;
    if (lines.size() == 1 && lines[0].ends_with("]child")) ++children;
    EXPECT_EQ(ModeOf(path), 0440U);
  }
  EXPECT_EQ(children, 1);
  EXPECT_EQ(Logged().size(), 3U);
}

TEST_F(LogTest, AForkWhileOtherThreadsLogDoesNotHang) {
  // The search for leaks takes locks that other threads may have held at the fork.
  const ProbeResult result = Run("fork-under-load:20", "ASAN_OPTIONS=detect_leaks=0");
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(Lines(result.out).size(), 20U);
  for (const std::string& line : Lines(result.out)) EXPECT_THAT(line, EndsWith("status 0"));
}

TEST_F(LogTest, TheClockIsLocal) {
  Run("error:west", "TZ=XXX11");
  Run("error:east", "TZ=ABC-11:30");
  const auto lines = Logged();
  ASSERT_EQ(lines.size(), 2U);
  std::vector<time_t> times;
  for (const std::string& line : lines) {
    tm time{};
    ASSERT_NE(strptime(line.c_str() + line.find("):") + 2, "%Y-%m-%d-%H:%M:%S", &time), nullptr) << line;
    times.push_back(timegm(&time));
  }
  const double hours = std::abs(difftime(times[1], times[0])) / 3600;
  EXPECT_NEAR(hours, 22.5, 0.1);
}

TEST_F(LogTest, RecordsOfThreadsStayWhole) {
  Run("threads:4");
  const auto lines = Logged();
  EXPECT_EQ(lines.size(), 800U);
  for (const std::string& line : lines) {
    EXPECT_THAT(line, MatchesRegex("\\[ERROR\\] PYPTO\\(.*\\]thread [0-9]+ record [0-9]+ end"));
  }
}

TEST_F(LogTest, ABatchIsWrittenWhenItGoes) {
  EXPECT_EQ(Run("batch:3").out, "size 3\n");
  EXPECT_THAT(Logged(), ElementsAre(EndsWith("]batch 0"), EndsWith("]batch 1"), EndsWith("]batch 2")));
}

TEST_F(LogTest, AnUnwritableFolderGivesOneMessageAndTheRunGoesOn) {
  const ProbeResult result = RunProbe("ASCEND_PROCESS_LOG_PATH=/dev/null/logs", "error:a error:b error:c print-level");
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(Lines(result.err).size(), 1U) << result.err;
  EXPECT_THAT(result.err, HasSubstr("pypto: log records are lost: cannot create /dev/null/logs"));
  EXPECT_EQ(result.out, "level 3\n");
}

TEST_F(LogTest, AFullDiskGivesOneMessageAndNoTornRecord) {
  const ProbeResult result = Run("error:a fsize:3000 many:20 print-level");
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(Lines(result.err).size(), 1U) << result.err;
  EXPECT_THAT(result.err, HasSubstr("cannot write"));
  const auto files = PlogFiles(root_.path());
  ASSERT_EQ(files.size(), 1U);
  const std::string text = ReadFile(files[0]);
  EXPECT_EQ(text.back(), '\n');
  EXPECT_EQ(Lines(text).size(), 3U);
}

TEST_F(LogTest, TheStderrSinkIsThereOnRequest) { EXPECT_THAT(Run("stderr-sink error:a").err, EndsWith("]a\n")); }

TEST_F(LogTest, RotationAtTwentyMebibytesKeepsTheCountAsked) {
  Run("many:66000", "ASCEND_HOST_LOG_FILE_NUM=2");
  const auto files = PlogFiles(root_.path());
  ASSERT_EQ(files.size(), 2U);
  EXPECT_LE(std::filesystem::file_size(files[0]), 20U << 20);
  EXPECT_GT(std::filesystem::file_size(files[0]), (20U << 20) - 1024);
}

TEST(LogInProcess, SinksGetRecordsAndBatches) {
  const TemporaryFolder root;
  SetLogRoot(root.path());
  SetLevel(Level::kInfo);
  std::vector<std::string> texts;
  const uint64_t id = AddSink(MakeCallbackSink(
      [&](const RecordView& record) {
        EXPECT_EQ(record.module, "PYPTO");
        EXPECT_STREQ(record.file, "log_test.cpp");
        EXPECT_EQ(record.formatted.back(), '\n');
        EXPECT_TRUE(record.formatted.substr(0, record.formatted.size() - 1).ends_with(record.text));
        texts.emplace_back(record.text);
      },
      Level::kInfo));
  PYPTO_LOG(kInfo, "one %d", 1);
  PYPTO_LOG(kDebug, "unseen");
  {
    RecordBatch batch;
    PYPTO_LOG_TO(batch, kWarning, "two %d", 2);
    PYPTO_LOG_TO(batch, kDebug, "unseen");
    batch.AddText(Level::kError, "log_test.cpp", 1, "three");
    batch.AddText(Level::kNull, "log_test.cpp", 1, "nothing");
    EXPECT_EQ(batch.size(), 2U);
    batch.Write();
    EXPECT_EQ(batch.size(), 0U);
  }
  EXPECT_TRUE(RemoveSink(id));
  PYPTO_LOG(kInfo, "file only");
  EXPECT_THAT(texts, ElementsAre("one 1", "two 2", "three"));
  EXPECT_EQ(Lines(ReadFile(CurrentLogFile())).size(), 4U);
  ResetLevel();
  SetLogRoot("/nonexistent");
}

TEST(LogInProcess, ALoggingSinkWritesToTheFile) {
  const TemporaryFolder root;
  SetLogRoot(root.path());
  const uint64_t id =
      AddSink(MakeCallbackSink([](const RecordView&) { PYPTO_LOG(kError, "from the sink"); }, Level::kError));
  PYPTO_LOG(kError, "first");
  EXPECT_TRUE(RemoveSink(id));
  EXPECT_THAT(Lines(ReadFile(CurrentLogFile())), ElementsAre(EndsWith("]first"), EndsWith("]from the sink")));
  SetLogRoot("/nonexistent");
}

}  // namespace
}  // namespace pypto::log
