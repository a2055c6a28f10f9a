// What tells whether memory holds what it held: the bytes themselves of little, a hash of much.
#pragma once

#include <Python.h>

#include <cstddef>

namespace pypto::bindings {

// Of so many bytes the fingerprint holds the bytes themselves.
inline constexpr size_t kMostInFingerprint = 4096;

// New reference to a bytes object that is equal for equal bytes: the bytes behind the letter 'b', or 'h', the number of
// bytes and 64 bytes of hash. A change within one word of 8 bytes always changes the hash. Null with a Python error.
PyObject* MakeFingerprint(const void* data, size_t bytes) noexcept;

// Whether the memory has that fingerprint. Makes no Python objects.
bool HasFingerprint(const void* data, size_t bytes, PyObject* fingerprint) noexcept;

}  // namespace pypto::bindings
