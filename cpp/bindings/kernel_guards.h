// What a jitted kernel's compiled programs depend on besides its arguments, as object identities that are compared in
// nanoseconds.
#pragma once

#include <Python.h>

#include <cstdint>
#include <vector>

namespace pypto::bindings {

// Made of the list that pypto.frontend.kernels.guards builds: each entry says where an object was found and which it
// was. As long as all are there, the kernel traces alike. Holds references. Thread rule: with the GIL.
class KernelGuards {
 public:
  KernelGuards() = default;
  KernelGuards(const KernelGuards&) = delete;
  KernelGuards& operator=(const KernelGuards&) = delete;
  ~KernelGuards() { Clear(); }

  // Entries, where `names` is a dict or a class, whose own dict is meant:
  //   ("item", names, key[, value])  without a value when the key is absent
  //   ("size", names, n)
  //   ("cell", cell[, value])
  //   ("list", list, tuple)
  //   ("set", set, tuple)  the elements as the set is iterated
  //   ("dict", dict, tuple of keys, tuple of values)  in the order of the dict
  //   ("function", function, code, defaults, keyword defaults)  None where there are none
  //   ("class", object, class[, dict of attributes])
  //   ("bases", class, method resolution order)
  //   ("slot", object, name[, value])
  //   ("bytes", array, bytes)  an object with a contiguous buffer
  //   ("call", callable, result)  of C code: the result equals this one
  // False with a Python error.
  bool Add(PyObject* entries);
  // Whether everything is where it was.
  bool Hold() noexcept;

  int Traverse(visitproc visit, void* arg) const;
  void Clear() noexcept;

 private:
  enum class Kind : uint8_t {
    kItem,
    kSize,
    kDict,
    kCell,
    kList,
    kSet,
    kFunction,
    kClass,
    kBases,
    kSlot,
    kBytes,
    kCall
  };
  struct Guard {
    Kind kind;
    PyObject* holder;
    PyObject* key;       // kItem, kSlot; kFunction: keyword defaults; kDict: values
    PyObject* expected;  // null: absent
    PyObject* defaults;  // kFunction; kClass: the dict of attributes
    Py_ssize_t size;     // kSize
  };
  // Of dicts: unchanged as a whole since the last look.
  struct Version {
    PyObject* dict;  // borrowed from a guard
    uint64_t seen;
  };
  static bool IsOfDict(const Guard& guard) noexcept {
    return guard.kind == Kind::kItem || guard.kind == Kind::kSize || guard.kind == Kind::kDict;
  }
  bool AddEntry(PyObject* entry);
  bool FillEntry(PyObject* entry, const char* kind, Guard& guard);
  bool Holds(const Guard& guard) const noexcept;
  bool VersionsHold() const noexcept;
  bool Watched(PyObject* dict) const noexcept;

  std::vector<Guard> guards_;
  std::vector<Version> versions_;
  bool only_dicts_ = true;  // no guard but those of dicts
};

}  // namespace pypto::bindings
