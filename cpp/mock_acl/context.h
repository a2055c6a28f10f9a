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

// An event of one context. The latest record point is guarded by `lock`.
class Event : public HandleObject {
 public:
  RecordRef Latest() {
    std::lock_guard guard(lock);
    return latest;
  }

  Context* context = nullptr;
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
  Context* context = nullptr;
  std::string name;
};

// Bytes given to aclrtCreateBinary are not kept: that route is not offered.
class Binary : public HandleObject {
 public:
  Context* context = nullptr;
  std::unique_ptr<KernelImage> image;
  std::vector<Function*> functions;
  uint64_t address = 0;  // of the copy in device memory
  size_t bytes = 0;
};

}  // namespace pypto::mock
