// What workspace a plan needs.
#include "pypto/compile/requirements.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "pypto/workspace/budget.h"

namespace pypto::compile {
namespace {

// Outcasts as bits; one bit per outcast of the plan.
class OutcastSet {
 public:
  explicit OutcastSet(size_t count = 0) : words_((count + 63) / 64) {}
  void Insert(uint32_t bit) { words_[bit / 64] |= uint64_t{1} << (bit % 64); }
  void Unite(const OutcastSet& other) {
    for (size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
  }
  void Intersect(const OutcastSet& other) {
    for (size_t i = 0; i < words_.size(); ++i) words_[i] &= other.words_[i];
  }
  void Remove(const OutcastSet& other) {
    for (size_t i = 0; i < words_.size(); ++i) words_[i] &= ~other.words_[i];
  }
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (size_t i = 0; i < words_.size(); ++i) {
      for (uint64_t word = words_[i]; word != 0; word &= word - 1) {
        visit(static_cast<uint32_t>(i * 64) + static_cast<uint32_t>(__builtin_ctzll(word)));
      }
    }
  }

 private:
  std::vector<uint64_t> words_;
};

// What a piece of control flow does to outcasts, seen from outside.
struct Effect {
  OutcastSet reads;   // contents from before the piece
  OutcastSet renews;  // contents from before are gone on every path
  OutcastSet writes;
};

// Live-variable analysis on the control tree. Owned by FindRequirements.
class LivenessPass {
 public:
  explicit LivenessPass(Context& context) : context_(context), bit_of_(context.plan.storages.size(), kNone) {
    for (uint32_t i = 0; i < bit_of_.size(); ++i) {
      const TensorClass tensor_class = context.plan.storages[i].tensor_class;
      if (tensor_class != TensorClass::kAssembleOutcast && tensor_class != TensorClass::kExclusiveOutcast) continue;
      bit_of_[i] = static_cast<uint32_t>(storage_of_.size());
      storage_of_.push_back(i);
    }
    boundary_ = context_.exprs().Const(0);
  }

  void Run() {
    OutcastSet written = NewSet();
    Walk(context_.control, NewSet(), written);
    context_.plan.workspace.boundary_bytes = boundary_;
  }

 private:
  OutcastSet NewSet() const { return OutcastSet(storage_of_.size()); }
  Effect NewEffect() const { return {NewSet(), NewSet(), NewSet()}; }

  // What begins anew with each iteration of a loop.
  OutcastSet FreshOf(const Control& item) const {
    OutcastSet fresh = NewSet();
    for (const uint32_t storage : context_.loops[item.loop].fresh) fresh.Insert(bit_of_[storage]);
    return fresh;
  }

  Effect EffectOfRun(uint32_t run) const {
    Effect effect = NewEffect();
    for (const OutcastUse& use : context_.run_uses[run]) {
      if (use.reads_old) effect.reads.Insert(bit_of_[use.storage]);
      if (use.begins_new) effect.renews.Insert(bit_of_[use.storage]);
    }
    if (context_.runs[run].root == kNone) return effect;
    for (const program::OutcastWrite& write : context_.plan.roots[context_.runs[run].root].writes) {
      if (bit_of_[write.storage] != kNone) effect.writes.Insert(bit_of_[write.storage]);
    }
    return effect;
  }

  Effect EffectOfStep(const Step& step) {
    Effect effect = NewEffect();
    if (step.kind != StepKind::kRead) return effect;
    const uint32_t bit = bit_of_[context_.VariableOf(step.inputs[0].tensor).storage];
    if (bit != kNone) effect.reads.Insert(bit);
    return effect;
  }

  Effect EffectOfItem(const Control& item) {
    if (item.kind == Control::Kind::kRun) return EffectOfRun(item.run);
    if (item.kind == Control::Kind::kStep) return EffectOfStep(context_.steps[item.step]);
    Effect effect = EffectOfItems(item.body);
    if (item.kind == Control::Kind::kLoop) {
      effect.reads.Remove(FreshOf(item));
      if (TripsOf(item).first == 0) effect.renews = NewSet();
      return effect;
    }
    const Effect other = EffectOfItems(item.otherwise);
    effect.reads.Unite(other.reads);
    effect.renews.Intersect(other.renews);
    effect.writes.Unite(other.writes);
    return effect;
  }

  Effect EffectOfItems(const std::vector<Control>& items) {
    Effect whole = NewEffect();
    for (const Control& item : items) {
      Effect effect = EffectOfItem(item);
      effect.reads.Remove(whole.renews);
      whole.reads.Unite(effect.reads);
      whole.renews.Unite(effect.renews);
      whole.writes.Unite(effect.writes);
    }
    return whole;
  }

  // Least and most iterations, as far as 0, 1 and more are told apart.
  std::pair<int, int> TripsOf(const Control& item) {
    const Loop& loop = context_.loops[item.loop];
    program::ExprPool& exprs = context_.exprs();
    const auto step = exprs.ConstantValue(loop.step);
    if (!step || *step == INT64_MIN) return {0, 2};
    const ExprId span = *step > 0 ? exprs.Sub(loop.stop, loop.start) : exprs.Sub(loop.start, loop.stop);
    const auto [low, high] = exprs.Range(span);
    return {low > 0 ? 1 : 0, high <= std::abs(*step) ? 1 : 2};
  }

  // `live`: what is read behind the items. `written`: what may hold something in front of them, then behind them.
  void Walk(const std::vector<Control>& items, const OutcastSet& live, OutcastSet& written) {
    // Live sets behind each item, from the last one on.
    std::vector<OutcastSet> behind(items.size());
    OutcastSet at = live;
    for (size_t i = items.size(); i-- > 0;) {
      behind[i] = at;
      const Effect effect = EffectOfItem(items[i]);
      at.Remove(effect.renews);
      at.Unite(effect.reads);
    }
    for (size_t i = 0; i < items.size(); ++i) WalkItem(items[i], behind[i], written);
  }

  void WalkItem(const Control& item, const OutcastSet& live, OutcastSet& written) {
    if (item.kind == Control::Kind::kRun) {
      WalkRun(item.run, live, written);
    } else if (item.kind == Control::Kind::kLoop) {
      OutcastSet around = live;
      if (TripsOf(item).second > 1) {
        Effect body = EffectOfItems(item.body);
        body.reads.Remove(FreshOf(item));
        around.Unite(body.reads);
        written.Unite(body.writes);
      }
      Walk(item.body, around, written);
    } else if (item.kind == Control::Kind::kIf) {
      OutcastSet other = written;
      Walk(item.body, live, written);
      Walk(item.otherwise, live, other);
      written.Unite(other);
    }
  }

  void WalkRun(uint32_t run, const OutcastSet& live, OutcastSet& written) {
    const Effect effect = EffectOfRun(run);
    written.Remove(effect.renews);
    written.Unite(effect.writes);
    if (context_.runs[run].root == kNone) return;
    OutcastSet held = live;
    held.Intersect(written);
    std::vector<uint32_t>& live_after = context_.plan.roots[context_.runs[run].root].live_after;
    held.ForEach([&](uint32_t bit) { live_after.push_back(storage_of_[bit]); });
    boundary_ = context_.exprs().Max(boundary_, SumOfBytes(context_.plan, live_after));
  }

  Context& context_;
  std::vector<uint32_t> bit_of_;      // per storage
  std::vector<uint32_t> storage_of_;  // per bit
  ExprId boundary_ = kNoExpr;
};

int PoolOf(TensorClass tensor_class) { return static_cast<int>(tensor_class) - 1; }
static_assert(static_cast<int>(TensorClass::kRootInner) - 1 == static_cast<int>(workspace::Pool::kRootInner));
static_assert(static_cast<int>(TensorClass::kAssembleOutcast) - 1 ==
              static_cast<int>(workspace::Pool::kAssembleOutcast));
static_assert(static_cast<int>(TensorClass::kExclusiveOutcast) - 1 ==
              static_cast<int>(workspace::Pool::kExclusiveOutcast));

void FindUnits(Context& context) {
  program::ExprPool& exprs = context.exprs();
  program::PlanWorkspace& workspace = context.plan.workspace;
  const std::vector<program::Storage>& storages = context.plan.storages;
  workspace.unit_bytes.fill(exprs.Const(0));
  std::vector<uint32_t> assembled;  // one buffer each
  for (uint32_t i = 0; i < storages.size(); ++i) {
    if (storages[i].tensor_class == TensorClass::kParameter) continue;
    workspace.present[static_cast<size_t>(PoolOf(storages[i].tensor_class))] = true;
    if (storages[i].tensor_class == TensorClass::kAssembleOutcast) assembled.push_back(i);
  }
  ExprId& inner = workspace.unit_bytes[static_cast<size_t>(workspace::Pool::kRootInner)];
  ExprId& exclusive = workspace.unit_bytes[static_cast<size_t>(workspace::Pool::kExclusiveOutcast)];
  workspace.unit_bytes[static_cast<size_t>(workspace::Pool::kAssembleOutcast)] = SumOfBytes(context.plan, assembled);
  for (const ExprId bytes : context.inner_bytes) inner = exprs.Max(inner, bytes);
  for (const program::RootFunction& root : context.plan.roots) {
    std::vector<uint32_t> written;
    for (const program::OutcastWrite& write : root.writes) {
      if (storages[write.storage].tensor_class == TensorClass::kExclusiveOutcast) written.push_back(write.storage);
    }
    exclusive = exprs.Max(exclusive, SumOfBytes(context.plan, written));
  }
}

}  // namespace

void FindRequirements(Context& context) {
  LivenessPass(context).Run();
  FindUnits(context);
}

base::Status CheckBudget(const program::Plan& plan) {
  const program::PlanOptions& asked = plan.options;
  const workspace::BudgetOptions options{asked.stitch_function_max_num, asked.max_workspace_kb,
                                         asked.stitch_function_num_per_pool, asked.parallelism};
  workspace::Requirement requirement;
  bool known = true;
  // Sizes that a launch decides are taken with every dim and scalar at 1.
  const std::vector<int64_t> symbols(plan.symbols.size(), 1);
  const std::vector<int64_t> scalars(plan.scalars.size(), 1);
  const auto bytes = [&](ExprId id) -> base::Result<uint64_t> {
    known = known && plan.exprs.ConstantValue(id).has_value();
    const auto value = program::Evaluate(plan.exprs, id, {symbols, scalars, {}});
    if (value.ok() && *value >= 0) return static_cast<uint64_t>(*value);
    return base::Status(base::StatusCode::kWorkspace,
                        "[workspaceSize] the kernel's tensors pass 9223372036854775807 bytes. Lower their sizes.");
  };
  requirement.present = plan.workspace.present;
  for (size_t i = 0; i < requirement.unit_bytes.size(); ++i) {
    PYPTO_ASSIGN_OR_RETURN(requirement.unit_bytes[i], bytes(plan.workspace.unit_bytes[i]));
  }
  PYPTO_ASSIGN_OR_RETURN(requirement.boundary_bytes, bytes(plan.workspace.boundary_bytes));
  if (known) {
    auto budget = workspace::ResolveBudget(requirement, options, 0);
    return budget.ok() ? base::OkStatus() : std::move(budget).status();
  }
  if (workspace::ModeOf(options) != workspace::BudgetMode::kPerPool) return base::OkStatus();
  return workspace::ValidateDepth(requirement, options.num_per_pool).WithContext("with every dynamic dim at 1");
}

}  // namespace pypto::compile
