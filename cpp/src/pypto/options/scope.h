// Scopes of options: immutable nodes linked to their parents; look-ups walk outwards.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pypto/base/export.h"
#include "pypto/base/status.h"
#include "pypto/options/schema.h"
#include "pypto/options/value.h"

namespace pypto::options {

// Who gave a value: the schema, the packaged defaults file, the file that TILEFWK_CONFIG_PATH names, a scope, or the
// dicts of a jit decorator.
enum class Origin : uint8_t { kDefault, kFile, kEnvironment, kScope, kJit };
PYPTO_API std::string_view OriginName(Origin origin);

class Scope;
using ScopeRef = std::shared_ptr<const Scope>;

// One key to change, as the user wrote it: {"runtime.run_mode", 1}.
using Update = std::pair<std::string, RawValue>;

// What get_* returns: full key and value.
using NamedValue = std::pair<std::string, Value>;

// A node of the scope stack: root "default" → "global" → options → "jit_scope" → loops → branches. A node never
// changes; setting options gives a new node for the same place. Shared by whoever holds a ScopeRef; any thread.
class PYPTO_API Scope : public std::enable_shared_from_this<Scope> {
 public:
  // Root with the defaults of the schema.
  static ScopeRef MakeRoot();
  // Root whose values come from a defaults file.
  static ScopeRef MakeRoot(std::vector<Setting> file_values, Origin origin);

  // A new innermost scope.
  ScopeRef Child(std::string name) const;
  // The node with these values changed. Checks everything before it changes anything. A value that is in force already
  // changes neither value nor origin; when nothing changes the result is this very node.
  base::Result<ScopeRef> With(const std::vector<Update>& updates, Origin origin) const;
  // The node in which all keys have their root values again.
  ScopeRef Reset() const;

  // Never null for a key of the schema.
  const Value& Find(const KeySpec& spec) const noexcept;
  Origin OriginOf(const KeySpec& spec) const noexcept;

  // kNotFound "Option not found: …" for unknown keys and unset ones. Keys of `global.` are not held here.
  base::Result<Value> Get(std::string_view key) const;
  base::Result<Origin> GetOrigin(std::string_view key) const;
  // True for a known key that is set.
  bool Has(std::string_view key) const;
  // For keys that are known to be of the type: the number, flag, text or list; aborts nothing, gives the empty value
  // when the type differs.
  int64_t GetInt(std::string_view key) const noexcept;
  bool GetBool(std::string_view key) const noexcept;
  std::string GetString(std::string_view key) const;
  std::vector<int64_t> GetIntList(std::string_view key) const;
  // Whether a scope or a jit decorator gave the value (run_mode counts as given only then).
  bool IsGiven(std::string_view key) const noexcept;

  // All set keys of a group without internal ones, in the order of the schema; setters take what this returns.
  std::vector<NamedValue> GetGroup(Group group) const;
  // All set keys, internal ones included.
  std::vector<NamedValue> GetAll() const;

  const std::string& name() const noexcept { return name_; }
  const ScopeRef& parent() const noexcept { return parent_; }
  int depth() const noexcept { return depth_; }

  // One line per set key: value, origin, and whether it has an effect in this version.
  std::string Describe() const;
  // The stack from the root to this node, each with the keys it changes.
  std::string TreeText() const;
  // The values in force, one line each, the same text for the same values however they were set.
  std::string EffectiveText() const;

 private:
  struct Entry {
    const KeySpec* spec;
    Value value;
    Origin origin;
  };
  struct Private {};

 public:
  Scope(Private, ScopeRef parent, std::string name);

 private:
  const Entry* FindEntry(const KeySpec& spec) const noexcept;
  const Entry* FindHere(const KeySpec& spec) const noexcept;
  std::shared_ptr<Scope> Copy() const;
  void Put(const KeySpec& spec, Value value, Origin origin);

  ScopeRef parent_;
  std::string name_;
  int depth_ = 0;
  bool from_root_ = false;  // look-ups that fail here go on at the root
  const Scope* root_ = nullptr;
  std::vector<Entry> entries_;  // by ascending key index
};

}  // namespace pypto::options
