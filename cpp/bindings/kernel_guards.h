// What a jitted kernel's compiled programs depend on besides its arguments, as object identities that are compared in
// nanoseconds.
#pragma once

#include <Python.h>

#include <cstdint>
#include <vector>

namespace pypto::bindings {

// Made of the list that pypto.frontend.guards builds: each entry says where an object was found and which it was. As
// long as all are there, the kernel traces alike. Holds references. Thread rule: with the GIL.
class KernelGuards {
 public:
  KernelGuards() = default;
  KernelGuards(const KernelGuards&) = delete;
  KernelGuards& operator=(const KernelGuards&) = delete;
  ~KernelGuards() { Clear(); }

  // Entries: ("item", dict, key[, value]) without a value when the key is absent; ("size", dict, n);
  // ("cell", cell[, value]); ("list", list, tuple); ("function", function, code, defaults). False with a Python error.
  bool Add(PyObject* entries);
  // Whether everything is where it was.
  bool Hold() noexcept;

  int Traverse(visitproc visit, void* arg) const;
  void Clear() noexcept;

 private:
  enum class Kind : uint8_t { kItem, kSize, kCell, kList, kFunction };
  struct Guard {
    Kind kind;
    PyObject* holder;
    PyObject* key;       // kItem
    PyObject* expected;  // null: absent
    PyObject* defaults;  // kFunction
    Py_ssize_t size;     // kSize
  };
  // Of dicts: unchanged as a whole since the last look.
  struct Version {
    PyObject* dict;  // borrowed from a guard
    uint64_t seen;
  };
  bool AddEntry(PyObject* entry);
  bool Holds(const Guard& guard) const noexcept;
  bool VersionsHold() const noexcept;
  bool Watched(PyObject* dict) const noexcept;

  std::vector<Guard> guards_;
  std::vector<Version> versions_;
  bool only_dicts_ = true;  // no guard but those of dicts
};

}  // namespace pypto::bindings
