// The search for an ACL library, and what is said when none is usable.
#include "pypto/acl/loader.h"

#include <unistd.h>

#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

#include "pypto/acl/layers/layers.h"
#include "pypto/base/environment.h"
#include "pypto/log/log.h"

namespace pypto::acl {
namespace {

constexpr const char* kLibraryVariable = "PYPTO_ACL_LIBRARY";
constexpr const char* kVendorNames[] = {"libascendcl.so", "libacl_rt.so"};

enum class MockRule { kOnlyMock, kNoMock, kAny };
enum class Verdict { kUsable, kAbsent, kWrong, kSymbolMissing };

// What became of one file.
struct Trial {
  Verdict verdict = Verdict::kAbsent;
  std::string text;     // "<path>: why it is not usable"
  std::string missing;  // first missing symbol
  std::unique_ptr<Table> table;
};

struct Search {
  std::vector<std::string> candidates;
  MockRule rule = MockRule::kNoMock;
  bool named = false;  // by the caller or the variable: one candidate
};

bool HasDirectory(const std::string& path) { return path.find('/') != std::string::npos; }

std::string RealPath(const std::string& path) {
  char* resolved = realpath(path.c_str(), nullptr);
  if (resolved == nullptr) return path;
  std::string text = resolved;
  std::free(resolved);
  return text;
}

// Whether the file itself is missing, as opposed to something that it needs.
bool FileIsAbsent(const std::string& path, std::string_view loader_text) {
  if (HasDirectory(path)) return access(path.c_str(), F_OK) != 0;
  return loader_text.starts_with(path + ": cannot open shared object file: No such file");
}

// A function of a link stub does nothing and returns 100039.
bool IsLinkStub(const Functions& functions) {
  aclError code = acl_abi::kSuccess;
  if (functions.aclrtGetVersion != nullptr) {
    int32_t version[3] = {};
    code = functions.aclrtGetVersion(&version[0], &version[1], &version[2]);
  } else if (functions.aclrtPeekAtLastError != nullptr) {
    code = functions.aclrtPeekAtLastError(acl_abi::kLastErrorOfThread);
  } else if (functions.aclrtGetDeviceCount != nullptr) {
    uint32_t count = 0;
    code = functions.aclrtGetDeviceCount(&count);
  }
  return code == acl_abi::kErrorCompilingStubMode;
}

std::vector<std::string> MissingSymbols(const Functions& functions) {
  std::vector<std::string> missing;
  for (const SlotDescription& slot : Slots()) {
    if (slot.required && SlotValue(functions, slot) == nullptr) missing.emplace_back(slot.name);
  }
  return missing;
}

std::string Join(const std::vector<std::string>& parts, const char* separator) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : separator) + part;
  return text;
}

Trial Refuse(Verdict verdict, std::string text, std::string missing = {}) {
  Trial trial;
  trial.verdict = verdict;
  trial.text = std::move(text);
  trial.missing = std::move(missing);
  return trial;
}

Trial CheckLibrary(base::DynamicLibrary library, MockRule rule) {
  const std::string path = RealPath(library.ResolvedPath());
  const bool is_mock = library.Symbol("pypto_mock_version") != nullptr;
  if (is_mock && rule == MockRule::kNoMock) {
    return Refuse(Verdict::kWrong, path + ": is pypto's mock, which serves a hardware platform only when " +
                                       kLibraryVariable + " names it");
  }
  if (!is_mock && rule == MockRule::kOnlyMock) return Refuse(Verdict::kWrong, path + ": is not pypto's mock");
  Functions functions;
  for (const SlotDescription& slot : Slots()) SetSlotValue(functions, slot, library.Symbol(slot.name));
  if (IsLinkStub(functions)) {
    return Refuse(Verdict::kWrong, path + ": is a link stub of the toolkit (its functions answer 100039)");
  }
  const std::vector<std::string> missing = MissingSymbols(functions);
  if (functions.aclInit == nullptr) {
    return Refuse(Verdict::kWrong, path + ": is not an ACL library (it has no aclInit)", "aclInit");
  }
  if (!missing.empty()) {
    return Refuse(Verdict::kSymbolMissing, path + ": lacks " + Join(missing, ", "), missing.front());
  }
  if (FindLaunchRoute(functions) == LaunchRoute::kNone) {
    return Refuse(Verdict::kSymbolMissing,
                  path +
                      ": can launch no kernel: it has neither aclrtBinaryLoadFromData with "
                      "aclrtLaunchKernelWithHostArgs nor aclrtBinaryLoadFromFile with aclrtKernelArgsInit, Append, "
                      "Finalize and aclrtLaunchKernelWithConfig",
                  "aclrtLaunchKernelWithHostArgs");
  }
  Trial trial;
  trial.verdict = Verdict::kUsable;
  trial.table = std::make_unique<Table>(functions, TableInfo{path, is_mock}, std::move(library));
  return trial;
}

Trial TryLibrary(const std::string& path, MockRule rule) {
  if (path.empty()) return Refuse(Verdict::kAbsent, "no path is given");
  base::Result<base::DynamicLibrary> library = base::DynamicLibrary::Open(path);
  if (library.ok()) return CheckLibrary(*std::move(library), rule);
  const std::string_view reason = library.status().message();
  if (FileIsAbsent(path, reason)) {
    return Refuse(Verdict::kAbsent, path + (HasDirectory(path) ? ": no such file" : ": not in the loader's path"));
  }
  return Refuse(Verdict::kWrong, path + ": cannot be opened (" + std::string(reason) + ")");
}

Search PlanHardwareSearch(const LoadOptions& options) {
  std::string named = options.acl_library.value_or(base::GetEnvironment(kLibraryVariable).value_or(""));
  if (!named.empty()) return {{std::move(named)}, MockRule::kAny, true};
  Search search;
  for (const char* name : kVendorNames) search.candidates.emplace_back(name);
  const std::string home = base::GetEnvironment("ASCEND_HOME_PATH").value_or("");
  if (!home.empty()) {
    for (const char* name : kVendorNames) search.candidates.push_back(home + "/lib64/" + name);
  }
  return search;
}

// The worst verdict decides what the failure is called.
std::string_view FailureName(const std::vector<Trial>& trials) {
  std::string_view name = "library_not_found";
  for (const Trial& trial : trials) {
    if (trial.verdict == Verdict::kSymbolMissing) return "symbol_missing";
    if (trial.verdict == Verdict::kWrong) name = "wrong_library";
  }
  return name;
}

base::Status Unavailable(const std::vector<Trial>& trials, const std::string& message) {
  base::AclFailure failure;
  failure.failure_class = FailureName(trials);
  for (const Trial& trial : trials) {
    if (failure.call.empty()) failure.call = trial.missing;
  }
  return base::Status(base::StatusCode::kDeviceUnavailable, message).WithAclFailure(std::move(failure));
}

base::Status HardwareUnavailable(const Search& search, const std::vector<Trial>& trials, const LoadOptions& options) {
  std::string text = "platform '" + options.platform + "' has no usable ACL library. Tried: ";
  std::vector<std::string> lines;
  lines.reserve(trials.size());
  for (const Trial& trial : trials) lines.push_back(trial.text);
  text += Join(lines, "; ");
  if (search.named) {
    text += std::string(" (named by ") + (options.acl_library ? "the caller" : kLibraryVariable) + ").";
    text += std::string(" Correct the path, or leave it out to search for CANN.");
  } else {
    if (base::GetEnvironment("ASCEND_HOME_PATH").value_or("").empty()) text += "; $ASCEND_HOME_PATH is not set";
    text += ". Install CANN 8.5 or newer and source its set_env.sh, or name the library with ";
    text += kLibraryVariable;
    text += '.';
  }
  text += " Platform '" + options.simulator + "' runs the same program on the CPU.";
  return Unavailable(trials, text);
}

Search PlanSearch(PlatformKind kind, const LoadOptions& options) {
  if (kind == PlatformKind::kSimulator) return Search{{options.mock_path}, MockRule::kOnlyMock, true};
  return PlanHardwareSearch(options);
}

base::Status InstallWantedLayers(Table& table, const LoadOptions& options) {
  if (options.layers) return InstallLayers(table, *options.layers);
  const std::string names = base::GetEnvironment("PYPTO_ACL_LAYERS").value_or("");
  return InstallLayers(table, names).WithContext("in the variable PYPTO_ACL_LAYERS");
}

}  // namespace

base::Result<std::unique_ptr<Table>> LoadFor(PlatformKind kind, const LoadOptions& options) {
  const bool simulator = kind == PlatformKind::kSimulator;
  const Search search = PlanSearch(kind, options);
  std::vector<Trial> trials;
  for (const std::string& candidate : search.candidates) {
    Trial trial = TryLibrary(candidate, search.rule);
    if (trial.verdict == Verdict::kUsable) {
      PYPTO_RETURN_IF_ERROR(InstallWantedLayers(*trial.table, options));
      PYPTO_LOG(kInfo, "ACL library %s%s", trial.table->library_path().c_str(),
                trial.table->is_mock() ? " (mock)" : "");
      return std::move(trial.table);
    }
    trials.push_back(std::move(trial));
  }
  if (!simulator) return HardwareUnavailable(search, trials, options);
  return Unavailable(trials, "platform '" + options.simulator + "' is served by the mock ACL library of the package, " +
                                 "which is not usable: " + trials.front().text + ". Install the package again.");
}

std::vector<LibraryTrial> ProbeLibraries(PlatformKind kind, const LoadOptions& options) {
  const Search search = PlanSearch(kind, options);
  std::vector<LibraryTrial> found;
  for (const std::string& candidate : search.candidates) {
    const Trial trial = TryLibrary(candidate, search.rule);
    LibraryTrial& told = found.emplace_back();
    told.path = candidate;
    told.absent = trial.verdict == Verdict::kAbsent;
    told.reason = trial.text;
    if (trial.table == nullptr) continue;
    trial.table->KeepLibraryMapped();
    told.usable = true;
    told.path = trial.table->library_path();
    told.is_mock = trial.table->is_mock();
    told.route = trial.table->launch_route();
    for (const SlotDescription& slot : Slots()) {
      if (!trial.table->Has(slot.id)) told.missing_optional.emplace_back(slot.name);
    }
  }
  return found;
}

bool HardwareLibraryFound(const LoadOptions& options) {
  const Search search = PlanHardwareSearch(options);
  if (search.named) return true;
  for (const std::string& candidate : search.candidates) {
    base::Result<base::DynamicLibrary> library = base::DynamicLibrary::Open(candidate);
    if (!library.ok()) {
      if (!FileIsAbsent(candidate, library.status().message())) return true;
      continue;
    }
    Trial trial = CheckLibrary(*std::move(library), search.rule);
    if (trial.table != nullptr) trial.table->KeepLibraryMapped();
    if (trial.verdict != Verdict::kWrong) return true;
  }
  return false;
}

}  // namespace pypto::acl
