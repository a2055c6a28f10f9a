// Every live resident allocation of a worker: tensors and raw buffers, by address.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "pypto/base/status.h"
#include "pypto/runtime/free_queue.h"
#include "pypto/runtime/resident_tensor.h"

namespace pypto::runtime {

// Knows addresses, asks no library for anything. Owned by a worker. Thread rule: inside the worker's gate, except the
// queue.
class TensorRegistry {
 public:
  explicit TensorRegistry(uint64_t worker_id);
  TensorRegistry(const TensorRegistry&) = delete;
  TensorRegistry& operator=(const TensorRegistry&) = delete;

  // A new opening of the worker; 0 when it is closed.
  void SetSession(uint64_t session) noexcept { session_ = session; }
  uint64_t session() const noexcept { return session_; }

  // Owner of [address, address + bytes) from now on. At most kMaxTensorRank dims.
  TensorRef AddTensor(uint64_t address, uint64_t bytes, std::span<const int64_t> shape, program::DType dtype);
  void AddRaw(uint64_t address, uint64_t bytes);
  // Rows [begin, end) of a live tensor with at least one row.
  TensorRef MakeView(ResidentTensor& tensor, int64_t begin, int64_t end);

  // Marks the owner of memory as freed and forgets it; the caller frees the memory.
  void RemoveTensor(ResidentTensor& tensor);
  // The start of a raw allocation; kInvalidArgument says what the address is instead.
  base::Status RemoveRaw(uint64_t address);
  // [address, address + bytes) inside one live allocation, or kInvalidArgument with that allocation's bounds.
  base::Status CheckRange(const char* what, uint64_t address, uint64_t bytes) const;
  // Success for a live tensor of this worker, else why it is not. `what` names it: "argument 'x' of k".
  base::Status CheckTensor(const char* what, const ResidentTensor& tensor) const {
    if (tensor.session() == session_ && session_ != 0) [[likely]]
      return base::OkStatus();
    return ExplainDead(what, tensor);
  }
  [[gnu::cold]] base::Status ExplainDead(const char* what, const ResidentTensor& tensor) const;

  // "tensor [256] DT_FP32" for the start of a live one.
  std::string NameOf(uint64_t address) const;

  // Whether dropped tensors wait to be freed: one relaxed load.
  bool HasDropped() const noexcept { return queue_->pending(); }
  // Forgets tensors whose last reference is gone; the caller frees the memory at these addresses.
  std::vector<uint64_t> TakeDropped();

  struct Held {
    size_t count = 0;
    uint64_t bytes = 0;
  };
  // The worker closes: every tensor is dead, every entry forgotten. Says what was still held by somebody.
  Held KillAll();
  size_t size() const noexcept { return entries_.size() - (vacant_ != entries_.end() ? 1 : 0); }

 private:
  struct Entry {
    uint64_t bytes = 0;
    ResidentTensor* tensor = nullptr;  // null: a raw buffer
  };
  // Of live allocations: the one that starts there, and the one that holds the address.
  std::map<uint64_t, Entry>::const_iterator StartingAt(uint64_t address) const;
  std::map<uint64_t, Entry>::const_iterator Containing(uint64_t address) const;
  void Add(uint64_t address, const Entry& entry);
  void Erase(uint64_t address);
  static std::string DescribeEntry(uint64_t address, const Entry& entry);

  uint64_t worker_id_;
  uint64_t session_ = 0;
  std::shared_ptr<FreeQueue> queue_ = std::make_shared<FreeQueue>();
  std::map<uint64_t, Entry> entries_;
  // Tensors that come and go take the place of the one that went before: its entry stays, with 0 bytes, until another
  // one goes, so that neither end searches or changes the tree, however many are alive.
  std::map<uint64_t, Entry>::iterator last_added_ = entries_.end();
  std::map<uint64_t, Entry>::iterator vacant_ = entries_.end();
};

}  // namespace pypto::runtime
