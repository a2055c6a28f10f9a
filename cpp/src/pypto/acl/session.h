// One initialised ACL library, shared by everybody in the process who uses it.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "pypto/acl/loader.h"
#include "pypto/acl/table.h"
#include "pypto/base/status.h"

namespace pypto::acl {

// An initialised library and its count of references; complete in session.cpp only.
struct OpenLibrary;

// One reference to a library that is initialised. The first one calls aclInit, the last one reports leaks and
// finalizes, whatever the order of opening and closing; when somebody else had initialised the library (100002), it is
// not finalized. Move-only. Thread rule: Open, Share and Close of different objects from any thread.
class PYPTO_API Session {
 public:
  Session() noexcept = default;
  Session(Session&& other) noexcept : library_(std::exchange(other.library_, nullptr)) {}
  Session& operator=(Session&& other) noexcept {
    std::swap(library_, other.library_);
    return *this;
  }
  ~Session();

  // Loads the library of the platform (see LoadFor), or shares it when it is open already; options.layers count for
  // the first one only. A library opened by the parent process is refused in a forked child.
  static base::Result<Session> Open(PlatformKind kind, const LoadOptions& options);
  // Takes a ready table in place of a loaded library: it is shared with nobody.
  static base::Result<Session> Adopt(std::unique_ptr<Table> table);
  // One more reference to the same library.
  Session Share() const;

  bool is_open() const noexcept { return library_ != nullptr; }
  const Table& table() const noexcept;
  // Gives the reference up; the last one finalizes. When finalizing fails the library counts as closed all the same.
  // No effect when empty.
  base::Status Close();

 private:
  explicit Session(OpenLibrary* library) noexcept : library_(library) {}
  OpenLibrary* library_ = nullptr;  // counted
};

// The leak reports of all libraries closed since the last call, and forgets them; empty when nothing leaked or no
// validation layer was installed. Thread-safe.
PYPTO_API std::string TakeLeakReports();

}  // namespace pypto::acl
