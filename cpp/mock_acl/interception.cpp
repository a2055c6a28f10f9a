// The fault plan and the hooks.
#include "pypto/mock_acl/interception.h"

#include <time.h>

#include <array>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "pypto/mock_acl/fork_safe.h"

namespace pypto::mock {

using acl_abi::aclError;

constinit std::atomic<uint32_t> interceptions{0};
constinit std::atomic<uint32_t> kernel_faults{0};

namespace {

struct CallFault {
  std::optional<CallId> id;
  uint64_t left = 0;
  aclError code = 0;
};

struct KernelFault {
  uint64_t left = 0;
  aclError code = 0;
};

struct Hooks {
  mock_before_hook before = nullptr;
  void* before_user = nullptr;
  mock_replace_hook replace = nullptr;
  void* replace_user = nullptr;
  mock_after_hook after = nullptr;
  void* after_user = nullptr;
  uint64_t delay_ns = 0;

  uint32_t count() const { return (before != nullptr) + (replace != nullptr) + (after != nullptr) + (delay_ns != 0); }
};

struct Plan {
  std::mutex mutex;
  std::vector<CallFault> call_faults;
  std::vector<KernelFault> kernel_faults;
  std::array<Hooks, kCallCount> hooks;
  Plan* left_behind = nullptr;
};

constinit ForkSafe<Plan> plan_of_process;

// With the lock held, after every change.
void Recount(const Plan& plan) {
  auto count = static_cast<uint32_t>(plan.call_faults.size());
  for (const Hooks& hooks : plan.hooks) count += hooks.count();
  interceptions.store(count, std::memory_order_release);
  kernel_faults.store(static_cast<uint32_t>(plan.kernel_faults.size()), std::memory_order_release);
}

aclError StrikeCall(Plan& plan, CallId id) {
  aclError struck = 0;
  for (auto& fault : plan.call_faults) {
    if (fault.id && *fault.id != id) continue;
    if (fault.left > 0) {
      --fault.left;
    } else if (struck == 0) {
      struck = fault.code;
      fault.code = 0;
    }
  }
  if (struck != 0) {
    std::erase_if(plan.call_faults, [](const CallFault& fault) { return fault.code == 0; });
    Recount(plan);
  }
  return struck;
}

void SleepFor(uint64_t nanoseconds) {
  timespec left{static_cast<time_t>(nanoseconds / 1000000000), static_cast<long>(nanoseconds % 1000000000)};
  while (nanosleep(&left, &left) != 0) {
  }
}

template <typename Change>
void ChangeHooks(CallId id, Change&& change) {
  Plan& plan = plan_of_process.Get();
  std::lock_guard lock(plan.mutex);
  change(plan.hooks[static_cast<size_t>(id)]);
  Recount(plan);
}

// Calls made by the hook itself pass unhooked.
template <typename Hook, typename... Arguments>
aclError RunHook(ThreadState& thread, Hook hook, Arguments... arguments) {
  thread.in_hook = true;
  const aclError code = hook(arguments...);
  thread.in_hook = false;
  return code;
}

}  // namespace

std::optional<aclError> BeforeCall(ThreadState& thread, CallId id, void* const* arguments) {
  if (thread.in_hook) return std::nullopt;
  Plan& plan = plan_of_process.Get();
  Hooks hooks;
  aclError struck = 0;
  {
    std::lock_guard lock(plan.mutex);
    hooks = plan.hooks[static_cast<size_t>(id)];
    struck = StrikeCall(plan, id);
  }
  if (hooks.delay_ns != 0) SleepFor(hooks.delay_ns);
  if (struck != 0) return Fail(struck, "injected failure of %s", CallName(id));
  if (hooks.before != nullptr) {
    const aclError code = RunHook(thread, hooks.before, hooks.before_user, CallName(id), arguments);
    if (code != 0) return Fail(code, "%s was refused by a hook", CallName(id));
  }
  if (hooks.replace != nullptr) return RunHook(thread, hooks.replace, hooks.replace_user, CallName(id), arguments);
  return std::nullopt;
}

aclError AfterCall(ThreadState& thread, CallId id, void* const* arguments, aclError code) {
  if (thread.in_hook) return code;
  Plan& plan = plan_of_process.Get();
  Hooks hooks;
  {
    std::lock_guard lock(plan.mutex);
    hooks = plan.hooks[static_cast<size_t>(id)];
  }
  if (hooks.after == nullptr) return code;
  return RunHook(thread, hooks.after, hooks.after_user, CallName(id), arguments, code);
}

void AddCallFault(std::optional<CallId> id, uint64_t n, aclError code) {
  Plan& plan = plan_of_process.Get();
  std::lock_guard lock(plan.mutex);
  plan.call_faults.push_back({id, n, code});
  Recount(plan);
}

void AddKernelFault(uint64_t n, aclError code) {
  Plan& plan = plan_of_process.Get();
  std::lock_guard lock(plan.mutex);
  plan.kernel_faults.push_back({n, code});
  Recount(plan);
}

aclError TakeKernelFaultSlow() {
  Plan& plan = plan_of_process.Get();
  std::lock_guard lock(plan.mutex);
  aclError struck = 0;
  for (auto& fault : plan.kernel_faults) {
    if (fault.left > 0) {
      --fault.left;
    } else if (struck == 0) {
      struck = std::exchange(fault.code, 0);
    }
  }
  std::erase_if(plan.kernel_faults, [](const KernelFault& fault) { return fault.code == 0; });
  Recount(plan);
  return struck;
}

uint64_t PendingFaults() {
  Plan& plan = plan_of_process.Get();
  std::lock_guard lock(plan.mutex);
  return plan.call_faults.size() + plan.kernel_faults.size();
}

void ClearFaults() {
  Plan& plan = plan_of_process.Get();
  std::lock_guard lock(plan.mutex);
  plan.call_faults.clear();
  plan.kernel_faults.clear();
  Recount(plan);
}

void SetBefore(CallId id, mock_before_hook hook, void* user) {
  ChangeHooks(id, [&](Hooks& hooks) { hooks.before = hook, hooks.before_user = user; });
}

void SetReplace(CallId id, mock_replace_hook hook, void* user) {
  ChangeHooks(id, [&](Hooks& hooks) { hooks.replace = hook, hooks.replace_user = user; });
}

void SetAfter(CallId id, mock_after_hook hook, void* user) {
  ChangeHooks(id, [&](Hooks& hooks) { hooks.after = hook, hooks.after_user = user; });
}

void SetDelay(CallId id, uint64_t nanoseconds) {
  ChangeHooks(id, [&](Hooks& hooks) { hooks.delay_ns = nanoseconds; });
}

void ClearHooks() {
  Plan& plan = plan_of_process.Get();
  std::lock_guard lock(plan.mutex);
  plan.hooks.fill(Hooks{});
  Recount(plan);
}

void ForgetInterceptionInForkedChild() noexcept {
  plan_of_process.Forget();
  interceptions.store(0, std::memory_order_relaxed);
  kernel_faults.store(0, std::memory_order_relaxed);
}

}  // namespace pypto::mock
