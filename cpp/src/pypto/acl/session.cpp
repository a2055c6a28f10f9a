// The shared libraries of the process and their reference counts.
#include "pypto/acl/session.h"

#include <cstdint>
#include <map>
#include <mutex>

#include "pypto/acl/errors.h"
#include "pypto/log/log.h"

namespace pypto::acl {

// Guarded by the registry's mutex, except `table`, which is fixed.
struct OpenLibrary {
  std::unique_ptr<Table> table;
  std::string key;  // path; empty: shared with nobody
  uint64_t references = 1;
  bool initialised_here = false;
};

namespace {

// Never destroyed: sessions may be closed by destructors of static objects.
struct Registry {
  std::mutex mutex;
  std::map<std::string, OpenLibrary*> libraries;  // by path
  std::string leak_reports;
};

Registry& TheRegistry() {
  static auto* const registry = new Registry();
  return *registry;
}

// Whether this process has to finalize: not when somebody else initialised the library before.
base::Result<bool> Initialise(const Table& table) {
  const aclError code = table.aclInit(nullptr);
  if (code == acl_abi::kErrorRepeatInitialize) {
    PYPTO_LOG(kInfo, "%s is initialised already: it will not be finalized here", table.library_path().c_str());
    return false;
  }
  base::Status status = ToStatus(table, code, CallId::aclInit);
  if (!status.ok()) return std::move(status).WithContext("while initialising '" + table.library_path() + "'");
  return true;
}

base::Status FinalizeOnce(const Table& table) {
  if (table.Has(CallId::aclFinalizeReference)) {
    // Leaves the library up for others who initialised it after us.
    uint64_t rest = 0;
    const aclError code = table.aclFinalizeReference(&rest);
    if (code == acl_abi::kErrorRepeatFinalize) return base::OkStatus();
    if (code != acl_abi::kErrorUnsupported) return ToStatus(table, code, CallId::aclFinalizeReference);
  }
  const aclError code = table.aclFinalize();
  if (code == acl_abi::kErrorRepeatFinalize) return base::OkStatus();
  return ToStatus(table, code, CallId::aclFinalize);
}

}  // namespace

base::Result<Session> Session::Adopt(std::unique_ptr<Table> table) {
  // Once aclInit was called the library stays mapped: its threads may outlive the session.
  table->KeepLibraryMapped();
  PYPTO_ASSIGN_OR_RETURN(const bool initialised_here, Initialise(*table));
  auto* library = new OpenLibrary();
  library->table = std::move(table);
  library->initialised_here = initialised_here;
  return Session(library);
}

base::Result<Session> Session::Open(PlatformKind kind, const LoadOptions& options) {
  PYPTO_ASSIGN_OR_RETURN(std::unique_ptr<Table> table, LoadFor(kind, options));
  Registry& registry = TheRegistry();
  const std::lock_guard lock(registry.mutex);
  const std::string key = table->library_path();
  if (const auto found = registry.libraries.find(key); found != registry.libraries.end()) {
    OpenLibrary* library = found->second;
    if (!library->table->usable()) {
      return base::MakeStatus(base::StatusCode::kFailedPrecondition,
                              "'%s' was opened before this process was forked, and a child cannot use it: start "
                              "processes with 'spawn', or open the first worker after the fork",
                              key.c_str());
    }
    ++library->references;
    return Session(library);
  }
  PYPTO_ASSIGN_OR_RETURN(Session session, Adopt(std::move(table)));
  session.library_->key = key;
  registry.libraries.emplace(key, session.library_);
  return session;
}

Session Session::Share() const {
  if (library_ == nullptr) return {};
  const std::lock_guard lock(TheRegistry().mutex);
  ++library_->references;
  return Session(library_);
}

const Table& Session::table() const noexcept { return *library_->table; }

Session::~Session() {
  if (library_ == nullptr) return;
  const base::Status status = Close();
  if (!status.ok()) PYPTO_LOG(kWarning, "closing the ACL library: %s", status.ToString().c_str());
}

base::Status Session::Close() {
  OpenLibrary* library = std::exchange(library_, nullptr);
  // Forked children and ending processes leave everything to the operating system.
  if (library == nullptr || !library->table->usable()) return base::OkStatus();
  Registry& registry = TheRegistry();
  const std::lock_guard lock(registry.mutex);
  if (--library->references > 0) return base::OkStatus();
  if (!library->key.empty()) registry.libraries.erase(library->key);
  Table& table = *library->table;
  if (const std::string report = table.LeakReport(); !report.empty()) {
    PYPTO_LOG(kWarning, "%s", report.c_str());
    registry.leak_reports += report + '\n';
  }
  base::Status status;
  if (library->initialised_here) {
    status = FinalizeOnce(table);
    if (!status.ok() && FinalizeOnce(table).ok()) {
      PYPTO_LOG(kWarning, "finalizing was tried twice: %s", status.ToString().c_str());
    }
  }
  delete library;
  return status;
}

std::string TakeLeakReports() {
  Registry& registry = TheRegistry();
  const std::lock_guard lock(registry.mutex);
  return std::exchange(registry.leak_reports, {});
}

}  // namespace pypto::acl
