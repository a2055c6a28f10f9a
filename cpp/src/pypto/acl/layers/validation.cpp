// Book-keeping of live handles around each call.
#include "pypto/acl/layers/validation.h"

#include <execinfo.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <iterator>

#include "pypto/acl/layers/handle_rules.h"
#include "pypto/base/status.h"
#include "pypto/log/log.h"

namespace pypto::acl {
namespace {

using Kind = ValidationLayer::Kind;
using base::Format;

const char* KindName(Kind kind) {
  switch (kind) {
    case Kind::kDeviceMemory: return "device memory";
    case Kind::kHostMemory: return "host memory";
    case Kind::kStream: return "stream";
    case Kind::kEvent: return "event";
    case Kind::kContext: return "context";
    case Kind::kBinary: return "binary";
    case Kind::kFunction: return "function";
  }
  return "handle";
}

unsigned long long Number(uint64_t value) { return value; }

uintptr_t AsHandle(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

bool IsMemory(Kind kind) { return kind == Kind::kDeviceMemory || kind == Kind::kHostMemory; }

// The handle that a rule speaks of; after the call for those that store one.
uintptr_t HandleOf(const Call& call, const HandleRule& rule) {
  if (rule.role == HandleRole::kDestroys || rule.role == HandleRole::kUses) {
    return AsHandle(call.Argument<void*>(rule.argument));
  }
  void** stored = call.Argument<void**>(rule.argument);
  return stored != nullptr ? AsHandle(*stored) : 0;
}

int ThreadNumber() { return static_cast<int>(syscall(SYS_gettid)); }

// Goes with its context.
bool LivesInContext(Kind kind) { return kind == Kind::kStream || kind == Kind::kEvent || kind == Kind::kBinary; }

std::string PlaceText(void* const* place, int depth) {
  std::string text;
  char** names = backtrace_symbols(place, depth);
  for (int i = 0; names != nullptr && i < depth; ++i) text += std::string(i == 0 ? " at " : " < ") + names[i];
  std::free(static_cast<void*>(names));
  return text;
}

}  // namespace

std::optional<acl_abi::aclError> ValidationLayer::Refuse(const Call& call, acl_abi::aclError code,
                                                         const std::string& why) {
  last_refusal_ = std::string(call.name()) + " refused: " + why;
  ++refusals_;
  PYPTO_LOG(kError, "%s", last_refusal_.c_str());
  return code;
}

std::string ValidationLayer::CheckHandle(Handle handle, Kind kind, bool destroys) const {
  if (const auto found = live_.find(handle); found != live_.end()) {
    const Record& record = found->second;
    if (record.kind != kind) return Format("%s is not a %s", Describe(handle, record).c_str(), KindName(kind));
    if (destroys && !record.owned) return Format("the library owns %s", Describe(handle, record).c_str());
    return {};
  }
  if (const auto found = gone_.find(handle); found != gone_.end()) {
    return Format("%s %#zx is gone since %s, call %llu", KindName(found->second.kind), handle,
                  std::string(CallName(found->second.by)).c_str(), Number(found->second.call_number));
  }
  return Format("%s %#zx was never made here", KindName(kind), handle);
}

std::string ValidationLayer::CheckRange(const void* address, size_t bytes) const {
  const Handle begin = AsHandle(address);
  // Not of host memory: whoever allocates next may be given its address.
  if (const auto found = gone_.find(begin); found != gone_.end() && found->second.kind == Kind::kDeviceMemory) {
    return Format("%s %#zx is gone since %s, call %llu", KindName(found->second.kind), begin,
                  std::string(CallName(found->second.by)).c_str(), Number(found->second.call_number));
  }
  auto behind = live_.upper_bound(begin);
  if (behind == live_.begin()) return {};
  const auto& [base, record] = *std::prev(behind);
  if (!IsMemory(record.kind) || begin - base >= record.bytes) return {};
  if (bytes <= record.bytes - (begin - base)) return {};
  return Format("%zu bytes from offset %zu leave %s", bytes, begin - base, Describe(base, record).c_str());
}

std::string ValidationLayer::CheckCopy(const Call& call) const {
  switch (call.id()) {
    case CallId::aclrtMemcpy:
    case CallId::aclrtMemcpyAsync: {
      const auto bytes = call.Argument<size_t>(3);
      const std::string why = CheckRange(call.Argument<void*>(0), bytes);
      return why.empty() ? CheckRange(call.Argument<const void*>(2), bytes) : why;
    }
    case CallId::aclrtMemset:
    case CallId::aclrtMemsetAsync: return CheckRange(call.Argument<void*>(0), call.Argument<size_t>(3));
    default: return {};
  }
}

std::optional<acl_abi::aclError> ValidationLayer::Before(const Call& call) {
  const std::lock_guard lock(mutex_);
  if (const std::string why = CheckCopy(call); !why.empty()) {
    return Refuse(call, acl_abi::kErrorRtParamInvalid, why);
  }
  if (call.id() == CallId::aclrtResetDevice) {
    const auto device = call.Argument<int32_t>(0);
    if (device_sets_[device] == 0) {
      return Refuse(call, acl_abi::kErrorRtParamInvalid, Format("device %d is not set here", device));
    }
  }
  for (const HandleRule& rule : HandleRulesOf(call.id())) {
    const bool destroys = rule.role == HandleRole::kDestroys;
    if (!destroys && rule.role != HandleRole::kUses) continue;
    const Handle handle = HandleOf(call, rule);
    if (handle == 0) continue;
    if (const std::string why = CheckHandle(handle, rule.kind, destroys); !why.empty()) {
      return Refuse(call, acl_abi::kErrorRtInvalidHandle, why);
    }
    if (!destroys) continue;
    // Taken out before the call: as soon as the library has freed it, another thread may be given the same handle.
    auto node = live_.extract(handle);
    leaving_.emplace(call.number(), Leaving{handle, node.mapped()});
  }
  return std::nullopt;
}

void ValidationLayer::After(const Call& call) {
  const std::lock_guard lock(mutex_);
  const bool done = call.code() == acl_abi::kSuccess;
  if (call.id() == CallId::aclrtSetDevice && done) ++device_sets_[call.Argument<int32_t>(0)];
  if (call.id() == CallId::aclrtResetDevice && done) --device_sets_[call.Argument<int32_t>(0)];
  if (const auto found = leaving_.find(call.number()); found != leaving_.end()) {
    const Leaving leaving = found->second;
    leaving_.erase(found);
    if (done) {
      Destroyed(call, leaving);
    } else {
      live_.emplace(leaving.handle, leaving.record);
    }
  }
  if (!done) return;
  FollowContext(call);
  for (const HandleRule& rule : HandleRulesOf(call.id())) {
    if (rule.role != HandleRole::kCreates && rule.role != HandleRole::kHandsOut) continue;
    const Handle handle = HandleOf(call, rule);
    if (handle == 0) continue;
    Record record;
    record.kind = rule.kind;
    record.owned = rule.role == HandleRole::kCreates;
    record.bytes = record.owned && IsMemory(rule.kind) ? call.Argument<size_t>(1) : 0;
    if (rule.kind == Kind::kFunction) record.parent = AsHandle(call.Argument<void*>(0));
    if (LivesInContext(rule.kind)) record.parent = contexts_[ThreadNumber()];
    Add(call, handle, record);
  }
}

void ValidationLayer::FollowContext(const Call& call) {
  switch (call.id()) {
    case CallId::aclrtSetCurrentContext: contexts_[ThreadNumber()] = AsHandle(call.Argument<void*>(0)); return;
    case CallId::aclrtCreateContext:
    case CallId::aclrtGetCurrentContext:
      if (void** stored = call.Argument<void**>(0); stored != nullptr) contexts_[ThreadNumber()] = AsHandle(*stored);
      return;
    case CallId::aclrtSetDevice: contexts_.erase(ThreadNumber()); return;
    default: return;
  }
}

void ValidationLayer::Add(const Call& call, Handle handle, Record record) {
  // A handle that is handed out again (current context) keeps its first record.
  if (!record.owned && live_.contains(handle)) return;
  record.made_by = call.id();
  record.call_number = call.number();
  record.thread = ThreadNumber();
  if (record.owned) record.place_depth = backtrace(record.place.data(), static_cast<int>(record.place.size()));
  gone_.erase(handle);
  live_.insert_or_assign(handle, record);
}

void ValidationLayer::Destroyed(const Call& call, const Leaving& leaving) {
  const auto note = [&](Handle handle, Kind kind) {
    if (gone_.size() >= kGoneKept) gone_.erase(gone_.begin());
    gone_.insert_or_assign(handle, Gone{kind, call.id(), call.number()});
  };
  if (!live_.contains(leaving.handle)) note(leaving.handle, leaving.record.kind);
  if (leaving.record.kind != Kind::kBinary && leaving.record.kind != Kind::kContext) return;
  // Functions go with their binary; streams, events and binaries with their context.
  for (auto it = live_.begin(); it != live_.end();) {
    const Kind kind = it->second.kind;
    const bool contained = leaving.record.kind == Kind::kBinary ? kind == Kind::kFunction : LivesInContext(kind);
    if (contained && it->second.parent == leaving.handle) {
      note(it->first, kind);
      it = live_.erase(it);
    } else {
      ++it;
    }
  }
}

std::string ValidationLayer::Describe(Handle handle, const Record& record) {
  std::string text = Format("%s %#zx", KindName(record.kind), handle);
  if (IsMemory(record.kind)) text += Format(" of %llu bytes", Number(record.bytes));
  return text + Format(" (from %s, call %llu, thread %d)", std::string(CallName(record.made_by)).c_str(),
                       Number(record.call_number), record.thread);
}

std::string ValidationLayer::LeakReport() {
  const std::lock_guard lock(mutex_);
  std::string lines;
  size_t count = 0;
  for (const auto& [handle, record] : live_) {
    if (!record.owned) continue;
    ++count;
    lines += "\n  " + Describe(handle, record) + PlaceText(record.place.data(), record.place_depth);
  }
  for (const auto& [device, sets] : device_sets_) {
    if (sets == 0) continue;
    ++count;
    lines += Format("\n  device %d was set %lld times more than reset", device, static_cast<long long>(sets));
  }
  if (count == 0) return {};
  return Format("%zu ACL object%s left at the end:", count, count == 1 ? " is" : "s are") + lines;
}

size_t ValidationLayer::live_count() const {
  const std::lock_guard lock(mutex_);
  size_t count = 0;
  for (const auto& entry : live_) count += entry.second.owned ? 1 : 0;
  return count;
}

std::string ValidationLayer::last_refusal() const {
  const std::lock_guard lock(mutex_);
  return last_refusal_;
}

uint64_t ValidationLayer::refusals() const {
  const std::lock_guard lock(mutex_);
  return refusals_;
}

}  // namespace pypto::acl
