// Kernel binaries and functions.
#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

#include "pypto/mock_acl/entry.h"
#include "pypto/mock_acl/resolve.h"

namespace pypto::acl_abi {

using mock::Binary;
using mock::CallId;
using mock::Context;
using mock::Enter;
using mock::Fail;
using mock::Function;
using mock::Instance;
using mock::ThreadState;

namespace {

bool KnownMagic(uint32_t magic) {
  return magic == kBinaryMagicAiCore || magic == kBinaryMagicVector || magic == kBinaryMagicCube;
}

aclError CheckOptions(const aclrtBinaryLoadOptions* options, bool magic_allowed) {
  if (options == nullptr || options->numOpt == 0) return kSuccess;
  if (options->options == nullptr) {
    return Fail(kErrorRtParamInvalid, "%zu load options announced, none given", options->numOpt);
  }
  for (size_t i = 0; i < options->numOpt; ++i) {
    const aclrtBinaryLoadOption& option = options->options[i];
    switch (option.type) {
      case kBinaryLoadLazy:
        if (option.value.isLazyLoad > 1) return Fail(kErrorRtParamInvalid, "lazy load is 0 or 1");
        continue;
      case kBinaryLoadMagic:
        if (magic_allowed && KnownMagic(option.value.magic)) continue;
        return Fail(kErrorRtParamInvalid,
                    magic_allowed ? "magic 0x%x is unknown" : "a magic (0x%x) is for binaries from memory",
                    option.value.magic);
      case kBinaryLoadCpuKernelMode:
        return Fail(kErrorRtFeatureNotSupported, "binaries for the AI CPU are not offered");
    }
    return Fail(kErrorRtParamInvalid, "unknown load option %u", unsigned{option.type});
  }
  return kSuccess;
}

aclError ResolveBinary(const void* handle, Binary** binary) {
  *binary = Instance::Get().binaries.Find(handle);
  return *binary != nullptr ? kSuccess : Fail(kErrorRtInvalidHandle, "the binary is not loaded");
}

aclError ResolveFunction(const void* handle, Function** function) {
  *function = Instance::Get().functions.Find(handle);
  return *function != nullptr ? kSuccess : Fail(kErrorRtInvalidHandle, "the function's binary is not loaded");
}

aclError LoadFile(Context& context, const char* path, aclrtBinHandle* handle) {
  std::ifstream file(path, std::ios::binary);
  if (path[0] != '/' || !file) return Fail(kErrorRtParamInvalid, "no binary at '%s' (the path must be absolute)", path);
  const std::vector<char> bytes(std::istreambuf_iterator<char>(file), {});
  return Instance::Get().LoadBinary(context, {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, handle);
}

}  // namespace

extern "C" {

aclError aclrtBinaryLoadFromFile(const char* path, aclrtBinaryLoadOptions* options, aclrtBinHandle* handle) {
  return Enter(
      CallId::aclrtBinaryLoadFromFile,
      [&](ThreadState& thread) {
        MOCK_REQUIRE(path);
        MOCK_REQUIRE(handle);
        Context* context = nullptr;
        aclError code = mock::ResolveContext(thread, &context);
        if (code == kSuccess) code = CheckOptions(options, false);
        return code == kSuccess ? LoadFile(*context, path, handle) : code;
      },
      path, options, handle);
}

aclError aclrtBinaryLoadFromData(const void* data, size_t length, const aclrtBinaryLoadOptions* options,
                                 aclrtBinHandle* handle) {
  return Enter(
      CallId::aclrtBinaryLoadFromData,
      [&](ThreadState& thread) {
        MOCK_REQUIRE(data);
        MOCK_REQUIRE(handle);
        if (length == 0) return Fail(kErrorInvalidParam, "argument 'length' must not be 0");
        Context* context = nullptr;
        aclError code = mock::ResolveContext(thread, &context);
        if (code == kSuccess) code = CheckOptions(options, true);
        if (code != kSuccess) return code;
        return Instance::Get().LoadBinary(*context, {static_cast<const uint8_t*>(data), length}, handle);
      },
      data, length, options, handle);
}

aclError aclrtBinaryUnLoad(aclrtBinHandle handle) {
  return Enter(
      CallId::aclrtBinaryUnLoad,
      [&](ThreadState& thread) {
        MOCK_REQUIRE(handle);
        Context* context = nullptr;
        Binary* binary = nullptr;
        aclError code = mock::ResolveContext(thread, &context);
        if (code == kSuccess) code = ResolveBinary(handle, &binary);
        if (code != kSuccess) return code;
        if (binary->context != context) return Fail(kErrorRtStreamContext, "the binary belongs to another context");
        Instance::Get().UnloadBinary(*binary);
        return kSuccess;
      },
      handle);
}

aclError aclrtBinaryGetFunction(const aclrtBinHandle handle, const char* name, aclrtFuncHandle* function) {
  return Enter(
      CallId::aclrtBinaryGetFunction,
      [&](ThreadState&) {
        MOCK_REQUIRE(handle);
        MOCK_REQUIRE(name);
        MOCK_REQUIRE(function);
        Binary* binary = nullptr;
        const aclError code = ResolveBinary(handle, &binary);
        return code == kSuccess ? Instance::Get().GetFunction(*binary, name, function) : code;
      },
      handle, name, function);
}

aclError aclrtBinaryGetFunctionByEntry(aclrtBinHandle handle, uint64_t entry, aclrtFuncHandle* function) {
  return Enter(
      CallId::aclrtBinaryGetFunctionByEntry,
      [&](ThreadState&) {
        MOCK_REQUIRE(handle);
        MOCK_REQUIRE(function);
        Binary* binary = nullptr;
        const aclError code = ResolveBinary(handle, &binary);
        if (code != kSuccess) return code;
        const std::string_view name = binary->image->KernelAt(entry);
        if (name.empty()) {
          return Fail(kErrorRtParamInvalid, "the binary has no entry %llu", static_cast<unsigned long long>(entry));
        }
        return Instance::Get().GetFunction(*binary, name, function);
      },
      handle, entry, function);
}

aclError aclrtGetFunctionName(aclrtFuncHandle handle, uint32_t room, char* name) {
  return Enter(
      CallId::aclrtGetFunctionName,
      [&](ThreadState&) {
        MOCK_REQUIRE(handle);
        MOCK_REQUIRE(name);
        Function* function = nullptr;
        const aclError code = ResolveFunction(handle, &function);
        if (code != kSuccess) return code;
        if (function->name.size() + 1 > room) {
          return Fail(kErrorRtParamInvalid, "the name needs %zu bytes, there are %u", function->name.size() + 1, room);
        }
        std::memcpy(name, function->name.c_str(), function->name.size() + 1);
        return kSuccess;
      },
      handle, room, name);
}

aclError aclrtGetFunctionAttribute(aclrtFuncHandle handle, aclrtFuncAttribute attribute, int64_t* value) {
  return Enter(
      CallId::aclrtGetFunctionAttribute,
      [&](ThreadState&) {
        MOCK_REQUIRE(handle);
        MOCK_REQUIRE(value);
        Function* function = nullptr;
        const aclError code = ResolveFunction(handle, &function);
        if (code != kSuccess) return code;
        if (attribute != kFuncAttrKernelType) {
          return Fail(kErrorRtParamInvalid, "unknown function attribute %u", unsigned{attribute});
        }
        *value = function->image->IsMix(function->name) ? kKernelMix : kKernelAiCore;
        return kSuccess;
      },
      handle, attribute, value);
}

aclError aclrtBinaryGetDevAddress(const aclrtBinHandle handle, void** address, size_t* size) {
  return Enter(
      CallId::aclrtBinaryGetDevAddress,
      [&](ThreadState&) {
        MOCK_REQUIRE(handle);
        MOCK_REQUIRE(address);
        MOCK_REQUIRE(size);
        Binary* binary = nullptr;
        const aclError code = ResolveBinary(handle, &binary);
        if (code != kSuccess) return code;
        *address = reinterpret_cast<void*>(binary->address);
        *size = binary->bytes;
        return kSuccess;
      },
      handle, address, size);
}

}  // extern "C"

}  // namespace pypto::acl_abi
