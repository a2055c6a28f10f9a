// The schema: names, defaults, suggestions, groups.
#include "pypto/options/schema.h"

#include <gmock/gmock.h>

#include <set>

#include "options/options_test_support.h"

namespace pypto::options {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(Schema, NamesAreUniqueAndBeginWithTheirGroup) {
  std::set<std::string_view> names;
  for (const KeySpec& spec : Schema()) {
    EXPECT_TRUE(names.insert(spec.name).second) << spec.name;
    EXPECT_EQ(FindKey(spec.name), &spec);
    EXPECT_EQ(&Schema()[KeyIndex(spec)], &spec);
    if (spec.group == Group::kTile) {
      EXPECT_EQ(spec.name.find('.'), std::string_view::npos) << spec.name;
    } else {
      EXPECT_TRUE(spec.name.starts_with(std::string(GroupName(spec.group)) + ".")) << spec.name;
    }
  }
}

TEST(Schema, EveryDefaultPassesItsOwnCheckUnchanged) {
  for (const KeySpec& spec : Schema()) {
    if (std::holds_alternative<std::monostate>(spec.default_value)) continue;
    const auto checked = CheckValue(spec, ToRaw(spec.default_value));
    ASSERT_TRUE(checked.ok()) << spec.name << ": " << checked.status().ToString();
    EXPECT_EQ(*checked, spec.default_value) << spec.name;
  }
}

TEST(Schema, DefaultsOfTheContract) {
  const auto text = [](std::string_view name) { return ValueText(FindKey(name)->default_value); };
  EXPECT_EQ(text("runtime.stitch_function_max_num"), "128");
  EXPECT_EQ(text("runtime.stitch_function_num_per_pool"), "[0, 0, 0]");
  EXPECT_EQ(text("runtime.launch_sched_aicpu_num"), "7");
  EXPECT_EQ(text("host.compile_timeout"), "600");
  EXPECT_EQ(text("pass.mg_copyin_upper_bound"), "104857600");
  EXPECT_EQ(text("pass.cube_nbuffer_setting"), "{-1: 1}");
  EXPECT_EQ(text("pass.sg_set_scope"), "[-1, 0, 0]");
  EXPECT_EQ(text("codegen.vf_compiler"), "true");
  EXPECT_EQ(text("verify.pass_verify_error_tol"), "[0.001, 0.001]");
  EXPECT_EQ(text("operation.combine_axis"), "true");
  EXPECT_EQ(text("vec_tile_shapes"), "unset");
  EXPECT_EQ(std::get<Strings>(FindKey("verify.pass_verify_pass_filter")->default_value).size(), 7U);
}

TEST(Schema, IntLimitsAreAcceptedAndOneBeyondIsNot) {
  for (const KeySpec& spec : Schema()) {
    if (spec.type != ValueType::kInt) continue;
    EXPECT_TRUE(CheckValue(spec, spec.low).ok()) << spec.name;
    EXPECT_TRUE(CheckValue(spec, spec.high).ok()) << spec.name;
    for (const int64_t wrong : {spec.low - 1, spec.high + 1}) {
      const base::Status status = CheckValue(spec, wrong).status();
      EXPECT_EQ(status.code(), base::StatusCode::kInvalidArgument) << spec.name;
      EXPECT_THAT(status.ToString(), HasSubstr("doesn't within the value range")) << spec.name;
    }
  }
}

TEST(Schema, EveryKeyRefusesAWrongType) {
  for (const KeySpec& spec : Schema()) {
    const base::Status status = CheckValue(spec, Pairs({{List({}), 1}})).status();
    EXPECT_FALSE(status.ok()) << spec.name;
    EXPECT_FALSE(CheckValue(spec, 0.5).ok()) << spec.name;
    EXPECT_EQ(CheckValue(spec, true).ok(), spec.type == ValueType::kBool) << spec.name;
    EXPECT_EQ(CheckValue(spec, RawValue()).ok(), spec.group == Group::kTile) << spec.name;
  }
}

TEST(UnknownKey, TextAndNearestName) {
  const base::Status status = UnknownKey("runtime.stitch_function_max_nun");
  EXPECT_EQ(status.code(), base::StatusCode::kNotFound);
  EXPECT_EQ(status.ToString(),
            "key: runtime.stitch_function_max_nun does not exist. Did you mean runtime.stitch_function_max_num?");
  EXPECT_THAT(UnknownKey("runtime.not_exist").ToString(), StartsWith("key: runtime.not_exist does not exist."));
  EXPECT_EQ(UnknownKey("q").ToString(), "key: q does not exist.");
  EXPECT_THAT(UnknownKey("pass.cube_nbuffer_setting_by").ToString(), HasSubstr("pass.cube_nbuffer_setting?"));
}

TEST(SettableInKernel, PassOperationAndTilesOnly) {
  for (const char* name : {"pass.pg_lower_bound", "operation.combine_axis", "vec_tile_shapes", "matrix_size",
                           "semantic_label", "no.such"}) {
    EXPECT_TRUE(CheckSettableInKernel(name).ok()) << name;
  }
  for (const char* name : {"runtime.run_mode", "host.compile_stage", "codegen.vf_options", "verify.enable_pass_verify",
                           "debug.compile_debug_mode"}) {
    const base::Status status = CheckSettableInKernel(name);
    EXPECT_EQ(status.code(), base::StatusCode::kFailedPrecondition) << name;
    EXPECT_THAT(status.ToString(), HasSubstr("cannot be set inside a kernel"));
  }
}

}  // namespace
}  // namespace pypto::options
