// Devices, contexts, streams, events, binaries and functions: opening and closing them.
#include <algorithm>

#include "pypto/mock_acl/instance.h"

namespace pypto::mock {

using namespace acl_abi;

Device* Instance::FindDevice(int64_t id, aclError* code) const {
  if (!initialized()) {
    *code = NotInitialized();
    return nullptr;
  }
  if (id < 0 || static_cast<uint64_t>(id) >= devices_.size()) {
    *code = Fail(kErrorRtInvalidDeviceId, "device %lld does not exist: there are %zu", static_cast<long long>(id),
                 devices_.size());
    return nullptr;
  }
  *code = kSuccess;
  return devices_[static_cast<size_t>(id)].get();
}

Stream* Instance::OpenStream(Context& context, uint32_t flags) {
  Stream* stream = streams.Take();
  if (stream == nullptr) return nullptr;
  stream->Open(&context, flags, next_stream_id_++, {&records, settings_.strict_seed});
  return stream;
}

Context* Instance::OpenContext(Device& device, bool primary) {
  Context* context = contexts.Take();
  if (context == nullptr) return nullptr;
  context->device = &device;
  context->primary = primary;
  context->stopped.store(0);
  context->stop_on_failure.store(false);
  context->default_stream = OpenStream(*context, 0);
  if (context->default_stream == nullptr) {
    contexts.Return(context);
    return nullptr;
  }
  streams.Publish(context->default_stream);
  contexts.Publish(context);
  ++device.contexts;
  return context;
}

aclError Instance::SetDevice(int32_t id) {
  aclError code = kSuccess;
  std::lock_guard lock(life_);
  Device* device = FindDevice(id, &code);
  if (device == nullptr) return code;
  if (!device->Start()) {
    return Fail(kErrorRtDeviceSetup, "device %d: no address space for its memory (%llu MiB wished)", id,
                static_cast<unsigned long long>(settings_.memory_bytes >> 20));
  }
  if (device->primary == nullptr) device->primary = OpenContext(*device, true);
  if (device->primary == nullptr) return Fail(kErrorRtNoResource, "no more contexts");
  ++device->set_count;
  ThreadState& thread = CurrentThread();
  thread.context = device->primary;
  thread.context_handle = device->primary->handle.load();
  return kSuccess;
}

aclError Instance::ResetDevice(int32_t id, bool force) {
  aclError code = kSuccess;
  std::vector<Context*> closing;
  Device* device = nullptr;
  {
    std::lock_guard lock(life_);
    device = FindDevice(id, &code);
    if (device == nullptr) return code;
    if (device->set_count == 0 && !force) {
      return Fail(kErrorRtInvalidDeviceId, "device %d was reset more often than it was set", id);
    }
    device->set_count = force ? 0 : device->set_count - 1;
    if (device->set_count > 0) return kSuccess;
    const Context* primary = std::exchange(device->primary, nullptr);
    closing = contexts.RetireIf([&](const Context& context) {
      return &context == primary || (force && context.device == device && !context.primary);
    });
  }
  for (Context* context : closing) EndContext(*context, !force);
  return kSuccess;
}

aclError Instance::CreateContext(int32_t id, void** handle) {
  aclError code = kSuccess;
  std::lock_guard lock(life_);
  Device* device = FindDevice(id, &code);
  if (device == nullptr) return code;
  if (!device->Start()) return Fail(kErrorRtDeviceSetup, "device %d: no address space for its memory", id);
  Context* context = OpenContext(*device, false);
  if (context == nullptr) return Fail(kErrorRtNoResource, "no more contexts");
  *handle = context->pointer();
  ThreadState& thread = CurrentThread();
  thread.context = context;
  thread.context_handle = context->handle.load();
  return kSuccess;
}

aclError Instance::DestroyContext(void* handle) {
  Context* context = contexts.Find(handle);
  if (context == nullptr) return Fail(kErrorRtContextNull, "the context is not alive");
  if (context->primary) {
    return Fail(kErrorRtParamInvalid, "the primary context of a device ends with aclrtResetDevice");
  }
  if (contexts.Retire(context)) EndContext(*context, true);
  return kSuccess;
}

void Instance::EndContext(Context& context, bool wait_for_work) {
  const auto belongs = [&](const auto& object) { return object.context == &context; };
  for (Stream* stream : streams.RetireIf([&](const Stream& each) { return each.context() == &context; })) {
    EndStream(*stream, wait_for_work);
  }
  for (Event* event : events.RetireIf(belongs)) EndEvent(*event);
  for (Binary* binary : binaries.RetireIf(belongs)) EndBinary(*binary);
  context.default_stream = nullptr;
  Device& device = *context.device;
  std::lock_guard lock(life_);
  contexts.Return(&context);
  // Device memory lives as long as any context of the device.
  if (--device.contexts == 0) device.memory().Clear();
}

aclError Instance::CreateStream(Context& context, uint32_t flags, void** handle) {
  std::lock_guard lock(life_);
  if (context.device->streams.load() >= kMaxStreams) {
    return Fail(kErrorRtNoStreamResource, "all %u streams of device %d are in use", kMaxStreams, context.device->id());
  }
  Stream* stream = OpenStream(context, flags);
  if (stream == nullptr) return Fail(kErrorRtNoStreamResource, "no more streams");
  stream->counted = true;
  context.device->streams.fetch_add(1);
  *handle = streams.Publish(stream);
  return kSuccess;
}

aclError Instance::DestroyStream(Stream& stream, bool wait_for_work) {
  if (streams.Retire(&stream)) EndStream(stream, wait_for_work);
  return kSuccess;
}

void Instance::EndStream(Stream& stream, bool wait_for_work) {
  stream.Close(wait_for_work);
  if (stream.counted) stream.context()->device->streams.fetch_sub(1);
  streams.Return(&stream);
}

aclError Instance::CreateEvent(Context& context, uint32_t flags, bool extended, void** handle) {
  std::lock_guard lock(life_);
  Event* event = context.device->events.load() < kMaxEvents ? events.Take() : nullptr;
  if (event == nullptr) {
    return Fail(kErrorRtNoEventResource, "all %u events of device %d are in use", kMaxEvents, context.device->id());
  }
  context.device->events.fetch_add(1);
  event->context = &context;
  event->flags = flags;
  event->extended = extended;
  *handle = events.Publish(event);
  return kSuccess;
}

void Instance::DestroyEvent(Event& event) {
  if (events.Retire(&event)) EndEvent(event);
}

void Instance::EndEvent(Event& event) {
  {
    std::lock_guard lock(event.lock);
    event.latest.Drop();
    event.latest_wait.Drop();
  }
  event.context->device->events.fetch_sub(1);
  events.Return(&event);
}

aclError Instance::LoadBinary(Context& context, std::span<const uint8_t> bytes, void** handle) {
  auto image = LoadKernelImage(bytes, settings_.soc_given ? settings_.soc : "");
  if (!image.ok()) {
    const bool other_chip = image.status().code() == base::StatusCode::kUnsupported;
    return Fail(other_chip ? kErrorRtSocVersion : kErrorRtParamInvalid, "the binary is not loadable: %s",
                image.status().ToString().c_str());
  }
  DeviceMemory& memory = context.device->memory();
  const uint64_t address = memory.AllocateInternal(bytes.size());
  Binary* binary = address == 0 ? nullptr : binaries.Take();
  if (binary == nullptr) {
    memory.FreeInternal(address);
    return Fail(kErrorRtMemoryAllocation, "no device memory for a binary of %zu bytes", bytes.size());
  }
  std::copy_n(reinterpret_cast<const std::byte*>(bytes.data()), bytes.size(), memory.Translate(address, bytes.size()));
  binary->context = &context;
  binary->image = std::move(image).value();
  binary->address = address;
  binary->bytes = bytes.size();
  *handle = binaries.Publish(binary);
  return kSuccess;
}

void Instance::UnloadBinary(Binary& binary) {
  // A stream that has failed does not fail the unloading: its text must not turn up in the message of a later failure.
  std::string message = CurrentThread().message;
  static_cast<void>(SynchronizeDevice(*binary.context->device, kNoDeadline));
  CurrentThread().message = std::move(message);
  if (binaries.Retire(&binary)) EndBinary(binary);
}

void Instance::EndBinary(Binary& binary) {
  for (Function* function : binary.functions) {
    functions.Retire(function);
    functions.Return(function);
  }
  binary.functions.clear();
  binary.image.reset();
  binary.context->device->memory().FreeInternal(binary.address);
  binaries.Return(&binary);
}

aclError Instance::GetFunction(Binary& binary, std::string_view name, void** handle) {
  if (!binary.image->HasKernel(name)) {
    return Fail(kErrorRtParamInvalid, "the binary holds no kernel '%.*s'", static_cast<int>(name.size()), name.data());
  }
  std::lock_guard lock(life_);
  for (Function* function : binary.functions) {
    if (function->name == name) {
      *handle = function->pointer();
      return kSuccess;
    }
  }
  Function* function = functions.Take();
  if (function == nullptr) return Fail(kErrorRtNoResource, "no more functions");
  function->binary = &binary;
  function->image = binary.image.get();
  function->context = binary.context;
  function->name = name;
  binary.functions.push_back(function);
  *handle = functions.Publish(function);
  return kSuccess;
}

std::vector<void*> Instance::StreamsToWaitFor(const Device& device) const {
  std::vector<void*> result;
  streams.ForEachLive([&](const Stream& stream) {
    if (stream.context()->device == &device && !stream.NeverWaitedFor()) result.push_back(stream.pointer());
  });
  return result;
}

aclError Instance::SynchronizeDevice(Device& device, Deadline deadline) {
  aclError first = kSuccess;
  for (const void* handle : StreamsToWaitFor(device)) {
    Stream* stream = streams.Visit(handle);
    if (stream == nullptr) continue;
    aclError code = stream->Synchronize(deadline);
    if (stream->pointer() != handle) code = kSuccess;  // destroyed meanwhile, which ends its queue
    if (code != kSuccess && first == kSuccess) first = Fail(code, "%s", stream->error_text().c_str());
    streams.Leave(stream);
    if (code == kErrorRtStreamSyncTimeout) return Fail(code, "device %d is still busy", device.id());
  }
  return first;
}

}  // namespace pypto::mock
