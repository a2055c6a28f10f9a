// PlogFile: names, modes, clashes, rotation, files kept, failures.
#include "pypto/log/plog_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include "log/log_test_support.h"

namespace pypto::log {
namespace {

std::string Record(int number, size_t bytes) {
  std::string text = std::to_string(number);
  text.resize(bytes - 1, '.');
  return text + "\n";
}

TEST(PlogFile, NothingIsMadeBeforeTheFirstRecord) {
  const TemporaryFolder folder;
  PlogFile file;
  file.Configure(folder.path(), 10);
  EXPECT_TRUE(PlogFiles(folder.path()).empty());
  EXPECT_EQ(file.path(), "");
}

TEST(PlogFile, NameHoldsProcessAndTimeOfSeventeenDigits) {
  const TemporaryFolder folder;
  PlogFile file;
  file.Configure(folder.path(), 10);
  file.Append("a\n");
  EXPECT_THAT(file.path(), testing::MatchesRegex(folder.path() + "/debug/plog/plog-" + std::to_string(getpid()) +
                                                 "_[0-9]{17}\\.log"));
  EXPECT_EQ(ReadFile(file.path()), "a\n");
}

TEST(PlogFile, ModeIs0640WhileWrittenAnd0440WhenClosedWhateverTheMask) {
  const TemporaryFolder folder;
  const mode_t mask = umask(077);
  PlogFile file;
  file.Configure(folder.path(), 10);
  file.Append("a\n");
  umask(mask);
  const std::string path = file.path();
  EXPECT_EQ(ModeOf(path), 0640U);
  file.Close();
  EXPECT_EQ(ModeOf(path), 0440U);
  EXPECT_EQ(file.path(), "");
}

TEST(PlogFile, RecordsAreAppended) {
  const TemporaryFolder folder;
  PlogFile file;
  file.Configure(folder.path(), 10);
  file.Append("a\n");
  file.Append("b\nc\n");
  EXPECT_EQ(ReadFile(file.path()), "a\nb\nc\n");
}

TEST(PlogFile, ANameInUseGivesTheNextMillisecond) {
  const TemporaryFolder folder;
  PlogFile first;
  PlogFile second;
  first.Configure(folder.path(), 10);
  second.Configure(folder.path(), 10);
  for (int i = 0; i < 20; ++i) {  // far more files than milliseconds pass
    first.Append("first\n");
    second.Append("second\n");
    first.Close();
    second.Close();
  }
  const auto files = PlogFiles(folder.path());
  EXPECT_EQ(files.size(), 20U);  // 10 kept by each
  for (const std::string& path : files) EXPECT_EQ(Lines(ReadFile(path)).size(), 1U) << path;
}

TEST(PlogFile, AFullFileIsClosedAndANewOneBegun) {
  const TemporaryFolder folder;
  PlogFile file;
  file.Configure(folder.path(), 10, 1000);
  for (int i = 0; i < 10; ++i) file.Append(Record(i, 100));
  const std::string full = file.path();
  EXPECT_EQ(PlogFiles(folder.path()).size(), 1U);
  file.Append(Record(10, 100));
  EXPECT_NE(file.path(), full);
  EXPECT_EQ(ReadFile(full).size(), 1000U);
  EXPECT_EQ(ModeOf(full), 0440U);
  EXPECT_EQ(ReadFile(file.path()), Record(10, 100));
}

TEST(PlogFile, ARecordNeverStraddlesTwoFiles) {
  const TemporaryFolder folder;
  PlogFile file;
  file.Configure(folder.path(), 1000, 1000);
  std::string all;
  std::string batch;
  for (int i = 0; i < 57; ++i) batch += Record(i, 90);
  for (int i = 0; i < 3; ++i) {
    file.Append(batch);
    all += batch;
  }
  std::string read;
  for (const std::string& path : PlogFiles(folder.path())) {
    const std::string text = ReadFile(path);
    EXPECT_LE(text.size(), 1000U);
    EXPECT_EQ(text.size() % 90, 0U);
    read += text;
  }
  EXPECT_EQ(read, all);
}

TEST(PlogFile, ARecordAboveTheLimitIsAFileOfItsOwn) {
  const TemporaryFolder folder;
  PlogFile file;
  file.Configure(folder.path(), 10, 50);
  file.Append("a\n");
  file.Append(Record(1, 80));
  file.Append("b\n");
  EXPECT_EQ(PlogFiles(folder.path()).size(), 3U);
}

TEST(PlogFile, TheOldestFileGoesWhenTheCountIsReached) {
  const TemporaryFolder folder;
  PlogFile file;
  file.Configure(folder.path(), 3, 100);
  for (int i = 0; i < 107; ++i) file.Append(Record(i, 100));
  const auto files = PlogFiles(folder.path());
  ASSERT_EQ(files.size(), 3U);
  EXPECT_EQ(ReadFile(files[0]), Record(104, 100));
  EXPECT_EQ(ReadFile(files[2]), Record(106, 100));
}

TEST(PlogFile, FilesOfOthersInTheFolderStay) {
  const TemporaryFolder folder;
  const std::string other = folder.path() + "/debug/plog/plog-1_20200101000000000.log";
  std::filesystem::create_directories(folder.path() + "/debug/plog");
  std::ofstream(other) << "other\n";
  PlogFile file;
  file.Configure(folder.path(), 1, 10);
  for (int i = 0; i < 3; ++i) file.Append(Record(i, 10));
  EXPECT_EQ(PlogFiles(folder.path()).size(), 2U);
  EXPECT_EQ(ReadFile(other), "other\n");
}

TEST(PlogFile, DetachLeavesTheOldFileAsItIs) {
  const TemporaryFolder folder;
  PlogFile file;
  file.Configure(folder.path(), 10);
  file.Append("parent\n");
  const std::string path = file.path();
  file.Detach();
  EXPECT_EQ(ModeOf(path), 0640U);
  file.Append("child\n");
  EXPECT_NE(file.path(), path);
  EXPECT_EQ(ReadFile(path), "parent\n");
}

TEST(PlogFile, NewRootNewFile) {
  const TemporaryFolder one;
  const TemporaryFolder two;
  PlogFile file;
  file.Configure(one.path(), 10);
  file.Append("a\n");
  file.Configure(two.path(), 10);
  file.Append("b\n");
  ASSERT_EQ(PlogFiles(one.path()).size(), 1U);
  EXPECT_EQ(ModeOf(PlogFiles(one.path())[0]), 0440U);
  ASSERT_EQ(PlogFiles(two.path()).size(), 1U);
  EXPECT_EQ(ReadFile(PlogFiles(two.path())[0]), "b\n");
}

TEST(PlogFile, AFolderThatCannotBeMadeGivesOneMessage) {
  const TemporaryFolder folder;
  const std::string blocker = folder.path() + "/file";
  std::ofstream(blocker) << "x";
  PlogFile file;
  file.Configure(blocker, 10);
  testing::internal::CaptureStderr();
  for (int i = 0; i < 5; ++i) file.Append("a\n");
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(Lines(text).size(), 1U) << text;
  EXPECT_THAT(text, testing::AllOf(testing::StartsWith("pypto: log records are lost: cannot create " + blocker),
                                   testing::HasSubstr("ASCEND_PROCESS_LOG_PATH")));
}

TEST(PlogFile, AGoodRootAfterABadOneWorks) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() + "/file") << "x";
  PlogFile file;
  testing::internal::CaptureStderr();
  file.Configure(folder.path() + "/file", 10);
  file.Append("lost\n");
  file.Configure(folder.path() + "/good", 10);
  file.Append("kept\n");
  static_cast<void>(testing::internal::GetCapturedStderr());
  EXPECT_EQ(ReadFile(file.path()), "kept\n");
}

}  // namespace
}  // namespace pypto::log
