// Reading arguments: resident tensors, torch tensors, numbers; everything else out of line.
#include "arguments.h"

#include "device_tensor.h"

namespace pypto::bindings {

bool Arguments::Reserve(size_t count) {
  if (count <= capacity_) return true;
  // Only before anything was read: tensors do not move.
  heap_views_ = std::make_unique<runtime::ArgumentView[]>(count);
  heap_tensors_ = std::make_unique<HostTensor[]>(count);
  views_ = heap_views_.get();
  tensors_ = heap_tensors_.get();
  capacity_ = count;
  return true;
}

bool Arguments::Read(const program::Plan& plan, PyObject* const* objects, size_t count) {
  const size_t expected = plan.parameters.size();
  if (count > expected) [[unlikely]] {
    PyErr_Format(PyExc_TypeError, "kernel '%s' takes %zu arguments, got %zu", plan.name.c_str(), expected, count);
    return false;
  }
  Reserve(expected);
  for (size_t i = 0; i < count; ++i) {
    if (!Append(plan, objects[i])) return false;
  }
  return true;
}

bool Arguments::Append(const program::Plan& plan, PyObject* object) {
  const program::PlanParameter& parameter = plan.parameters[size_];
  if (IsDeviceTensor(object)) {
    views_[size_] = runtime::ArgumentView::Resident(ResidentOf(object));
  } else if (HostTensor& tensor = tensors_[size_]; ReadTorchFast(object, tensor)) {
    views_[size_] = tensor.AsArgument();
  } else if (!parameter.is_tensor) {
    if (!ReadScalar(parameter, object)) return false;
  } else {
    const bool written =
        parameter.direction == program::Direction::kOut || parameter.direction == program::Direction::kInOut;
    const TensorUse use = written ? TensorUse::kOutput : TensorUse::kInput;
    if (!ReadHostTensor(object, use, parameter.name.c_str(), tensor)) return false;
    views_[size_] = tensor.AsArgument();
  }
  ++size_;
  return true;
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
