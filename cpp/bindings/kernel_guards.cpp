// Comparing what a kernel captured with what it was compiled with, by identity.
#include "kernel_guards.h"

#include <algorithm>
#include <cstring>

namespace pypto::bindings {
namespace {

// A number that every change of the dict changes; 0 where the interpreter keeps none.
uint64_t VersionOf(PyObject* dict) noexcept {
#if PY_VERSION_HEX < 0x030C0000
  return reinterpret_cast<PyDictObject*>(dict)->ma_version_tag;
#else
  static_cast<void>(dict);
  return 0;
#endif
}

bool SameItems(PyObject* list, PyObject* tuple) noexcept {
  const Py_ssize_t size = PyTuple_GET_SIZE(tuple);
  if (PyList_GET_SIZE(list) != size) return false;
  for (Py_ssize_t i = 0; i < size; ++i) {
    if (PyList_GET_ITEM(list, i) != PyTuple_GET_ITEM(tuple, i)) return false;
  }
  return true;
}

}  // namespace

bool KernelGuards::Add(PyObject* entries) {
  const Py_ssize_t count = PyList_Size(entries);
  if (count < 0) return false;
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (AddEntry(PyList_GET_ITEM(entries, i))) continue;
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "not a guard of a kernel");
    return false;
  }
  for (const Guard& guard : guards_) {
    const bool of_dict = guard.kind == Kind::kItem || guard.kind == Kind::kSize;
    only_dicts_ = only_dicts_ && of_dict;
    // Version 0 differs from any that is seen: the first look is a full one.
    if (of_dict && !Watched(guard.holder)) versions_.push_back({guard.holder, 0});
  }
  return true;
}

bool KernelGuards::AddEntry(PyObject* entry) {
  if (!PyTuple_Check(entry) || PyTuple_GET_SIZE(entry) < 2) return false;
  const char* kind = PyUnicode_AsUTF8(PyTuple_GET_ITEM(entry, 0));
  if (kind == nullptr) return false;
  PyObject* holder = PyTuple_GET_ITEM(entry, 1);
  const auto part = [&](Py_ssize_t i) { return i < PyTuple_GET_SIZE(entry) ? PyTuple_GET_ITEM(entry, i) : nullptr; };
  Guard guard{Kind::kItem, holder, nullptr, nullptr, nullptr, 0};
  if (std::strcmp(kind, "item") == 0 && PyDict_Check(holder) && part(2) != nullptr) {
    guard.key = part(2);
    guard.expected = part(3);
  } else if (std::strcmp(kind, "size") == 0 && PyDict_Check(holder) && part(2) != nullptr) {
    guard.kind = Kind::kSize;
    guard.size = PyLong_AsSsize_t(part(2));
  } else if (std::strcmp(kind, "cell") == 0 && PyCell_Check(holder)) {
    guard.kind = Kind::kCell;
    guard.expected = part(2);
  } else if (std::strcmp(kind, "list") == 0 && PyList_Check(holder) && part(2) != nullptr && PyTuple_Check(part(2))) {
    guard.kind = Kind::kList;
    guard.expected = part(2);
  } else if (std::strcmp(kind, "function") == 0 && PyFunction_Check(holder) && part(3) != nullptr) {
    guard.kind = Kind::kFunction;
    guard.expected = part(2);
    guard.defaults = part(3);
  } else {
    return false;
  }
  for (PyObject* object : {guard.holder, guard.key, guard.expected, guard.defaults}) Py_XINCREF(object);
  guards_.push_back(guard);
  return PyErr_Occurred() == nullptr;
}

bool KernelGuards::Watched(PyObject* dict) const noexcept {
  return std::any_of(versions_.begin(), versions_.end(), [&](const Version& version) { return version.dict == dict; });
}

bool KernelGuards::Holds(const Guard& guard) const noexcept {
  switch (guard.kind) {
    case Kind::kItem: {
      PyObject* found = PyDict_GetItemWithError(guard.holder, guard.key);
      if (found == nullptr && PyErr_Occurred()) PyErr_Clear();
      return found == guard.expected;
    }
    case Kind::kSize: return PyDict_GET_SIZE(guard.holder) == guard.size;
    case Kind::kCell: return PyCell_GET(guard.holder) == guard.expected;
    case Kind::kList: return SameItems(guard.holder, guard.expected);
    case Kind::kFunction: {
      PyObject* defaults = PyFunction_GET_DEFAULTS(guard.holder);
      PyObject* keyword_defaults = PyFunction_GET_KW_DEFAULTS(guard.holder);
      return PyFunction_GET_CODE(guard.holder) == guard.expected && (keyword_defaults == nullptr) &&
             (defaults != nullptr ? defaults : Py_None) == guard.defaults;
    }
  }
  return false;
}

bool KernelGuards::VersionsHold() const noexcept {
  return std::all_of(versions_.begin(), versions_.end(), [](const Version& version) {
    return version.seen != 0 && version.seen == VersionOf(version.dict);
  });
}

bool KernelGuards::Hold() noexcept {
  const bool dicts_hold = VersionsHold();
  if (dicts_hold && only_dicts_) [[likely]]
    return true;
  for (const Guard& guard : guards_) {
    if (dicts_hold && (guard.kind == Kind::kItem || guard.kind == Kind::kSize)) continue;
    if (!Holds(guard)) return false;
  }
  for (Version& version : versions_) version.seen = VersionOf(version.dict);
  return true;
}

int KernelGuards::Traverse(visitproc visit, void* arg) const {
  for (const Guard& guard : guards_) {
    Py_VISIT(guard.holder);
    Py_VISIT(guard.key);
    Py_VISIT(guard.expected);
    Py_VISIT(guard.defaults);
  }
  return 0;
}

void KernelGuards::Clear() noexcept {
  const std::vector<Guard> guards = std::move(guards_);
  guards_.clear();
  versions_.clear();
  for (const Guard& guard : guards) {
    for (PyObject* object : {guard.holder, guard.key, guard.expected, guard.defaults}) Py_XDECREF(object);
  }
}

}  // namespace pypto::bindings
