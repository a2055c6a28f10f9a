// Lines of the call log.
#include "pypto/acl/layers/call_log.h"

#include "pypto/log/log.h"

namespace pypto::acl {

std::vector<std::string> CallLogLayer::Lines() const {
  const std::lock_guard lock(mutex_);
  return {lines_.begin(), lines_.end()};
}

void CallLogLayer::Clear() {
  const std::lock_guard lock(mutex_);
  lines_.clear();
}

void CallLogLayer::After(const Call& call) {
  std::string line(call.name());
  line += '(';
  for (size_t i = 0; i < call.argument_count(); ++i) line += (i == 0 ? "" : ", ") + call.ArgumentText(i);
  line += ')';
  if (call.returns_error()) line += " = " + std::to_string(call.code());
  if (call.text() != nullptr) line += std::string(" = \"") + call.text() + '"';
  PYPTO_LOG(kDebug, "%s", line.c_str());
  const std::lock_guard lock(mutex_);
  lines_.push_back(std::move(line));
  if (lines_.size() > kKept) lines_.pop_front();
}

}  // namespace pypto::acl
