// The arguments of one dispatch, read from Python objects into what the runtime takes.
#pragma once

#include <Python.h>

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "host_tensor.h"
#include "pypto/program/plan.h"
#include "pypto/runtime/argument_view.h"

namespace pypto::bindings {

// Lives on the stack of a call; allocates nothing for up to kInline arguments. The Python objects must outlive it.
class Arguments {
 public:
  static constexpr size_t kInline = 16;

  Arguments() = default;
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;

  // False with a Python error. Argument i is read as parameter i of the plan.
  bool Read(const program::Plan& plan, PyObject* const* objects, size_t count);
  // One more, read as parameter `size()`.
  bool Append(const program::Plan& plan, PyObject* object);
  std::span<const runtime::ArgumentView> views() const noexcept { return {views_, size_}; }
  size_t size() const noexcept { return size_; }
  // New references to the normalised stand-ins that must live as long as the launch; null with an error.
  PyObject* Keepers() const;

 private:
  bool Reserve(size_t count);
  bool ReadScalar(const program::PlanParameter& parameter, PyObject* object);

  size_t size_ = 0;
  size_t capacity_ = kInline;
  runtime::ArgumentView* views_ = inline_views_.data();
  HostTensor* tensors_ = inline_tensors_.data();
  std::array<runtime::ArgumentView, kInline> inline_views_;
  std::array<HostTensor, kInline> inline_tensors_;
  std::unique_ptr<runtime::ArgumentView[]> heap_views_;
  std::unique_ptr<HostTensor[]> heap_tensors_;
};

}  // namespace pypto::bindings
