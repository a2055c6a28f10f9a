// A program loaded on the device, shared by its handles, and its kept device buffers for host arguments.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <unordered_map>
#include <vector>

#include "pypto/acl/binary.h"
#include "pypto/acl/memory.h"
#include "pypto/program/prebuilt.h"
#include "pypto/runtime/device_allocator.h"
#include "pypto/runtime/signature.h"

namespace pypto::runtime {

// Device buffers for the host arguments of one launch: one slot per parameter, grown by need, kept.
struct StagingSet {
  struct Slot {
    uint64_t address = 0;
    uint64_t capacity = 0;
  };
  std::vector<Slot> slots;
  acl::HostMemory host;  // page-locked; what a submitted launch brings back
};

// Loaded once per worker; unloaded when its last handle goes. Owned by the ProgramCache. Thread rule: inside the
// worker's gate.
class DeviceProgram {
 public:
  DeviceProgram(std::shared_ptr<const program::Image> image, acl::Binary binary, acl::FunctionView function,
                uint64_t sync_address);

  const program::Image& image() const noexcept { return *image_; }
  const std::shared_ptr<const program::Image>& image_pointer() const noexcept { return image_; }
  const program::Plan& plan() const noexcept { return image_->plan; }
  const Signature& signature() const noexcept { return *signature_; }
  // Refers to the image, and may outlive the program with it.
  const std::shared_ptr<const Signature>& signature_pointer() const noexcept { return signature_; }
  acl::FunctionView function() const noexcept { return function_; }
  // Expressions of the workspace sizes, ascending, closed under children.
  const std::vector<program::ExprId>& workspace_exprs() const noexcept { return workspace_exprs_; }
  // A trip count depends on a scalar argument, or the code is not ours: sizes do not bound the work.
  bool open_ended() const noexcept { return open_ended_; }

  // Of a program that is a device binary built elsewhere, else null; and the address that a mix kernel is handed.
  const program::DeviceBinary* packed_binary() const noexcept { return packed_binary_; }
  uint64_t sync_address() const noexcept { return sync_address_; }

  // A set that no launch uses. A new one allocates no device memory yet.
  StagingSet* TakeSet();
  void ReturnSet(StagingSet* set) { free_sets_.push_back(set); }
  // Makes the slot at least `bytes` large; its contents are lost when it grows.
  base::Status Reserve(StagingSet* set, size_t parameter, uint64_t bytes, DeviceAllocator* allocator) const;

  // Makes the set's host memory at least `bytes` large.
  base::Status ReserveHost(const acl::Table& table, StagingSet* set, uint64_t bytes);
  // Takes back the host memory of a set that has been returned without it.
  void ReturnHost(acl::HostMemory host) { free_hosts_.push_back(std::move(host)); }

  // Frees the staging and unloads the code. First error; everything is gone in any case.
  base::Status Unload(DeviceAllocator* allocator);

  uint32_t handles = 0;

 private:
  std::shared_ptr<const program::Image> image_;
  std::shared_ptr<const Signature> signature_;
  acl::Binary binary_;
  acl::FunctionView function_;
  std::vector<program::ExprId> workspace_exprs_;
  bool open_ended_ = false;
  const program::DeviceBinary* packed_binary_ = nullptr;
  uint64_t sync_address_ = 0;
  std::vector<std::unique_ptr<StagingSet>> sets_;
  std::vector<StagingSet*> free_sets_;
  std::vector<acl::HostMemory> free_hosts_;
};

// Programs by the fingerprint of their content. Owned by a worker. Thread rule: inside the worker's gate.
class ProgramCache {
 public:
  ProgramCache(const acl::Table& table, DeviceAllocator* allocator, Counters* counters);

  // The loaded program, loading it when it is not; one more handle.
  base::Result<DeviceProgram*> Acquire(const std::shared_ptr<const program::Image>& image);
  bool Has(const base::Digest& fingerprint) const { return programs_.contains(fingerprint); }
  // One handle less; the last one unloads.
  base::Status Release(DeviceProgram* program);
  size_t size() const noexcept { return programs_.size(); }

 private:
  base::Result<acl::Binary> Load(const program::Image& image) const;
  base::Result<uint64_t> SyncAddressFor(const program::Image& image) const;
  const acl::Table& table_;
  DeviceAllocator* allocator_;
  Counters* counters_;
  // A fingerprint is as good as random: part of it serves as its hash.
  struct DigestHash {
    size_t operator()(const base::Digest& digest) const noexcept {
      size_t hash = 0;
      std::memcpy(&hash, digest.data(), sizeof(hash));
      return hash;
    }
  };
  std::unordered_map<base::Digest, std::unique_ptr<DeviceProgram>, DigestHash> programs_;
};

// kInvalidArgument naming both platforms when they differ; kCompile for a traced program on a library that is not the
// mock; asks the library for nothing.
base::Status CheckRunsHere(const program::Image& image, const std::string& platform, bool is_mock);

}  // namespace pypto::runtime
