// Reading arguments: resident tensors, torch tensors, numbers; everything else out of line.
#include "arguments.h"

#include <new>

#include "device_tensor.h"

namespace pypto::bindings {

void Arguments::Reserve(size_t count) {
  if (count <= capacity_) return;
  // Only before anything was read: tensors do not move.
  static_assert(sizeof(HostTensor) % alignof(runtime::ArgumentView) == 0);
  const size_t tensor_bytes = count * sizeof(HostTensor);
  heap_ = std::make_unique<std::byte[]>(tensor_bytes + count * sizeof(runtime::ArgumentView));
  tensors_ = reinterpret_cast<HostTensor*>(heap_.get());
  views_ = reinterpret_cast<runtime::ArgumentView*>(heap_.get() + tensor_bytes);
  capacity_ = count;
}

inline HostTensor& Arguments::NextTensor() noexcept {
  constructed_ = size_ + 1;
  return *new (&tensors_[size_]) HostTensor();
}

[[gnu::always_inline]] inline bool Arguments::AppendAs(const program::PlanParameter& parameter, PyObject* object) {
  HostTensor& tensor = NextTensor();
  if (IsDeviceTensor(object)) {
    new (&views_[size_]) runtime::ArgumentView(runtime::ArgumentView::Resident(ResidentOf(object)));
  } else if (ReadTorchFast(object, tensor)) [[likely]] {
    new (&views_[size_]) runtime::ArgumentView(tensor.AsArgument());
    if (IsWritten(parameter) && !ClaimWritten(size_, parameter.name.c_str())) return false;
  } else if (!AppendOther(parameter, object, tensor)) {
    return false;
  }
  ++size_;
  return true;
}

bool Arguments::Read(const program::Plan& plan, PyObject* const* objects, size_t count) {
  const size_t expected = plan.parameters.size();
  if (count > expected) [[unlikely]] {
    PyErr_Format(PyExc_TypeError, "kernel '%s' takes %zu arguments, got %zu", plan.name.c_str(), expected, count);
    return false;
  }
  Reserve(expected);
  const program::PlanParameter* parameter = plan.parameters.data();
  for (size_t i = 0; i < count; ++i, ++parameter) {
    if (!AppendAs(*parameter, objects[i])) return false;
  }
  return true;
}

bool Arguments::Append(const program::Plan& plan, PyObject* object) { return AppendAs(plan.parameters[size_], object); }

bool Arguments::AppendOther(const program::PlanParameter& parameter, PyObject* object, HostTensor& tensor) {
  if (!parameter.is_tensor) return ReadScalar(parameter, object);
  const bool written = IsWritten(parameter);
  const TensorUse use = written ? TensorUse::kOutput : TensorUse::kInput;
  if (!ReadHostTensor(object, use, parameter.name.c_str(), tensor)) return false;
  views_[size_] = tensor.AsArgument();
  if (written) written_.push_back(object);
  return true;
}

bool Arguments::ReadTensors(PyObject* const* objects, size_t count) noexcept {
  if (count > kInline) return false;
  for (; size_ < count; ++size_) {
    HostTensor& tensor = NextTensor();
    if (IsDeviceTensor(objects[size_])) {
      views_[size_] = runtime::ArgumentView::Resident(ResidentOf(objects[size_]));
    } else if (ReadTorchFast(objects[size_], tensor)) {
      views_[size_] = tensor.AsArgument();
    } else {
      return false;
    }
  }
  return true;
}

bool Arguments::ClaimWritten(size_t index, const char* name) {
  PyObject* object = tensors_[index].source;
  if (object == nullptr || !TorchRequiresGrad(object)) [[likely]]
    return true;
  if (!CheckWritable(object, name)) return false;
  written_.push_back(object);
  return true;
}

PyObject* Arguments::TakeWritten() {
  if (written_.empty()) [[likely]]
    return nullptr;
  PyObject* tensors = PyTuple_New(static_cast<Py_ssize_t>(written_.size()));
  for (size_t i = 0; tensors != nullptr && i < written_.size(); ++i) {
    PyTuple_SET_ITEM(tensors, static_cast<Py_ssize_t>(i), Py_NewRef(written_[i]));
  }
  return tensors;
}

bool Arguments::NoteWritten() {
  if (written_.empty()) [[likely]]
    return true;
  PyObject* tensors = TakeWritten();
  const bool noted = tensors != nullptr && NoteWrittenTensors(tensors);
  Py_XDECREF(tensors);
  return noted;
}

bool Arguments::ReadScalar(const program::PlanParameter& parameter, PyObject* object) {
  if (parameter.scalar_kind == program::ScalarKind::kInt) {
    if (PyLong_Check(object)) {
      int overflow = 0;
      const long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
      if (overflow != 0) {
        PyErr_Format(PyExc_ValueError, "argument '%s' is %S, which does not fit 64 bits", parameter.name.c_str(),
                     object);
        return false;
      }
      views_[size_] = runtime::ArgumentView::Int(value);
      return true;
    }
    if (PyIndex_Check(object)) {
      PyObject* index = PyNumber_Index(object);
      const bool read = index != nullptr && ReadScalar(parameter, index);
      Py_XDECREF(index);
      return read;
    }
  } else if (PyFloat_Check(object) || PyLong_Check(object)) {
    const double value = PyFloat_AsDouble(object);
    if (value == -1.0 && PyErr_Occurred()) return false;
    views_[size_] = runtime::ArgumentView::Float(value);
    return true;
  }
  PyErr_Format(PyExc_TypeError, "argument '%s' must be %s, got %s", parameter.name.c_str(),
               parameter.scalar_kind == program::ScalarKind::kInt ? "an int" : "a number", Py_TYPE(object)->tp_name);
  return false;
}

PyObject* Arguments::Keepers() const {
  PyObject* list = PyList_New(0);
  for (size_t i = 0; list != nullptr && i < size_; ++i) {
    if (tensors_[i].keep != nullptr && PyList_Append(list, tensors_[i].keep) != 0) Py_CLEAR(list);
  }
  return list;
}

}  // namespace pypto::bindings
