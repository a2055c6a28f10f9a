// Raw device memory, resident tensors and copies.
#include <cinttypes>

#include "pypto/acl/errors.h"
#include "pypto/base/checked.h"
#include "pypto/runtime/worker.h"
#include "pypto/runtime/worker_state.h"

namespace pypto::runtime {
namespace {

using base::MakeStatus;
using base::Result;
using base::Status;
using base::StatusCode;

Status CheckBytes(const char* what, int64_t bytes) {
  if (bytes > 0) return base::OkStatus();
  return MakeStatus(StatusCode::kInvalidArgument, "%s needs nbytes greater than 0, got %lld", what,
                    static_cast<long long>(bytes));
}

std::string TensorText(std::span<const int64_t> shape, program::DType dtype) {
  return ShapeText(shape) + " DT_" + std::string(program::InfoOf(dtype).name);
}

Result<uint64_t> BytesOfShape(std::span<const int64_t> shape, program::DType dtype) {
  if (shape.empty()) {
    return Status(StatusCode::kInvalidArgument, "alloc_tensor needs a shape with at least one dim, got []");
  }
  if (shape.size() > static_cast<size_t>(kMaxTensorRank)) {
    return MakeStatus(StatusCode::kInvalidArgument, "alloc_tensor takes at most %d dims, got %s", kMaxTensorRank,
                      ShapeText(shape).c_str());
  }
  uint64_t bytes = program::BytesOf(dtype);
  for (const int64_t dim : shape) {
    if (dim <= 0) {
      return MakeStatus(StatusCode::kInvalidArgument, "alloc_tensor needs dims greater than 0, got %s",
                        ShapeText(shape).c_str());
    }
    const auto product = base::CheckedMul<uint64_t>(bytes, static_cast<uint64_t>(dim));
    if (!product || *product > static_cast<uint64_t>(INT64_MAX)) {
      return MakeStatus(StatusCode::kInvalidArgument, "a tensor %s has more bytes than 63 bits hold",
                        TensorText(shape, dtype).c_str());
    }
    bytes = *product;
  }
  return bytes;
}

Status CheckSame(const char* what, std::span<const int64_t> shape, program::DType dtype, const HostTensorView& host) {
  const bool same = program::Serves(host.dtype, dtype) &&
                    std::equal(shape.begin(), shape.end(), host.shape.begin(), host.shape.end());
  if (same && host.data != nullptr) return base::OkStatus();
  return MakeStatus(StatusCode::kInvalidArgument, "%s: the tensor is %s, the host data is %s%s", what,
                    TensorText(shape, dtype).c_str(), TensorText(host.shape, host.dtype).c_str(),
                    same ? " without memory" : "");
}

Status CheckHost(const char* what, const void* pointer) {
  if (pointer != nullptr) return base::OkStatus();
  return MakeStatus(StatusCode::kInvalidArgument, "%s: the host address is null", what);
}

// How errors name a raw copy and its end on the device.
struct RawCopyNames {
  const char* call;
  const char* range;
};

Status CheckRawCopy(WorkerState& state, const RawCopyNames& names, const void* host, uint64_t address, int64_t bytes) {
  PYPTO_RETURN_IF_ERROR(state.CheckUsable());
  PYPTO_RETURN_IF_ERROR(CheckBytes(names.call, bytes));
  PYPTO_RETURN_IF_ERROR(CheckHost(names.call, host));
  return state.registry().CheckRange(names.range, address, static_cast<uint64_t>(bytes));
}

Status Upload(WorkerState* state, uint64_t destination, const void* source, uint64_t bytes) {
  const acl::aclError code = state->table().aclrtMemcpy(reinterpret_cast<void*>(destination), bytes, source, bytes,
                                                        acl_abi::kMemcpyHostToDevice);
  if (code != acl_abi::kSuccess) {
    return state->OnDeviceFailure(acl::ToStatus(state->table(), code, acl::CallId::aclrtMemcpy));
  }
  state->counters().h2d_copies += 1;
  state->counters().h2d_bytes += bytes;
  return base::OkStatus();
}

Status Download(WorkerState* state, void* destination, uint64_t source, uint64_t bytes) {
  const acl::aclError code = state->table().aclrtMemcpy(destination, bytes, reinterpret_cast<const void*>(source),
                                                        bytes, acl_abi::kMemcpyDeviceToHost);
  if (code != acl_abi::kSuccess) {
    return state->OnDeviceFailure(acl::ToStatus(state->table(), code, acl::CallId::aclrtMemcpy));
  }
  state->counters().d2h_copies += 1;
  state->counters().d2h_bytes += bytes;
  return base::OkStatus();
}

}  // namespace

Result<uint64_t> Worker::Malloc(int64_t bytes, const Interrupt& interrupt) {
  const WorkerEntry entry(*this, interrupt);
  PYPTO_RETURN_IF_ERROR(entry.status());
  PYPTO_RETURN_IF_ERROR(state_->CheckUsable());
  PYPTO_RETURN_IF_ERROR(CheckBytes("malloc", bytes));
  state_->TakeInDropped();
  const acl::ContextScope scope(state_->table(), state_->session().context());
  PYPTO_RETURN_IF_ERROR(scope.status());
  const auto size = static_cast<uint64_t>(bytes);
  PYPTO_ASSIGN_OR_RETURN(const uint64_t address,
                         state_->allocator().Allocate(size, MemoryKind::kResident, "raw buffer"));
  state_->registry().AddRaw(address, size);
  return address;
}

Status Worker::Free(uint64_t address, const Interrupt& interrupt) {
  const WorkerEntry entry(*this, interrupt);
  PYPTO_RETURN_IF_ERROR(entry.status());
  PYPTO_RETURN_IF_ERROR(state_->CheckUsable());
  state_->TakeInDropped();
  PYPTO_RETURN_IF_ERROR(state_->WaitIdleIfBusy(interrupt));
  PYPTO_RETURN_IF_ERROR(state_->registry().RemoveRaw(address));
  const acl::ContextScope scope(state_->table(), state_->session().context());
  return state_->allocator().Free(address);
}

Status Worker::CopyTo(uint64_t destination, const void* source, int64_t bytes, const Interrupt& interrupt) {
  const WorkerEntry entry(*this, interrupt);
  PYPTO_RETURN_IF_ERROR(entry.status());
  PYPTO_RETURN_IF_ERROR(CheckRawCopy(*state_, {"copy_to", "copy_to: the destination"}, source, destination, bytes));
  PYPTO_RETURN_IF_ERROR(state_->WaitIdleIfBusy(interrupt));
  const acl::ContextScope scope(state_->table(), state_->session().context());
  PYPTO_RETURN_IF_ERROR(scope.status());
  return Upload(state_.get(), destination, source, static_cast<uint64_t>(bytes));
}

Status Worker::CopyFrom(void* destination, uint64_t source, int64_t bytes, const Interrupt& interrupt) {
  const WorkerEntry entry(*this, interrupt);
  PYPTO_RETURN_IF_ERROR(entry.status());
  PYPTO_RETURN_IF_ERROR(CheckRawCopy(*state_, {"copy_from", "copy_from: the source"}, destination, source, bytes));
  PYPTO_RETURN_IF_ERROR(state_->WaitIdleIfBusy(interrupt));
  const acl::ContextScope scope(state_->table(), state_->session().context());
  PYPTO_RETURN_IF_ERROR(scope.status());
  return Download(state_.get(), destination, source, static_cast<uint64_t>(bytes));
}

Result<TensorRef> Worker::AllocTensor(std::span<const int64_t> shape, program::DType dtype, const HostTensorView* init,
                                      const Interrupt& interrupt) {
  const WorkerEntry entry(*this, interrupt);
  PYPTO_RETURN_IF_ERROR(entry.status());
  PYPTO_RETURN_IF_ERROR(state_->CheckUsable());
  PYPTO_ASSIGN_OR_RETURN(const uint64_t bytes, BytesOfShape(shape, dtype));
  if (init != nullptr) PYPTO_RETURN_IF_ERROR(CheckSame("alloc_tensor with init", shape, dtype, *init));
  state_->TakeInDropped();
  if (init != nullptr) PYPTO_RETURN_IF_ERROR(state_->WaitIdleIfBusy(interrupt));
  const acl::ContextScope scope(state_->table(), state_->session().context());
  PYPTO_RETURN_IF_ERROR(scope.status());
  DeviceAllocator& allocator = state_->allocator();
  PYPTO_ASSIGN_OR_RETURN(const uint64_t address, allocator.Allocate(bytes, MemoryKind::kResident, {}));
  if (init != nullptr) {
    Status uploaded = Upload(state_.get(), address, init->data, bytes);
    if (!uploaded.ok()) {
      uploaded.Attach(allocator.Free(address));
      return uploaded;
    }
  }
  return state_->registry().AddTensor(address, bytes, shape, dtype);
}

Result<TensorRef> Worker::TryAllocTensor(std::span<const int64_t> shape, program::DType dtype,
                                         const HostTensorView* init) {
  if (!TryEnter()) return TensorRef();
  Result<TensorRef> tensor = AllocPooled(shape, dtype, init);
  Leave();
  return tensor;
}

Result<TensorRef> Worker::AllocPooled(std::span<const int64_t> shape, program::DType dtype,
                                      const HostTensorView* init) {
  if (!state_->IsQuiet()) return TensorRef();
  const Result<uint64_t> bytes = BytesOfShape(shape, dtype);
  if (!bytes.ok() || (init != nullptr && !CheckSame("", shape, dtype, *init).ok())) return TensorRef();
  const acl::ContextScope scope(state_->table(), state_->session().context());
  const uint64_t address = scope.status().ok() ? state_->allocator().TakePooled(*bytes) : 0;
  if (address == 0) return TensorRef();
  if (init != nullptr) {
    Status uploaded = Upload(state_.get(), address, init->data, *bytes);
    if (!uploaded.ok()) {
      uploaded.Attach(state_->allocator().Free(address));
      return uploaded;
    }
  }
  return state_->registry().AddTensor(address, *bytes, shape, dtype);
}

bool Worker::TryFreeTensor(ResidentTensor& tensor) {
  if (!TryEnter()) return false;
  const bool own = tensor.worker_id() == id_ && !tensor.is_view() && tensor.is_alive();
  const bool freed = own && state_->IsQuiet() && state_->allocator().ReturnPooled(tensor.address());
  if (freed) {
    EndTensorEpoch();
    state_->registry().RemoveTensor(tensor);
  }
  Leave();
  return freed;
}

Status Worker::FreeTensor(ResidentTensor& tensor, const Interrupt& interrupt) {
  const WorkerEntry entry(*this, interrupt);
  PYPTO_RETURN_IF_ERROR(entry.status());
  if (tensor.worker_id() != id_) return state_->registry().ExplainDead("free_tensor: the argument", tensor);
  if (tensor.is_view()) {
    return MakeStatus(StatusCode::kInvalidArgument, "free_tensor: %s is a view, it owns no memory; free its base",
                      DescribeTensor(tensor).c_str());
  }
  if (!tensor.is_alive()) return base::OkStatus();
  PYPTO_RETURN_IF_ERROR(state_->CheckUsable());
  state_->TakeInDropped();
  PYPTO_RETURN_IF_ERROR(state_->WaitIdleIfBusy(interrupt));
  EndTensorEpoch();
  state_->registry().RemoveTensor(tensor);
  const acl::ContextScope scope(state_->table(), state_->session().context());
  return state_->allocator().Free(tensor.address());
}

Result<TensorRef> Worker::ViewRows(ResidentTensor& tensor, int64_t begin, int64_t end, const Interrupt& interrupt) {
  const WorkerEntry entry(*this, interrupt);
  PYPTO_RETURN_IF_ERROR(entry.status());
  PYPTO_RETURN_IF_ERROR(state_->registry().CheckTensor("slicing: the base", tensor));
  if (begin < 0 || end <= begin || end > tensor.shape()[0]) {
    return MakeStatus(StatusCode::kInvalidArgument,
                      "rows [%lld, %lld) do not lie inside the %lld rows of %s: a view needs at least one whole row",
                      static_cast<long long>(begin), static_cast<long long>(end),
                      static_cast<long long>(tensor.shape()[0]), DescribeTensor(tensor).c_str());
  }
  return state_->registry().MakeView(tensor, begin, end);
}

Status Worker::CopyFromHost(ResidentTensor& tensor, const HostTensorView& source, const Interrupt& interrupt) {
  const WorkerEntry entry(*this, interrupt);
  PYPTO_RETURN_IF_ERROR(entry.status());
  return CopyFromHostEntered(tensor, source, interrupt);
}

Status Worker::CopyToHost(ResidentTensor& tensor, const HostTensorView& destination, const Interrupt& interrupt) {
  const WorkerEntry entry(*this, interrupt);
  PYPTO_RETURN_IF_ERROR(entry.status());
  return CopyToHostEntered(tensor, destination, interrupt);
}

bool Worker::IsBusyEntered() const noexcept { return state_->is_open() && state_->stream_busy(); }

Status Worker::CopyFromHostEntered(ResidentTensor& tensor, const HostTensorView& source, const Interrupt& interrupt) {
  PYPTO_RETURN_IF_ERROR(state_->CheckUsable());
  PYPTO_RETURN_IF_ERROR(state_->registry().CheckTensor("copy_from_host: the tensor", tensor));
  PYPTO_RETURN_IF_ERROR(CheckSame("copy_from_host", tensor.shape(), tensor.dtype(), source));
  PYPTO_RETURN_IF_ERROR(state_->WaitIdleIfBusy(interrupt));
  const acl::ContextScope scope(state_->table(), state_->session().context());
  PYPTO_RETURN_IF_ERROR(scope.status());
  return Upload(state_.get(), tensor.address(), source.data, tensor.bytes());
}

Status Worker::CopyToHostEntered(ResidentTensor& tensor, const HostTensorView& destination,
                                 const Interrupt& interrupt) {
  PYPTO_RETURN_IF_ERROR(state_->CheckUsable());
  PYPTO_RETURN_IF_ERROR(state_->registry().CheckTensor("to_host: the tensor", tensor));
  PYPTO_RETURN_IF_ERROR(CheckSame("to_host", tensor.shape(), tensor.dtype(), destination));
  PYPTO_RETURN_IF_ERROR(state_->WaitIdleIfBusy(interrupt));
  const acl::ContextScope scope(state_->table(), state_->session().context());
  PYPTO_RETURN_IF_ERROR(scope.status());
  return Download(state_.get(), destination.data, tensor.address(), tensor.bytes());
}

Result<MemoryInfo> Worker::GetMemoryInfo(const Interrupt& interrupt) {
  const WorkerEntry entry(*this, interrupt);
  PYPTO_RETURN_IF_ERROR(entry.status());
  PYPTO_RETURN_IF_ERROR(state_->CheckUsable());
  state_->TakeInDropped();
  const acl::ContextScope scope(state_->table(), state_->session().context());
  PYPTO_RETURN_IF_ERROR(scope.status());
  PYPTO_ASSIGN_OR_RETURN(const acl::MemoryInfo device, acl::QueryMemory(state_->table()));
  const DeviceAllocator& allocator = state_->allocator();
  MemoryInfo info;
  info.free = device.free;
  info.total = device.total;
  info.resident = allocator.bytes(MemoryKind::kResident);
  info.staging = allocator.bytes(MemoryKind::kStaging);
  info.workspace = allocator.bytes(MemoryKind::kWorkspace);
  info.programs = allocator.bytes(MemoryKind::kPrograms);
  info.cached = allocator.cached_bytes();
  return info;
}

Status Worker::Trim(const Interrupt& interrupt) {
  const WorkerEntry entry(*this, interrupt);
  PYPTO_RETURN_IF_ERROR(entry.status());
  PYPTO_RETURN_IF_ERROR(state_->CheckUsable());
  state_->TakeInDropped();
  const acl::ContextScope scope(state_->table(), state_->session().context());
  PYPTO_RETURN_IF_ERROR(scope.status());
  PYPTO_RETURN_IF_ERROR(state_->allocator().Trim());
  if (!state_->table().is_mock()) return base::OkStatus();
  // The mock keeps the pages of freed blocks until it is told.
  void* give_back = state_->LibrarySymbol("mock_give_back");
  if (give_back != nullptr) reinterpret_cast<void (*)()>(give_back)();
  return base::OkStatus();
}

}  // namespace pypto::runtime
