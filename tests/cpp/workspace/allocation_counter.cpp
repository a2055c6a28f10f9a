// Replaces operator new of the test program; in a file of its own so that no call of it is inlined.
#include "workspace/allocation_counter.h"

#include <cstdlib>
#include <new>

namespace {

thread_local uint64_t allocation_count = 0;

}  // namespace

void* operator new(size_t bytes) {
  ++allocation_count;
  void* memory = std::malloc(bytes);
  if (memory == nullptr) std::abort();
  return memory;
}

void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace pypto::workspace {

uint64_t AllocationCount() noexcept { return allocation_count; }

}  // namespace pypto::workspace
