// Arguments as text, for both sides of a call: the structures' members have the same names in the vendor's header and
// in ours, so each side reads its own declarations. Included after the types are visible without a namespace.
#pragma once

#include <cinttypes>
#include <cstdio>
#include <string>
#include <type_traits>

namespace recorder {

inline std::string Hex(uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof(text), "0x%" PRIx64, value);
  return text;
}

template <typename T>
  requires(std::is_integral_v<T> || std::is_enum_v<T>)
std::string Describe(T value) {
  return std::to_string(static_cast<long long>(value));
}
template <typename T>
std::string Describe(T* pointer) {
  return Hex(reinterpret_cast<uint64_t>(pointer));
}
inline std::string Describe(const char* text) { return text == nullptr ? "null" : std::string("'") + text + "'"; }

inline std::string Describe(const aclrtBinaryLoadOptions* options) {
  std::string text = "{";
  for (size_t i = 0; i < options->numOpt; ++i) {
    const aclrtBinaryLoadOption& option = options->options[i];
    text += Describe(option.type) + ":" + Describe(option.value.magic) + "/" + Describe(option.value.rsv[3]) + " ";
  }
  return text + "}";
}
inline std::string Describe(aclrtBinaryLoadOptions* options) {
  return Describe(static_cast<const aclrtBinaryLoadOptions*>(options));
}

inline std::string Describe(aclrtLaunchKernelCfg* config) {
  std::string text = "{";
  for (size_t i = 0; i < config->numAttrs; ++i) {
    const aclrtLaunchKernelAttr& attribute = config->attrs[i];
    text += Describe(attribute.id) + ":" + Describe(attribute.value.schemMode) + "," +
            Describe(attribute.value.timeout) + "," + Describe(attribute.value.engineType) + "," +
            Describe(attribute.value.timeoutUs.timeoutLow) + "," + Describe(attribute.value.timeoutUs.timeoutHigh) +
            "," + Describe(attribute.value.rsv[3]) + " ";
  }
  return text + "}";
}

inline std::string Describe(aclrtPlaceHolderInfo* holder) {
  return "{" + Describe(holder->addrOffset) + " " + Describe(holder->dataOffset) + "}";
}

inline std::string Describe(aclrtPtrAttributes* attributes) {
  return "{" + Describe(attributes->location.id) + " " + Describe(attributes->location.type) + " " +
         Describe(attributes->pageSize) + " " + Describe(attributes->rsv[3]) + "}";
}

inline std::string Describe(aclrtMallocConfig* config) {
  std::string text = "{";
  for (size_t i = 0; i < config->numAttrs; ++i) {
    text += Describe(config->attrs[i].attr) + ":" + Describe(config->attrs[i].value.moduleId) + "," +
            Describe(config->attrs[i].value.deviceId) + " ";
  }
  return text + "}";
}

inline std::string Describe(aclrtStreamAttrValue* value) {
  return "{" + Hex(value->failureMode) + " " + Describe(value->userCustomTag) + " " + Describe(value->reserve[3]) + "}";
}

inline std::string Describe(aclrtMemUsageInfo* info) {
  return "{" + std::string(info->name) + " " + Describe(info->curMemSize) + " " + Describe(info->memPeakSize) + " " +
         Describe(info->reserved[7]) + "}";
}

template <typename... A>
std::string DescribeCall(const char* name, A... arguments) {
  std::string text = std::string(name) + "(";
  ((text += Describe(arguments) + ";"), ...);
  return text + ")";
}

}  // namespace recorder
