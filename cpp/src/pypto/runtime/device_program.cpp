// Loading and unloading programs, and their staging sets.
#include "pypto/runtime/device_program.h"

#include <fcntl.h>
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

bool DependsOnLaunch(std::span<const program::ExprNode> nodes, std::initializer_list<ExprId> roots) {
  std::vector<ExprId> known;
  for (const ExprId root : roots) {
    if (root != program::kNoExpr) known.push_back(root);
  }
  for (const ExprId id : program::CloseUnderChildren(nodes, known)) {
    if (nodes[id].op == program::ExprOp::kScalar || nodes[id].op == program::ExprOp::kSlot) return true;
  }
  return false;
}

bool TripsDependOnLaunch(std::span<const program::ExprNode> nodes, const std::vector<ControlNode>& control) {
  for (const ControlNode& node : control) {
    if (node.kind == ControlNode::Kind::kLoop && DependsOnLaunch(nodes, {node.start, node.stop, node.step}))
      return true;
    if (TripsDependOnLaunch(nodes, node.body) || TripsDependOnLaunch(nodes, node.otherwise)) return true;
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
    if (file_ >= 0) ::close(file_);
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  Status Create() {
    std::string pattern = base::GetEnvironment("TMPDIR").value_or("/tmp") + "/pypto-XXXXXX.o";
    return Take(pattern, ::mkstemps(pattern.data(), 2));
  }
  // Of the other file's name with another tail than its ".o".
  Status CreateBeside(const TemporaryFile& other, const char* tail) {
    std::string path = other.path_.substr(0, other.path_.size() - 2) + tail;
    return Take(path, ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  }
  // Once.
  Status Write(std::span<const uint8_t> bytes) {
    while (!bytes.empty()) {
      const ssize_t written = ::write(file_, bytes.data(), bytes.size());
      if (written <= 0) break;
      bytes = bytes.subspan(static_cast<size_t>(written));
    }
    const int closed = ::close(std::exchange(file_, -1));
    if (!bytes.empty() || closed != 0) return MakeStatus(StatusCode::kIo, "cannot write '%s'", path_.c_str());
    return base::OkStatus();
  }
  const std::string& path() const noexcept { return path_; }

 private:
  Status Take(const std::string& path, int file) {
    if (file < 0) return MakeStatus(StatusCode::kIo, "cannot create '%s': %s", path.c_str(), std::strerror(errno));
    path_ = path;
    file_ = file;
    return base::OkStatus();
  }

  std::string path_;
  int file_ = -1;
};

// What the library is told of a core kind: in memory, and in the .json beside a file.
struct CoreNames {
  uint32_t magic;
  const char* in_json;
};
constexpr CoreNames kCoreNames[] = {
    {acl_abi::kBinaryMagicAiCore, "RT_DEV_BINARY_MAGIC_ELF"},
    {acl_abi::kBinaryMagicVector, "RT_DEV_BINARY_MAGIC_ELF_AIVEC"},
    {acl_abi::kBinaryMagicCube, "RT_DEV_BINARY_MAGIC_ELF_AICUBE"},
};

}  // namespace

DeviceProgram::DeviceProgram(std::shared_ptr<const program::Image> image, acl::Binary binary,
                             acl::FunctionView function, uint64_t sync_address)
    : image_(std::move(image)),
      signature_(std::make_shared<const Signature>(image_->plan)),
      binary_(std::move(binary)),
      function_(function),
      workspace_exprs_(WorkspaceExprs(image_->plan)),
      open_ended_(TripsDependOnLaunch(image_->plan.exprs.nodes(), image_->plan.control)),
      packed_binary_(program::PackedBinaryOf(*image_)),
      sync_address_(sync_address) {
  open_ended_ |= packed_binary_ != nullptr;
}

StagingSet* DeviceProgram::TakeSet() {
  if (!free_sets_.empty()) {
    StagingSet* set = free_sets_.back();
    free_sets_.pop_back();
    return set;
  }
  sets_.push_back(std::make_unique<StagingSet>());
  sets_.back()->slots.resize(signature_->rules().size());
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
                                                           "staging of " + signature_->ArgumentName(parameter)));
  slot.capacity = wanted;
  return base::OkStatus();
}

Status DeviceProgram::ReserveHost(const acl::Table& table, StagingSet* set, uint64_t bytes) {
  if (set->host.bytes() >= bytes) return base::OkStatus();
  if (!set->host.is_open() && !free_hosts_.empty()) {
    set->host = std::move(free_hosts_.back());
    free_hosts_.pop_back();
    if (set->host.bytes() >= bytes) return base::OkStatus();
  }
  PYPTO_RETURN_IF_ERROR(set->host.Close());
  PYPTO_ASSIGN_OR_RETURN(set->host, acl::HostMemory::Allocate(table, bytes));
  return base::OkStatus();
}

Status DeviceProgram::Unload(DeviceAllocator* allocator) {
  Status first;
  for (const auto& set : sets_) {
    for (StagingSet::Slot& slot : set->slots) {
      if (slot.capacity != 0) first.Attach(allocator->Free(std::exchange(slot, {}).address));
    }
    first.Attach(set->host.Close());
  }
  for (acl::HostMemory& host : free_hosts_) first.Attach(host.Close());
  first.Attach(binary_.Close());
  return first;
}

ProgramCache::ProgramCache(const acl::Table& table, DeviceAllocator* allocator, Counters* counters)
    : table_(table), allocator_(allocator), counters_(counters) {}

Result<acl::Binary> ProgramCache::Load(const program::Image& image) const {
  const program::DeviceBinary* binary = program::PackedBinaryOf(image);
  const std::vector<uint8_t>& payload = binary != nullptr ? binary->bytes : image.bytes;
  const CoreNames& core = kCoreNames[binary != nullptr ? static_cast<size_t>(binary->core) : 0];
  if (table_.launch_route() != acl::LaunchRoute::kKernelArgs) {
    return acl::Binary::LoadFromData(table_, std::as_bytes(std::span(payload)), core.magic);
  }
  TemporaryFile file;
  TemporaryFile description;
  PYPTO_RETURN_IF_ERROR(file.Create());
  PYPTO_RETURN_IF_ERROR(file.Write(payload));
  const std::string json = base::Format("{\"magic\": \"%s\"}\n", core.in_json);
  PYPTO_RETURN_IF_ERROR(description.CreateBeside(file, ".json"));
  PYPTO_RETURN_IF_ERROR(description.Write({reinterpret_cast<const uint8_t*>(json.data()), json.size()}));
  return acl::Binary::LoadFromFile(table_, file.path());
}

Result<uint64_t> ProgramCache::SyncAddressFor(const program::Image& image) const {
  const program::DeviceBinary* binary = program::PackedBinaryOf(image);
  const bool wanted = binary != nullptr && binary->takes_sync_address;
  // The library itself puts it in front of argument lists.
  if (!wanted || table_.launch_route() == acl::LaunchRoute::kKernelArgs) return uint64_t{0};
  if (!table_.Has(acl::CallId::aclrtGetHardwareSyncAddr)) {
    return MakeStatus(StatusCode::kUnsupported,
                      "'%s' is a mix kernel and needs aclrtGetHardwareSyncAddr, which '%s' lacks: CANN 8.5 has it",
                      image.plan.name.c_str(), table_.library_path().c_str());
  }
  void* address = nullptr;
  PYPTO_RETURN_IF_ERROR(PYPTO_ACL_CALL(table_, aclrtGetHardwareSyncAddr, &address));
  return reinterpret_cast<uint64_t>(address);
}

Result<DeviceProgram*> ProgramCache::Acquire(const std::shared_ptr<const program::Image>& image) {
  const auto found = programs_.find(image->fingerprint);
  if (found != programs_.end()) {
    found->second->handles += 1;
    return found->second.get();
  }
  PYPTO_ASSIGN_OR_RETURN(acl::Binary binary, Load(*image));
  PYPTO_ASSIGN_OR_RETURN(const acl::FunctionView function, binary.Function(image->plan.name));
  PYPTO_ASSIGN_OR_RETURN(const uint64_t sync_address, SyncAddressFor(*image));
  counters_->program_loads += 1;
  auto loaded = std::make_unique<DeviceProgram>(image, std::move(binary), function, sync_address);
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
  if (is_mock || program::PackedBinaryOf(image) != nullptr) return base::OkStatus();
  if (image.binaries.empty()) {
    Status status = MakeStatus(StatusCode::kCompile,
                               "'%s' holds no AI-core code (this version generates none); run it on a2a3sim or bring a "
                               "binary with ir.load_kernel",
                               name.c_str());
    if (image.debug.files.empty()) return status;
    return std::move(status).WithSourceLine(image.debug.files.front().name, 1);
  }
  return MakeStatus(
      StatusCode::kUnsupported,
      "'%s' brings AI-core code that takes a launch block; this version launches only code that takes its "
      "arguments packed, run it on a2a3sim",
      name.c_str());
}

}  // namespace pypto::runtime
