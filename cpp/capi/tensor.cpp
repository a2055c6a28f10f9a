// Resident tensors.
#include "fence.h"
#include "objects.h"

using namespace pypto::capi;  // NOLINT(google-build-using-namespace)
using pypto::base::MakeStatus;
using pypto::base::StatusCode;
using pypto::program::DType;
using pypto::runtime::HostTensorView;
using pypto::runtime::ResidentTensor;

namespace {

void GiveTensor(const std::shared_ptr<pypto::runtime::Worker>& worker, pypto::runtime::TensorRef made,
                pypto_tensor** out) {
  ResidentTensor* record = made.get();
  auto object = std::make_unique<TensorObject>(worker, std::move(made));
  GiveHandle(AddObject(Kind::kTensor, std::move(object), record, worker->id()), out);
}

// Host memory of the whole tensor; the runtime does not write through a source.
HostTensorView Whole(const ResidentTensor& tensor, const void* data) {
  return {const_cast<void*>(data), tensor.shape(), tensor.dtype()};
}

pypto_status CheckBytes(const char* what, const ResidentTensor& tensor, size_t bytes) {
  if (bytes == tensor.bytes()) return PYPTO_OK;
  return Refuse("%s: %zu bytes were given, %s has %llu", what, bytes, pypto::runtime::DescribeTensor(tensor).c_str(),
                static_cast<unsigned long long>(tensor.bytes()));
}

}  // namespace

extern "C" {

pypto_status pypto_tensor_alloc(pypto_worker* worker, uint32_t dtype, const int64_t* shape, size_t rank,
                                const void* init, pypto_tensor** tensor) {
  return Fence([&]() -> pypto_status {
    const Pin<WorkerObject> pin(worker);
    if (!pin) return pin.Refused();
    PYPTO_REQUIRE(tensor);
    if (rank != 0) PYPTO_REQUIRE(shape);
    if (dtype >= static_cast<uint32_t>(pypto::program::kDTypeCount)) {
      return Report(MakeStatus(StatusCode::kTypeMismatch, "%u is no pypto_dtype: it must be below %d", dtype,
                               pypto::program::kDTypeCount));
    }
    const auto element = static_cast<DType>(dtype);
    const HostTensorView view{const_cast<void*>(init), {shape, rank}, element};
    auto made = pin->worker->AllocTensor({shape, rank}, element, init != nullptr ? &view : nullptr);
    if (!made.ok()) return Report(made.status());
    GiveTensor(pin->worker, std::move(made).value(), tensor);
    return PYPTO_OK;
  });
}

pypto_status pypto_tensor_view_rows(pypto_tensor* tensor, int64_t begin, int64_t end, pypto_tensor** view) {
  return Fence([&]() -> pypto_status {
    const Pin<TensorObject> pin(tensor);
    if (!pin) return pin.Refused();
    PYPTO_REQUIRE(view);
    auto made = pin->worker->ViewRows(*pin->tensor, begin, end);
    if (!made.ok()) return Report(made.status());
    GiveTensor(pin->worker, std::move(made).value(), view);
    return PYPTO_OK;
  });
}

pypto_status pypto_tensor_upload(pypto_tensor* tensor, const void* source, size_t bytes) {
  return Fence([&]() -> pypto_status {
    const Pin<TensorObject> pin(tensor);
    if (!pin) return pin.Refused();
    PYPTO_REQUIRE(source);
    const pypto_status status = CheckBytes("pypto_tensor_upload", *pin->tensor, bytes);
    if (status != PYPTO_OK) return status;
    return Report(pin->worker->CopyFromHost(*pin->tensor, Whole(*pin->tensor, source)));
  });
}

pypto_status pypto_tensor_download(pypto_tensor* tensor, void* destination, size_t bytes) {
  return Fence([&]() -> pypto_status {
    const Pin<TensorObject> pin(tensor);
    if (!pin) return pin.Refused();
    PYPTO_REQUIRE(destination);
    const pypto_status status = CheckBytes("pypto_tensor_download", *pin->tensor, bytes);
    if (status != PYPTO_OK) return status;
    return Report(pin->worker->CopyToHost(*pin->tensor, Whole(*pin->tensor, destination)));
  });
}

pypto_status pypto_tensor_free(pypto_tensor* tensor) {
  return Fence([&]() -> pypto_status {
    const Pin<TensorObject> pin(tensor);
    if (!pin) return pin.Refused();
    return Report(pin->worker->FreeTensor(*pin->tensor));
  });
}

pypto_status pypto_tensor_release(pypto_tensor* tensor) {
  if (tensor == nullptr) return PYPTO_OK;
  return Fence([&]() -> pypto_status {
    const Pin<TensorObject> pin(tensor);
    if (!pin) return pin.Refused();
    bool removed = false;
    {
      // Launches look at tensors inside the worker, without a pin: none of them is under way then.
      const pypto::runtime::WorkerEntry entry(*pin->worker);
      pin->worker->EndTensorEpoch();
      removed = Invalidate(pin.handle());
    }
    if (!removed) return pin.Refused();
    Reclaim(pin.handle()).reset();
    return PYPTO_OK;
  });
}

pypto_status pypto_tensor_get_info(pypto_tensor* tensor, pypto_tensor_info* info) {
  return Fence([&]() -> pypto_status {
    const Pin<TensorObject> pin(tensor);
    if (!pin) return pin.Refused();
    const ResidentTensor& record = *pin->tensor;
    pypto_tensor_info value{};
    value.dtype = static_cast<uint32_t>(record.dtype());
    value.rank = static_cast<uint32_t>(record.rank());
    value.is_alive = record.is_alive() ? 1 : 0;
    value.is_view = record.is_view() ? 1 : 0;
    value.address = record.address();
    value.bytes = record.bytes();
    value.worker_id = record.worker_id();
    static_assert(pypto::runtime::kMaxTensorRank == PYPTO_MAX_RANK);
    for (int i = 0; i < record.rank(); ++i) value.shape[i] = record.shape()[static_cast<size_t>(i)];
    return WriteStruct("pypto_tensor_info", value, info);
  });
}

}  // extern "C"
