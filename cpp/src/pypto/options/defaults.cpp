// The defaults file and the values of the process.
#include "pypto/options/defaults.h"

#include <fstream>
#include <map>
#include <mutex>
#include <sstream>

#include "pypto/base/environment.h"
#include "pypto/options/defaults_json.h"

namespace pypto::options {
namespace {

using base::Result;
using base::Status;
using base::StatusCode;

constexpr std::string_view kGlobalPrefix = "global.";

// The global.* values of the process, first as they are without a defaults file.
struct Globals {
  std::mutex mutex;
  std::map<std::string, RawValue, std::less<>> values = {
      {"global.pass.enable_cv_fuse", false}, {"global.pass.pass_thread_num", 1},
      {"global.tensor_print.edgeitems", 3},  {"global.tensor_print.linewidth", 80},
      {"global.tensor_print.precision", 4},  {"global.tensor_print.threshold", 1000},
  };
};

Globals& ProcessGlobals() {
  static auto* globals = new Globals();
  return *globals;
}

std::string GlobalName(std::string_view name) {
  return name.starts_with(kGlobalPrefix) ? std::string(name) : std::string(kGlobalPrefix) + std::string(name);
}

std::string KeyText(const RawValue& key) {
  const auto* text = std::get_if<std::string>(&key.data);
  return text != nullptr ? *text : RawText(key);
}

void CollectGlobals(const std::string& name, const RawValue& raw, std::vector<Update>* globals) {
  const auto* pairs = std::get_if<RawValue::Pairs>(&raw.data);
  if (pairs == nullptr) {
    globals->emplace_back(name, raw);
    return;
  }
  for (const auto& [key, value] : *pairs) CollectGlobals(name + "." + KeyText(key), value, globals);
}

bool IsGroup(std::string_view name) {
  for (const KeySpec& spec : Schema()) {
    if (spec.group != Group::kTile && GroupName(spec.group) == name) return true;
  }
  return false;
}

Status AddSetting(const std::string& name, const RawValue& raw, DefaultsFile* file) {
  PYPTO_ASSIGN_OR_RETURN(auto settings, CheckSetting(name, raw));
  for (Setting& setting : settings) file->settings.push_back(std::move(setting));
  return base::OkStatus();
}

// One part of the file: "runtime": {…}, "global": {…}, or a tile key.
Status AddPart(const std::string& name, const RawValue& raw, DefaultsFile* file) {
  const auto* pairs = std::get_if<RawValue::Pairs>(&raw.data);
  if (name == "global" && pairs != nullptr) {
    CollectGlobals(name, raw, &file->globals);
    return base::OkStatus();
  }
  if (!IsGroup(name) && name != "global") return AddSetting(name, raw, file);
  if (pairs == nullptr) return {StatusCode::kInvalidArgument, "\"" + name + "\" must be an object"};
  for (const auto& [key, value] : *pairs) PYPTO_RETURN_IF_ERROR(AddSetting(name + "." + KeyText(key), value, file));
  return base::OkStatus();
}

}  // namespace

Result<DefaultsFile> ParseDefaults(std::string_view text, const std::string& path) {
  PYPTO_ASSIGN_OR_RETURN(RawValue raw, ParseJson(text, path));
  const auto* parts = std::get_if<RawValue::Pairs>(&raw.data);
  if (parts == nullptr) return Status(StatusCode::kInvalidArgument, path + " must hold a JSON object");
  DefaultsFile file;
  for (const auto& [name, value] : *parts) {
    Status status = AddPart(KeyText(name), value, &file);
    if (!status.ok()) return Status(std::move(status).WithContext("in defaults file " + path));
  }
  return file;
}

Result<DefaultsFile> ReadDefaults(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  std::stringstream text;
  if (stream) text << stream.rdbuf();
  if (!stream || text.bad()) {
    return Status(StatusCode::kIo, "cannot read the options file " + path +
                                       ". Check the path, or unset TILEFWK_CONFIG_PATH to take the packaged one.");
  }
  return ParseDefaults(text.str(), path);
}

DefaultsSource FindDefaults(const std::string& packaged) {
  const auto named = base::GetEnvironment("TILEFWK_CONFIG_PATH");
  if (named && !named->empty()) return {*named, Origin::kEnvironment};
  if (!packaged.empty()) return {packaged, Origin::kFile};
  return {};
}

Result<ScopeRef> LoadRoot(const std::string& packaged) {
  const DefaultsSource source = FindDefaults(packaged);
  if (source.path.empty()) return Scope::MakeRoot();
  PYPTO_ASSIGN_OR_RETURN(DefaultsFile file, ReadDefaults(source.path));
  for (auto& [name, value] : file.globals) SetGlobal(name, std::move(value));
  return Scope::MakeRoot(std::move(file.settings), source.origin);
}

void SetGlobal(std::string_view name, RawValue value) {
  Globals& globals = ProcessGlobals();
  const std::lock_guard lock(globals.mutex);
  globals.values[GlobalName(name)] = std::move(value);
}

Result<RawValue> GetGlobal(std::string_view name) {
  Globals& globals = ProcessGlobals();
  const std::string full = GlobalName(name);
  const std::lock_guard lock(globals.mutex);
  const auto it = globals.values.find(full);
  if (it == globals.values.end()) return Status(StatusCode::kNotFound, "Option not found: " + full);
  return it->second;
}

std::vector<Update> AllGlobals() {
  Globals& globals = ProcessGlobals();
  const std::lock_guard lock(globals.mutex);
  return {globals.values.begin(), globals.values.end()};
}

}  // namespace pypto::options
