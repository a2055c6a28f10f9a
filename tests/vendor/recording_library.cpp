// An ACL library made from the vendor's headers only: every function notes its arguments as text and returns what it
// was told to. Signatures come from the headers; RECORDED_FUNCTIONS lists names.
#include "acl/acl.h"
//
#include <cstdarg>

#include "describe.h"

namespace {

std::string last_call;
int next_result = 0;

template <typename R>
R Answer() {
  if constexpr (std::is_same_v<R, const char*>) {
    return "recorded";
  } else if constexpr (!std::is_void_v<R>) {
    return static_cast<R>(next_result);
  }
}

template <typename Tag, typename Function>
struct Recorder;

template <typename Tag, typename R, typename... A>
struct Recorder<Tag, R(A...)> {
  static R Call(A... arguments) {
    last_call = recorder::DescribeCall(Tag::kName, arguments...);
    return Answer<R>();
  }
};

template <typename Tag, typename R, typename... A>
struct Recorder<Tag, R(A..., ...)> {
  static R Call(A... arguments, ...) {
    const char* format = (arguments, ...);  // the last one
    char text[256];
    va_list values;
    va_start(values, format);
    std::vsnprintf(text, sizeof(text), format, values);
    va_end(values);
    last_call = recorder::DescribeCall(Tag::kName, arguments..., static_cast<const char*>(text));
    return Answer<R>();
  }
};

}  // namespace

extern "C" {

// The declared function resolves to its recorder: no signature is written here.
#define RECORDED_FUNCTION(name)                                                                                    \
  namespace {                                                                                                      \
  struct Tag_##name {                                                                                              \
    static constexpr const char* kName = #name;                                                                    \
  };                                                                                                               \
  }                                                                                                                \
  static void* resolve_##name() { return reinterpret_cast<void*>(&Recorder<Tag_##name, decltype(::name)>::Call); } \
  [[gnu::used]] decltype(::name) name __attribute__((ifunc("resolve_" #name)));
#include "recorded_functions.inc"

const char* recorder_last_call() { return last_call.c_str(); }
void recorder_set_result(int result) { next_result = result; }
}
