// Building an argument list.
#include "pypto/mock_acl/arguments.h"

#include <atomic>
#include <cstring>

#include "pypto/base/checked.h"
#include "pypto/mock_acl/context.h"
#include "pypto/mock_acl/thread_state.h"

namespace pypto::mock {

using namespace acl_abi;

namespace {

constexpr uint64_t kListPrefix = 0xac00 | static_cast<uint64_t>(HandleKind::kArguments);
constexpr uint64_t kParameterPrefix = 0xac80;
constexpr size_t kSlotBytes = 8;

// Handles differ between threads and between lists of one thread.
std::atomic<uint32_t> last_generation{0};

}  // namespace

void ArgumentList::Begin(Function* function) {
  generation_ = ++last_generation;
  function_ = function;
  function_handle_ = function->handle.load(std::memory_order_acquire);
  bytes_.resize(kRoom);
  hidden_slot_ = function->image->IsMix(function->name);
  used_ = hidden_slot_ ? kSlotBytes : 0;
  parameters_.clear();
  place_holders_.clear();
  buffers_taken_ = false;
  closed_ = false;
  finished_ = false;
}

void ArgumentList::Finish(uint64_t sync_address) noexcept {
  if (hidden_slot_) std::memcpy(bytes_.data(), &sync_address, sizeof(sync_address));
  closed_ = true;
  finished_ = true;
}

void* ArgumentList::handle() const noexcept { return reinterpret_cast<void*>((kListPrefix << 48) | generation_); }

aclError ArgumentList::Add(size_t bytes, bool place_holder, void** parameter) {
  if (closed_ || buffers_taken_) {
    return Fail(kErrorRtFeatureNotSupported, "the argument list takes no more parameters after %s",
                closed_ ? "aclrtKernelArgsFinalize" : "a place-holder buffer was taken");
  }
  if (parameters_.size() == kMaxParameters) {
    return Fail(kErrorRtParamInvalid, "an argument list holds at most %zu parameters", kMaxParameters);
  }
  if (bytes == 0 || bytes > kRoom - used_) {
    return Fail(kErrorRtParamInvalid, "a parameter of %zu bytes does not fit: %zu of %zu bytes are left", bytes,
                kRoom - used_, kRoom);
  }
  parameters_.push_back({used_, bytes, place_holder, false});
  *parameter = reinterpret_cast<void*>((kParameterPrefix << 48) | (uint64_t{generation_} << 16) | parameters_.size());
  used_ = static_cast<size_t>(base::AlignUp(used_ + bytes, kSlotBytes));
  return kSuccess;
}

aclError ArgumentList::Append(const void* value, size_t bytes, void** parameter) {
  const size_t offset = used_;
  const aclError code = Add(bytes, false, parameter);
  if (code == kSuccess) std::memcpy(bytes_.data() + offset, value, bytes);
  return code;
}

aclError ArgumentList::AppendPlaceHolder(void** parameter) { return Add(kSlotBytes, true, parameter); }

ArgumentList::Parameter* ArgumentList::Find(const void* parameter) noexcept {
  const auto handle = reinterpret_cast<uint64_t>(parameter);
  const uint64_t number = handle & 0xffff;
  const uint64_t expected = (kParameterPrefix << 48) | (uint64_t{generation_} << 16) | number;
  if (handle != expected || number == 0 || number > parameters_.size()) return nullptr;
  return &parameters_[number - 1];
}

aclError ArgumentList::PlaceHolderBuffer(const void* parameter, size_t bytes, void** buffer) {
  Parameter* found = Find(parameter);
  if (found == nullptr || !found->place_holder) {
    return Fail(kErrorRtParamInvalid, "the parameter is not a place-holder of this argument list");
  }
  if (closed_ || found->has_data) {
    return Fail(kErrorRtFeatureNotSupported, "the place-holder's buffer was taken before, or the list is finished");
  }
  if (bytes == 0 || bytes > kRoom - used_) {
    return Fail(kErrorRtParamInvalid, "place-holder data of %zu bytes does not fit: %zu bytes are left", bytes,
                kRoom - used_);
  }
  place_holders_.push_back({static_cast<uint32_t>(found->offset), static_cast<uint32_t>(used_)});
  *buffer = bytes_.data() + used_;
  used_ = static_cast<size_t>(base::AlignUp(used_ + bytes, kSlotBytes));
  found->has_data = true;
  buffers_taken_ = true;
  return kSuccess;
}

aclError ArgumentList::Update(const void* parameter, const void* value, size_t bytes) {
  const Parameter* found = Find(parameter);
  if (found == nullptr || found->place_holder) {
    return Fail(kErrorRtParamInvalid, "the parameter is not a plain parameter of this argument list");
  }
  if (found->bytes != bytes) {
    return Fail(kErrorRtParamInvalid, "the parameter has %zu bytes, the new value %zu", found->bytes, bytes);
  }
  std::memcpy(bytes_.data() + found->offset, value, bytes);
  finished_ = false;
  return kSuccess;
}

}  // namespace pypto::mock
