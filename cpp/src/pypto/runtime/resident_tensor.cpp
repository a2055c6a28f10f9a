// Life of a tensor record after its last reference, and its text.
#include "pypto/runtime/resident_tensor.h"

#include <cinttypes>

#include "pypto/base/status.h"
#include "pypto/runtime/free_queue.h"

namespace pypto::runtime {

uint64_t ResidentTensor::NextSerial() noexcept {
  static std::atomic<uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

void ResidentTensor::LastReferenceGone() noexcept {
  if (is_view()) {
    ResidentTensor* base = base_;
    delete this;
    base->DropReference();
    return;
  }
  const std::shared_ptr<FreeQueue> queue = queue_;
  queue->Put(this);
}

FreeQueue::~FreeQueue() {
  for (ResidentTensor* tensor : waiting_) delete tensor;
}

void FreeQueue::Put(ResidentTensor* tensor) noexcept {
  // The record holds the queue: when it is deleted under the lock, the caller's own reference keeps the queue.
  const std::lock_guard<std::mutex> lock(mutex_);
  if (tensor->session() == 0) {
    delete tensor;
    return;
  }
  tensor->queue_.reset();  // the waiting record must not keep the queue that keeps it
  waiting_.push_back(tensor);
  pending_.store(true, std::memory_order_relaxed);
}

std::vector<ResidentTensor*> FreeQueue::Take() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return TakeLocked();
}

std::vector<ResidentTensor*> FreeQueue::TakeLocked() {
  pending_.store(false, std::memory_order_relaxed);
  return std::exchange(waiting_, {});
}

std::string ShapeText(std::span<const int64_t> shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i != 0) text += ", ";
    text += std::to_string(shape[i]);
  }
  return text + "]";
}

std::string DescribeTensor(const ResidentTensor& tensor) {
  const std::string_view dtype = program::InfoOf(tensor.dtype()).name;
  return base::Format("DeviceTensor %s %.*s at 0x%" PRIx64, ShapeText(tensor.shape()).c_str(),
                      static_cast<int>(dtype.size()), dtype.data(), tensor.address());
}

}  // namespace pypto::runtime
