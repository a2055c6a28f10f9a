// Creation and end of the per-thread state, the sum of the counters, and error texts.
#include "pypto/mock_acl/thread_state.h"

#include <pthread.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <mutex>
#include <vector>

#include "pypto/mock_acl/arguments.h"
#include "pypto/mock_acl/fork_safe.h"

namespace pypto::mock {

thread_local constinit ThreadState* current_thread_state [[gnu::tls_model("initial-exec")]] = nullptr;

namespace {

// Never destroyed: threads may end after the static destructors have run.
struct Registry {
  std::mutex mutex;
  std::vector<ThreadState*> threads;
  std::array<uint64_t, kCallCount> ended{};  // counts of threads that are gone
  Registry* left_behind = nullptr;
};

constinit ForkSafe<Registry> registry_of_process;

void EndThread(void* pointer);

pthread_key_t ThreadEndKey() {
  static const pthread_key_t key = [] {
    pthread_key_t made{};
    pthread_key_create(&made, EndThread);
    return made;
  }();
  return key;
}

void EndThread(void* pointer) {
  auto* state = static_cast<ThreadState*>(pointer);
  Registry& registry = registry_of_process.Get();
  {
    std::lock_guard lock(registry.mutex);
    std::erase(registry.threads, state);
    for (size_t i = 0; i < kCallCount; ++i) registry.ended[i] += state->calls[i].load(std::memory_order_relaxed);
  }
  current_thread_state = nullptr;
  delete state;
}

// The text of a code as the vendor's components would begin it.
const char* Family(acl_abi::aclError code) {
  if (code < 107000) return "EH0002";
  if (code < 200000) return "EE1001";
  if (code < 507000) return "EE1023";
  return code == 507046 || code == 507047 ? "EE1002" : "EZ2001";
}

}  // namespace

ThreadState* MakeThreadState() {
  auto* state = new ThreadState;
  Registry& registry = registry_of_process.Get();
  {
    std::lock_guard lock(registry.mutex);
    registry.threads.push_back(state);
  }
  pthread_setspecific(ThreadEndKey(), state);
  current_thread_state = state;
  return state;
}

void ForgetThreadsInForkedChild() noexcept {
  registry_of_process.Forget();
  current_thread_state = nullptr;
}

uint64_t TotalCalls(CallId id) {
  const auto index = static_cast<size_t>(id);
  Registry& registry = registry_of_process.Get();
  std::lock_guard lock(registry.mutex);
  uint64_t sum = registry.ended[index];
  for (const ThreadState* state : registry.threads) sum += state->calls[index].load(std::memory_order_relaxed);
  return sum;
}

acl_abi::aclError Fail(acl_abi::aclError code, const char* format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  ThreadState& thread = CurrentThread();
  if (!thread.message.empty()) thread.message += '\n';
  thread.message.append(Family(code)).append(": ").append(text);
  // A thread that never reads its texts keeps the newest.
  constexpr size_t kKept = 4096;
  if (thread.message.size() > kKept) thread.message.erase(0, thread.message.size() - kKept);
  return code;
}

}  // namespace pypto::mock
