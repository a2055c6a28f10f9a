// Checks of single values and settings: what passes, and every message.
#include <gmock/gmock.h>

#include "options/options_test_support.h"

namespace pypto::options {
namespace {

using base::StatusCode;
using testing::HasSubstr;

Value Good(std::string_view name, const RawValue& raw) {
  auto value = CheckValue(*FindKey(name), raw);
  EXPECT_TRUE(value.ok()) << name << ": " << value.status().ToString();
  return value.ok() ? *value : Value();
}

std::string Bad(std::string_view name, const RawValue& raw, StatusCode code) {
  const auto value = CheckValue(*FindKey(name), raw);
  EXPECT_FALSE(value.ok()) << name << " takes " << RawText(raw);
  EXPECT_EQ(value.status().code(), code);
  return value.status().ToString();
}

TEST(CheckInt, Types) {
  EXPECT_EQ(Good("runtime.run_mode", 1), Value(int64_t{1}));
  EXPECT_EQ(Bad("runtime.run_mode", "one", StatusCode::kTypeMismatch),
            "Option 'runtime.run_mode' has invalid type. Expected int64, but got string.");
  EXPECT_THAT(Bad("runtime.run_mode", true, StatusCode::kTypeMismatch), HasSubstr("Expected int64, but got bool."));
  EXPECT_THAT(Bad("runtime.run_mode", 1.0, StatusCode::kTypeMismatch), HasSubstr("but got double."));
  EXPECT_THAT(Bad("runtime.run_mode", List({1}), StatusCode::kTypeMismatch), HasSubstr("but got list."));
  EXPECT_THAT(Bad("runtime.run_mode", Pairs({}), StatusCode::kTypeMismatch), HasSubstr("but got dict."));
  EXPECT_THAT(Bad("runtime.run_mode", RawValue(), StatusCode::kTypeMismatch), HasSubstr("but got None."));
}

TEST(CheckInt, Range) {
  EXPECT_EQ(Bad("runtime.stitch_function_max_num", 0, StatusCode::kInvalidArgument),
            "Option 'runtime.stitch_function_max_num': value 0 doesn't within the value range 1..1024.");
}

TEST(CheckBool, NumbersAreNoFlags) {
  EXPECT_EQ(Good("pass.enable_slice", true), Value(true));
  EXPECT_THAT(Bad("pass.enable_slice", 1, StatusCode::kTypeMismatch), HasSubstr("Expected bool, but got int64."));
}

TEST(CheckString, Choices) {
  EXPECT_EQ(Good("pass.pg_partition_algorithm", "OspBsp"), Value(std::string("OspBsp")));
  EXPECT_EQ(Good("pass.ooo_sched_mode", ""), Value(std::string()));
  EXPECT_EQ(Good("codegen.vf_options", "anything"), Value(std::string("anything")));
  EXPECT_THAT(Bad("pass.pg_partition_algorithm", "iso", StatusCode::kInvalidArgument),
              HasSubstr("value \"iso\" doesn't within the value range {\"Iso\", \"OspSarkar\", \"OspBsp\"}"));
  EXPECT_THAT(Bad("codegen.soc_version", 910, StatusCode::kTypeMismatch), HasSubstr("Expected string, but got int64."));
}

TEST(CheckLists, StringsAndDoubles) {
  EXPECT_EQ(Good("verify.pass_verify_pass_filter", List({})), Value(Strings()));
  EXPECT_EQ(Good("debug.dump_pass_graph", List({"a", "b"})), Value(Strings{"a", "b"}));
  EXPECT_EQ(Good("verify.pass_verify_error_tol", List({1, 0.5})), Value(std::vector<double>{1.0, 0.5}));
  EXPECT_EQ(Bad("debug.dump_pass_graph", List({"a", 1}), StatusCode::kTypeMismatch),
            "Option 'debug.dump_pass_graph' has invalid list element type at index 1. Expected str, but got int");
  EXPECT_THAT(Bad("verify.pass_verify_error_tol", List({"x"}), StatusCode::kTypeMismatch),
              HasSubstr("at index 0. Expected float, but got str"));
  EXPECT_THAT(Bad("verify.pass_verify_error_tol", 0.1, StatusCode::kTypeMismatch),
              HasSubstr("Expected list[double], but got double."));
  EXPECT_THAT(Bad("debug.dump_pass_graph", "a", StatusCode::kTypeMismatch),
              HasSubstr("Expected list[string], but got string."));
}

TEST(CheckPoolDepths, ExactlyThreeInts) {
  constexpr std::string_view kName = "runtime.stitch_function_num_per_pool";
  EXPECT_EQ(Good(kName, List({64, 1, 0})), Value(Ints{64, 1, 0}));
  EXPECT_EQ(Good(kName, List({1024, 1024, 1024})), Value(Ints{1024, 1024, 1024}));
  for (const RawValue& wrong : {List({}), List({1, 1}), List({1, 1, 1, 1}), List({1, 1, 1025}), List({-1, 1, 1}),
                                List({1, true, 1}), List({1, 1.0, 1}), List({"1", 1, 1}), RawValue(1), RawValue("x")}) {
    EXPECT_THAT(Bad(kName, wrong, StatusCode::kInvalidArgument), HasSubstr("Invalid stitch_function_num_per_pool"));
  }
}

TEST(CheckScope, IdOrTuple) {
  constexpr std::string_view kName = "pass.sg_set_scope";
  EXPECT_EQ(Good(kName, 5), Value(Ints{5, 0, 0}));
  EXPECT_EQ(Good(kName, List({5, true, false})), Value(Ints{5, 1, 0}));
  EXPECT_EQ(Good(kName, List({-1, 0, 1})), Value(Ints{-1, 0, 1}));
  EXPECT_EQ(Good(kName, 2147483647), Value(Ints{2147483647, 0, 0}));
  EXPECT_THAT(Bad(kName, -2, StatusCode::kInvalidArgument),
              HasSubstr("scope_id -2 is out of range. Expected -1~2147483647."));
  EXPECT_THAT(Bad(kName, RawValue(int64_t{2147483648}), StatusCode::kInvalidArgument), HasSubstr("is out of range."));
  EXPECT_THAT(Bad(kName, List({1, true}), StatusCode::kInvalidArgument), HasSubstr("Expected 3"));
  EXPECT_THAT(Bad(kName, List({1, 2, true}), StatusCode::kTypeMismatch), HasSubstr("Expected bool"));
  EXPECT_THAT(Bad(kName, List({true, true, true}), StatusCode::kTypeMismatch), HasSubstr("Expected int64"));
  EXPECT_THAT(Bad(kName, "x", StatusCode::kTypeMismatch), HasSubstr("Expected int64 or tuple, but got str."));
}

TEST(CheckOooScope, MinusOneOrOneToHundredThousand) {
  constexpr std::string_view kName = "pass.sg_set_ooo_scope";
  EXPECT_EQ(Good(kName, -1), Value(Ints{-1}));
  EXPECT_EQ(Good(kName, List({100000})), Value(Ints{100000}));
  for (const int wrong : {0, -2, 100001}) {
    EXPECT_THAT(Bad(kName, wrong, StatusCode::kInvalidArgument), HasSubstr("Expected -1 or an integer in [1, 100000]"));
  }
  EXPECT_THAT(Bad(kName, "x", StatusCode::kTypeMismatch), HasSubstr("Expected -1 or an integer in [1, 100000]"));
  EXPECT_THAT(Bad(kName, List({1, 2}), StatusCode::kTypeMismatch), HasSubstr("Expected -1"));
}

TEST(CheckDict, Ranges) {
  EXPECT_EQ(Good("pass.cube_nbuffer_setting", Pairs({{-1, 1}, {4, 2}})),
            Value(Dict{{int64_t{-1}, {1, ""}}, {int64_t{4}, {2, ""}}}));
  EXPECT_EQ(Good("pass.vec_nbuffer_setting", Pairs({{-2, 0}})), Value(Dict{{int64_t{-2}, {0, ""}}}));
  EXPECT_THAT(Bad("pass.cube_nbuffer_setting", Pairs({{-2, 1}}), StatusCode::kInvalidArgument),
              HasSubstr("key -2 doesn't within the value range -1..2147483647"));
  EXPECT_THAT(Bad("pass.cube_nbuffer_setting", Pairs({{0, 0}}), StatusCode::kInvalidArgument),
              HasSubstr("value 0 doesn't within the value range 1..2147483647"));
  EXPECT_THAT(Bad("pass.vec_nbuffer_setting", Pairs({{-3, 1}}), StatusCode::kInvalidArgument), HasSubstr("key -3"));
  EXPECT_THAT(Bad("pass.vec_nbuffer_setting", "x", StatusCode::kTypeMismatch),
              HasSubstr("Expected dict[int64, int64], but got string."));
  EXPECT_THAT(Bad("pass.vec_nbuffer_setting", Pairs({{1, "x"}}), StatusCode::kTypeMismatch),
              HasSubstr("but got a value of type str."));
  EXPECT_THAT(Bad("pass.vec_nbuffer_setting", Pairs({{1.5, 1}}), StatusCode::kTypeMismatch),
              HasSubstr("but got a key of type float."));
  EXPECT_THAT(Bad("pass.vec_nbuffer_setting", Pairs({{1, List({1, "left"})}}), StatusCode::kTypeMismatch),
              HasSubstr("but got a value of type list."));
  EXPECT_THAT(Bad("pass.vec_nbuffer_setting_by_func", Pairs({{1, 1}}), StatusCode::kTypeMismatch),
              HasSubstr("but got a key of type int."));
}

TEST(CheckDict, Sides) {
  EXPECT_EQ(Good("pass.cube_l1_reuse_setting", Pairs({{0, List({3, "left"})}, {1, 2}})),
            Value(Dict{{int64_t{0}, {3, "left"}}, {int64_t{1}, {2, ""}}}));
  for (const char* side : {"right", "auto"}) Good("pass.cube_l1_reuse_setting", Pairs({{0, List({3, side})}}));
  EXPECT_THAT(Bad("pass.cube_l1_reuse_setting", Pairs({{0, List({3, "top"})}}), StatusCode::kInvalidArgument),
              HasSubstr("side \"top\" doesn't within the value range"));
  EXPECT_THAT(Bad("pass.cube_l1_reuse_setting", Pairs({{0, List({3, 4})}}), StatusCode::kInvalidArgument),
              HasSubstr("side 4"));
  EXPECT_THAT(Bad("pass.cube_l1_reuse_setting", Pairs({{0, List({3})}}), StatusCode::kTypeMismatch),
              HasSubstr("value of type list"));
}

TEST(CheckCubeTile, Forms) {
  const CubeTile tile = {{16, 16}, {256, 512, 512}, {128, 128}, false};
  EXPECT_EQ(Good("cube_tile_shapes", List({List({16, 16}), List({256, 512}), List({128, 128})})), Value(tile));
  const CubeTile split = {{16, 16}, {256, 512, 64}, {128, 128}, true};
  EXPECT_EQ(Good("cube_tile_shapes", List({List({16, 16}), List({256, 512, 64}), List({128, 128}), true})),
            Value(split));
  EXPECT_EQ(Good("cube_tile_shapes", ToRaw(Value(split))), Value(split));
  EXPECT_EQ(Good("cube_tile_shapes", RawValue()), Value());
  const RawValue two = List({1, 1});
  EXPECT_THAT(Bad("cube_tile_shapes", List({List({1}), two, two}), StatusCode::kInvalidArgument),
              HasSubstr("m has 1 elements, expected 2"));
  EXPECT_THAT(Bad("cube_tile_shapes", List({two, List({1, 1, 1, 1}), two}), StatusCode::kInvalidArgument),
              HasSubstr("k has 4 elements, expected 2 or 3"));
  EXPECT_THAT(Bad("cube_tile_shapes", List({two, two, List({0, 1})}), StatusCode::kInvalidArgument),
              HasSubstr("value 0"));
  EXPECT_THAT(Bad("cube_tile_shapes", List({two, two, two, 1}), StatusCode::kTypeMismatch),
              HasSubstr("Expected bool, but got int"));
  EXPECT_THAT(Bad("cube_tile_shapes", List({two, two}), StatusCode::kInvalidArgument), HasSubstr("got 2 elements"));
  EXPECT_THAT(Bad("cube_tile_shapes", List({two, 1, two}), StatusCode::kTypeMismatch), HasSubstr("invalid type"));
  EXPECT_THAT(Bad("cube_tile_shapes", List({two, List({1, "x"}), two}), StatusCode::kTypeMismatch),
              HasSubstr("at index 1. Expected int, but got str"));
}

TEST(CheckTiles, VectorShapesAndLabels) {
  EXPECT_EQ(Good("vec_tile_shapes", List({1, 64, 1, 256})), Value(Ints{1, 64, 1, 256}));
  EXPECT_EQ(Good("vec_tile_shapes", List({})), Value(Ints{}));
  EXPECT_THAT(Bad("vec_tile_shapes", List({0}), StatusCode::kInvalidArgument), HasSubstr("value 0"));
  EXPECT_EQ(Good("semantic_label", "attention"), Value(std::string("attention")));
  for (const char* fine : {"func", "func1", "func_0", "func1_", "func1_0x", "xfunc1_0"}) Good("semantic_label", fine);
  EXPECT_THAT(Bad("semantic_label", "func1_0", StatusCode::kInvalidArgument),
              HasSubstr("conflicts with function-granularity hashOrder"));
}

std::vector<std::pair<std::string, std::string>> Split(std::string_view name, const RawValue& raw) {
  std::vector<std::pair<std::string, std::string>> parts;
  const auto settings = CheckSetting(name, raw);
  EXPECT_TRUE(settings.ok()) << settings.status().ToString();
  if (!settings.ok()) return parts;
  for (const auto& [spec, value] : *settings) parts.emplace_back(spec->name, ValueText(value));
  return parts;
}

TEST(CheckSetting, DictsAreSplitByTheKindOfTheirKeys) {
  using Parts = std::vector<std::pair<std::string, std::string>>;
  constexpr std::string_view kName = "pass.cube_nbuffer_setting";
  EXPECT_EQ(Split(kName, Pairs({})), (Parts{{"pass.cube_nbuffer_setting", "{}"}}));
  EXPECT_EQ(Split(kName, Pairs({{1, 2}})), (Parts{{"pass.cube_nbuffer_setting", "{1: 2}"}}));
  EXPECT_EQ(Split(kName, Pairs({{"func0_1", 2}, {"DEFAULT", 1}})),
            (Parts{{"pass.cube_nbuffer_setting_by_func", "{\"DEFAULT\": 1, \"func0_1\": 2}"}}));
  EXPECT_EQ(Split(kName, Pairs({{1, 2}, {"label", 3}})),
            (Parts{{"pass.cube_nbuffer_setting", "{1: 2}"}, {"pass.cube_nbuffer_setting_by_label", "{\"label\": 3}"}}));
  EXPECT_EQ(Split(kName, Pairs({{"func1_", 3}})), (Parts{{"pass.cube_nbuffer_setting_by_label", "{\"func1_\": 3}"}}));
  for (const char* key : {"DEFAULT", "func0_1"}) {
    const auto mixed = CheckSetting(kName, Pairs({{1, 2}, {key, 3}}));
    EXPECT_EQ(mixed.status().code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(mixed.status().ToString(), HasSubstr("cannot mix"));
  }
  EXPECT_FALSE(CheckSetting(kName, Pairs({{"DEFAULT", 0}})).ok());
  EXPECT_FALSE(CheckSetting(kName, Pairs({{"label", "x"}})).ok());
  EXPECT_FALSE(CheckSetting(kName, 3).ok());
}

TEST(CheckSetting, UnknownKeys) {
  EXPECT_EQ(CheckSetting("runtime.not_exist", 1).status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace pypto::options
