// Every option key with its type, range, default, and whether this version acts on it.
#include "pypto/options/schema_table.h"

#include <initializer_list>
#include <utility>

namespace pypto::options {
namespace {

constexpr int64_t kMax = 2147483647;
constexpr bool kActs = true;  // the version acts on the key

using Rows = std::vector<KeySpec>;

KeySpec Int(std::string_view name, Group group, int64_t value, int64_t low, int64_t high, bool acts = false) {
  return {.name = name,
          .group = group,
          .type = ValueType::kInt,
          .default_value = value,
          .low = low,
          .high = high,
          .has_effect = acts};
}

KeySpec Bool(std::string_view name, Group group, bool value, bool acts = false) {
  return {.name = name, .group = group, .type = ValueType::kBool, .default_value = value, .has_effect = acts};
}

KeySpec String(std::string_view name, Group group, std::string value, std::vector<std::string_view> choices = {}) {
  return {.name = name,
          .group = group,
          .type = ValueType::kString,
          .default_value = std::move(value),
          .choices = std::move(choices)};
}

KeySpec Strings(std::string_view name, Group group, std::vector<std::string> value) {
  return {.name = name, .group = group, .type = ValueType::kStringList, .default_value = std::move(value)};
}

// Int lists of their own form; low and high are of the elements.
KeySpec Ints(std::string_view name, Group group, ValueType type, Value value, int64_t low, int64_t high,
             bool acts = false) {
  return {.name = name,
          .group = group,
          .type = type,
          .default_value = std::move(value),
          .low = low,
          .high = high,
          .has_effect = acts};
}

KeySpec DictOf(std::string_view name, ValueType type, Dict value, int64_t key_low, int64_t low, bool internal = false) {
  return {.name = name,
          .group = Group::kPass,
          .type = type,
          .default_value = std::move(value),
          .low = low,
          .high = kMax,
          .key_low = key_low,
          .internal = internal};
}

void AddRuntime(Rows* rows) {
  const Group group = Group::kRuntime;
  rows->push_back(Int("runtime.device_sched_mode", group, 0, 0, 3));
  rows->push_back(Int("runtime.run_mode", group, 0, 0, 1, kActs));
  rows->push_back(Ints("runtime.stitch_function_num_per_pool", group, ValueType::kPoolDepths,
                       std::vector<int64_t>{0, 0, 0}, 0, 1024, kActs));
  rows->push_back(Int("runtime.stitch_function_max_num", group, 128, 1, 1024, kActs));
  rows->push_back(Int("runtime.max_workspace_kb", group, 0, 0, kMax, kActs));
  rows->push_back(Int("runtime.valid_shape_optimize", group, 0, 0, 1));
  rows->push_back(Strings("runtime.ready_on_host_tensors", group, {}));
  rows->push_back(Int("runtime.device_sched_parallelism", group, 1, 1, 8, kActs));
  rows->push_back(Int("runtime.launch_sched_aicpu_num", group, 7, 1, 7));
  rows->push_back(Int("runtime.launch_early_mode", group, 0, 0, 2));
}

void AddHost(Rows* rows) {
  const Group group = Group::kHost;
  rows->push_back(Int("host.compile_stage", group, 0, 0, 5));
  rows->push_back(Int("host.compile_monitor_enable", group, 1, 0, 2));
  rows->push_back(Int("host.compile_timeout", group, 600, 0, kMax));
  rows->push_back(Int("host.compile_timeout_stage", group, 0, 0, kMax));
  rows->push_back(Int("host.compile_monitor_print_interval", group, 60, 0, kMax));
}

void AddPass(Rows* rows) {
  const Group group = Group::kPass;
  rows->push_back(Int("pass.pg_parallel_lower_bound", group, 20, 0, kMax));
  rows->push_back(Int("pass.pg_lower_bound", group, 512, 0, kMax));
  rows->push_back(String("pass.pg_partition_algorithm", group, "Iso", {"Iso", "OspSarkar", "OspBsp"}));
  rows->push_back(Int("pass.mg_copyin_upper_bound", group, 104857600, 0, kMax));
  rows->push_back(Int("pass.mg_vec_parallel_lb", group, 48, 1, 48));
  rows->push_back(Int("pass.copyout_resolve_coalescing", group, 0, 0, 1000000));
  rows->push_back(Int("pass.auto_mix_partition", group, 0, 0, 1));
  rows->push_back(Int("pass.sg_set_tunevf_mode", group, 0, 0, 2));
  rows->push_back(Bool("pass.enable_slice", group, false));
  rows->push_back(Ints("pass.sg_set_scope", group, ValueType::kScopeTuple, std::vector<int64_t>{-1, 0, 0}, -1, kMax));
  rows->push_back(Ints("pass.sg_set_ooo_scope", group, ValueType::kOooScope, std::vector<int64_t>{-1}, 1, 100000));
  rows->push_back(String("pass.ooo_sched_mode", group, "", {"", "GAPMIN", "HLF"}));
  rows->push_back(String("pass.ooo_sort_mode_aic", group, ""));
  rows->push_back(String("pass.ooo_sort_mode_aiv", group, ""));
  rows->push_back(DictOf("pass.cube_l1_reuse_setting", ValueType::kSidedDict, {}, -1, 0));
  rows->push_back(DictOf("pass.cube_nbuffer_setting", ValueType::kIntDict, {{int64_t{-1}, {1, ""}}}, -1, 1));
  rows->push_back(DictOf("pass.vec_nbuffer_setting", ValueType::kIntDict, {}, -2, 0));
  for (const auto& [by_func, by_label, low] : std::initializer_list<std::tuple<const char*, const char*, int64_t>>{
           {"pass.cube_l1_reuse_setting_by_func", "pass.cube_l1_reuse_setting_by_label", 0},
           {"pass.cube_nbuffer_setting_by_func", "pass.cube_nbuffer_setting_by_label", 1},
           {"pass.vec_nbuffer_setting_by_func", "pass.vec_nbuffer_setting_by_label", 0}}) {
    rows->push_back(DictOf(by_func, ValueType::kStringDict, {}, 0, low, true));
    rows->push_back(DictOf(by_label, ValueType::kStringDict, {}, 0, low, true));
  }
}

void AddCodegenVerifyDebug(Rows* rows) {
  rows->push_back(Bool("codegen.support_dynamic_aligned", Group::kCodegen, false));
  rows->push_back(String("codegen.soc_version", Group::kCodegen, ""));
  rows->push_back(Bool("codegen.enable_pmu_trace", Group::kCodegen, false));
  rows->push_back(String("codegen.vf_options", Group::kCodegen, ""));
  rows->push_back(Bool("codegen.vf_compiler", Group::kCodegen, true));
  rows->push_back(Bool("verify.enable_pass_verify", Group::kVerify, false, kActs));
  rows->push_back(Bool("verify.pass_verify_save_tensor", Group::kVerify, false));
  rows->push_back(String("verify.pass_verify_save_tensor_dir", Group::kVerify, ""));
  rows->push_back(Strings("verify.pass_verify_pass_filter", Group::kVerify,
                          {"RootFunctions", "DeadTensors", "LeafPartition", "TileGrids", "TensorClasses",
                           "ParameterDirections", "WorkspaceUnits"}));
  rows->back().has_effect = true;  // empty: no comparison
  rows->push_back({.name = "verify.pass_verify_error_tol",
                   .group = Group::kVerify,
                   .type = ValueType::kDoubleList,
                   .default_value = std::vector<double>{1e-3, 1e-3},
                   .has_effect = true});
  rows->push_back(Int("debug.compile_debug_mode", Group::kDebug, 0, 0, 2));
  rows->push_back(Int("debug.runtime_debug_mode", Group::kDebug, 0, 0, 4));
  rows->push_back(Strings("debug.dump_pass_graph", Group::kDebug, {}));
  rows->push_back(Bool("operation.combine_axis", Group::kOperation, true));
}

void AddTiles(Rows* rows) {
  const Group group = Group::kTile;
  rows->push_back(Ints("vec_tile_shapes", group, ValueType::kIntList, {}, 1, kMax, kActs));
  rows->push_back(Ints("cube_tile_shapes", group, ValueType::kCubeTile, {}, 1, kMax, kActs));
  rows->push_back(Ints("conv_tile_shapes", group, ValueType::kIntList, {}, 0, kMax));
  rows->push_back(Ints("matrix_size", group, ValueType::kIntList, {}, 0, kMax));
  rows->push_back(Ints("dist_tile_shapes", group, ValueType::kIntList, {}, 0, kMax));
  rows->push_back({.name = "semantic_label", .group = group, .type = ValueType::kString});
}

}  // namespace

std::vector<KeySpec> MakeSchemaTable() {
  Rows rows;
  AddRuntime(&rows);
  AddHost(&rows);
  AddPass(&rows);
  AddCodegenVerifyDebug(&rows);
  AddTiles(&rows);
  return rows;
}

}  // namespace pypto::options
