// Makes instances, task by task.
#include "pypto/device/stitcher.h"

#include <algorithm>
#include <string>
#include <utility>

#include "pypto/base/checked.h"

namespace pypto::device {

using program::EvalOutcome;
using program::FaultKind;

void Stitcher::Begin(const LoadedExecutable& executable, LaunchState* launch, TaskSink* sink, Fault* fault) {
  executable_ = &executable;
  launch_ = launch;
  sink_ = sink;
  fault_ = fault;
  counts_ = {};
  const bool ordered = sink->cores() > 1 || sink->shaken();
  const bool by_place = ordered || executable.plan().reads_tensors;
  const bool aliased = by_place && launch->ParametersOverlap(executable, launch->shape());
  store_.Begin(!aliased);
  if (task_ == nullptr) task_ = store_.TakeTask();
  task_->Clear();
  graph_.Begin();
  const program::Plan& plan = executable.plan();
  pools_.Begin(plan, launch);
  bindings_.assign(plan.storages.size(), {});
  seen_.assign(plan.storages.size(), 0);
  pending_.assign(plan.storages.size(), 0);
  has_readers_.assign(plan.storages.size(), 0);
  pending_list_.clear();
  instance_number_ = 0;
  target_ = {launch, &bindings_, ordered ? &graph_ : nullptr, aliased, &task_->arena, fault};
  BindParameters();
}

// Parameters that overlap share one space, in which they lie at their addresses.
void Stitcher::BindParameters() {
  const program::Plan& plan = executable_->plan();
  for (uint32_t i = 0; i < plan.storages.size(); ++i) {
    if (plan.storages[i].tensor_class != program::TensorClass::kParameter) continue;
    const uint32_t slot = kFirstParameterSlot + static_cast<uint32_t>(plan.storages[i].parameter);
    const std::byte* data = launch_->slots()[slot];
    if (data == nullptr) continue;
    Place place{slot, i, 0, 0};
    if (target_.aliased) {
      place.space = 0;
      place.space_base = static_cast<int64_t>(reinterpret_cast<uintptr_t>(data));
    }
    bindings_[i] = {place, place};
  }
}

bool Stitcher::AddInstance(uint32_t root, uint32_t copy) {
  const RootProgram& program = executable_->roots()[root];
  launch_->frame().Update(program.varying);
  if (!ChooseLeaves(program)) return false;
  ListNeeds(program);
  if (!MakeRoom(program, copy)) return false;
  TakeMemory(program, copy);
  if (!ResolveLeaves(program)) return false;
  NoteReaders(program);
  for (const uint32_t storage : writes_) bindings_[storage].before = bindings_[storage].after;
  DropDead(program);
  for (const uint32_t storage : program.writes) {
    if (pending_[storage] == 0) pending_list_.push_back(storage);
    pending_[storage] = 1;
  }
  last_root_ = root;
  ++task_->figures.instances;
  ++counts_.root_instances;
  return task_->figures.instances < launch_->budget().max_instances_per_task || Submit();
}

void Stitcher::BeginAnew(const std::vector<uint32_t>& outcasts) {
  for (const uint32_t outcast : outcasts) {
    if (!pools_.present(outcast)) continue;
    const std::vector<uint32_t>& held = pools_.held();
    pools_.Drop(static_cast<size_t>(std::find(held.begin(), held.end(), outcast) - held.begin()));
    bindings_[outcast] = {};
  }
}

bool Stitcher::ChooseLeaves(const RootProgram& root) {
  runs_.assign(root.leaves.size(), 1);
  if (!root.guarded) return true;
  const ExprFrame& frame = launch_->frame();
  for (size_t i = 0; i < root.leaves.size(); ++i) {
    const LeafProgram& leaf = root.leaves[i];
    if (leaf.guard == program::kNoExpr) continue;
    if (frame.outcome(leaf.guard) == EvalOutcome::kDivisionByZero) {
      return fault_->Set(FaultKind::kDivisionByZero, leaf.place, 0, "division by zero in a condition");
    }
    if (frame.outcome(leaf.guard) != EvalOutcome::kOk) {
      return fault_->Set(FaultKind::kOverflow, leaf.place, 0, "a condition exceeds 64 bits");
    }
    runs_[i] = frame[leaf.guard] != 0;
  }
  return true;
}

// Root-inner storages of the leaves that run, and outcasts that they write: a new buffer for a whole write, or for the
// first write at all.
void Stitcher::ListNeeds(const RootProgram& root) {
  needs_.clear();
  writes_.clear();
  requested_ = {};
  ++instance_number_;
  const auto need = [this](uint32_t storage) {
    needs_.push_back(storage);
    const auto pool = Pools::PoolOf(executable_->plan().storages[storage].tensor_class);
    uint64_t& sum = requested_.unit_bytes[static_cast<size_t>(pool)];
    const uint64_t bytes = workspace::BlockBytes(launch_->storage_size(storage).bytes);
    sum = base::CheckedAdd(sum, bytes).value_or(UINT64_MAX);
  };
  for (size_t i = 0; i < root.leaves.size(); ++i) {
    if (runs_[i] == 0) continue;
    for (const uint32_t storage : root.leaves[i].touched_inner) {
      if (seen_[storage] == instance_number_) continue;
      seen_[storage] = instance_number_;
      need(storage);
    }
    for (const uint32_t storage : root.leaves[i].written) {
      if (seen_[storage] == instance_number_) continue;
      seen_[storage] = instance_number_;
      writes_.push_back(storage);
      if (root.begins_new[storage] || !pools_.present(storage)) need(storage);
    }
  }
}

bool Stitcher::MakeRoom(const RootProgram& root, uint32_t copy) {
  const auto full = [&]() -> const workspace::PoolArena* {
    for (int pool = 0; pool < workspace::kPoolCount; ++pool) {
      const workspace::PoolArena& arena = pools_.arena(copy, static_cast<workspace::Pool>(pool));
      if (requested_.unit_bytes[pool] > arena.available()) return &arena;
    }
    return nullptr;
  };
  const workspace::PoolArena* arena = full();
  if (arena == nullptr) [[likely]]
    return true;
  if (task_->figures.instances > 0) {
    ++counts_.alloc_failures;
    const auto index = static_cast<size_t>(arena - &pools_.arena(copy, workspace::Pool::kRootInner));
    TaskFigures& figures = task_->figures;
    figures.failed = true;
    figures.failed_pool = static_cast<uint32_t>(index);
    figures.requested = requested_.unit_bytes[index];
    figures.available = arena->available();
    figures.capacity = arena->capacity();
    if (!Submit()) return false;
    ListNeeds(root);  // what was dead returned
    arena = full();
    if (arena == nullptr) return true;
  }
  const auto pool = static_cast<workspace::Pool>(arena - &pools_.arena(copy, workspace::Pool::kRootInner));
  const uint64_t bytes = requested_.unit_bytes[static_cast<size_t>(pool)];
  return fault_->Set(FaultKind::kWorkspace, root.place, static_cast<int64_t>(bytes),
                     "an instance of root function '" + root.name + "' takes " + std::to_string(bytes) +
                         " bytes from pool " + std::string(workspace::PoolName(pool)) + ", which holds " +
                         std::to_string(arena->capacity()) + " when empty");
}

void Stitcher::TakeMemory(const RootProgram& root, uint32_t copy) {
  inner_ = pools_.BeginInstance(copy);
  task_->inner_bytes =
      std::max(task_->inner_bytes, requested_.unit_bytes[static_cast<size_t>(workspace::Pool::kRootInner)]);
  for (const uint32_t storage : needs_) {
    const bool had = executable_->plan().storages[storage].tensor_class != program::TensorClass::kRootInner &&
                     pools_.present(storage);
    Binding& binding = bindings_[storage];
    const bool over = root.outcasts.updates[storage] && has_readers_[storage] == 0 && pools_.present_in(storage, copy);
    binding.after = over ? pools_.TakeOver(storage, copy) : pools_.Take(storage, copy);
    // A buffer that replaces none is what the instance sees from its start, unless it is written whole.
    if (!had && !root.begins_new[storage]) binding.before = binding.after;
  }
}

// Who reads an outcast may run beside an instance that writes it anew elsewhere.
void Stitcher::NoteReaders(const RootProgram& root) {
  for (const uint32_t storage : root.outcasts.read) has_readers_[storage] = 1;
  for (const uint32_t storage : writes_) has_readers_[storage] = 0;
}

// A copy of root-inner memory that need not run: readers of the target read the source.
bool Stitcher::TakeAlias(const InnerAlias& alias) {
  if (alias.target == InnerAlias::kNone) return false;
  for (const uint32_t leaf : alias.conflicts) {
    if (runs_[leaf] != 0) return false;
  }
  bindings_[alias.target] = bindings_[alias.source];
  return true;
}

bool Stitcher::ResolveLeaves(const RootProgram& root) {
  task_->instances.push_back(static_cast<uint32_t>(task_->leaves.size()));
  for (size_t i = 0; i < root.leaves.size(); ++i) {
    if (runs_[i] == 0 || TakeAlias(root.aliases[i])) continue;
    LeafRecord record;
    const auto number = static_cast<uint32_t>(task_->leaves.size());
    if (!ResolveLeaf(root.leaves[i], number, target_, &record)) return false;
    if (record.tiles == 0) continue;
    record.inner = inner_;
    counts_.leaf_tiles += static_cast<uint64_t>(PlannedTiles(record, 0, record.tiles));
    task_->work_ns += root.leaves[i].tile_ns * static_cast<double>(record.tiles);
    task_->leaves.push_back(record);
  }
  return true;
}

// What no later instance reads: the next one that writes it takes a buffer of its own.
void Stitcher::DropDead(const RootProgram& root) {
  for (size_t i = pools_.held().size(); i-- > 0;) {
    const uint32_t outcast = pools_.held()[i];
    if (root.live_after[outcast]) continue;
    pools_.Drop(i);
    bindings_[outcast] = {};
  }
}

bool Stitcher::Submit() {
  if (task_->figures.instances == 0) return true;
  CloseTask();
  if (!sink_->Run(*task_)) return fault_->Set(FaultKind::kAborted, 0, 0, "the launch was aborted");
  return EndTask();
}

// The one place where a task is closed: it holds all its instances and their memory, and nothing of it has run.
void Stitcher::CloseTask() {
  const uint32_t copies = launch_->budget().parallelism;
  for (uint32_t copy = 0; copy < copies; ++copy) task_->figures.held[copy] = pools_.held_bytes(copy);
  recorder_.Close(counts_.device_tasks, task_->figures);
  ++counts_.device_tasks;
  task_->counts = counts_;
  task_->inner_begin = pools_.inner_begin();
  if (target_.graph == nullptr) return;
  const workspace::PoolBudget& inner = launch_->budget().pools[static_cast<size_t>(workspace::Pool::kRootInner)];
  const bool has_rooms = task_->inner_bytes <= inner.capacity / sink_->cores();
  graph_.Finish(sink_->cores(), sink_->shaken(), has_rooms, task_.get());
}

// The task has run: memory returns, and the next task begins with three empty pools.
bool Stitcher::EndTask() {
  store_.Return(std::move(task_));
  task_ = store_.TakeTask();
  target_.arena = &task_->arena;
  graph_.Begin();
  if (!pools_.EndTask(&task_->moves)) {
    const RootProgram& last = executable_->roots()[last_root_];
    return fault_->Set(FaultKind::kWorkspace, last.place, static_cast<int64_t>(launch_->budget().boundary_bytes),
                       "boundary memory of " + std::to_string(launch_->budget().boundary_bytes) +
                           " bytes does not hold what is live after root function '" + last.name + "'");
  }
  MoveBlocks(task_->moves, launch_->workspace());
  for (const uint32_t outcast : pools_.held()) {
    const Place place = pools_.PlaceOf(outcast);
    bindings_[outcast] = {place, place};
  }
  for (const uint32_t storage : pending_list_) pending_[storage] = 0;
  std::fill(has_readers_.begin(), has_readers_.end(), uint8_t{0});
  pending_list_.clear();
  return true;
}

}  // namespace pypto::device
