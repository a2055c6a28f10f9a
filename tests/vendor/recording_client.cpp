// Calls every function of the list through a table that the normal loader filled from the recording library, and
// compares what arrived there with what was sent.
#include <cstdio>

#include "pypto/acl/loader.h"

using namespace pypto::acl_abi;  // describe.h names the types as the vendor's header does
#include "describe.h"

namespace {

using LastCall = const char*();
using SetResult = void(int);

int mismatches = 0;
int calls = 0;

// An argument that no other place of a call gets.
template <typename T>
struct Sample {
  static T Make(int place) {
    if constexpr (std::is_enum_v<T>) {
      return static_cast<T>(3 + place);
    } else if constexpr (std::is_signed_v<T>) {
      return static_cast<T>(-1000003 - 7 * place);
    } else {
      return static_cast<T>(0xfedcba9876543210ULL - 0x0101010101010101ULL * static_cast<unsigned>(place));
    }
  }
};
template <typename T>
struct Sample<T*> {
  static T* Make(int place) {
    if constexpr (std::is_function_v<T>) {
      return reinterpret_cast<T*>(0x7f0000001000ULL * static_cast<unsigned>(place + 1));
    } else {
      return reinterpret_cast<T*>(0x500000002000ULL + 0x1000ULL * static_cast<unsigned>(place));
    }
  }
};
template <>
struct Sample<const char*> {
  static const char* Make(int place) {
    static const char* const texts[] = {"first", "second", "third", "fourth", "fifth", "sixth"};
    return texts[place];
  }
};
template <>
struct Sample<char*> {
  static char* Make(int place) {
    static char texts[6][8] = {"first", "second", "third", "fourth", "fifth", "sixth"};
    return texts[place];
  }
};
template <>
struct Sample<aclrtBinaryLoadOptions*> {
  static aclrtBinaryLoadOptions* Make(int) {
    static aclrtBinaryLoadOption list[2];
    static aclrtBinaryLoadOptions options{list, 2};
    list[0].type = kBinaryLoadMagic;
    list[0].value.rsv[3] = 77;
    list[0].value.magic = kBinaryMagicVector;
    list[1].type = kBinaryLoadLazy;
    list[1].value.isLazyLoad = 1;
    return &options;
  }
};
template <>
struct Sample<const aclrtBinaryLoadOptions*> {
  static const aclrtBinaryLoadOptions* Make(int place) { return Sample<aclrtBinaryLoadOptions*>::Make(place); }
};
template <>
struct Sample<aclrtLaunchKernelCfg*> {
  static aclrtLaunchKernelCfg* Make(int) {
    static aclrtLaunchKernelAttr list[2];
    static aclrtLaunchKernelCfg config{list, 2};
    list[0].id = kLaunchAttrScheduleMode;
    list[0].value.schemMode = 1;
    list[1].id = kLaunchAttrTimeoutUs;
    list[1].value.rsv[3] = 99;
    list[1].value.timeoutUs = {0x12345678, 0x9abcdef0};
    return &config;
  }
};
template <>
struct Sample<aclrtPlaceHolderInfo*> {
  static aclrtPlaceHolderInfo* Make(int) {
    static aclrtPlaceHolderInfo holder{24, 128};
    return &holder;
  }
};
template <>
struct Sample<aclrtPtrAttributes*> {
  static aclrtPtrAttributes* Make(int) {
    static aclrtPtrAttributes attributes{{5, kLocationDevice}, 4096, {1, 2, 3, 4}};
    return &attributes;
  }
};
template <>
struct Sample<aclrtMallocConfig*> {
  static aclrtMallocConfig* Make(int) {
    static aclrtMallocAttribute list[2];
    static aclrtMallocConfig config{list, 2};
    list[0].attr = kMallocAttrModuleId;
    list[0].value.moduleId = kModuleIdApp;
    list[1].attr = kMallocAttrDeviceId;
    list[1].value.deviceId = 0x1ffff;
    return &config;
  }
};
template <>
struct Sample<aclrtStreamAttrValue*> {
  static aclrtStreamAttrValue* Make(int) {
    static aclrtStreamAttrValue value{{1, 2, 3, 4}};
    return &value;
  }
};
template <>
struct Sample<aclrtMemUsageInfo*> {
  static aclrtMemUsageInfo* Make(int) {
    static aclrtMemUsageInfo info{"RUNTIME", 11, 22, {1, 2, 3, 4, 5, 6, 7, 8}};
    return &info;
  }
};

void Expect(const char* name, const std::string& expected, const std::string& got) {
  ++calls;
  if (expected == got) return;
  ++mismatches;
  std::printf("%s\n  expected %s\n  got      %s\n", name, expected.c_str(), got.c_str());
}

template <typename Function>
struct Exercise;

template <typename R, typename... P>
struct Exercise<R(P...)> {
  template <typename Call>
  static void Run(const char* name, LastCall* last, Call&& call) {
    int place = 0;
    // Braces fix the order of evaluation.
    const std::tuple<P...> arguments{Sample<P>::Make(place++)...};
    const std::string expected =
        std::apply([&](P... values) { return recorder::DescribeCall(name, values...); }, arguments);
    if constexpr (std::is_same_v<R, aclError>) {
      const R code = std::apply(call, arguments);
      Expect(name, "returns 4711", "returns " + std::to_string(code));
    } else if constexpr (std::is_same_v<R, const char*>) {
      Expect(name, "recorded", std::apply(call, arguments));
    } else {
      std::apply(call, arguments);
    }
    Expect(name, expected, last());
  }
};

template <typename R, typename... P>
struct Exercise<R(P..., ...)> {
  template <typename Call>
  static void Run(const char* name, LastCall* last, Call&& call) {
    call(kLogWarning, "function", "file.cpp", 88U, "%d of %s", 7, "nine");
    Expect(name, recorder::DescribeCall(name, kLogWarning, "function", "file.cpp", 88U, "%d of %s", "7 of nine"),
           last());
  }
};

}  // namespace

int main(int, char** arguments) {
  pypto::acl::LoadOptions options;
  options.acl_library = arguments[1];
  options.layers = "";
  const auto loaded = pypto::acl::LoadFor(pypto::acl::PlatformKind::kHardware, options);
  if (!loaded.ok()) {
    std::printf("%s\n", loaded.status().ToString().c_str());
    return 1;
  }
  const pypto::acl::Table& table = **loaded;
  auto* last = reinterpret_cast<LastCall*>(table.Symbol("recorder_last_call"));
  reinterpret_cast<SetResult*>(table.Symbol("recorder_set_result"))(4711);
#define PYPTO_ACL_FUNCTION(need, return_type, name, ...) \
  Exercise<function_types::name>::Run(#name, last, [&](auto... values) { return table.name(values...); });
#include "pypto/acl_abi/functions.inc"
  std::printf("%d comparisons, %d mismatches\n", calls, mismatches);
  return mismatches == 0 ? 0 : 1;
}
