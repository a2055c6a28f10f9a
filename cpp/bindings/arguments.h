// The arguments of one dispatch, read from Python objects into what the runtime takes.
#pragma once

#include <Python.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "host_tensor.h"
#include "pypto/program/plan.h"
#include "pypto/runtime/argument_view.h"

namespace pypto::bindings {

inline bool IsWritten(const program::PlanParameter& parameter) noexcept {
  return parameter.direction == program::Direction::kOut || parameter.direction == program::Direction::kInOut;
}

// Lives on the stack of a call; allocates nothing for up to kInline arguments, and touches the room of those that are
// there only. The Python objects must outlive it.
class Arguments {
 public:
  static constexpr size_t kInline = 16;

  Arguments() noexcept
      : views_(reinterpret_cast<runtime::ArgumentView*>(inline_views_)),
        tensors_(reinterpret_cast<HostTensor*>(inline_tensors_)) {}
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;
  ~Arguments() {
    for (size_t i = 0; i < constructed_; ++i) tensors_[i].~HostTensor();
  }

  // False with a Python error. Argument i is read as parameter i of the plan.
  bool Read(const program::Plan& plan, PyObject* const* objects, size_t count);
  // One more, read as parameter `size()`.
  bool Append(const program::Plan& plan, PyObject* object);
  // Resident tensors and plain torch tensors, without a plan. False without a Python error: something else is among
  // them, or there are more than kInline.
  bool ReadTensors(PyObject* const* objects, size_t count) noexcept;
  // After ReadTensors, for an argument that the kernel writes. False with a Python error: it may not be written.
  bool ClaimWritten(size_t index, const char* name);
  // The dispatch has written host tensors. False with a Python error.
  bool NoteWritten();
  // New reference to a tuple of the tensors that NoteWritten would note; null without a Python error when there are
  // none, null with one on failure.
  PyObject* TakeWritten();
  std::span<const runtime::ArgumentView> views() const noexcept { return {views_, size_}; }
  size_t size() const noexcept { return size_; }
  bool HasHostTensors() const noexcept {
    return std::any_of(views_, views_ + size_,
                       [](const auto& view) { return view.kind == runtime::ArgumentKind::kHost; });
  }
  // Of an argument that was read as a plain tensor of torch, else null.
  const dlpack::Tensor* TensorOfTorch(size_t index) const noexcept {
    return tensors_[index].source != nullptr ? &tensors_[index].tensor : nullptr;
  }
  // New references to the normalised stand-ins that must live as long as the launch; null with an error.
  PyObject* Keepers() const;

 private:
  void Reserve(size_t count);
  bool AppendAs(const program::PlanParameter& parameter, PyObject* object);
  // A number, or a tensor out of line.
  bool AppendOther(const program::PlanParameter& parameter, PyObject* object, HostTensor& tensor);
  bool ReadScalar(const program::PlanParameter& parameter, PyObject* object);
  HostTensor& NextTensor() noexcept;

  size_t size_ = 0;
  size_t constructed_ = 0;  // of tensors_; one more than size_ when reading the next one failed
  size_t capacity_ = kInline;
  runtime::ArgumentView* views_;
  HostTensor* tensors_;
  std::vector<PyObject*> written_;  // borrowed; tensors of torch whose version counter counts this dispatch
  std::unique_ptr<std::byte[]> heap_;
  alignas(runtime::ArgumentView) std::byte inline_views_[kInline * sizeof(runtime::ArgumentView)];
  alignas(HostTensor) std::byte inline_tensors_[kInline * sizeof(HostTensor)];
};

}  // namespace pypto::bindings
