// Launching a registration with arguments and options of the C ABI.
#pragma once

#include "fence.h"
#include "last_call.h"
#include "pypto/runtime/registration.h"

namespace pypto::capi {

// The caller's question between slices of a wait; what it throws counts as "stop".
struct Question {
  int32_t (*should_stop)(void* user) = nullptr;
  void* user = nullptr;

  runtime::Interrupt AsInterrupt() {
    return should_stop != nullptr ? runtime::Interrupt{Ask, this} : runtime::Interrupt{};
  }
  static bool Ask(void* context);
};

struct LaunchRequest {
  Question question;
  pypto_times* times = nullptr;

  // Null options: none.
  pypto_status Read(const pypto_launch_options* given);
};

pypto_status CheckArguments(const pypto_argument* arguments, size_t count);
// Checks, dispatches and waits, inside the worker. `last` is where the call is noted; may be null.
pypto_status Dispatch(runtime::Registration& registration, LastCall* last, const pypto_argument* arguments,
                      size_t count, const runtime::CallOptions& options);
// Submits the call that is the last one again, with resident tensors alone, as a launch that is left to its waiter.
// `ticket` stays 0 when nothing was done.
pypto_status Leave(runtime::Registration& registration, LastCall* last, const pypto_argument* arguments, size_t count,
                   uint64_t* ticket);
// CheckArguments, then the dispatch; fills the times that the options ask for.
pypto_status Launch(runtime::Registration& registration, LastCall* last, const pypto_argument* arguments, size_t count,
                    const pypto_launch_options* options);
// A call whose handles are those of the last one. False: nothing was done, Launch is to be called.
[[gnu::always_inline]] inline bool TryRepeat(runtime::Registration& registration, const LastCall& last,
                                             const pypto_argument* arguments, size_t count, base::Status* status) {
  runtime::Worker& worker = registration.worker();
  if (!worker.TryEnter()) [[unlikely]]
    return false;
  const bool done = last.IsAgain(registration, arguments, count) && registration.TryRepeat(status);
  worker.Leave();
  return done;
}

}  // namespace pypto::capi
