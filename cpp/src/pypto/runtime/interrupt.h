// How a caller stops a wait: a function that is asked between slices of at most 50 ms.
#pragma once

namespace pypto::runtime {

inline constexpr int kWaitSliceMs = 50;

// Asked from the waiting thread. True: the work is aborted where the library can; else the next call waits for it.
struct Interrupt {
  bool (*should_stop)(void* context) = nullptr;
  void* context = nullptr;

  bool Asked() const { return should_stop != nullptr && should_stop(context); }
};

}  // namespace pypto::runtime
