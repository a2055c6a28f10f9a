// The defaults file: the packaged one, the one of the environment, wrong ones, and the global.* values.
#include "pypto/options/defaults.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "options/options_test_support.h"

namespace pypto::options {
namespace {

using base::StatusCode;
using testing::HasSubstr;

TEST(PackagedFile, HoldsExactlyTheDefaultsOfTheSchema) {
  const auto file = ReadDefaults(PYPTO_DEFAULTS_FILE);
  ASSERT_TRUE(file.ok()) << file.status().ToString();
  for (const KeySpec& spec : Schema()) {
    if (spec.internal || spec.group == Group::kTile) continue;
    const auto it = std::find_if(file->settings.begin(), file->settings.end(),
                                 [&](const Setting& setting) { return setting.first == &spec; });
    ASSERT_NE(it, file->settings.end()) << spec.name;
    EXPECT_EQ(it->second, spec.default_value) << spec.name;
  }
}

TEST(PackagedFile, HoldsTheGlobalValues) {
  const auto file = ReadDefaults(PYPTO_DEFAULTS_FILE);
  ASSERT_TRUE(file.ok());
  for (const auto& [name, value] : file->globals) EXPECT_EQ(GetGlobal(name).value(), value) << name;
  EXPECT_EQ(file->globals.size(), 6U);
}

TEST(LoadRoot, ThePackagedFileGivesOriginFile) {
  const ConfigPathGuard unset(nullptr);
  const auto root = LoadRoot(PYPTO_DEFAULTS_FILE);
  ASSERT_TRUE(root.ok()) << root.status().ToString();
  EXPECT_EQ((*root)->GetInt("runtime.stitch_function_max_num"), 128);
  EXPECT_EQ((*root)->GetOrigin("runtime.stitch_function_max_num").value(), Origin::kFile);
  EXPECT_EQ((*root)->name(), "default");
}

TEST(LoadRoot, TheEnvironmentWinsOverThePackagedFile) {
  const TemporaryFile file(R"({"runtime": {"stitch_function_max_num": 64}, "vec_tile_shapes": [1, 64]})");
  const ConfigPathGuard path(file.path().c_str());
  const auto root = LoadRoot(PYPTO_DEFAULTS_FILE);
  ASSERT_TRUE(root.ok()) << root.status().ToString();
  EXPECT_EQ((*root)->GetInt("runtime.stitch_function_max_num"), 64);
  EXPECT_EQ((*root)->GetOrigin("runtime.stitch_function_max_num").value(), Origin::kEnvironment);
  EXPECT_EQ((*root)->GetIntList("vec_tile_shapes"), (Ints{1, 64}));
  EXPECT_EQ((*root)->GetInt("host.compile_timeout"), 600);
  EXPECT_EQ((*root)->GetOrigin("host.compile_timeout").value(), Origin::kDefault);
}

TEST(LoadRoot, WithoutAnyFileTheSchemaGivesTheValues) {
  const ConfigPathGuard unset(nullptr);
  const auto root = LoadRoot("");
  ASSERT_TRUE(root.ok());
  EXPECT_EQ((*root)->GetOrigin("host.compile_timeout").value(), Origin::kDefault);
  const ConfigPathGuard empty("");
  EXPECT_EQ(FindDefaults("x").path, "x");
}

TEST(LoadRoot, AMissingFileIsAnError) {
  const ConfigPathGuard path("/no/such/options.json");
  const auto root = LoadRoot(PYPTO_DEFAULTS_FILE);
  EXPECT_EQ(root.status().code(), StatusCode::kIo);
  EXPECT_THAT(root.status().ToString(), HasSubstr("/no/such/options.json"));
  EXPECT_THAT(root.status().ToString(), HasSubstr("TILEFWK_CONFIG_PATH"));
}

TEST(LoadRoot, AFolderIsAnError) {
  const TemporaryFile file("{}");
  EXPECT_FALSE(LoadRoot(file.folder()).ok());
}

TEST(ParseDefaults, ValuesOfEveryForm) {
  const auto file = ParseDefaults(R"({
    // comments are allowed
    "pass": {"cube_nbuffer_setting": {"-1": 1, "4": 2}, "cube_l1_reuse_setting": {"0": [3, "left"]},
             "vec_nbuffer_setting": {"DEFAULT": 2}, "sg_set_scope": 7},
    "verify": {"pass_verify_pass_filter": [], "pass_verify_error_tol": [1, 1e-4]},
    "cube_tile_shapes": [[16, 16], [256, 512], [128, 128]],
    "global": {"tensor_print": {"edgeitems": 5}, "name": "x"}})",
                                  "f.json");
  ASSERT_TRUE(file.ok()) << file.status().ToString();
  std::vector<std::string> texts;
  for (const auto& [spec, value] : file->settings) texts.push_back(std::string(spec->name) + "=" + ValueText(value));
  EXPECT_THAT(texts, testing::ElementsAre(
                         "pass.cube_nbuffer_setting={-1: 1, 4: 2}", "pass.cube_l1_reuse_setting={0: [3, \"left\"]}",
                         "pass.vec_nbuffer_setting_by_func={\"DEFAULT\": 2}", "pass.sg_set_scope=[7, 0, 0]",
                         "verify.pass_verify_pass_filter=[]", "verify.pass_verify_error_tol=[1.0, 1e-04]",
                         "cube_tile_shapes=[[16, 16], [256, 512, 512], [128, 128], false]"));
  EXPECT_EQ(file->globals, (std::vector<Update>{{"global.tensor_print.edgeitems", 5}, {"global.name", "x"}}));
}

TEST(ParseDefaults, WrongFilesNameThemselvesAndTheReason) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "is no valid JSON"},
      {"{", "is no valid JSON: parse error at line 1"},
      {"[1]", "must hold a JSON object"},
      {"3", "must hold a JSON object"},
      {R"({"runtime": 3})", "\"runtime\" must be an object"},
      {R"({"global": 3})", "\"global\" must be an object"},
      {R"({"runtime": {"not_exist": 1}})", "key: runtime.not_exist does not exist."},
      {R"({"nonsense": 1})", "key: nonsense does not exist."},
      {R"({"runtime": {"run_mode": true}})", "Expected int64, but got bool."},
      {R"({"runtime": {"run_mode": 1.5}})", "Expected int64, but got double."},
      {R"({"runtime": {"max_workspace_kb": 18446744073709551615}})", "Expected int64, but got double."},
      {R"({"runtime": {"max_workspace_kb": 2147483648}})", "doesn't within the value range"},
      {R"({"host": {"compile_timeout": null}})", "but got None."},
      {"{\"global\": " + std::string(50, '[') + std::string(50, ']') + "}", "is nested deeper than 32 levels"},
  };
  for (const auto& [text, reason] : cases) {
    const auto file = ParseDefaults(text, "/etc/options.json");
    ASSERT_FALSE(file.ok()) << text;
    EXPECT_THAT(file.status().ToString(), HasSubstr("/etc/options.json")) << text;
    EXPECT_THAT(file.status().ToString(), HasSubstr(reason)) << text;
  }
}

TEST(Globals, SetGetAndNames) {
  SetGlobal("a.b", 3);
  EXPECT_EQ(GetGlobal("a.b").value(), RawValue(3));
  EXPECT_EQ(GetGlobal("global.a.b").value(), RawValue(3));
  SetGlobal("global.a.b", "text");
  EXPECT_EQ(GetGlobal("a.b").value(), RawValue("text"));
  EXPECT_EQ(GetGlobal("a.c").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(GetGlobal("a.c").status().ToString(), "Option not found: global.a.c");
  const auto all = AllGlobals();
  EXPECT_TRUE(std::find(all.begin(), all.end(), Update("global.a.b", "text")) != all.end());
}

TEST(Globals, AFileGivesTheirValuesAndAWrongFileLeavesThem) {
  SetGlobal("from.file", 1);
  const TemporaryFile good(R"({"global": {"from": {"file": 2}}})");
  const ConfigPathGuard unset(nullptr);
  ASSERT_TRUE(LoadRoot(good.path()).ok());
  EXPECT_EQ(GetGlobal("from.file").value(), RawValue(2));
  const TemporaryFile bad(R"({"global": {"from": {"file": 3}}, "nonsense": 1})");
  EXPECT_FALSE(LoadRoot(bad.path()).ok());
  EXPECT_EQ(GetGlobal("from.file").value(), RawValue(2));
}

}  // namespace
}  // namespace pypto::options
