// State of the process that a forked child must not touch: it leaves it behind and makes its own.
#pragma once

#include <atomic>
#include <memory>

namespace pypto::mock {

// One object of T, made at the first use and never destroyed. T has a member `T* left_behind`. Constant-initialised.
// Get is thread-safe; Forget belongs into a fork handler and allocates nothing.
template <typename T>
class ForkSafe {
 public:
  T& Get() {
    T* object = current_.load(std::memory_order_acquire);
    if (object != nullptr) [[likely]]
      return *object;
    auto made = std::make_unique<T>();
    made->left_behind = parents_;
    if (current_.compare_exchange_strong(object, made.get(), std::memory_order_acq_rel)) return *made.release();
    return *object;
  }
  T* IfMade() const noexcept { return current_.load(std::memory_order_acquire); }
  // False when there was nothing to forget. The parent's object stays reachable, for leak checkers.
  bool Forget() noexcept {
    T* old = current_.exchange(nullptr, std::memory_order_relaxed);
    if (old != nullptr) parents_ = old;
    return old != nullptr;
  }

 private:
  std::atomic<T*> current_{nullptr};
  T* parents_ = nullptr;
};

}  // namespace pypto::mock
