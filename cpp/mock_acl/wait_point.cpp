// The slow path of SpinLock.
#include "pypto/mock_acl/wait_point.h"

#include <sched.h>

namespace pypto::mock {

void SpinLock::Wait() noexcept {
  for (int spins = 0; held_.load(std::memory_order_relaxed); ++spins) {
    // The holder may have lost its processor.
    spins < 100 ? Pause() : static_cast<void>(sched_yield());
  }
}

}  // namespace pypto::mock
