// The argument list that aclrtKernelArgsInit starts: parameters, place-holders and the data sent along.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "pypto/acl_abi/error_codes.h"

namespace pypto::mock {

class Function;

// Owned by the thread that made it, and only used there. Parameters lie at multiples of 8; data of place-holders
// follows behind them.
class ArgumentList {
 public:
  static constexpr size_t kRoom = size_t{64} << 10;
  static constexpr size_t kMaxParameters = 128;

  void Begin(Function* function);
  void* handle() const noexcept;
  bool Is(const void* pointer) const noexcept { return generation_ != 0 && pointer == handle(); }

  acl_abi::aclError Append(const void* value, size_t bytes, void** parameter);
  acl_abi::aclError AppendPlaceHolder(void** parameter);
  acl_abi::aclError PlaceHolderBuffer(const void* parameter, size_t bytes, void** buffer);
  acl_abi::aclError Update(const void* parameter, const void* value, size_t bytes);
  // Of a mix kernel: its first slot takes the synchronisation address, which the caller does not append.
  bool has_hidden_slot() const noexcept { return hidden_slot_; }
  void Finish(uint64_t sync_address) noexcept;

  bool finished() const noexcept { return finished_; }
  Function* function() const noexcept { return function_; }
  uint64_t function_handle() const noexcept { return function_handle_; }
  std::span<const std::byte> bytes() const noexcept { return {bytes_.data(), used_}; }
  // Offsets of place-holders and their data, for patching.
  const std::vector<acl_abi::aclrtPlaceHolderInfo>& place_holders() const noexcept { return place_holders_; }

 private:
  struct Parameter {
    size_t offset = 0;
    size_t bytes = 0;
    bool place_holder = false;
    bool has_data = false;
  };
  acl_abi::aclError Add(size_t bytes, bool place_holder, void** parameter);
  Parameter* Find(const void* parameter) noexcept;

  uint32_t generation_ = 0;
  Function* function_ = nullptr;
  uint64_t function_handle_ = 0;
  std::vector<std::byte> bytes_;  // of kRoom, so that buffers handed out stay where they are
  size_t used_ = 0;
  std::vector<Parameter> parameters_;
  std::vector<acl_abi::aclrtPlaceHolderInfo> place_holders_;
  bool hidden_slot_ = false;
  bool buffers_taken_ = false;
  bool closed_ = false;    // was finished once: no more parameters
  bool finished_ = false;  // not changed since
};

}  // namespace pypto::mock
