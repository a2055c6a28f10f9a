// Arguments of a launch as the C ABI gives them, read into views for the runtime.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "fence.h"
#include "pypto/runtime/argument_view.h"

namespace pypto::capi {

// On the stack of a call; allocates only above kInPlace arguments.
// Thread rule: Read inside the worker of the launch, so that its tensors cannot be released meanwhile.
class ArgumentList {
 public:
  ArgumentList() noexcept {}  // the storage stays as it is: it is written before it is read
  ArgumentList(const ArgumentList&) = delete;
  ArgumentList& operator=(const ArgumentList&) = delete;
  ~ArgumentList() = default;

  // `worker_id` is the number of the launch's worker.
  pypto_status Read(const pypto_argument* arguments, size_t count, uint64_t worker_id) {
    runtime::ArgumentView* views = in_place_;
    if (count > kInPlace) [[unlikely]]
      views = Grow(count);
    for (size_t i = 0; i < count; ++i) {
      const pypto_argument& argument = arguments[i];
      const runtime::ArgumentView* made = nullptr;
      if (argument.kind == PYPTO_ARGUMENT_TENSOR) {
        runtime::ResidentTensor* tensor = TensorOf(BitsOf(argument.value.tensor), worker_id);
        if (tensor != nullptr) [[likely]]
          made = new (&views[i]) runtime::ArgumentView(runtime::ArgumentView::Resident(tensor));
      } else {
        made = ReadOther(argument, &views[i]);
      }
      if (made == nullptr) [[unlikely]]
        return RefuseArgument(argument, i, worker_id);
    }
    views_ = {views, count};
    return PYPTO_OK;
  }
  std::span<const runtime::ArgumentView> views() const noexcept { return views_; }

  // The record of a live tensor of that worker, else null. The handle is compared again behind what it names: a slot
  // may be given to another tensor at any time, unless it belongs to a tensor of this worker.
  static runtime::ResidentTensor* TensorOf(uint64_t handle, uint64_t worker_id) noexcept {
    const Slot* slot = detail::FindSlot(handle);
    if (slot == nullptr || KindOf(handle) != Kind::kTensor) return nullptr;
    if (slot->handle.load(std::memory_order_acquire) != handle) return nullptr;
    const uint64_t owner = slot->owner.load(std::memory_order_acquire);
    void* record = slot->record.load(std::memory_order_acquire);
    if (slot->handle.load(std::memory_order_relaxed) != handle || owner != worker_id) return nullptr;
    return static_cast<runtime::ResidentTensor*>(record);
  }

 private:
  static constexpr size_t kInPlace = 24;

  static const runtime::ArgumentView* ReadOther(const pypto_argument& argument, runtime::ArgumentView* view) noexcept;
  [[gnu::cold]] static pypto_status RefuseArgument(const pypto_argument& argument, size_t index, uint64_t worker_id);
  [[gnu::cold]] runtime::ArgumentView* Grow(size_t count);

  union {
    runtime::ArgumentView in_place_[kInPlace];
  };
  std::unique_ptr<runtime::ArgumentView[]> more_;
  std::span<const runtime::ArgumentView> views_;
};

}  // namespace pypto::capi
