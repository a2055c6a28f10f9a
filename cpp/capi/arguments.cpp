// Arguments that are no resident tensors, and what is wrong with one.
#include "arguments.h"

#include "pypto/program/dtype.h"
#include "pypto/runtime/worker.h"

namespace pypto::capi {

using runtime::ArgumentView;

const ArgumentView* ArgumentList::ReadOther(const pypto_argument& argument, ArgumentView* view) noexcept {
  switch (argument.kind) {
    case PYPTO_ARGUMENT_INT: return new (view) ArgumentView(ArgumentView::Int(argument.value.int_value));
    case PYPTO_ARGUMENT_FLOAT: return new (view) ArgumentView(ArgumentView::Float(argument.value.float_value));
    case PYPTO_ARGUMENT_HOST: break;
    default: return nullptr;
  }
  if (argument.dtype >= static_cast<uint32_t>(program::kDTypeCount) || argument.rank > PYPTO_MAX_RANK) return nullptr;
  if (argument.rank != 0 && argument.shape == nullptr) return nullptr;
  return new (view)
      ArgumentView(ArgumentView::Host(argument.value.data, argument.shape, static_cast<uint8_t>(argument.rank),
                                      static_cast<program::DType>(argument.dtype)));
}

pypto_status ArgumentList::RefuseArgument(const pypto_argument& argument, size_t index, uint64_t worker_id) {
  const std::string what = "argument " + std::to_string(index);
  if (argument.kind == PYPTO_ARGUMENT_TENSOR) {
    const uint64_t handle = BitsOf(argument.value.tensor);
    const Slot* slot = detail::FindSlot(handle);
    const bool live = slot != nullptr && handle != 0 && slot->handle.load(std::memory_order_acquire) == handle;
    const bool foreign =
        live && KindOf(handle) == Kind::kTensor && slot->owner.load(std::memory_order_relaxed) != worker_id;
    if (!foreign) return RefuseHandle(handle, Kind::kTensor, what.c_str());
    return Refuse("%s is a tensor of another worker; tensors belong to the worker that allocated them", what.c_str());
  }
  if (argument.kind > PYPTO_ARGUMENT_FLOAT) {
    return Refuse("%s: %u is no pypto_argument_kind", what.c_str(), argument.kind);
  }
  if (argument.dtype >= static_cast<uint32_t>(program::kDTypeCount)) {
    return Refuse("%s: %u is no pypto_dtype: it must be below %d", what.c_str(), argument.dtype, program::kDTypeCount);
  }
  if (argument.rank > PYPTO_MAX_RANK) {
    return Refuse("%s has rank %u; at most %d dims are possible", what.c_str(), argument.rank, PYPTO_MAX_RANK);
  }
  return Refuse("%s: the shape must not be null", what.c_str());
}

ArgumentView* ArgumentList::Grow(size_t count) {
  more_ = std::make_unique<ArgumentView[]>(count);
  return more_.get();
}

}  // namespace pypto::capi
