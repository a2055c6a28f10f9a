// A small ACL library inside the test process: host memory as device memory, launches handed to a function of the test.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "pypto/acl/session.h"
#include "pypto/acl/table.h"

namespace pypto::runtime::testing {

// State of the fake; one at a time in the process. Work "runs" when the stream is waited for; while `hold` is set it
// does not end.
struct FakeAcl {
  FakeAcl();
  ~FakeAcl();
  FakeAcl(const FakeAcl&) = delete;
  FakeAcl& operator=(const FakeAcl&) = delete;

  // A table over the fake. `is_mock` is what it claims to be.
  std::unique_ptr<acl::Table> MakeTable(bool is_mock, const std::function<void(acl::Functions*)>& edit = {});
  acl::Session MakeSession(bool is_mock, const std::function<void(acl::Functions*)>& edit = {});

  // Called for each launch when it runs; returns the code that the stream reports.
  std::function<acl::aclError(std::span<const std::byte> block)> kernel;
  bool hold = false;
  size_t memory_limit = SIZE_MAX;
  size_t memory_used = 0;
  int launches = 0;
  int binary_loads = 0;
  int binary_unloads = 0;
  int mallocs = 0;
  std::vector<std::string> app_log;
  std::set<void*> blocks;   // live device memory
  std::set<void*> handles;  // live contexts, streams, events, binaries
  std::vector<std::vector<std::byte>> queue;
  acl::aclError sticky = 0;  // what every wait answers after a fault
  uint64_t recorded = 0;     // launches queued so far
  uint64_t done = 0;
};

}  // namespace pypto::runtime::testing
