// Runs images on an engine over memory of the test.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "device/values.h"
#include "pypto/device/engine.h"
#include "pypto/program/image.h"
#include "pypto/program/launch_block.h"

namespace pypto::device::testing {

// Device memory made of heap blocks, each with bytes around it that nothing may change.
class TestMemory final : public AddressMap {
 public:
  uint64_t Allocate(size_t bytes);
  uint64_t Put(const std::vector<std::byte>& bytes);
  std::byte* Host(uint64_t address) { return Translate(address, 0); }
  std::byte* Translate(uint64_t address, uint64_t bytes) const noexcept override;
  MemoryState state() const noexcept override { return {epoch_, 0}; }
  void Free(uint64_t address);
  // Whether all bytes around all blocks are as they were.
  bool GuardsIntact() const;

 private:
  static constexpr size_t kGuard = 256;
  struct Block {
    size_t bytes = 0;
    std::vector<std::byte> memory;
  };
  std::map<uint64_t, Block> blocks_;
  uint64_t next_ = 0x100000;
  uint64_t epoch_ = 1;
};

struct Argument {
  std::vector<double> values;  // of a tensor
  int64_t integer = 0;         // of a scalar
  double real = 0;
};

// One launch, and what came of it.
struct LaunchResult {
  LaunchOutcome outcome;
  program::LaunchStatistics statistics;
  std::vector<std::vector<double>> values;    // of every parameter
  std::vector<std::vector<std::byte>> bytes;  // the same as they are in memory
};

class Launcher {
 public:
  explicit Launcher(std::shared_ptr<const program::Image> image, uint32_t cores = 1, uint64_t shake_seed = 0);

  // Prepares memory and the launch block; values of the symbols in order.
  void Bind(const std::vector<Argument>& arguments, const std::vector<int64_t>& symbols = {});
  // Runs what was bound. `change` may spoil the header before.
  LaunchResult Run(const std::function<void(program::LaunchHeader*)>& change = {});
  // Engine::Run alone.
  LaunchOutcome RunAgain() { return engine_->Run(*executable_, block_, memory_, abort); }

  TestMemory& memory() { return memory_; }
  const Executable& executable() const { return *executable_; }
  Engine& engine() { return *engine_; }
  std::vector<std::byte>& block() { return block_; }
  uint64_t& slot(size_t index);
  std::byte* workspace() { return memory_.Host(header_.workspace_address); }

  const std::atomic<bool>* abort = nullptr;

 private:
  void ResolveBudget(const std::vector<int64_t>& symbols);
  std::shared_ptr<const program::Image> image_;
  std::shared_ptr<const Executable> executable_;
  std::unique_ptr<Engine> engine_;
  TestMemory memory_;
  program::LaunchHeader header_;
  std::vector<uint64_t> addresses_;
  std::vector<size_t> counts_;
  std::vector<std::byte> block_;
};

// Everything in one call; fails the test when the launch fails.
std::vector<std::vector<double>> RunImage(const std::shared_ptr<const program::Image>& image,
                                          const std::vector<Argument>& arguments,
                                          const std::vector<int64_t>& symbols = {}, uint32_t cores = 1);

}  // namespace pypto::device::testing
