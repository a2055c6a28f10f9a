// Arguments of a call as text.
#include "pypto/acl/layer.h"

#include <cstring>

#include "pypto/base/status.h"

namespace pypto::acl {
namespace {

template <typename T>
T Read(const ArgumentView& view) {
  T value{};
  std::memcpy(static_cast<void*>(&value), view.value, sizeof(value));
  return value;
}

int64_t ReadSigned(const ArgumentView& view) {
  switch (view.size) {
    case 1: return Read<int8_t>(view);
    case 2: return Read<int16_t>(view);
    case 4: return Read<int32_t>(view);
    default: return Read<int64_t>(view);
  }
}

uint64_t ReadUnsigned(const ArgumentView& view) {
  switch (view.size) {
    case 1: return Read<uint8_t>(view);
    case 2: return Read<uint16_t>(view);
    case 4: return Read<uint32_t>(view);
    default: return Read<uint64_t>(view);
  }
}

}  // namespace

std::string Call::ArgumentText(size_t index) const {
  const ArgumentView& view = arguments_[index];
  switch (view.kind) {
    case ArgumentKind::kPointer: {
      const auto* pointer = Read<const void*>(view);
      return pointer == nullptr ? "null" : base::Format("%p", pointer);
    }
    case ArgumentKind::kText: {
      const auto* text = Read<const char*>(view);
      return text == nullptr ? "null" : base::Format("\"%.200s\"", text);
    }
    case ArgumentKind::kSigned: return std::to_string(ReadSigned(view));
    case ArgumentKind::kUnsigned: return std::to_string(ReadUnsigned(view));
    case ArgumentKind::kFloating:
      return base::Format("%g", view.size == sizeof(float) ? double{Read<float>(view)} : Read<double>(view));
  }
  return {};
}

}  // namespace pypto::acl
