// Look-ups in the schema, and the nearest name for an unknown key.
#include "pypto/options/schema.h"

#include <algorithm>
#include <numeric>

#include "pypto/options/schema_table.h"

namespace pypto::options {
namespace {

const std::vector<KeySpec>& Table() {
  static const auto* table = new std::vector<KeySpec>(MakeSchemaTable());
  return *table;
}

// Insertions, deletions and replacements that turn a into b (Levenshtein).
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

}  // namespace

std::span<const KeySpec> Schema() { return Table(); }

const KeySpec* FindKey(std::string_view name) {
  const auto& table = Table();
  const auto it = std::find_if(table.begin(), table.end(), [name](const KeySpec& spec) { return spec.name == name; });
  return it == table.end() ? nullptr : &*it;
}

size_t KeyIndex(const KeySpec& spec) { return static_cast<size_t>(&spec - Table().data()); }

std::string_view GroupName(Group group) {
  switch (group) {
    case Group::kRuntime: return "runtime";
    case Group::kHost: return "host";
    case Group::kPass: return "pass";
    case Group::kCodegen: return "codegen";
    case Group::kVerify: return "verify";
    case Group::kDebug: return "debug";
    case Group::kOperation: return "operation";
    case Group::kTile: return "";
  }
  return "";
}

std::string_view ValueTypeText(ValueType type) {
  switch (type) {
    case ValueType::kInt: return "int64";
    case ValueType::kBool: return "bool";
    case ValueType::kString: return "string";
    case ValueType::kIntList: return "list[int64]";
    case ValueType::kDoubleList: return "list[double]";
    case ValueType::kStringList: return "list[string]";
    case ValueType::kIntDict: return "dict[int64, int64]";
    case ValueType::kSidedDict: return "dict[int64, int64 or (int64, string)]";
    case ValueType::kStringDict: return "dict[string, int64 or (int64, string)]";
    case ValueType::kPoolDepths: return "list[int64]";
    case ValueType::kScopeTuple: return "int64 or tuple";
    case ValueType::kOooScope: return "int64";
    case ValueType::kCubeTile: return "list[list[int64]]";
  }
  return "";
}

bool SettableInKernel(Group group) {
  return group == Group::kPass || group == Group::kOperation || group == Group::kTile;
}

base::Status CheckSettableInKernel(std::string_view name) {
  const KeySpec* spec = FindKey(name);
  if (spec == nullptr || SettableInKernel(spec->group)) return base::OkStatus();
  const std::string group(GroupName(spec->group));
  return {base::StatusCode::kFailedPrecondition, group + " options cannot be set inside a kernel (" +
                                                     std::string(name) + "). Set them before the kernel is " +
                                                     "compiled, or give " + group + "_options to pypto.jit."};
}

base::Status UnknownKey(std::string_view name) {
  const KeySpec* nearest = nullptr;
  size_t least = name.size() / 2 + 1;  // a name that shares less than half is no help
  for (const KeySpec& spec : Table()) {
    if (spec.internal) continue;
    const size_t distance = EditDistance(name, spec.name);
    if (distance < least) {
      least = distance;
      nearest = &spec;
    }
  }
  std::string text = "key: " + std::string(name) + " does not exist.";
  if (nearest != nullptr) text += " Did you mean " + std::string(nearest->name) + "?";
  return {base::StatusCode::kNotFound, std::move(text)};
}

}  // namespace pypto::options
