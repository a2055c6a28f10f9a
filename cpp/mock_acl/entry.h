// The frame of every exported function: counts the call, lets tests intercept it, keeps the last error, stops
// exceptions.
#pragma once

#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

#include "pypto/acl_abi/error_codes.h"
#include "pypto/mock_acl/exports.h"
#include "pypto/mock_acl/instance.h"
#include "pypto/mock_acl/interception.h"
#include "pypto/mock_acl/thread_state.h"

namespace pypto::mock {

template <typename Body>
[[gnu::always_inline]] inline acl_abi::aclError Fenced(ThreadState& thread, Body&& body) noexcept {
  try {
    return body(thread);
  } catch (const std::bad_alloc&) {
    return acl_abi::kErrorBadAlloc;
  } catch (...) {
    return acl_abi::kErrorInternal;
  }
}

template <typename Body>
[[gnu::noinline]] acl_abi::aclError EnterIntercepted(ThreadState& thread, CallId id, void* const* arguments,
                                                     Body&& body) {
  const auto struck = BeforeCall(thread, id, arguments);
  return AfterCall(thread, id, arguments, struck ? *struck : Fenced(thread, std::forward<Body>(body)));
}

// `body` is called with the thread's state; `arguments` are those of the exported function, for the hooks.
template <typename Body, typename... Arguments>
[[gnu::always_inline]] inline acl_abi::aclError Enter(CallId id, Body&& body, Arguments&... arguments) {
  ThreadState& thread = CurrentThread();
  thread.Count(id);
  acl_abi::aclError code = acl_abi::kSuccess;
  if (interceptions.load(std::memory_order_relaxed) != 0) [[unlikely]] {
    void* const addresses[] = {const_cast<void*>(static_cast<const void*>(&arguments))..., nullptr};
    code = EnterIntercepted(thread, id, addresses, std::forward<Body>(body));
  } else {
    code = Fenced(thread, std::forward<Body>(body));
  }
  if (code != acl_abi::kSuccess) [[unlikely]]
    thread.last_error = code;
  return code;
}

template <typename Body, typename... Arguments>
[[gnu::noinline]] acl_abi::aclError EnterFastIntercepted(ThreadState& thread, CallId id, Body body,
                                                         Arguments... arguments) {
  void* const addresses[] = {const_cast<void*>(static_cast<const void*>(&arguments))..., nullptr};
  return EnterIntercepted(thread, id, addresses, [&](ThreadState& own) { return body(own, arguments...); });
}

// The same for functions that every dispatch calls: `body` captures nothing and takes the arguments by value, which
// therefore stay in registers while nothing is intercepted.
template <typename Body, typename... Arguments>
[[gnu::always_inline]] inline acl_abi::aclError EnterFast(CallId id, Body body, Arguments... arguments) {
  static_assert(std::is_empty_v<Body>);
  ThreadState& thread = CurrentThread();
  thread.Count(id);
  acl_abi::aclError code = acl_abi::kSuccess;
  if (interceptions.load(std::memory_order_relaxed) != 0) [[unlikely]] {
    code = EnterFastIntercepted(thread, id, body, arguments...);
  } else {
    code = Fenced(thread, [&](ThreadState& own) __attribute__((always_inline)) { return body(own, arguments...); });
  }
  if (code != acl_abi::kSuccess) [[unlikely]]
    thread.last_error = code;
  return code;
}

inline acl_abi::aclError NullArgument(const char* name) {
  return Fail(acl_abi::kErrorInvalidParam, "argument '%s' must not be null", name);
}

}  // namespace pypto::mock

// Returns 100000 from the enclosing body when the argument is null.
#define MOCK_REQUIRE(argument) MOCK_REQUIRE_AS(argument, #argument)
#define MOCK_REQUIRE_AS(argument, name)   \
  if ((argument) == nullptr) [[unlikely]] \
  return ::pypto::mock::NullArgument(name)
