// From arguments to a launch block: checking, sizes, staging.
#include "pypto/runtime/launcher.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "pypto/base/checked.h"
#include "pypto/base/clock.h"
#include "pypto/log/log.h"
#include "pypto/program/expr.h"
#include "pypto/runtime/program_budget.h"
#include "pypto/runtime/trace.h"

namespace pypto::runtime {
namespace {

using base::MakeStatus;
using base::Result;
using base::Status;
using base::StatusCode;
using program::LaunchHeader;

// The engine takes its working memory from the host, not from the workspace.
constexpr uint64_t kEngineBytes = 0;

bool Overlaps(uint64_t a, uint64_t a_bytes, uint64_t b, uint64_t b_bytes) {
  return a < b + b_bytes && b < a + a_bytes && a_bytes != 0 && b_bytes != 0;
}

uint64_t AddressOf(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

}  // namespace

Launcher::Launcher(WorkerState* state, DeviceProgram* program, std::shared_ptr<const program::Image> image)
    : state_(state),
      table_(state->table()),
      image_(std::move(image)),
      program_(program),
      shared_signature_(program->signature_pointer()),
      signature_(*shared_signature_),
      function_(program->function().raw()),
      statistics_(state->table(), &state->allocator(), &state->counters(), "statistics of " + program->plan().name),
      task_blocks_(state->table(), &state->allocator(), program::TaskBlockBytes(program->plan().options.parallelism),
                   "task records of " + program->plan().name),
      profile_blocks_(state->table(), &state->allocator(),
                      program::TaskBlockBytes(program->plan().options.parallelism) + ProfileBytesOf(program->plan()),
                      "profile of " + program->plan().name) {
  const size_t parameters = signature_.rules().size();
  const size_t symbols = signature_.symbol_count();
  prepared_.resize(parameters);
  staged_in_.reserve(parameters);
  staged_out_.reserve(parameters);
  symbols_.resize(symbols);
  resolved_symbols_.resize(symbols);
  scalars_.resize(signature_.scalar_count());
  resolved_scalars_.resize(signature_.scalar_count());
  expr_values_.resize(program->plan().exprs.size());
  const uint64_t fixed = sizeof(LaunchHeader) + 8 * (parameters + symbols);
  inline_begin_ = static_cast<uint32_t>(base::AlignUp(std::max(fixed, program::kHeadBytes), program::kInlineAlignment));
  ReserveBlock(inline_begin_);
  auto* head = new (block_) LaunchHeader();
  head->parameter_count = static_cast<uint32_t>(parameters);
  head->symbol_count = static_cast<uint32_t>(symbols);
  if (const program::DeviceBinary* binary = program->packed_binary()) {
    packed_ = std::make_unique<PackedArguments>(image_->plan, *binary, program->sync_address());
  }
  state_->AddLauncher(this);
}

Launcher::~Launcher() = default;

void Launcher::ReserveBlock(size_t room) {
  auto storage = std::make_unique_for_overwrite<std::byte[]>(room + program::kInlineAlignment);
  auto* block = reinterpret_cast<std::byte*>(base::AlignUp(AddressOf(storage.get()), program::kInlineAlignment));
  block_ != nullptr ? std::memcpy(block, block_, inline_begin_) : std::memset(block, 0, inline_begin_);
  storage_ = std::move(storage);
  block_ = block;
  block_room_ = room;
}

Status Launcher::Close(const Interrupt& interrupt) {
  if (!is_open()) return base::OkStatus();
  if (state_->stream_busy() && !state_->broken()) {
    Status waited = state_->WaitIdle(state_->config().timeout_ms, interrupt);
    if (!waited.ok() && !state_->broken()) return waited;
  }
  state_->FinishAllOf(this);
  const acl::ContextScope scope(state_->table(), state_->session().context());
  Status first = scope.status();
  if (set_ != nullptr) program_->ReturnSet(std::exchange(set_, nullptr));
  first.Attach(statistics_.Release());
  first.Attach(task_blocks_.Release());
  first.Attach(profile_blocks_.Release());
  task_block_ = 0;
  first.Attach(state_->programs().Release(std::exchange(program_, nullptr)));
  state_->RemoveLauncher(this);
  prepared_ok_ = false;
  ForgetLast();
  open_.store(false, std::memory_order_release);  // the last access: another thread may delete a closed one
  return first;
}

Status Launcher::CheckOpen() const {
  PYPTO_RETURN_IF_ERROR(state_->CheckUsable());
  if (is_open()) [[likely]]
    return base::OkStatus();
  return MakeStatus(StatusCode::kFailedPrecondition,
                    "the handle of '%s' is closed (unregistered, or its worker was closed): register the program again",
                    image_->plan.name.c_str());
}

Status Launcher::Prepare(std::span<const ArgumentView> arguments) {
  prepared_ok_ = false;
  PYPTO_RETURN_IF_ERROR(CheckOpen());
  state_->TakeInDropped();
  if (IsRepeat(arguments)) [[likely]] {
    prepared_ok_ = true;
    return base::OkStatus();
  }
  ForgetLast();
  prepared_number_ += 1;
  const std::span<const ParameterRule> rules = signature_.rules();
  if (arguments.size() != rules.size()) [[unlikely]]
    return signature_.ExplainCount(arguments.size());
  copied_bytes_ = 0;
  const bool traced = TraceOn();
  if (traced) [[unlikely]]
    marks_.begin = base::MonotonicNanoseconds();
  for (size_t i = 0; i < rules.size(); ++i) {
    if (!ReadArgument(i, rules[i], arguments[i])) [[unlikely]]
      return Explain(i, arguments[i]);
  }
  PYPTO_RETURN_IF_ERROR(CheckOverlaps());
  if (traced) [[unlikely]]
    marks_.checked = base::MonotonicNanoseconds();
  if (SizesChanged()) [[unlikely]]
    PYPTO_RETURN_IF_ERROR(ResolveSizes());
  PYPTO_RETURN_IF_ERROR(PlaceArguments());
  NoteCopies();
  if (packed_) [[unlikely]]
    PYPTO_RETURN_IF_ERROR(packed_->Pack({slots(), prepared_.size()}));
  const bool records = !packed_ && log::Enabled(log::Level::kInfo);
  if (records || header().flags != 0) [[unlikely]]
    SwitchRecords(records);
  if (traced) [[unlikely]]
    marks_.placed = base::MonotonicNanoseconds();
  NoteLast();
  prepared_ok_ = true;
  return base::OkStatus();
}

bool Launcher::ReadArgument(size_t index, const ParameterRule& rule, const ArgumentView& argument) noexcept {
  if (rule.is_tensor) {
    if (argument.kind == ArgumentKind::kHost) return ReadHost(index, rule, argument);
    if (argument.kind != ArgumentKind::kResident) return false;
    const ResidentTensor& tensor = *argument.tensor;
    if (tensor.session() != state_->registry().session()) return false;
    const std::span<const int64_t> shape = tensor.shape();
    if (!program::Serves(tensor.dtype(), rule.dtype)) return false;
    if (!Signature::MatchShape(rule, shape.data(), shape.size(), symbols_.data())) return false;
    prepared_[index] = {Place::kResident, nullptr,         tensor.address(), tensor.bytes(),
                        argument.tensor,  tensor.serial(), tensor.dtype()};
    return true;
  }
  if (rule.scalar_kind == program::ScalarKind::kInt) {
    if (argument.kind != ArgumentKind::kInt) return false;
    scalars_[rule.scalar] = argument.int_value;
    slots()[index] = static_cast<uint64_t>(argument.int_value);
    return true;
  }
  if (argument.kind != ArgumentKind::kFloat && argument.kind != ArgumentKind::kInt) return false;
  const double value =
      argument.kind == ArgumentKind::kFloat ? argument.float_value : static_cast<double>(argument.int_value);
  std::memcpy(&slots()[index], &value, sizeof(value));
  return true;
}

bool Launcher::ReadHost(size_t index, const ParameterRule& rule, const ArgumentView& argument) noexcept {
  if (!program::Serves(argument.dtype, rule.dtype)) return false;
  if (!Signature::MatchShape(rule, argument.shape, argument.rank, symbols_.data())) return false;
  uint64_t bytes = rule.element_bytes;
  bool overflow = false;
  for (size_t i = 0; i < argument.rank; ++i) {
    overflow |= __builtin_mul_overflow(bytes, static_cast<uint64_t>(argument.shape[i]), &bytes);
  }
  if (overflow || (bytes != 0 && argument.data == nullptr)) return false;
  const bool is_inline =
      rule.direction == program::Direction::kIn && bytes <= program::kInlineLimit && bytes != 0 && !packed_;
  prepared_[index] = {is_inline ? Place::kInline : Place::kStaged, argument.data, 0, bytes, nullptr, 0, argument.dtype};
  copied_bytes_ += bytes;
  return true;
}

Status Launcher::Explain(size_t index, const ArgumentView& argument) const {
  const std::string what = signature_.ArgumentName(index);
  if (signature_.rules()[index].is_tensor && argument.kind == ArgumentKind::kResident) {
    PYPTO_RETURN_IF_ERROR(state_->registry().CheckTensor(what.c_str(), *argument.tensor));
  }
  return signature_.ExplainArgument(index, argument, symbols_.data());
}

Status Launcher::CheckOverlaps() const {
  const std::span<const ParameterRule> rules = signature_.rules();
  for (size_t i = 0; i < rules.size(); ++i) {
    if (!rules[i].is_tensor || !rules[i].writes()) continue;
    PYPTO_RETURN_IF_ERROR(CheckOverlapsOf(i));
  }
  return base::OkStatus();
}

// A written resident tensor may overlap no other resident one, a written host tensor no other written host tensor.
Status Launcher::CheckOverlapsOf(size_t index) const {
  const std::span<const ParameterRule> rules = signature_.rules();
  const Prepared& written = prepared_[index];
  const bool resident = written.place == Place::kResident;
  for (size_t j = 0; j < rules.size(); ++j) {
    const Prepared& other = prepared_[j];
    if (j == index || !rules[j].is_tensor || (other.place == Place::kResident) != resident) continue;
    if (!resident && !rules[j].writes()) continue;
    const uint64_t a = resident ? written.address : AddressOf(written.host);
    const uint64_t b = resident ? other.address : AddressOf(other.host);
    if (!Overlaps(a, written.bytes, b, other.bytes)) [[likely]]
      continue;
    const std::string& first = signature_.plan().parameters[std::min(index, j)].name;
    const std::string& second = signature_.plan().parameters[std::max(index, j)].name;
    return MakeStatus(StatusCode::kInvalidArgument,
                      "arguments '%s' and '%s' of %s overlap in %s memory, and '%s' is written: pass separate tensors",
                      first.c_str(), second.c_str(), signature_.plan().name.c_str(), resident ? "device" : "host",
                      signature_.plan().parameters[index].name.c_str());
  }
  return base::OkStatus();
}

bool Launcher::SizesChanged() const noexcept {
  return !resolved_ || symbols_ != resolved_symbols_ || scalars_ != resolved_scalars_;
}

Result<workspace::Requirement> Launcher::EvaluateRequirement() {
  const program::Plan& plan = signature_.plan();
  const program::ExprEnvironment environment{symbols_, scalars_, {}};
  const program::EvalOutcome outcome =
      program::EvaluateNodes(plan.exprs.nodes(), program_->workspace_exprs(), environment, expr_values_);
  if (outcome != program::EvalOutcome::kOk) {
    return MakeStatus(StatusCode::kWorkspace, "the workspace of '%s' cannot be computed for these sizes: %s",
                      plan.name.c_str(),
                      outcome == program::EvalOutcome::kOverflow ? "a size overflows 64 bits" : "division by zero");
  }
  workspace::Requirement requirement;
  const auto value_of = [&](program::ExprId id) -> int64_t { return id == program::kNoExpr ? 0 : expr_values_[id]; };
  for (size_t pool = 0; pool < workspace::kPoolCount; ++pool) {
    const int64_t unit = value_of(plan.workspace.unit_bytes[pool]);
    if (unit < 0) return MakeStatus(StatusCode::kWorkspace, "'%s' has a workspace unit below 0", plan.name.c_str());
    requirement.unit_bytes[pool] = static_cast<uint64_t>(unit);
    requirement.present[pool] = plan.workspace.present[pool];
  }
  const int64_t boundary = value_of(plan.workspace.boundary_bytes);
  if (boundary < 0) return MakeStatus(StatusCode::kWorkspace, "'%s' has boundary memory below 0", plan.name.c_str());
  requirement.boundary_bytes = static_cast<uint64_t>(boundary);
  return requirement;
}

Status Launcher::ResolveSizes() {
  resolved_ = false;
  PYPTO_ASSIGN_OR_RETURN(const workspace::Requirement requirement, EvaluateRequirement());
  PYPTO_ASSIGN_OR_RETURN(
      budget_, workspace::ResolveBudget(requirement, BudgetOptionsOf(signature_.plan().options), kEngineBytes));
  if (!packed_) PYPTO_RETURN_IF_ERROR(SelectStatistics());
  FillHeader();
  EstimateWork();
  std::copy(symbols_.begin(), symbols_.end(), reinterpret_cast<int64_t*>(slots() + prepared_.size()));
  resolved_symbols_ = symbols_;
  resolved_scalars_ = scalars_;
  resolved_ = true;
  return base::OkStatus();
}

Status Launcher::SelectStatistics() {
  if (statistics_.MustEvict(budget_)) PYPTO_RETURN_IF_ERROR(state_->WaitIdleIfBusy({}));
  const acl::ContextScope scope(state_->table(), state_->session().context());
  PYPTO_RETURN_IF_ERROR(scope.status());
  PYPTO_ASSIGN_OR_RETURN(header().statistics_address, statistics_.Select(budget_));
  header().statistics_bytes = program::kStatisticsBytes;
  return base::OkStatus();
}

void Launcher::FillHeader() {
  LaunchHeader& head = header();
  head.parallelism = budget_.parallelism;
  for (size_t i = 0; i < head.pools.size(); ++i) {
    const workspace::PoolBudget& pool = budget_.pools[i];
    head.pools[i] = {pool.unit, pool.offset, pool.capacity, pool.depth, 0};
  }
  head.boundary_offset = budget_.boundary_offset;
  head.boundary_bytes = budget_.boundary_bytes;
  head.copy_bytes = budget_.bytes_per_copy;
  head.max_instances_per_task = budget_.max_instances_per_task;
}

// The plan's rough count with every dynamic dim at 1, times the dims, at about 5 operations per nanosecond.
void Launcher::EstimateWork() noexcept {
  longest_ns_ = 0;
  constexpr double kOperationsPerMicrosecond = 5000;
  if (program_->open_ended()) {
    estimated_us_ = std::numeric_limits<double>::infinity();
    return;
  }
  auto operations = static_cast<double>(signature_.plan().flops_hint);
  for (const int64_t symbol : symbols_) operations *= static_cast<double>(std::max<int64_t>(symbol, 1));
  estimated_us_ = operations / kOperationsPerMicrosecond;
}

Status Launcher::PlaceArguments() {
  uint64_t end = sizeof(LaunchHeader) + 8 * (prepared_.size() + symbols_.size());
  uint64_t next = inline_begin_;
  for (size_t i = 0; i < prepared_.size(); ++i) {
    Prepared& prepared = prepared_[i];
    switch (prepared.place) {
      case Place::kScalar: break;
      case Place::kResident: slots()[i] = prepared.address; break;
      case Place::kInline:
        if (block_room_ == inline_begin_) [[unlikely]] {
          ReserveBlock(inline_begin_ + prepared_.size() * (program::kInlineLimit + program::kInlineAlignment));
        }
        std::memcpy(block_ + next, prepared.host, prepared.bytes);
        slots()[i] = program::kInlineFlag | next;
        end = next + prepared.bytes;
        next = base::AlignUp(end, program::kInlineAlignment);
        break;
      case Place::kStaged: PYPTO_RETURN_IF_ERROR(StageArgument(i, &prepared)); break;
    }
  }
  LaunchHeader& head = header();
  head.bytes = static_cast<uint32_t>(end);
  if (budget_.total_bytes > state_->workspace_bytes()) [[unlikely]] {
    PYPTO_RETURN_IF_ERROR(state_->GrowWorkspace(budget_.total_bytes));
  }
  head.workspace_bytes = budget_.total_bytes;
  head.workspace_address = budget_.total_bytes != 0 ? state_->workspace_address() : 0;
  return base::OkStatus();
}

Status Launcher::StageArgument(size_t index, Prepared* prepared) {
  if (set_ == nullptr) set_ = program_->TakeSet();
  const StagingSet::Slot& slot = set_->slots[index];
  if (slot.capacity < prepared->bytes || slot.capacity == 0) [[unlikely]] {
    const acl::ContextScope scope(state_->table(), state_->session().context());
    PYPTO_RETURN_IF_ERROR(scope.status());
    PYPTO_RETURN_IF_ERROR(program_->Reserve(set_, index, prepared->bytes, &state_->allocator()));
  }
  prepared->address = slot.address;
  slots()[index] = slot.address;
  return base::OkStatus();
}

}  // namespace pypto::runtime
