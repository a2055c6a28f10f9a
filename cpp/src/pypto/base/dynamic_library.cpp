// dlopen, dlsym, dlclose behind an owner.
#include "pypto/base/dynamic_library.h"

#include <dlfcn.h>
#include <link.h>

#include <utility>

#include "pypto/base/process.h"

namespace pypto::base {

DynamicLibrary::DynamicLibrary(DynamicLibrary&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)), name_(std::move(other.name_)) {}

DynamicLibrary& DynamicLibrary::operator=(DynamicLibrary&& other) noexcept {
  std::swap(handle_, other.handle_);
  std::swap(name_, other.name_);
  return *this;
}

DynamicLibrary::~DynamicLibrary() {
  if (handle_ != nullptr && !ProcessExiting()) dlclose(handle_);
}

Result<DynamicLibrary> DynamicLibrary::Open(const std::string& path) {
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* reason = dlerror();
    return Status(StatusCode::kNotFound, reason != nullptr ? reason : path + ": cannot be opened");
  }
  return DynamicLibrary(handle, path);
}

std::string DynamicLibrary::ResolvedPath() const {
  link_map* map = nullptr;
  if (handle_ == nullptr || dlinfo(handle_, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr) return name_;
  return map->l_name != nullptr && *map->l_name != '\0' ? map->l_name : name_;
}

void* DynamicLibrary::Symbol(const char* name) const noexcept {
  return handle_ != nullptr ? dlsym(handle_, name) : nullptr;
}

void* DynamicLibrary::Release() noexcept { return std::exchange(handle_, nullptr); }

}  // namespace pypto::base
