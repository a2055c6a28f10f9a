// The record of a resident tensor: where it lies, what it looks like, whether it is alive.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "pypto/base/export.h"
#include "pypto/program/dtype.h"

namespace pypto::runtime {

// Most dims of a resident tensor.
inline constexpr int kMaxTensorRank = 8;

class FreeQueue;

// Why a tensor is not alive any more.
enum class TensorState : uint8_t { kAlive, kFreed, kWorkerClosed };

// Counted by TensorRef (intrusive; atomic). When the last reference goes, the memory of a live tensor is given to the
// worker's queue of frees, from any thread; a record outlives its worker safely. A view keeps its base by a reference
// and shares its life: freeing the base kills it.
// Thread rule: everything that can be read is immutable, except the state, which is atomic.
class PYPTO_API ResidentTensor {
 public:
  ResidentTensor(const ResidentTensor&) = delete;
  ResidentTensor& operator=(const ResidentTensor&) = delete;

  uint64_t address() const noexcept { return address_; }
  uint64_t bytes() const noexcept { return bytes_; }
  int rank() const noexcept { return rank_; }
  std::span<const int64_t> shape() const noexcept { return {shape_.data(), static_cast<size_t>(rank_)}; }
  program::DType dtype() const noexcept { return dtype_; }
  bool is_view() const noexcept { return base_ != this; }
  // Names the record: no two of the process have the same one, also when they lie at the same place.
  uint64_t serial() const noexcept { return serial_; }
  // Number of the worker that made it; unique in the process.
  uint64_t worker_id() const noexcept { return worker_id_; }

  bool is_alive() const noexcept { return session() != 0; }
  TensorState state() const noexcept { return base_->state_.load(std::memory_order_relaxed); }
  // The opening of a worker that the memory belongs to, 0 when it is gone: the liveness test of a dispatch.
  uint64_t session() const noexcept { return base_->session_.load(std::memory_order_relaxed); }

  void AddReference() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
  void DropReference() noexcept {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) LastReferenceGone();
  }

 private:
  friend class TensorRegistry;
  friend class FreeQueue;
  ResidentTensor() : serial_(NextSerial()) {}
  ~ResidentTensor() = default;
  static uint64_t NextSerial() noexcept;
  void LastReferenceGone() noexcept;

  ResidentTensor* base_ = this;  // itself, or the owner of the memory, which a view holds a reference to
  uint64_t address_ = 0;
  uint64_t bytes_ = 0;
  std::array<int64_t, kMaxTensorRank> shape_{};
  uint8_t rank_ = 0;
  program::DType dtype_ = program::DType::kFp32;
  std::atomic<TensorState> state_{TensorState::kAlive};
  std::atomic<uint64_t> session_{0};
  std::atomic<uint32_t> references_{1};
  const uint64_t serial_;
  uint64_t worker_id_ = 0;
  std::shared_ptr<FreeQueue> queue_;  // of an owner of memory
};

// Owning reference to a ResidentTensor. Thread rule: as std::shared_ptr.
class TensorRef {
 public:
  TensorRef() noexcept = default;
  // Takes over one reference.
  static TensorRef Adopt(ResidentTensor* tensor) noexcept {
    TensorRef ref;
    ref.tensor_ = tensor;
    return ref;
  }
  // Adds a reference.
  static TensorRef Share(ResidentTensor* tensor) noexcept {
    if (tensor != nullptr) tensor->AddReference();
    return Adopt(tensor);
  }
  TensorRef(const TensorRef& other) noexcept : tensor_(other.tensor_) {
    if (tensor_ != nullptr) tensor_->AddReference();
  }
  TensorRef(TensorRef&& other) noexcept : tensor_(std::exchange(other.tensor_, nullptr)) {}
  TensorRef& operator=(TensorRef other) noexcept {
    std::swap(tensor_, other.tensor_);
    return *this;
  }
  ~TensorRef() {
    if (tensor_ != nullptr) tensor_->DropReference();
  }

  ResidentTensor* get() const noexcept { return tensor_; }
  ResidentTensor* operator->() const noexcept { return tensor_; }
  ResidentTensor& operator*() const noexcept { return *tensor_; }
  explicit operator bool() const noexcept { return tensor_ != nullptr; }
  // Gives the reference away.
  ResidentTensor* Release() noexcept { return std::exchange(tensor_, nullptr); }

 private:
  ResidentTensor* tensor_ = nullptr;
};

// "[1024, 4096]"
PYPTO_API std::string ShapeText(std::span<const int64_t> shape);
// "DeviceTensor [1024, 4096] FP16 at 0x…"
PYPTO_API std::string DescribeTensor(const ResidentTensor& tensor);

}  // namespace pypto::runtime
