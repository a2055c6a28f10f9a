// Loads images into executables.
#include "pypto/device/executable.h"

#include <algorithm>
#include <atomic>

#include "pypto/device/simd/select.h"

namespace pypto::device {
namespace {

using program::ExprNode;
using program::ExprOp;

bool NodeNeedsLoop(const ExprNode& node, const std::vector<bool>& needs_loop) {
  if (node.op == ExprOp::kLoopIndex || node.op == ExprOp::kSlot) return true;
  const int children = program::ChildCount(node.op);
  return (children > 0 && needs_loop[node.a]) || (children > 1 && needs_loop[node.b]) ||
         (children > 2 && needs_loop[node.c]);
}

// Which storages a root function writes whole before anything else.
std::vector<bool> BeginsNew(const program::Plan& plan, const program::RootFunction& root) {
  std::vector<bool> begins_new(plan.storages.size());
  std::vector<bool> seen(plan.storages.size());
  for (const program::OutcastWrite& write : root.writes) {
    const bool parameter = plan.storages[write.storage].tensor_class == program::TensorClass::kParameter;
    if (!seen[write.storage] && !parameter) begins_new[write.storage] = write.kind == program::WriteKind::kWhole;
    seen[write.storage] = true;
  }
  return begins_new;
}

}  // namespace

base::Result<std::shared_ptr<const Executable>> Executable::Load(std::span<const uint8_t> image) {
  PYPTO_ASSIGN_OR_RETURN(auto read, program::ReadImage(image));
  PYPTO_ASSIGN_OR_RETURN(auto executable, LoadedExecutable::Build(std::move(read)));
  return std::shared_ptr<const Executable>(std::move(executable));
}

base::Result<std::shared_ptr<const LoadedExecutable>> LoadedExecutable::Build(
    std::shared_ptr<const program::Image> image) {
  static std::atomic<uint64_t> next_serial{1};
  const simd::Selection& selection = simd::ActiveKernels();
  if (selection.table == nullptr) return base::Status(base::StatusCode::kInvalidArgument, selection.error);
  std::shared_ptr<LoadedExecutable> out(new LoadedExecutable);
  out->image_ = std::move(image);
  out->serial_ = next_serial.fetch_add(1, std::memory_order_relaxed);
  out->SortExpressions();
  out->SortParameters();
  PYPTO_RETURN_IF_ERROR(out->BuildRoots(*selection.table));
  out->control_ = out->BuildControl(out->plan().control);
  return std::shared_ptr<const LoadedExecutable>(std::move(out));
}

void LoadedExecutable::SortExpressions() {
  const auto nodes = plan().exprs.nodes();
  needs_loop_.resize(nodes.size());
  for (size_t id = 0; id < nodes.size(); ++id) {
    needs_loop_[id] = NodeNeedsLoop(nodes[id], needs_loop_);
    if (!needs_loop_[id] && nodes[id].op != ExprOp::kConst) invariant_.push_back(static_cast<ExprId>(id));
  }
}

void LoadedExecutable::SortParameters() {
  for (uint32_t i = 0; i < plan().parameters.size(); ++i) {
    const program::PlanParameter& parameter = plan().parameters[i];
    const bool written =
        parameter.direction == program::Direction::kOut || parameter.direction == program::Direction::kInOut;
    if (!parameter.is_tensor) {
      scalar_parameters_.push_back(i);
    } else if (written) {
      written_parameters_.push_back(i);
    }
  }
}

std::vector<ExprId> LoadedExecutable::Varying(const std::vector<ExprId>& ids) const {
  std::vector<ExprId> wanted;
  std::copy_if(ids.begin(), ids.end(), std::back_inserter(wanted), [](ExprId id) { return id != program::kNoExpr; });
  std::vector<ExprId> closed = program::CloseUnderChildren(plan().exprs.nodes(), wanted);
  std::erase_if(closed, [this](ExprId id) { return !needs_loop_[id]; });
  return closed;
}

base::Status LoadedExecutable::BuildRoots(const simd::KernelTable& kernels) {
  for (const program::RootFunction& root : plan().roots) {
    RootProgram out;
    out.name = root.name;
    out.place = root.place;
    out.begins_new = BeginsNew(plan(), root);
    out.live_after.resize(plan().storages.size());
    for (const uint32_t storage : root.live_after) out.live_after[storage] = true;
    for (const program::OutcastWrite& write : root.writes) out.writes.push_back(write.storage);
    GenerationState generations{out.begins_new, std::vector<bool>(plan().storages.size())};
    std::vector<ExprId> needed;
    for (const program::Leaf& leaf : root.leaves) {
      auto built = BuildLeaf(plan(), leaf, kernels, &generations);
      if (!built.ok()) return std::move(built).status().WithContext("while loading root function '" + root.name + "'");
      needed.insert(needed.end(), built->uses.begin(), built->uses.end());
      needed.push_back(built->guard);
      out.guarded = out.guarded || built->guard != program::kNoExpr;
      scratch_bytes_ = std::max(scratch_bytes_, built->scratch_bytes);
      built->number = leaf_count_++;
      built->first_operation = operation_count_;
      operation_count_ += static_cast<uint32_t>(built->ops.size());
      out.leaves.push_back(std::move(*built));
    }
    out.aliases = FindAliases(plan(), &out.leaves);
    out.outcasts = FindUses(plan(), out.leaves, out.begins_new);
    std::sort(needed.begin(), needed.end());
    needed.erase(std::unique(needed.begin(), needed.end()), needed.end());
    out.varying = Varying(needed);
    roots_.push_back(std::move(out));
  }
  return base::OkStatus();
}

std::vector<ExprId> LoadedExecutable::VaryingOf(const program::ControlNode& node) const {
  std::vector<ExprId> ids = {node.start, node.stop, node.step, node.condition, node.checked, node.read.offset};
  for (const auto* list : {&node.read.strides, &node.read.indices, &node.read.valid, &node.read.non_negative}) {
    ids.insert(ids.end(), list->begin(), list->end());
  }
  for (const program::SlotValue& set : node.sets) ids.push_back(set.value);
  return Varying(ids);
}

std::vector<ControlProgram> LoadedExecutable::BuildControl(const std::vector<program::ControlNode>& nodes) const {
  std::vector<ControlProgram> out;
  for (const program::ControlNode& node : nodes) {
    ControlProgram program;
    program.kind = node.kind;
    program.root = node.root;
    program.loop = node.loop;
    program.start = node.start;
    program.stop = node.stop;
    program.step = node.step;
    program.condition = node.condition;
    program.parallel = node.parallel;
    program.submit_before = node.submit_before;
    program.fresh = node.fresh;
    program.place = node.place;
    program.read = node.read;
    program.slot = node.slot;
    program.sets = node.sets;
    program.checked = node.checked;
    program.text = node.text;
    program.varying = VaryingOf(node);
    program.body = BuildControl(node.body);
    program.otherwise = BuildControl(node.otherwise);
    out.push_back(std::move(program));
  }
  return out;
}

}  // namespace pypto::device
