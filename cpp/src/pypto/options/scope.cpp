// Scope nodes: look-up, change, groups.
#include "pypto/options/scope.h"

#include <algorithm>

namespace pypto::options {
namespace {

base::Status NotFound(std::string_view key) {
  return {base::StatusCode::kNotFound, "Option not found: " + std::string(key)};
}

bool IsSet(const Value& value) { return !std::holds_alternative<std::monostate>(value); }

}  // namespace

std::string_view OriginName(Origin origin) {
  switch (origin) {
    case Origin::kDefault: return "default";
    case Origin::kFile: return "file";
    case Origin::kEnvironment: return "environment";
    case Origin::kScope: return "scope";
    case Origin::kJit: return "jit";
  }
  return "unknown";
}

Scope::Scope(Private, ScopeRef parent, std::string name)
    : parent_(std::move(parent)),
      name_(std::move(name)),
      depth_(parent_ ? parent_->depth_ + 1 : 0),
      root_(parent_ ? parent_->root_ : this) {}

ScopeRef Scope::MakeRoot() { return MakeRoot({}, Origin::kDefault); }

ScopeRef Scope::MakeRoot(std::vector<Setting> file_values, Origin origin) {
  auto root = std::make_shared<Scope>(Private(), nullptr, "default");
  for (auto& [spec, value] : file_values) root->Put(*spec, std::move(value), origin);
  return root;
}

ScopeRef Scope::Child(std::string name) const {
  return std::make_shared<Scope>(Private(), shared_from_this(), std::move(name));
}

std::shared_ptr<Scope> Scope::Copy() const {
  auto copy = std::make_shared<Scope>(Private(), parent_, name_);
  copy->from_root_ = from_root_;
  copy->entries_ = entries_;
  return copy;
}

const Scope::Entry* Scope::FindHere(const KeySpec& spec) const noexcept {
  const auto it = std::lower_bound(entries_.begin(), entries_.end(), &spec,
                                   [](const Entry& entry, const KeySpec* key) { return entry.spec < key; });
  return it != entries_.end() && it->spec == &spec ? &*it : nullptr;
}

const Scope::Entry* Scope::FindEntry(const KeySpec& spec) const noexcept {
  for (const Scope* scope = this; scope != nullptr; scope = scope->from_root_ ? scope->root_ : scope->parent_.get()) {
    if (const Entry* entry = scope->FindHere(spec)) return entry;
  }
  return nullptr;
}

void Scope::Put(const KeySpec& spec, Value value, Origin origin) {
  const auto it = std::lower_bound(entries_.begin(), entries_.end(), &spec,
                                   [](const Entry& entry, const KeySpec* key) { return entry.spec < key; });
  if (it != entries_.end() && it->spec == &spec) {
    it->value = std::move(value);
    it->origin = origin;
  } else {
    entries_.insert(it, {&spec, std::move(value), origin});
  }
}

base::Result<ScopeRef> Scope::With(const std::vector<Update>& updates, Origin origin) const {
  std::vector<Setting> settings;
  for (const auto& [key, raw] : updates) {
    PYPTO_ASSIGN_OR_RETURN(auto checked, CheckSetting(key, raw));
    settings.insert(settings.end(), std::make_move_iterator(checked.begin()), std::make_move_iterator(checked.end()));
  }
  std::shared_ptr<Scope> changed;
  for (auto& [spec, value] : settings) {
    const Scope& now = changed ? *changed : *this;
    if (now.Find(*spec) == value) continue;
    if (!changed) changed = Copy();
    changed->Put(*spec, std::move(value), origin);
  }
  return changed ? ScopeRef(std::move(changed)) : shared_from_this();
}

ScopeRef Scope::Reset() const {
  if (parent_ == nullptr) return shared_from_this();
  auto reset = std::make_shared<Scope>(Private(), parent_, name_);
  reset->from_root_ = true;
  return reset;
}

const Value& Scope::Find(const KeySpec& spec) const noexcept {
  const Entry* entry = FindEntry(spec);
  return entry != nullptr ? entry->value : spec.default_value;
}

Origin Scope::OriginOf(const KeySpec& spec) const noexcept {
  const Entry* entry = FindEntry(spec);
  return entry != nullptr ? entry->origin : Origin::kDefault;
}

base::Result<Value> Scope::Get(std::string_view key) const {
  const KeySpec* spec = FindKey(key);
  if (spec == nullptr || !IsSet(Find(*spec))) return NotFound(key);
  return Find(*spec);
}

base::Result<Origin> Scope::GetOrigin(std::string_view key) const {
  const KeySpec* spec = FindKey(key);
  if (spec == nullptr) return NotFound(key);
  return OriginOf(*spec);
}

bool Scope::Has(std::string_view key) const {
  const KeySpec* spec = FindKey(key);
  return spec != nullptr && IsSet(Find(*spec));
}

namespace {

// The value of the type asked for, or an empty one.
template <typename T>
T ValueAs(const Scope& scope, std::string_view key) {
  const KeySpec* spec = FindKey(key);
  const T* value = spec != nullptr ? std::get_if<T>(&scope.Find(*spec)) : nullptr;
  return value != nullptr ? *value : T();
}

}  // namespace

int64_t Scope::GetInt(std::string_view key) const noexcept { return ValueAs<int64_t>(*this, key); }
bool Scope::GetBool(std::string_view key) const noexcept { return ValueAs<bool>(*this, key); }
std::string Scope::GetString(std::string_view key) const { return ValueAs<std::string>(*this, key); }
std::vector<int64_t> Scope::GetIntList(std::string_view key) const { return ValueAs<std::vector<int64_t>>(*this, key); }

bool Scope::IsGiven(std::string_view key) const noexcept {
  const KeySpec* spec = FindKey(key);
  if (spec == nullptr) return false;
  const Origin origin = OriginOf(*spec);
  return origin == Origin::kScope || origin == Origin::kJit;
}

std::vector<NamedValue> Scope::GetGroup(Group group) const {
  std::vector<NamedValue> values;
  for (const KeySpec& spec : Schema()) {
    if (spec.group != group || spec.internal || !IsSet(Find(spec))) continue;
    values.emplace_back(spec.name, Find(spec));
  }
  return values;
}

std::vector<NamedValue> Scope::GetAll() const {
  std::vector<NamedValue> values;
  for (const KeySpec& spec : Schema()) {
    if (IsSet(Find(spec))) values.emplace_back(spec.name, Find(spec));
  }
  return values;
}

}  // namespace pypto::options
