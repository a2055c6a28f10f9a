// Scopes: look-up outwards, change without effect on others, origins, reset, round trips, texts.
#include "pypto/options/scope.h"

#include <gmock/gmock.h>

#include "options/options_test_support.h"

namespace pypto::options {
namespace {

using base::StatusCode;
using testing::HasSubstr;

constexpr std::string_view kMaxNum = "runtime.stitch_function_max_num";

ScopeRef Set(const ScopeRef& scope, const std::string& key, RawValue raw, Origin origin = Origin::kScope) {
  auto changed = scope->With({{key, std::move(raw)}}, origin);
  EXPECT_TRUE(changed.ok()) << changed.status().ToString();
  return changed.ok() ? *changed : scope;
}

TEST(Scope, ChildrenSeeTheirParentsAndOverrideThem) {
  const ScopeRef root = Scope::MakeRoot();
  const ScopeRef outer = Set(root->Child("outer"), std::string(kMaxNum), 64);
  const ScopeRef inner = outer->Child("inner");
  EXPECT_EQ(inner->GetInt(kMaxNum), 64);
  const ScopeRef changed = Set(inner, std::string(kMaxNum), 7);
  EXPECT_EQ(changed->GetInt(kMaxNum), 7);
  EXPECT_EQ(changed->parent(), outer);
  EXPECT_EQ(changed->name(), "inner");
  EXPECT_EQ(changed->depth(), 2);
  EXPECT_EQ(inner->GetInt(kMaxNum), 64);
  EXPECT_EQ(outer->GetInt(kMaxNum), 64);
  EXPECT_EQ(root->GetInt(kMaxNum), 128);
}

TEST(Scope, AScopeKeepsItsParentsAlive) {
  ScopeRef scope = Set(Scope::MakeRoot()->Child("a"), std::string(kMaxNum), 3)->Child("b");
  EXPECT_EQ(scope->GetInt(kMaxNum), 3);
  scope = scope->parent()->parent();
  EXPECT_EQ(scope->GetInt(kMaxNum), 128);
  EXPECT_EQ(scope->parent(), nullptr);
}

TEST(Scope, OriginsSayWhoGaveTheValue) {
  const ScopeRef root = Scope::MakeRoot();
  EXPECT_EQ(root->GetOrigin(kMaxNum).value(), Origin::kDefault);
  const ScopeRef scope = Set(root->Child("s"), std::string(kMaxNum), 5);
  EXPECT_EQ(scope->GetOrigin(kMaxNum).value(), Origin::kScope);
  EXPECT_EQ(Set(scope->Child("jit_scope"), std::string(kMaxNum), 6, Origin::kJit)->GetOrigin(kMaxNum).value(),
            Origin::kJit);
  EXPECT_EQ(root->GetOrigin("no.such").status().code(), StatusCode::kNotFound);
}

TEST(Scope, TheValueInForceChangesNeitherValueNorOrigin) {
  const ScopeRef scope = Scope::MakeRoot()->Child("s");
  EXPECT_EQ(Set(scope, std::string(kMaxNum), 128), scope);
  const ScopeRef jit = Set(scope, std::string(kMaxNum), 5, Origin::kJit);
  EXPECT_EQ(Set(jit, std::string(kMaxNum), 5), jit);
  EXPECT_EQ(Set(jit->Child("c"), std::string(kMaxNum), 5)->GetOrigin(kMaxNum).value(), Origin::kJit);
}

TEST(Scope, RunModeCountsAsGivenOnlyFromScopeOrJit) {
  const ScopeRef scope = Scope::MakeRoot()->Child("s");
  EXPECT_FALSE(Set(scope, "runtime.run_mode", 0)->IsGiven("runtime.run_mode"));
  EXPECT_TRUE(Set(scope, "runtime.run_mode", 1)->IsGiven("runtime.run_mode"));
  EXPECT_TRUE(Set(scope, "runtime.run_mode", 1, Origin::kJit)->IsGiven("runtime.run_mode"));
  const ScopeRef file = Scope::MakeRoot({{FindKey("runtime.run_mode"), Value(int64_t{1})}}, Origin::kFile);
  EXPECT_EQ(file->GetInt("runtime.run_mode"), 1);
  EXPECT_FALSE(file->IsGiven("runtime.run_mode"));
  EXPECT_FALSE(file->IsGiven("no.such"));
}

TEST(Scope, AWrongUpdateChangesNothing) {
  const ScopeRef scope = Scope::MakeRoot()->Child("s");
  const auto result = scope->With({{std::string(kMaxNum), 5}, {"runtime.run_mode", 9}}, Origin::kScope);
  EXPECT_EQ(result.status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(scope->GetInt(kMaxNum), 128);
  EXPECT_EQ(scope->With({{"runtime.not_exist", 1}}, Origin::kScope).status().code(), StatusCode::kNotFound);
}

TEST(Scope, LaterUpdatesOfOneCallWin) {
  const auto scope = Scope::MakeRoot()->With({{std::string(kMaxNum), 5}, {std::string(kMaxNum), 6}}, Origin::kScope);
  EXPECT_EQ((*scope)->GetInt(kMaxNum), 6);
}

TEST(Scope, EmptyListsStayEmpty) {
  const ScopeRef scope = Set(Scope::MakeRoot(), "verify.pass_verify_pass_filter", List({}));
  EXPECT_EQ(scope->Get("verify.pass_verify_pass_filter").value(), Value(Strings()));
  EXPECT_TRUE(scope->Has("verify.pass_verify_pass_filter"));
}

TEST(Scope, GetAndHas) {
  const ScopeRef root = Scope::MakeRoot();
  EXPECT_EQ(root->Get(kMaxNum).value(), Value(int64_t{128}));
  for (const char* key : {"no.such", "vec_tile_shapes"}) {
    EXPECT_FALSE(root->Has(key));
    EXPECT_EQ(root->Get(key).status().code(), StatusCode::kNotFound);
    EXPECT_EQ(root->Get(key).status().ToString(), std::string("Option not found: ") + key);
  }
  const ScopeRef tiles = Set(root, "vec_tile_shapes", List({1, 64}));
  EXPECT_TRUE(tiles->Has("vec_tile_shapes"));
  EXPECT_EQ(tiles->GetIntList("vec_tile_shapes"), (Ints{1, 64}));
  EXPECT_FALSE(Set(tiles, "vec_tile_shapes", RawValue())->Has("vec_tile_shapes"));
}

TEST(Scope, TypedGettersGiveEmptyValuesForOtherTypes) {
  const ScopeRef root = Scope::MakeRoot();
  EXPECT_TRUE(root->GetBool("operation.combine_axis"));
  EXPECT_EQ(root->GetString("pass.pg_partition_algorithm"), "Iso");
  EXPECT_EQ(root->GetInt("operation.combine_axis"), 0);
  EXPECT_EQ(root->GetString("no.such"), "");
}

TEST(Scope, ResetGivesRootValuesInThePresentScope) {
  const ScopeRef root = Scope::MakeRoot({{FindKey(kMaxNum), Value(int64_t{99})}}, Origin::kFile);
  const ScopeRef outer = Set(root->Child("outer"), std::string(kMaxNum), 5);
  const ScopeRef inner = Set(outer->Child("inner"), "pass.enable_slice", true);
  const ScopeRef reset = inner->Reset();
  EXPECT_EQ(reset->GetInt(kMaxNum), 99);
  EXPECT_EQ(reset->GetOrigin(kMaxNum).value(), Origin::kFile);
  EXPECT_FALSE(reset->GetBool("pass.enable_slice"));
  EXPECT_EQ(reset->parent(), outer);
  EXPECT_EQ(reset->Child("c")->GetInt(kMaxNum), 99);
  EXPECT_EQ(Set(reset, std::string(kMaxNum), 5)->GetInt(kMaxNum), 5);
  EXPECT_FALSE(Set(reset, std::string(kMaxNum), 5)->GetBool("pass.enable_slice"));
  EXPECT_EQ(root->Reset(), root);
}

// Options of all groups changed, dict options in all their forms.
ScopeRef Changed() {
  const auto scope = Scope::MakeRoot()->Child("s")->With(
      {{"runtime.stitch_function_num_per_pool", List({64, 1, 1})},
       {"host.compile_timeout", 5},
       {"pass.sg_set_scope", List({3, true, false})},
       {"pass.cube_l1_reuse_setting", Pairs({{0, List({3, "left"})}, {1, 2}})},
       {"pass.cube_nbuffer_setting", Pairs({{"func0_1", 2}, {"DEFAULT", 1}})},
       {"pass.vec_nbuffer_setting", Pairs({{2, 2}, {"label", 1}})},
       {"codegen.vf_compiler", false},
       {"verify.pass_verify_pass_filter", List({})},
       {"debug.dump_pass_graph", List({"a"})},
       {"operation.combine_axis", false},
       {"vec_tile_shapes", List({1, 64})},
       {"cube_tile_shapes", List({List({16, 16}), List({256, 512}), List({128, 128})})},
       {"matrix_size", List({1, 2, 3})},
       {"semantic_label", "part"}},
      Origin::kScope);
  EXPECT_TRUE(scope.ok()) << scope.status().ToString();
  return scope.value();
}

TEST(RoundTrip, SettingWhatAGetterGaveChangesNothing) {
  for (const ScopeRef& scope : {Scope::MakeRoot()->Child("s"), Changed(), Changed()->Child("inner")}) {
    for (const Group group : {Group::kRuntime, Group::kHost, Group::kPass, Group::kCodegen, Group::kVerify,
                              Group::kDebug, Group::kOperation, Group::kTile}) {
      std::vector<Update> updates;
      for (const auto& [key, value] : scope->GetGroup(group)) updates.emplace_back(key, ToRaw(value));
      const auto again = scope->With(updates, Origin::kJit);
      ASSERT_TRUE(again.ok()) << again.status().ToString();
      EXPECT_EQ(*again, scope) << GroupName(group);
    }
  }
}

TEST(RoundTrip, GroupsHoldTheKeywordsOfTheirSetters) {
  const auto group = Changed()->GetGroup(Group::kPass);
  for (const auto& [key, value] : group) EXPECT_THAT(key, testing::Not(testing::HasSubstr("_by_")));
  EXPECT_EQ(group.size(), 17U);
  bool internal = false;
  for (const auto& [key, value] : Changed()->GetAll())
    internal = internal || key == "pass.cube_nbuffer_setting_by_func";
  EXPECT_TRUE(internal);
}

TEST(Text, DescribeNamesOriginAndEffect) {
  const std::string text = Changed()->Describe();
  EXPECT_THAT(text, HasSubstr("runtime.stitch_function_num_per_pool = [64, 1, 1] (scope)\n"));
  EXPECT_THAT(text, HasSubstr("runtime.stitch_function_max_num = 128 (default)\n"));
  EXPECT_THAT(text, HasSubstr("codegen.vf_compiler = false (scope, no effect in this version)\n"));
  EXPECT_THAT(text, testing::Not(HasSubstr("dist_tile_shapes")));
}

TEST(Text, TreeShowsTheStackWithItsChanges) {
  const ScopeRef outer = Set(Scope::MakeRoot()->Child("global")->Child(""), "runtime.run_mode", 1);
  const ScopeRef inner = Set(outer->Child("jit_scope"), "vec_tile_shapes", List({8}), Origin::kJit);
  EXPECT_EQ(inner->TreeText(),
            "default\n"
            "  global\n"
            "    options\n"
            "      runtime.run_mode = 1 (scope)\n"
            "      jit_scope\n"
            "        vec_tile_shapes = [8] (jit)\n");
  EXPECT_THAT(inner->Reset()->TreeText(), HasSubstr("jit_scope (reset)\n"));
}

TEST(Text, EffectiveTextDependsOnValuesOnly) {
  const ScopeRef one = Set(Scope::MakeRoot()->Child("a"), std::string(kMaxNum), 5);
  const ScopeRef other = Set(Scope::MakeRoot()->Child("b")->Child("c"), std::string(kMaxNum), 5, Origin::kJit);
  EXPECT_EQ(one->EffectiveText(), other->EffectiveText());
  EXPECT_NE(one->EffectiveText(), Scope::MakeRoot()->EffectiveText());
}

TEST(Origin, Names) {
  EXPECT_EQ(OriginName(Origin::kDefault), "default");
  EXPECT_EQ(OriginName(Origin::kFile), "file");
  EXPECT_EQ(OriginName(Origin::kEnvironment), "environment");
  EXPECT_EQ(OriginName(Origin::kScope), "scope");
  EXPECT_EQ(OriginName(Origin::kJit), "jit");
}

}  // namespace
}  // namespace pypto::options
