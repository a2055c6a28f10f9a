// Records of resident allocations and the texts of wrong addresses.
#include "pypto/runtime/tensor_registry.h"

#include <algorithm>
#include <cinttypes>
#include <utility>

namespace pypto::runtime {

using base::MakeStatus;
using base::Status;
using base::StatusCode;

TensorRegistry::TensorRegistry(uint64_t worker_id) : worker_id_(worker_id) {}

TensorRef TensorRegistry::AddTensor(uint64_t address, uint64_t bytes, std::span<const int64_t> shape,
                                    program::DType dtype) {
  auto* tensor = new ResidentTensor();
  tensor->address_ = address;
  tensor->bytes_ = bytes;
  std::copy(shape.begin(), shape.end(), tensor->shape_.begin());
  tensor->rank_ = static_cast<uint8_t>(shape.size());
  tensor->dtype_ = dtype;
  tensor->worker_id_ = worker_id_;
  tensor->queue_ = queue_;
  tensor->session_.store(session_, std::memory_order_relaxed);
  Add(address, Entry{bytes, tensor});
  return TensorRef::Adopt(tensor);
}

void TensorRegistry::AddRaw(uint64_t address, uint64_t bytes) { Add(address, Entry{bytes, nullptr}); }

void TensorRegistry::Add(uint64_t address, const Entry& entry) {
  const auto vacant = std::exchange(vacant_, entries_.end());
  if (vacant != entries_.end() && vacant->first == address) {
    vacant->second = entry;
    last_added_ = vacant;
    return;
  }
  const auto after = vacant != entries_.end() ? entries_.erase(vacant) : vacant;
  last_added_ = entries_.emplace_hint(after, address, entry);
}

void TensorRegistry::Erase(uint64_t address) {
  const bool is_last = last_added_ != entries_.end() && last_added_->first == address;
  const auto found = is_last ? last_added_ : entries_.find(address);
  if (found == entries_.end() || found == vacant_) return;
  last_added_ = entries_.end();
  if (vacant_ != entries_.end()) entries_.erase(vacant_);
  found->second = Entry{};
  vacant_ = found;
}

TensorRef TensorRegistry::MakeView(ResidentTensor& tensor, int64_t begin, int64_t end) {
  const uint64_t row_bytes = tensor.bytes() / static_cast<uint64_t>(tensor.shape()[0]);
  auto* view = new ResidentTensor();
  view->base_ = tensor.base_;
  view->base_->AddReference();
  view->address_ = tensor.address() + static_cast<uint64_t>(begin) * row_bytes;
  view->bytes_ = static_cast<uint64_t>(end - begin) * row_bytes;
  view->shape_ = tensor.shape_;
  view->shape_[0] = end - begin;
  view->rank_ = tensor.rank_;
  view->dtype_ = tensor.dtype_;
  view->worker_id_ = tensor.worker_id_;
  return TensorRef::Adopt(view);
}

void TensorRegistry::RemoveTensor(ResidentTensor& tensor) {
  tensor.state_.store(TensorState::kFreed, std::memory_order_relaxed);
  tensor.session_.store(0, std::memory_order_relaxed);
  Erase(tensor.address());
}

Status TensorRegistry::RemoveRaw(uint64_t address) {
  const auto found = StartingAt(address);
  if (found != entries_.end() && found->second.tensor == nullptr) {
    Erase(address);
    return base::OkStatus();
  }
  if (found != entries_.end()) {
    return MakeStatus(StatusCode::kInvalidArgument,
                      "cannot free 0x%" PRIx64 ": it belongs to a %s; free it with free_tensor", address,
                      DescribeTensor(*found->second.tensor).c_str());
  }
  const auto around = Containing(address);
  if (around != entries_.end()) {
    return MakeStatus(StatusCode::kInvalidArgument,
                      "cannot free 0x%" PRIx64 ": it lies inside %s; only the start of an allocation can be freed",
                      address, DescribeEntry(around->first, around->second).c_str());
  }
  return MakeStatus(StatusCode::kInvalidArgument,
                    "cannot free 0x%" PRIx64
                    ": it is no live allocation of this worker (freed already, of another "
                    "worker, or never allocated)",
                    address);
}

std::map<uint64_t, TensorRegistry::Entry>::const_iterator TensorRegistry::StartingAt(uint64_t address) const {
  const auto found = entries_.find(address);
  return found == vacant_ ? entries_.end() : found;
}

std::map<uint64_t, TensorRegistry::Entry>::const_iterator TensorRegistry::Containing(uint64_t address) const {
  auto after = entries_.upper_bound(address);
  if (after == entries_.begin()) return entries_.end();
  --after;
  // Its memory may belong to an allocation that starts before it by now.
  if (after == vacant_) {
    if (after == entries_.begin()) return entries_.end();
    --after;
  }
  return address - after->first < after->second.bytes ? after : entries_.end();
}

std::string TensorRegistry::DescribeEntry(uint64_t address, const Entry& entry) {
  return base::Format("the %s allocation [0x%" PRIx64 ", 0x%" PRIx64 ") of %" PRIu64 " bytes",
                      entry.tensor != nullptr ? "tensor" : "raw", address, address + entry.bytes, entry.bytes);
}

Status TensorRegistry::CheckRange(const char* what, uint64_t address, uint64_t bytes) const {
  const auto around = Containing(address);
  if (around == entries_.end()) {
    return MakeStatus(StatusCode::kInvalidArgument,
                      "%s 0x%" PRIx64
                      " lies in no live allocation of this worker (freed, of another worker, or never "
                      "allocated)",
                      what, address);
  }
  const uint64_t left = around->second.bytes - (address - around->first);
  if (bytes <= left) return base::OkStatus();
  return MakeStatus(StatusCode::kInvalidArgument,
                    "%s 0x%" PRIx64 " with %" PRIu64 " bytes leaves %s: %" PRIu64 " bytes are left from there", what,
                    address, bytes, DescribeEntry(around->first, around->second).c_str(), left);
}

Status TensorRegistry::ExplainDead(const char* what, const ResidentTensor& tensor) const {
  const std::string text = DescribeTensor(tensor);
  if (tensor.worker_id() != worker_id_) {
    return MakeStatus(StatusCode::kInvalidArgument,
                      "%s is a %s of another worker; tensors belong to the worker that "
                      "allocated them",
                      what, text.c_str());
  }
  if (tensor.state() == TensorState::kWorkerClosed || session_ == 0) {
    return MakeStatus(StatusCode::kInvalidArgument,
                      "%s is a %s whose worker was closed since it was allocated; allocate it again", what,
                      text.c_str());
  }
  const auto around = Containing(tensor.address());
  const char* reused = around != entries_.end() ? "; its address belongs to another allocation now" : "";
  return MakeStatus(StatusCode::kInvalidArgument, "%s is a %s that was freed%s%s", what, text.c_str(),
                    tensor.is_view() ? " (a view ends with its base)" : "", reused);
}

std::string TensorRegistry::NameOf(uint64_t address) const {
  const auto found = StartingAt(address);
  if (found == entries_.end() || found->second.tensor == nullptr) return "raw buffer";
  const ResidentTensor& tensor = *found->second.tensor;
  return "tensor " + ShapeText(tensor.shape()) + " DT_" + std::string(program::InfoOf(tensor.dtype()).name);
}

std::vector<uint64_t> TensorRegistry::TakeDropped() {
  std::vector<uint64_t> addresses;
  for (ResidentTensor* tensor : queue_->Take()) {
    addresses.push_back(tensor->address());
    Erase(tensor->address());
    delete tensor;
  }
  return addresses;
}

TensorRegistry::Held TensorRegistry::KillAll() {
  Held held;
  const std::lock_guard<std::mutex> lock(queue_->mutex());
  for (ResidentTensor* tensor : queue_->TakeLocked()) {
    Erase(tensor->address());
    delete tensor;
  }
  for (const auto& [address, entry] : entries_) {
    if (entry.bytes == 0) continue;  // vacant
    held.count += 1;
    held.bytes += entry.bytes;
    if (entry.tensor == nullptr) continue;
    entry.tensor->state_.store(TensorState::kWorkerClosed, std::memory_order_relaxed);
    entry.tensor->session_.store(0, std::memory_order_relaxed);
  }
  entries_.clear();
  last_added_ = vacant_ = entries_.end();
  session_ = 0;
  return held;
}

}  // namespace pypto::runtime
