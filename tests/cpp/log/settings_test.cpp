// Settings: what each ASCEND_* variable gives, well-formed and not.
#include "pypto/log/settings.h"

#include <unistd.h>

#include "log/log_test_support.h"

namespace pypto::log {
namespace {

using Levels = std::vector<std::pair<std::string, Level>>;

class SettingsTest : public testing::Test {
  EnvironmentGuard guards_[8] = {{"ASCEND_GLOBAL_LOG_LEVEL", nullptr},    {"ASCEND_MODULE_LOG_LEVEL", nullptr},
                                 {"ASCEND_PROCESS_LOG_PATH", nullptr},    {"ASCEND_WORK_PATH", nullptr},
                                 {"ASCEND_LOG_PRINT_TO_STDOUT", nullptr}, {"ASCEND_SLOG_PRINT_TO_STDOUT", nullptr},
                                 {"ASCEND_HOST_LOG_FILE_NUM", nullptr},   {"HOME", "/home/somebody"}};
};

TEST_F(SettingsTest, Defaults) {
  const Settings settings = ReadSettings();
  EXPECT_EQ(settings.LevelOf("PYPTO"), Level::kError);
  EXPECT_FALSE(settings.print_to_stdout);
  EXPECT_EQ(settings.root, "/home/somebody/ascend/log");
  EXPECT_EQ(settings.files_kept, 10);
}

TEST_F(SettingsTest, GlobalLevelAcceptsZeroToFour) {
  for (int level = 0; level <= 4; ++level) {
    const EnvironmentGuard guard("ASCEND_GLOBAL_LOG_LEVEL", std::to_string(level).c_str());
    EXPECT_EQ(static_cast<int>(ReadSettings().LevelOf("PYPTO")), level);
  }
  for (const char* wrong : {"5", "-1", "", "info", "1x", "0.5"}) {
    const EnvironmentGuard guard("ASCEND_GLOBAL_LOG_LEVEL", wrong);
    EXPECT_EQ(ReadSettings().LevelOf("PYPTO"), Level::kError) << wrong;
  }
}

TEST_F(SettingsTest, ModuleLevelWinsOverTheGlobalOne) {
  const EnvironmentGuard global("ASCEND_GLOBAL_LOG_LEVEL", "2");
  const EnvironmentGuard modules("ASCEND_MODULE_LOG_LEVEL", "RUNTIME=0:PYPTO=1");
  const Settings settings = ReadSettings();
  EXPECT_EQ(settings.LevelOf("PYPTO"), Level::kInfo);
  EXPECT_EQ(settings.LevelOf("RUNTIME"), Level::kDebug);
  EXPECT_EQ(settings.LevelOf("ASCENDCL"), Level::kWarning);
}

TEST(ParseModuleLevels, OneWrongPartSpoilsTheWholeValue) {
  Levels levels;
  EXPECT_TRUE(ParseModuleLevels("PYPTO=0", &levels));
  EXPECT_EQ(levels, (Levels{{"PYPTO", Level::kDebug}}));
  for (const char* wrong : {"", ":", "PYPTO", "PYPTO=", "PYPTO=5", "PYPTO=-1", "PYPTO=11", "=1", "pypto=1", "PYPTO=1:",
                            ":PYPTO=1", "PYPTO=1:NOSUCH=1", "PYPTO=1,GE=1", "PYPTO=1:GE=x", "PYPTO =1", "PYPTO==1"}) {
    EXPECT_FALSE(ParseModuleLevels(wrong, &levels)) << wrong;
    EXPECT_TRUE(levels.empty()) << wrong;
  }
}

TEST_F(SettingsTest, AMalformedModuleValueLeavesTheGlobalLevel) {
  const EnvironmentGuard global("ASCEND_GLOBAL_LOG_LEVEL", "1");
  const EnvironmentGuard modules("ASCEND_MODULE_LOG_LEVEL", "PYPTO=0:NOSUCH=1");
  EXPECT_EQ(ReadSettings().LevelOf("PYPTO"), Level::kInfo);
}

TEST_F(SettingsTest, TheNewStdoutVariableWinsOverTheOldOne) {
  const EnvironmentGuard old_name("ASCEND_SLOG_PRINT_TO_STDOUT", "1");
  EXPECT_TRUE(ReadSettings().print_to_stdout);
  {
    const EnvironmentGuard new_name("ASCEND_LOG_PRINT_TO_STDOUT", "0");
    EXPECT_FALSE(ReadSettings().print_to_stdout);
  }
  const EnvironmentGuard wrong("ASCEND_LOG_PRINT_TO_STDOUT", "2");
  EXPECT_TRUE(ReadSettings().print_to_stdout);
}

TEST_F(SettingsTest, TheProcessPathWinsOverTheWorkPathAndBothOverHome) {
  const EnvironmentGuard work("ASCEND_WORK_PATH", "/work-path");
  EXPECT_EQ(ReadSettings().root, "/work-path/log");
  {
    const EnvironmentGuard process("ASCEND_PROCESS_LOG_PATH", "/logs");
    EXPECT_EQ(ReadSettings().root, "/logs");
  }
  const EnvironmentGuard empty("ASCEND_PROCESS_LOG_PATH", "");
  EXPECT_EQ(ReadSettings().root, "/work-path/log");
}

TEST_F(SettingsTest, RelativePathsStandUnderTheWorkingFolder) {
  const EnvironmentGuard process("ASCEND_PROCESS_LOG_PATH", "wk");
  char folder[4096];
  ASSERT_NE(getcwd(folder, sizeof folder), nullptr);
  EXPECT_EQ(ReadSettings().root, std::string(folder) + "/wk");
}

TEST_F(SettingsTest, WithoutHomeTheAccountNamesTheFolder) {
  const EnvironmentGuard home("HOME", nullptr);
  const std::string root = ReadSettings().root;
  EXPECT_EQ(root[0], '/');
  EXPECT_TRUE(root.ends_with("/ascend/log")) << root;
}

TEST_F(SettingsTest, FileCountOutsideOneToThousandIsTen) {
  for (const auto& [text, count] : std::vector<std::pair<const char*, int>>{
           {"1", 1}, {"1000", 1000}, {"0", 10}, {"1001", 10}, {"many", 10}, {"", 10}}) {
    const EnvironmentGuard guard("ASCEND_HOST_LOG_FILE_NUM", text);
    EXPECT_EQ(ReadSettings().files_kept, count) << text;
  }
}

}  // namespace
}  // namespace pypto::log
