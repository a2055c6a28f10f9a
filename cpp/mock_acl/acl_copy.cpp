// Copies and fills, synchronous and queued.
#include <cstring>

#include "pypto/base/bulk_copy.h"
#include "pypto/mock_acl/entry.h"
#include "pypto/mock_acl/resolve.h"

namespace pypto::acl_abi {

using mock::CallId;
using mock::Context;
using mock::Device;
using mock::Enter;
using mock::EnterFast;
using mock::Fail;
using mock::Instance;
using mock::Location;
using mock::ResolveStream;
using mock::Stream;
using mock::Task;
using mock::ThreadState;

namespace {

Location LocationOf(const void* pointer) {
  const auto address = reinterpret_cast<uint64_t>(pointer);
  const Device* device = Instance::Get().DeviceOfAddress(address);
  return {address, device != nullptr ? &device->memory() : nullptr};
}

// Device ranges must lie inside one block; about host memory nothing is known.
[[gnu::cold]] aclError RefuseRange(const Location& location, size_t bytes, const char* what) {
  const auto block = location.memory->Find(location.address);
  if (!block) {
    return Fail(kErrorRtParamInvalid, "%s 0x%llx lies in no live block of device memory", what,
                static_cast<unsigned long long>(location.address));
  }
  return Fail(kErrorRtParamInvalid, "%s 0x%llx + %zu bytes leaves its block [0x%llx, +%llu)", what,
              static_cast<unsigned long long>(location.address), bytes, static_cast<unsigned long long>(block->address),
              static_cast<unsigned long long>(block->bytes));
}

// `at` becomes where the bytes are.
aclError CheckRange(const Location& location, size_t bytes, const char* what, std::byte** at) {
  *at = location.Resolve(bytes);
  return *at != nullptr ? kSuccess : RefuseRange(location, bytes, what);
}

struct Copy {
  Location destination;
  Location source;
  size_t bytes = 0;
  std::byte* to = nullptr;  // where the bytes are now: a queued copy looks again
  std::byte* from = nullptr;
};

// Everything that synchronous and queued copies check alike.
[[gnu::always_inline]] inline aclError Prepare(void* destination, size_t room, const void* source, size_t bytes,
                                               aclrtMemcpyKind kind, Copy* copy) {
  MOCK_REQUIRE(destination);
  MOCK_REQUIRE(source);
  if (kind > kMemcpyHostToBufferToDevice) [[unlikely]] {
    return Fail(kErrorInvalidParam, "copy kind %u is not for this function", unsigned{kind});
  }
  if (bytes > room) [[unlikely]]
    return Fail(kErrorRtParamInvalid, "%zu bytes do not fit into %zu", bytes, room);
  copy->destination = LocationOf(destination);
  copy->source = LocationOf(source);
  copy->bytes = bytes;
  const aclError code = CheckRange(copy->destination, bytes, "destination", &copy->to);
  return code == kSuccess ? CheckRange(copy->source, bytes, "source", &copy->from) : code;
}

bool DirectionIs(const Copy& copy, aclrtMemcpyKind kind) {
  const bool to_device = copy.destination.memory != nullptr;
  const bool from_device = copy.source.memory != nullptr;
  switch (kind) {
    case kMemcpyHostToHost: return !to_device && !from_device;
    case kMemcpyHostToDevice:
    case kMemcpyHostToBufferToDevice: return to_device && !from_device;
    case kMemcpyDeviceToHost: return !to_device && from_device;
    case kMemcpyDeviceToDevice: return to_device && from_device;
    default: return true;
  }
}

constexpr size_t kSmall = size_t{64} << 10;

// A small copy between the host and a block of the only device. False: nothing was done.
[[gnu::always_inline]] inline bool CopyShort(const Context& context, void* to, size_t room, const void* from,
                                             size_t bytes) {
  if (Instance::Get().OnlyDevice() != context.device || bytes > kSmall || bytes > room) [[unlikely]]
    return false;
  const mock::DeviceMemory& memory = context.device->memory();
  const auto target = reinterpret_cast<uint64_t>(to);
  const auto source = reinterpret_cast<uint64_t>(from);
  if (memory.Owns(target) == memory.Owns(source)) [[unlikely]]
    return false;
  const bool to_device = memory.Owns(target);
  std::byte* there = memory.Translate(to_device ? target : source, bytes);
  const void* host = to_device ? from : to;
  if (there == nullptr || host == nullptr) [[unlikely]]
    return false;
  to_device ? std::memmove(there, from, bytes) : std::memmove(to, there, bytes);
  return true;
}

[[gnu::always_inline]] inline void CopyNow(const Copy& copy) {
  if (copy.bytes <= kSmall) {
    std::memmove(copy.to, copy.from, copy.bytes);
  } else {
    const Location& device = copy.destination.memory != nullptr ? copy.destination : copy.source;
    Instance::Get().CopyBytes(copy.to, copy.from, copy.bytes, device.address);
  }
}

aclError Queue(Stream& stream, const Copy& copy) {
  return stream.Push(Stream::Kick::kYes, [&](Task& task) {
    task.kind = Task::Kind::kCopy;
    task.destination = copy.destination;
    task.source = copy.source;
    task.bytes = copy.bytes;
    return kSuccess;
  });
}

// The host bytes are taken now and written to the device in stream order.
aclError QueueCaptured(Stream& stream, const Copy& copy) {
  return stream.Push(Stream::Kick::kYes, [&](Task& task) {
    if (!stream.ReserveArguments(task, copy.bytes)) {
      return Fail(kErrorRtMemoryAllocation, "no room to hold %zu bytes of the caller", copy.bytes);
    }
    base::BulkCopy(task.arguments, copy.from, copy.bytes);
    task.kind = Task::Kind::kCopy;
    task.destination = copy.destination;
    task.source = {reinterpret_cast<uint64_t>(task.arguments), nullptr};
    task.bytes = copy.bytes;
    return kSuccess;
  });
}

aclError CopyOnStream(Stream& stream, const Copy& copy, aclrtMemcpyKind kind) {
  if (copy.destination.memory == nullptr && copy.source.memory == nullptr) {
    return Fail(kErrorRtFeatureNotSupported, "a queued copy from host to host is not offered");
  }
  if (!DirectionIs(copy, kind)) {
    return Fail(kErrorRtParamInvalid, "copy kind %u does not fit where the pointers point", unsigned{kind});
  }
  if (kind == kMemcpyHostToBufferToDevice) return QueueCaptured(stream, copy);
  const auto& host = copy.destination.memory == nullptr ? copy.destination : copy.source;
  const bool queued =
      host.memory != nullptr || Instance::Get().host_memory.Pinned(host.Resolve(copy.bytes), copy.bytes);
  if (queued) return Queue(stream, copy);
  // Pageable host memory: the stream is drained and the copy done at once. What ran may have freed the memory.
  aclError code = stream.Synchronize(mock::kNoDeadline);
  if (code != kSuccess) return mock::ReportStream(stream, code);
  Copy now = copy;
  code = CheckRange(now.destination, now.bytes, "destination", &now.to);
  if (code == kSuccess) code = CheckRange(now.source, now.bytes, "source", &now.from);
  if (code == kSuccess) CopyNow(now);
  return code;
}

aclError PrepareFill(void* pointer, size_t room, size_t bytes, Location* location) {
  MOCK_REQUIRE(pointer);
  if (bytes > room) return Fail(kErrorRtParamInvalid, "%zu bytes do not fit into %zu", bytes, room);
  *location = LocationOf(pointer);
  if (location->memory == nullptr && !Instance::Get().host_memory.Pinned(pointer, bytes)) {
    return Fail(kErrorRtParamInvalid, "%p is neither device memory nor host memory of ACL", pointer);
  }
  std::byte* at = nullptr;
  return CheckRange(*location, bytes, "destination", &at);
}

}  // namespace

extern "C" {

aclError aclrtMemcpy(void* destination, size_t room, const void* source, size_t bytes, aclrtMemcpyKind kind) {
  return EnterFast(
      CallId::aclrtMemcpy,
      [](ThreadState& thread, void* to, size_t room_bytes, const void* from, size_t size, aclrtMemcpyKind hint)
          __attribute__((always_inline)) -> aclError {
            Context* context = nullptr;
            aclError code = mock::ResolveContext(thread, &context);
            if (code != kSuccess || size == 0) [[unlikely]]
              return code;
            if (hint <= kMemcpyHostToBufferToDevice && CopyShort(*context, to, room_bytes, from, size)) [[likely]]
              return kSuccess;
            Copy copy;
            code = Prepare(to, room_bytes, from, size, hint, &copy);
            // The kind is a hint here: where the pointers point decides.
            if (code == kSuccess) [[likely]]
              CopyNow(copy);
            return code;
          },
      destination, room, source, bytes, kind);
}

aclError aclrtMemcpyAsync(void* destination, size_t room, const void* source, size_t bytes, aclrtMemcpyKind kind,
                          aclrtStream stream) {
  return Enter(
      CallId::aclrtMemcpyAsync,
      [&](ThreadState& thread) {
        Stream* found = nullptr;
        aclError code = ResolveStream(thread, stream, &found);
        if (code != kSuccess || bytes == 0) return code;
        Copy copy;
        code = Prepare(destination, room, source, bytes, kind, &copy);
        return code == kSuccess ? CopyOnStream(*found, copy, kind) : code;
      },
      destination, room, source, bytes, kind, stream);
}

aclError aclrtMemset(void* pointer, size_t room, int32_t value, size_t bytes) {
  return Enter(
      CallId::aclrtMemset,
      [&](ThreadState& thread) {
        Context* context = nullptr;
        aclError code = mock::ResolveContext(thread, &context);
        if (code != kSuccess || bytes == 0) return code;
        Location location;
        code = PrepareFill(pointer, room, bytes, &location);
        if (code == kSuccess) std::memset(location.Resolve(bytes), value, bytes);
        return code;
      },
      pointer, room, value, bytes);
}

aclError aclrtMemsetAsync(void* pointer, size_t room, int32_t value, size_t bytes, aclrtStream stream) {
  return Enter(
      CallId::aclrtMemsetAsync,
      [&](ThreadState& thread) {
        Stream* found = nullptr;
        aclError code = ResolveStream(thread, stream, &found);
        if (code != kSuccess || bytes == 0) return code;
        Location location;
        code = PrepareFill(pointer, room, bytes, &location);
        if (code != kSuccess) return code;
        return found->Push(Stream::Kick::kYes, [&](Task& task) {
          task.kind = Task::Kind::kFill;
          task.destination = location;
          task.bytes = bytes;
          task.value = value;
          return kSuccess;
        });
      },
      pointer, room, value, bytes, stream);
}

}  // extern "C"

}  // namespace pypto::acl_abi
