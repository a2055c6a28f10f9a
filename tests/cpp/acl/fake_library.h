// Loading the fake libraries of these tests, and their side door.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "acl/fake_acl/fake_control.h"
#include "pypto/acl/loader.h"

namespace pypto::acl {

inline std::string FakePath(const std::string& file) { return std::string(FAKE_ACL_DIR) + "/" + file; }

inline LoadOptions FakeOptions(const std::string& file, const std::string& layers = "") {
  LoadOptions options;
  options.acl_library = FakePath(file);
  options.layers = layers;
  return options;
}

inline fake_acl::Control& ControlOf(const Table& table) {
  void* symbol = table.Symbol("fake_acl_control");
  return *reinterpret_cast<fake_acl::ControlFunction*>(symbol)();
}

// A table over a fake library whose counters begin anew.
inline std::unique_ptr<Table> LoadFake(const std::string& file = "complete.so", const std::string& layers = "") {
  auto table = LoadFor(PlatformKind::kHardware, FakeOptions(file, layers));
  EXPECT_TRUE(table.ok()) << table.status().ToString();
  if (!table.ok()) std::abort();
  ControlOf(**table) = fake_acl::Control();
  return *std::move(table);
}

// Sets or clears an environment variable for the time of a test.
class ScopedEnvironment {
 public:
  ScopedEnvironment(const char* name, const char* value) : name_(name) {
    if (const char* former = std::getenv(name); former != nullptr) former_ = former, had_ = true;
    if (value != nullptr) {
      setenv(name, value, 1);
    } else {
      unsetenv(name);
    }
  }
  ~ScopedEnvironment() {
    if (had_) {
      setenv(name_, former_.c_str(), 1);
    } else {
      unsetenv(name_);
    }
  }
  ScopedEnvironment(const ScopedEnvironment&) = delete;
  ScopedEnvironment& operator=(const ScopedEnvironment&) = delete;

 private:
  const char* name_;
  std::string former_;
  bool had_ = false;
};

}  // namespace pypto::acl
