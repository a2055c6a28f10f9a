// Option scopes and the global values.
#include "fence.h"
#include "json.h"
#include "objects.h"
#include "pypto/options/defaults.h"
#include "pypto/options/defaults_json.h"

using namespace pypto::capi;  // NOLINT(google-build-using-namespace)
using pypto::base::Result;
using pypto::options::RawValue;

namespace {

// The members of a JSON object as updates of keys.
Result<std::vector<pypto::options::Update>> ReadUpdates(const char* json) {
  PYPTO_ASSIGN_OR_RETURN(RawValue raw, pypto::options::ParseJson(json, "the update of options"));
  auto* pairs = std::get_if<RawValue::Pairs>(&raw.data);
  if (pairs == nullptr) {
    return pypto::base::Status(pypto::base::StatusCode::kInvalidArgument,
                               "an update of options must be a JSON object of full keys");
  }
  std::vector<pypto::options::Update> updates;
  for (auto& [key, value] : *pairs) {
    const auto* name = std::get_if<std::string>(&key.data);
    updates.emplace_back(name != nullptr ? *name : pypto::options::RawText(key), std::move(value));
  }
  return updates;
}

std::string JsonOf(const RawValue& value) {
  std::string text;
  AppendJson(value, &text);
  return text;
}

// The body of a function that makes a text of a scope.
template <typename Make>
pypto_status GiveText(pypto_options* options, char* buffer, size_t capacity, size_t* needed, Make&& make) {
  return Fence([&]() -> pypto_status {
    const Pin<OptionsObject> pin(options);
    if (!pin) return pin.Refused();
    const Result<std::string> text = make(*pin->Get());
    if (!text.ok()) return Report(text.status());
    return WriteText(*text, buffer, capacity, needed);
  });
}

}  // namespace

extern "C" {

pypto_status pypto_options_create(const char* defaults_path, pypto_options** options) {
  return Fence([&]() -> pypto_status {
    PYPTO_REQUIRE(options);
    auto root = pypto::options::LoadRoot(defaults_path != nullptr ? defaults_path : "");
    if (!root.ok()) return Report(root.status());
    GiveHandle(std::make_unique<OptionsObject>(std::move(root).value()), options);
    return PYPTO_OK;
  });
}

pypto_status pypto_options_child(pypto_options* options, const char* name, pypto_options** child) {
  return Fence([&]() -> pypto_status {
    const Pin<OptionsObject> pin(options);
    if (!pin) return pin.Refused();
    PYPTO_REQUIRE(name);
    PYPTO_REQUIRE(child);
    GiveHandle(std::make_unique<OptionsObject>(pin->Get()->Child(name)), child);
    return PYPTO_OK;
  });
}

pypto_status pypto_options_update(pypto_options* options, const char* json) {
  return Fence([&]() -> pypto_status {
    const Pin<OptionsObject> pin(options);
    if (!pin) return pin.Refused();
    PYPTO_REQUIRE(json);
    const auto updates = ReadUpdates(json);
    if (!updates.ok()) return Report(updates.status());
    const std::lock_guard<std::mutex> lock(pin->mutex);
    auto changed = pin->scope->With(*updates, pypto::options::Origin::kScope);
    if (!changed.ok()) return Report(changed.status());
    pin->scope = std::move(changed).value();
    return PYPTO_OK;
  });
}

pypto_status pypto_options_reset(pypto_options* options) {
  return Fence([&]() -> pypto_status {
    const Pin<OptionsObject> pin(options);
    if (!pin) return pin.Refused();
    const std::lock_guard<std::mutex> lock(pin->mutex);
    pin->scope = pin->scope->Reset();
    return PYPTO_OK;
  });
}

pypto_status pypto_options_get(pypto_options* options, const char* key, char* buffer, size_t capacity, size_t* needed) {
  return GiveText(options, buffer, capacity, needed, [&](const pypto::options::Scope& scope) -> Result<std::string> {
    if (key == nullptr) {
      return pypto::base::Status(pypto::base::StatusCode::kInvalidArgument, "the argument 'key' must not be null");
    }
    PYPTO_ASSIGN_OR_RETURN(const pypto::options::Value value, scope.Get(key));
    return JsonOf(pypto::options::ToRaw(value));
  });
}

pypto_status pypto_options_get_json(pypto_options* options, char* buffer, size_t capacity, size_t* needed) {
  return GiveText(options, buffer, capacity, needed, [](const pypto::options::Scope& scope) -> Result<std::string> {
    RawValue::Pairs pairs;
    for (const auto& [name, value] : scope.GetAll()) pairs.emplace_back(name, pypto::options::ToRaw(value));
    return JsonOf(std::move(pairs));
  });
}

pypto_status pypto_options_describe(pypto_options* options, char* buffer, size_t capacity, size_t* needed) {
  return GiveText(options, buffer, capacity, needed,
                  [](const pypto::options::Scope& scope) -> Result<std::string> { return scope.Describe(); });
}

pypto_status pypto_options_release(pypto_options* options) {
  if (options == nullptr) return PYPTO_OK;
  return Fence([&]() -> pypto_status {
    const Pin<OptionsObject> pin(options);
    return pin ? Remove(pin) : pin.Refused();
  });
}

pypto_status pypto_global_set(const char* name, const char* json) {
  return Fence([&]() -> pypto_status {
    PYPTO_REQUIRE(name);
    PYPTO_REQUIRE(json);
    auto value = pypto::options::ParseJson(json, "the value of a global option");
    if (!value.ok()) return Report(value.status());
    pypto::options::SetGlobal(name, std::move(value).value());
    return PYPTO_OK;
  });
}

pypto_status pypto_global_get(const char* name, char* buffer, size_t capacity, size_t* needed) {
  return Fence([&]() -> pypto_status {
    PYPTO_REQUIRE(name);
    const auto value = pypto::options::GetGlobal(name);
    if (!value.ok()) return Report(value.status());
    return WriteText(JsonOf(*value), buffer, capacity, needed);
  });
}

}  // extern "C"
