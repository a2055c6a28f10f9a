// Owner of a library opened with dlopen.
#pragma once

#include <string>

#include "pypto/base/status.h"

namespace pypto::base {

// Closes the library when it goes, unless the process is ending. Thread rule: Symbol() from any thread.
class PYPTO_API DynamicLibrary {
 public:
  DynamicLibrary() noexcept = default;
  DynamicLibrary(DynamicLibrary&& other) noexcept;
  DynamicLibrary& operator=(DynamicLibrary&& other) noexcept;
  ~DynamicLibrary();

  // RTLD_NOW | RTLD_LOCAL. kNotFound with the loader's own text when it fails.
  static Result<DynamicLibrary> Open(const std::string& path);

  bool is_open() const noexcept { return handle_ != nullptr; }
  void* handle() const noexcept { return handle_; }
  // The name given to Open.
  const std::string& name() const noexcept { return name_; }
  // The file the loader took, as it says; the name when it does not.
  std::string ResolvedPath() const;
  // Null when the library does not export it.
  void* Symbol(const char* name) const noexcept;
  // Gives the handle away: the library stays mapped until the process ends.
  void* Release() noexcept;

 private:
  DynamicLibrary(void* handle, std::string name) : handle_(handle), name_(std::move(name)) {}
  void* handle_ = nullptr;
  std::string name_;
};

}  // namespace pypto::base
