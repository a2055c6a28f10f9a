// Comparing descriptions of tensors word by word.
#include "host_repeat.h"

#include <algorithm>
#include <cstring>

#include "device_tensor.h"
#include "host_tensor.h"

namespace pypto::bindings {
namespace {

// Kind and number of the device; rank and dtype.
uint64_t DeviceWord(const dlpack::Tensor& tensor) noexcept {
  uint64_t word = 0;
  std::memcpy(&word, &tensor.device, sizeof(word));
  return word;
}

uint64_t KindWord(const dlpack::Tensor& tensor) noexcept {
  static_assert(offsetof(dlpack::Tensor, dtype) == offsetof(dlpack::Tensor, ndim) + sizeof(tensor.ndim));
  uint64_t word = 0;
  std::memcpy(&word, &tensor.ndim, sizeof(word));
  return word;
}

}  // namespace

void HostRepeat::Note(const program::Plan& plan, const Arguments& arguments, uint64_t number) noexcept {
  count_ = 0;
  const size_t count = arguments.size();
  if (number == 0 || count > kMost || count != plan.parameters.size()) return;
  for (size_t i = 0; i < count; ++i) {
    const runtime::ArgumentView& view = arguments.views()[i];
    Pattern& pattern = patterns_[i];
    pattern.host = view.kind == runtime::ArgumentKind::kHost;
    if (view.kind == runtime::ArgumentKind::kResident) continue;
    const dlpack::Tensor* tensor = arguments.TensorOfTorch(i);
    if (!pattern.host || tensor == nullptr || tensor->data == nullptr || tensor->strides == nullptr) return;
    pattern.written = IsWritten(plan.parameters[i]);
    pattern.device = DeviceWord(*tensor);
    pattern.kind = KindWord(*tensor);
    std::copy_n(tensor->shape, tensor->ndim, pattern.dims.begin());
    std::copy_n(tensor->strides, tensor->ndim, pattern.strides.begin());
  }
  number_ = number;
  count_ = count;
}

inline bool HostRepeat::IsLike(const Pattern& pattern, const dlpack::Tensor& tensor) noexcept {
  if (DeviceWord(tensor) != pattern.device || KindWord(tensor) != pattern.kind || tensor.strides == nullptr)
    return false;
  for (int32_t i = 0; i < tensor.ndim; ++i) {
    if (tensor.shape[i] != pattern.dims[i] || tensor.strides[i] != pattern.strides[i]) return false;
  }
  return tensor.data != nullptr;
}

bool HostRepeat::Read(PyObject* const* objects, size_t count, runtime::RepeatArgument* out) const noexcept {
  if (count != count_) return false;
  const Pattern* pattern = patterns_.data();
  for (size_t i = 0; i < count; ++i, ++pattern) {
    PyObject* object = objects[i];
    if (!pattern->host) {
      if (!IsDeviceTensor(object)) return false;
      out[i] = {ResidentOf(object), nullptr};
      continue;
    }
    dlpack::Tensor tensor;
    if (!DescribeTorch(object, &tensor) || !IsLike(*pattern, tensor)) return false;
    if (pattern->written && TorchRequiresGrad(object)) return false;
    out[i] = {nullptr, static_cast<char*>(tensor.data) + tensor.byte_offset};
  }
  return true;
}

}  // namespace pypto::bindings
