// Layer that knows every live handle: refuses wrong ones, reports those left over.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "pypto/acl/layer.h"

namespace pypto::acl {

// Refuses, with an ERROR record that says why: destroying a handle twice, one that was never made or one of another
// kind, using a handle that is not alive (107017), copies that leave the block of memory they begin in (107000), and
// resetting a device more often than it was set (107000). Null handles are left to the library. Handles that it hands
// out without a create call (primary context, default stream) are known and never reported.
// Owned by the table. Thread-safe.
class ValidationLayer final : public Layer {
 public:
  // What the layer keeps track of.
  enum class Kind : uint8_t { kDeviceMemory, kHostMemory, kStream, kEvent, kContext, kBinary, kFunction };

  std::string_view name() const noexcept override { return "validation"; }
  std::optional<acl_abi::aclError> Before(const Call& call) override;
  void After(const Call& call) override;
  // One line per live handle: kind, handle, bytes, the call that made it with its number, thread and return addresses.
  std::string LeakReport() override;

  size_t live_count() const;
  // The last refusal as text, empty when there was none.
  std::string last_refusal() const;
  uint64_t refusals() const;

 private:
  static constexpr size_t kPlaceDepth = 8;
  static constexpr size_t kGoneKept = 4096;
  using Handle = uintptr_t;
  struct Record {
    Kind kind = Kind::kStream;
    bool owned = false;  // made by a create call; false: handed out by the library
    uint64_t bytes = 0;
    CallId made_by = CallId::aclInit;
    uint64_t call_number = 0;
    int thread = 0;
    Handle parent = 0;  // the binary of a function; the context of a stream, event or binary
    std::array<void*, kPlaceDepth> place = {};
    int place_depth = 0;
  };
  struct Gone {
    Kind kind;
    CallId by;
    uint64_t call_number;
  };
  // A handle that a destroying call under way will take with it.
  struct Leaving {
    Handle handle;
    Record record;
  };

  std::optional<acl_abi::aclError> Refuse(const Call& call, acl_abi::aclError code, const std::string& why);
  std::string CheckHandle(Handle handle, Kind kind, bool destroys) const;
  std::string CheckRange(const void* address, size_t bytes) const;
  std::string CheckCopy(const Call& call) const;
  void Add(const Call& call, Handle handle, Record record);
  void FollowContext(const Call& call);
  void Destroyed(const Call& call, const Leaving& leaving);
  static std::string Describe(Handle handle, const Record& record);

  mutable std::mutex mutex_;
  std::map<Handle, Record> live_;
  std::map<Handle, Gone> gone_;          // a bounded number of them, for messages
  std::map<uint64_t, Leaving> leaving_;  // by call number
  std::map<int32_t, int64_t> device_sets_;
  std::map<int, Handle> contexts_;  // current one by thread, as far as calls have shown it
  std::string last_refusal_;
  uint64_t refusals_ = 0;
};

}  // namespace pypto::acl
