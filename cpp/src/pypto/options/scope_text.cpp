// Scopes as text.
#include "pypto/options/scope.h"

namespace pypto::options {

std::string Scope::Describe() const {
  std::string text;
  for (const KeySpec& spec : Schema()) {
    const Value& value = Find(spec);
    if (std::holds_alternative<std::monostate>(value)) continue;
    text += std::string(spec.name) + " = " + ValueText(value) + " (" + std::string(OriginName(OriginOf(spec)));
    if (!spec.has_effect) text += ", no effect in this version";
    text += ")\n";
  }
  return text;
}

std::string Scope::TreeText() const {
  std::vector<const Scope*> stack;
  for (const Scope* scope = this; scope != nullptr; scope = scope->parent_.get()) stack.push_back(scope);
  std::string text;
  for (auto it = stack.rbegin(); it != stack.rend(); ++it) {
    const Scope& scope = **it;
    const std::string indent(static_cast<size_t>(scope.depth_) * 2, ' ');
    text += indent + (scope.name_.empty() ? "options" : scope.name_) + (scope.from_root_ ? " (reset)" : "") + "\n";
    for (const Entry& entry : scope.entries_) {
      text += indent + "  " + std::string(entry.spec->name) + " = " + ValueText(entry.value) + " (" +
              std::string(OriginName(entry.origin)) + ")\n";
    }
  }
  return text;
}

std::string Scope::EffectiveText() const {
  std::string text;
  for (const auto& [name, value] : GetAll()) text += name + "=" + ValueText(value) + "\n";
  return text;
}

}  // namespace pypto::options
