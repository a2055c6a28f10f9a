// Loading host shared objects from memory, and running their kernels.
#include "pypto/mock_acl/host_object.h"

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <csetjmp>
#include <cstring>

#include "pypto/acl_abi/error_codes.h"
#include "pypto/mock_acl/device_memory.h"

namespace pypto::mock {
namespace {

using base::MakeStatus;
using base::Result;
using base::Status;
using base::StatusCode;

#if defined(__x86_64__)
constexpr uint16_t kHostMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr uint16_t kHostMachine = EM_AARCH64;
#endif

// Access bits of env->map; 0 is no access.
constexpr uint32_t kAllAccess = PYPTO_MOCK_READ | PYPTO_MOCK_WRITE;

// The launch that runs in this thread.
struct RunningKernel {
  const DeviceMemory& memory;
  const std::atomic<bool>& abort;
  std::string_view kernel;
  uint32_t block = 0;
  uint32_t blocks = 0;
  std::jmp_buf escape{};
  std::string fault{};
};
thread_local RunningKernel* running = nullptr;

const char* AccessText(uint32_t access) {
  if (access == PYPTO_MOCK_READ) return "reads";
  return access == PYPTO_MOCK_WRITE ? "writes" : "reads and writes";
}

// Gives the host pointer, or leaves the kernel.
void* Map(uint64_t address, uint64_t bytes, uint32_t access) {
  RunningKernel* kernel = running;
  if (kernel == nullptr) return nullptr;
  const bool access_known = access != 0 && (access & ~kAllAccess) == 0;
  std::byte* host = access_known ? kernel->memory.Translate(address, bytes) : nullptr;
  if (host != nullptr) return host;
  const int name_bytes = static_cast<int>(kernel->kernel.size());
  kernel->fault =
      access_known ? base::Format(
                         "kernel '%.*s', block %u of %u: %s %llu bytes at 0x%llx, which lie in no live block of device "
                         "memory",
                         name_bytes, kernel->kernel.data(), kernel->block, kernel->blocks, AccessText(access),
                         static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(address))
                   : base::Format(
                         "kernel '%.*s', block %u of %u: map with access %u; it is PYPTO_MOCK_READ, PYPTO_MOCK_WRITE "
                         "or both",
                         name_bytes, kernel->kernel.data(), kernel->block, kernel->blocks, access);
  std::longjmp(kernel->escape, 1);
}

int32_t Aborted() { return running != nullptr && running->abort.load(std::memory_order_relaxed) ? 1 : 0; }

constexpr pypto_mock_env kEnvironment = {sizeof(pypto_mock_env), 0, &Map, &Aborted};

// False when the part was left by a fault. Nothing with a destructor lives between setjmp and the call.
bool RunPart(RunningKernel& kernel, pypto_mock_kernel part, std::span<const std::byte> arguments) {
  if (setjmp(kernel.escape) != 0) return false;
  part(arguments.data(), arguments.size(), kernel.block, kernel.blocks, &kEnvironment);
  return true;
}

// The loader maps what the program headers say without looking at the file's length.
bool SegmentsFit(std::span<const uint8_t> bytes, const Elf64_Ehdr& head) {
  if (head.e_phentsize != sizeof(Elf64_Phdr) || head.e_phoff > bytes.size() ||
      head.e_phnum > (bytes.size() - head.e_phoff) / sizeof(Elf64_Phdr)) {
    return false;
  }
  for (uint16_t i = 0; i < head.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, bytes.data() + head.e_phoff + i * sizeof(segment), sizeof(segment));
    if (segment.p_offset > bytes.size() || segment.p_filesz > bytes.size() - segment.p_offset) return false;
  }
  return true;
}

Status CheckElf(std::span<const uint8_t> bytes) {
  Elf64_Ehdr head;
  if (bytes.size() < sizeof(head)) return MakeStatus(StatusCode::kProgramFormat, "the ELF header is cut off");
  std::memcpy(&head, bytes.data(), sizeof(head));
  if (head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_ident[EI_DATA] != ELFDATA2LSB || head.e_machine != kHostMachine) {
    return MakeStatus(StatusCode::kProgramFormat,
                      "the ELF holds code for machine %u and the mock runs code of this host, machine %u: give it a "
                      "shared object with the same entry as stand-in (docs/guides/mock_acl.md)",
                      head.e_machine, kHostMachine);
  }
  if (head.e_type != ET_DYN) {
    return MakeStatus(StatusCode::kProgramFormat, "the ELF is no shared object (type %u): link it with -shared",
                      head.e_type);
  }
  if (!SegmentsFit(bytes, head)) return MakeStatus(StatusCode::kProgramFormat, "the ELF is cut off");
  return base::OkStatus();
}

// The loader takes a name that it has seen for the library it knows, and descriptors are used again: each load gets a
// path of its own to the same file.
std::string UniquePath(int file) {
  static std::atomic<uint32_t> loads{0};
  std::string path = "/proc/self/fd/";
  for (uint32_t number = ++loads; number != 0; number >>= 1) path += (number & 1) != 0 ? "./" : "/";
  return path + std::to_string(file);
}

// A file of anonymous memory; -1 when there is none.
int WriteToMemoryFile(std::span<const uint8_t> bytes) {
  const int file = memfd_create("pypto_kernel", MFD_CLOEXEC);
  while (file >= 0 && !bytes.empty()) {
    const ssize_t written = write(file, bytes.data(), bytes.size());
    if (written <= 0) {
      close(file);
      return -1;
    }
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return file;
}

}  // namespace

bool HostObject::LooksLikeElf(std::span<const uint8_t> bytes) noexcept {
  return bytes.size() >= SELFMAG && std::memcmp(bytes.data(), ELFMAG, SELFMAG) == 0;
}

Result<std::unique_ptr<KernelImage>> HostObject::Load(std::span<const uint8_t> bytes) {
  PYPTO_RETURN_IF_ERROR(CheckElf(bytes));
  const int file = WriteToMemoryFile(bytes);
  if (file < 0) return MakeStatus(StatusCode::kIo, "no memory file for %zu bytes of code", bytes.size());
  Result<base::DynamicLibrary> library = base::DynamicLibrary::Open(UniquePath(file));
  if (!library.ok()) {
    close(file);
    return MakeStatus(StatusCode::kProgramFormat, "the shared object cannot be loaded: %s",
                      std::string(library.status().message()).c_str());
  }
  return std::unique_ptr<KernelImage>(new HostObject(std::move(library).value(), file));
}

HostObject::~HostObject() { close(file_); }

HostObject::Entries HostObject::Find(std::string_view name) const {
  const auto find = [&](const char* tail) {
    return reinterpret_cast<pypto_mock_kernel>(library_.Symbol((std::string(name) + tail).c_str()));
  };
  Entries entries;
  entries.parts[0] = find("");
  if (entries.parts[0] != nullptr) return entries;
  entries.parts[0] = find("_mix_aic");
  entries.parts[1] = find("_mix_aiv");
  entries.mix = true;
  return entries;
}

bool HostObject::HasKernel(std::string_view name) const {
  const Entries entries = Find(name);
  return entries.parts[0] != nullptr || entries.parts[1] != nullptr;
}

bool HostObject::IsMix(std::string_view name) const { return Find(name).mix; }

int32_t HostObject::Run(std::string_view kernel, uint32_t blocks, std::span<const std::byte> arguments,
                        const DeviceMemory& memory, const std::atomic<bool>& abort, std::string* message) const {
  const Entries entries = Find(kernel);
  RunningKernel state{memory, abort, kernel, 0, blocks};
  running = &state;
  int32_t code = 0;
  for (; state.block < blocks && code == 0; ++state.block) {
    if (abort.load(std::memory_order_relaxed)) code = acl_abi::kErrorRtStreamAbort;
    for (const pypto_mock_kernel part : entries.parts) {
      if (code != 0 || part == nullptr) continue;
      if (!RunPart(state, part, arguments)) code = acl_abi::kErrorRtAiCoreException;
    }
  }
  running = nullptr;
  if (code == acl_abi::kErrorRtStreamAbort) {
    *message = base::Format("kernel '%.*s' was aborted", static_cast<int>(kernel.size()), kernel.data());
  } else if (code != 0) {
    *message = std::move(state.fault);
  }
  return code;
}

}  // namespace pypto::mock
