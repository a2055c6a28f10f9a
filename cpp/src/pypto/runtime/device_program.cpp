// Loading and unloading programs, and their staging sets.
#include "pypto/runtime/device_program.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "pypto/acl/errors.h"
#include "pypto/base/environment.h"

namespace pypto::runtime {
namespace {

using base::MakeStatus;
using base::Result;
using base::Status;
using base::StatusCode;
using program::ControlNode;
using program::ExprId;

constexpr uint64_t kStagingGranule = 512;

bool DependsOnScalar(std::span<const program::ExprNode> nodes, std::initializer_list<ExprId> roots) {
  std::vector<ExprId> known;
  for (const ExprId root : roots) {
    if (root != program::kNoExpr) known.push_back(root);
  }
  for (const ExprId id : program::CloseUnderChildren(nodes, known)) {
    if (nodes[id].op == program::ExprOp::kScalar) return true;
  }
  return false;
}

bool TripsDependOnScalar(std::span<const program::ExprNode> nodes, const std::vector<ControlNode>& control) {
  for (const ControlNode& node : control) {
    if (node.kind == ControlNode::Kind::kLoop && DependsOnScalar(nodes, {node.start, node.stop, node.step}))
      return true;
    if (TripsDependOnScalar(nodes, node.body) || TripsDependOnScalar(nodes, node.otherwise)) return true;
  }
  return false;
}

std::vector<ExprId> WorkspaceExprs(const program::Plan& plan) {
  std::vector<ExprId> roots;
  for (const ExprId id : plan.workspace.unit_bytes) {
    if (id != program::kNoExpr) roots.push_back(id);
  }
  if (plan.workspace.boundary_bytes != program::kNoExpr) roots.push_back(plan.workspace.boundary_bytes);
  return program::CloseUnderChildren(plan.exprs.nodes(), roots);
}

// A file that is gone at the end of the scope.
class TemporaryFile {
 public:
  TemporaryFile() = default;
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  Status Write(std::span<const uint8_t> bytes) {
    std::string pattern = base::GetEnvironment("TMPDIR").value_or("/tmp") + "/pypto-XXXXXX.o";
    const int file = ::mkstemps(pattern.data(), 2);
    if (file < 0) {
      return MakeStatus(StatusCode::kIo, "cannot create '%s': %s", pattern.c_str(), std::strerror(errno));
    }
    path_ = pattern;
    while (!bytes.empty()) {
      const ssize_t written = ::write(file, bytes.data(), bytes.size());
      if (written <= 0) break;
      bytes = bytes.subspan(static_cast<size_t>(written));
    }
    const int closed = ::close(file);
    if (!bytes.empty() || closed != 0) return MakeStatus(StatusCode::kIo, "cannot write '%s'", path_.c_str());
    return base::OkStatus();
  }
  const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

}  // namespace

DeviceProgram::DeviceProgram(std::shared_ptr<const program::Image> image, acl::Binary binary,
                             acl::FunctionView function)
    : image_(std::move(image)),
      signature_(image_->plan),
      binary_(std::move(binary)),
      function_(function),
      workspace_exprs_(WorkspaceExprs(image_->plan)),
      open_ended_(TripsDependOnScalar(image_->plan.exprs.nodes(), image_->plan.control)) {}

StagingSet* DeviceProgram::TakeSet() {
  if (!free_sets_.empty()) {
    StagingSet* set = free_sets_.back();
    free_sets_.pop_back();
    return set;
  }
  sets_.push_back(std::make_unique<StagingSet>());
  sets_.back()->slots.resize(signature_.rules().size());
  free_sets_.reserve(sets_.size());
  return sets_.back().get();
}

Status DeviceProgram::Reserve(StagingSet* set, size_t parameter, uint64_t bytes, DeviceAllocator* allocator) const {
  StagingSet::Slot& slot = set->slots[parameter];
  const uint64_t wanted = (std::max<uint64_t>(bytes, 1) + kStagingGranule - 1) / kStagingGranule * kStagingGranule;
  if (slot.capacity >= wanted) return base::OkStatus();
  if (slot.capacity != 0) {
    const uint64_t old = std::exchange(slot, {}).address;
    PYPTO_RETURN_IF_ERROR(allocator->Free(old));
  }
  PYPTO_ASSIGN_OR_RETURN(slot.address, allocator->Allocate(wanted, MemoryKind::kStaging,
                                                           "staging of " + signature_.ArgumentName(parameter)));
  slot.capacity = wanted;
  return base::OkStatus();
}

Status DeviceProgram::Unload(DeviceAllocator* allocator) {
  Status first;
  for (const auto& set : sets_) {
    for (StagingSet::Slot& slot : set->slots) {
      if (slot.capacity != 0) first.Attach(allocator->Free(std::exchange(slot, {}).address));
    }
  }
  first.Attach(binary_.Close());
  return first;
}

ProgramCache::ProgramCache(const acl::Table& table, DeviceAllocator* allocator, Counters* counters)
    : table_(table), allocator_(allocator), counters_(counters) {}

Result<acl::Binary> ProgramCache::Load(const program::Image& image) const {
  if (table_.launch_route() != acl::LaunchRoute::kKernelArgs) {
    return acl::Binary::LoadFromData(table_, std::as_bytes(std::span(image.bytes)), acl_abi::kBinaryMagicAiCore);
  }
  TemporaryFile file;
  PYPTO_RETURN_IF_ERROR(file.Write(image.bytes));
  return acl::Binary::LoadFromFile(table_, file.path());
}

Result<DeviceProgram*> ProgramCache::Acquire(const std::shared_ptr<const program::Image>& image) {
  const auto found = programs_.find(image->fingerprint);
  if (found != programs_.end()) {
    found->second->handles += 1;
    return found->second.get();
  }
  PYPTO_ASSIGN_OR_RETURN(acl::Binary binary, Load(*image));
  PYPTO_ASSIGN_OR_RETURN(const acl::FunctionView function, binary.Function(image->plan.name));
  counters_->program_loads += 1;
  auto loaded = std::make_unique<DeviceProgram>(image, std::move(binary), function);
  loaded->handles = 1;
  DeviceProgram* program = loaded.get();
  programs_.emplace(image->fingerprint, std::move(loaded));
  return program;
}

Status ProgramCache::Release(DeviceProgram* program) {
  program->handles -= 1;
  if (program->handles != 0) return base::OkStatus();
  const auto node = programs_.extract(program->image().fingerprint);
  counters_->program_unloads += 1;
  return node.mapped()->Unload(allocator_);
}

Status CheckRunsHere(const program::Image& image, const std::string& platform, bool is_mock) {
  const std::string& name = image.plan.name;
  if (image.platform != platform) {
    return MakeStatus(StatusCode::kInvalidArgument,
                      "'%s' was compiled for platform '%s', this worker is on '%s': compile it for '%s'", name.c_str(),
                      image.platform.c_str(), platform.c_str(), platform.c_str());
  }
  if (is_mock) return base::OkStatus();
  if (image.binaries.empty()) {
    Status status = MakeStatus(StatusCode::kCompile,
                               "'%s' holds no AI-core code (this version generates none); run it on a2a3sim or bring a "
                               "binary with ir.load_kernel",
                               name.c_str());
    if (image.debug.files.empty()) return status;
    return std::move(status).WithSourceLine(image.debug.files.front(), 1);
  }
  return MakeStatus(StatusCode::kUnsupported,
                    "'%s' brings AI-core code for %s; this version launches no device binaries yet, run it on a2a3sim",
                    name.c_str(), image.binaries.front().chip.c_str());
}

}  // namespace pypto::runtime
