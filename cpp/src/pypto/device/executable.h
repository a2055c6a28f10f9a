// A program made ready to run: leaves, control tree and the order in which expressions are evaluated.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pypto/device/engine.h"
#include "pypto/device/in_place.h"
#include "pypto/device/inner_alias.h"
#include "pypto/device/leaf_program.h"
#include "pypto/program/image.h"

namespace pypto::device {

struct RootProgram {
  std::string name;
  std::vector<LeafProgram> leaves;
  std::vector<InnerAlias> aliases;  // per leaf
  OutcastUse outcasts;
  std::vector<ExprId> varying;   // what its leaves need and what depends on a loop index or slot, ascending
  std::vector<bool> begins_new;  // per storage: the first write of an instance takes a new buffer
  std::vector<bool> live_after;  // per storage
  std::vector<uint32_t> writes;  // outcasts and parameters that some leaf writes
  bool guarded = false;          // some leaf has a guard
  uint32_t place = 0;
};

struct ControlProgram {
  program::ControlNode::Kind kind = program::ControlNode::Kind::kRoot;
  uint32_t root = 0;
  uint32_t loop = 0;
  ExprId start = program::kNoExpr;
  ExprId stop = program::kNoExpr;
  ExprId step = program::kNoExpr;
  ExprId condition = program::kNoExpr;
  bool parallel = false;
  bool submit_before = false;
  std::vector<uint32_t> fresh;  // outcasts that begin anew with each iteration
  program::CellRead read;
  uint32_t slot = 0;
  std::vector<program::SlotValue> sets;
  ExprId checked = program::kNoExpr;
  std::string text;             // of the fault when `checked` is 0
  std::vector<ExprId> varying;  // as in RootProgram, for all of its expressions
  std::vector<ControlProgram> body;
  std::vector<ControlProgram> otherwise;
  uint32_t place = 0;
};

// Immutable; shared between engines.
class LoadedExecutable final : public Executable {
 public:
  // kUnsupported for what this version has no kernels for.
  static base::Result<std::shared_ptr<const LoadedExecutable>> Build(std::shared_ptr<const program::Image> image);

  std::string_view entry() const noexcept override { return plan().name; }
  std::string_view platform() const noexcept override { return image_->platform; }

  const program::Plan& plan() const noexcept { return image_->plan; }
  const program::DebugInfo& debug() const noexcept { return image_->debug; }
  const std::vector<RootProgram>& roots() const noexcept { return roots_; }
  const std::vector<ControlProgram>& control() const noexcept { return control_; }
  // Expressions that need no loop index and no slot, without the constants, ascending.
  const std::vector<ExprId>& invariant() const noexcept { return invariant_; }
  // Indices of the scalar parameters, and of those that leaves write.
  const std::vector<uint32_t>& scalar_parameters() const noexcept { return scalar_parameters_; }
  const std::vector<uint32_t>& written_parameters() const noexcept { return written_parameters_; }
  int64_t scratch_bytes() const noexcept { return scratch_bytes_; }
  // Of all root functions.
  uint32_t leaf_count() const noexcept { return leaf_count_; }
  uint32_t operation_count() const noexcept { return operation_count_; }
  // Differs for every executable of the process.
  uint64_t serial() const noexcept { return serial_; }

 private:
  LoadedExecutable() = default;
  base::Status BuildRoots(const simd::KernelTable& kernels);
  void SortExpressions();
  void SortParameters();
  std::vector<ControlProgram> BuildControl(const std::vector<program::ControlNode>& nodes) const;
  std::vector<ExprId> Varying(const std::vector<ExprId>& ids) const;
  std::vector<ExprId> VaryingOf(const program::ControlNode& node) const;

  std::shared_ptr<const program::Image> image_;
  std::vector<RootProgram> roots_;
  std::vector<ControlProgram> control_;
  std::vector<ExprId> invariant_;
  std::vector<uint32_t> scalar_parameters_;
  std::vector<uint32_t> written_parameters_;
  std::vector<bool> needs_loop_;  // per expression: depends on a loop index or a slot
  int64_t scratch_bytes_ = 0;
  uint32_t leaf_count_ = 0;
  uint32_t operation_count_ = 0;
  uint64_t serial_ = 0;
};

}  // namespace pypto::device
