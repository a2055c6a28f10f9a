// The layers of one table and the way of a call through them.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "pypto/acl/layer.h"
#include "pypto/base/export.h"

namespace pypto::acl {

// Owned by a Table. Thread rule: Enter and Leave from any thread; Add before the table is shared.
class PYPTO_API LayerChain {
 public:
  // The first layer added is the outermost.
  void Add(std::unique_ptr<Layer> layer);
  // Runs Before from the outermost layer inwards until one answers; returns how many layers let the call pass.
  size_t Enter(Call& call);
  // Runs After of those layers, innermost first.
  void Leave(const Call& call, size_t entered);
  // Of all layers, one paragraph each; empty when nothing leaked.
  std::string LeakReport();
  const std::vector<std::unique_ptr<Layer>>& layers() const noexcept { return layers_; }

 private:
  std::vector<std::unique_ptr<Layer>> layers_;
  std::atomic<uint64_t> calls_{0};
};

}  // namespace pypto::acl
