// Contexts, events, binaries and functions: the objects behind the handles. Streams have a file of their own.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "pypto/mock_acl/handle_table.h"
#include "pypto/mock_acl/kernel_backend.h"
#include "pypto/mock_acl/record_point.h"

namespace pypto::mock {

class Device;
class Stream;

// A context of one device. Owned by the instance's table; created and closed under the instance's lock.
class Context : public HandleObject {
 public:
  Device* device = nullptr;
  Stream* default_stream = nullptr;
  bool primary = false;
  // A kernel failed while failure mode 1 was on: nothing in the context runs any more. 0 or the failure's code.
  std::atomic<int32_t> stopped{0};
  std::atomic<bool> stop_on_failure{false};
};

// The context that an object belongs to. Closing a context looks through all live objects while others are closed and
// taken again: what it sees of those may be old or new, but is never torn.
class ContextLink {
 public:
  ContextLink() noexcept = default;
  ContextLink(const ContextLink&) = delete;
  ContextLink& operator=(const ContextLink& other) noexcept { return *this = static_cast<Context*>(other); }
  ContextLink& operator=(Context* context) noexcept {
    context_.store(context, std::memory_order_relaxed);
    return *this;
  }
  ~ContextLink() = default;
  operator Context*() const noexcept { return context_.load(std::memory_order_relaxed); }
  Context* operator->() const noexcept { return *this; }

 private:
  std::atomic<Context*> context_{nullptr};
};

// An event of one context. The latest record point is guarded by `lock`.
class Event : public HandleObject {
 public:
  RecordRef Latest() {
    std::lock_guard guard(lock);
    return latest;
  }

  ContextLink context;
  uint32_t flags = 0;
  bool extended = false;  // made by aclrtCreateEventExWithFlag
  SpinLock lock;
  RecordRef latest;
  RecordRef latest_wait;  // what the last aclrtStreamWaitEvent waits for
};

class Binary;

class Function : public HandleObject {
 public:
  Binary* binary = nullptr;
  // Of the binary, beside the name: a launch looks at nothing else.
  const KernelImage* image = nullptr;
  ContextLink context;
  std::string name;
};

// Bytes given to aclrtCreateBinary are not kept: that route is not offered.
class Binary : public HandleObject {
 public:
  ContextLink context;
  std::unique_ptr<KernelImage> image;
  std::vector<Function*> functions;
  uint64_t address = 0;  // of the copy in device memory
  size_t bytes = 0;
};

}  // namespace pypto::mock
