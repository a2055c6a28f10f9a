// What the mock keeps per thread: current context, error text, call counters, the argument list under construction.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "pypto/acl_abi/types.h"
#include "pypto/mock_acl/call_id.h"

namespace pypto::mock {

class ArgumentList;
class Context;
class Function;
class Stream;

// Owned by its thread; made at the thread's first call and freed when the thread ends. Only `calls` is read by others.
struct ThreadState {
  // Single writer: a load and a store, no atomic addition.
  void Count(CallId id) noexcept {
    auto& counter = calls[static_cast<size_t>(id)];
    counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  std::array<std::atomic<uint64_t>, kCallCount> calls{};
  Context* context = nullptr;
  uint64_t context_handle = 0;
  acl_abi::aclError last_error = 0;
  // Found last: objects stay allocated, so a handle names the same one as long as the object bears it.
  Stream* last_stream = nullptr;
  Function* last_function = nullptr;
  bool in_host_function = false;
  bool in_hook = false;
  std::string message;   // not read yet
  std::string returned;  // what aclGetRecentErrMsg handed out last
  std::shared_ptr<ArgumentList> arguments;
};

extern thread_local constinit ThreadState* current_thread_state [[gnu::tls_model("initial-exec")]];

ThreadState* MakeThreadState();

inline ThreadState& CurrentThread() {
  ThreadState* state = current_thread_state;
  return state != nullptr ? *state : *MakeThreadState();
}

// For the fork handler: the child's thread starts afresh and no lock of the parent is touched again.
void ForgetThreadsInForkedChild() noexcept;

// Calls of one function in all threads, those that ended included.
uint64_t TotalCalls(CallId id);

// Keeps the text for aclGetRecentErrMsg of this thread and returns the code.
acl_abi::aclError Fail(acl_abi::aclError code, const char* format, ...) __attribute__((format(printf, 2, 3)));

}  // namespace pypto::mock
