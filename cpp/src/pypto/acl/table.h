// The table of ACL functions: slots filled from a library, one typed method per function of the list, layers.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "pypto/acl/call_ids.h"
#include "pypto/acl/layer_chain.h"
#include "pypto/acl_abi/error_codes.h"
#include "pypto/acl_abi/function_types.h"
#include "pypto/base/dynamic_library.h"
#include "pypto/base/export.h"

namespace pypto::acl {

using acl_abi::aclError;

// One pointer per function of the list; null where the library lacks an optional function.
struct Functions {
#define PYPTO_ACL_FUNCTION(need, return_type, name, ...) acl_abi::function_types::name* name = nullptr;
#include "pypto/acl_abi/functions.inc"
};

struct SlotDescription {
  const char* name;
  CallId id;
  bool required;
  size_t offset;  // in Functions
};

// All slots, in the order of the list: error-text functions first.
std::span<const SlotDescription> Slots();
// Through the offset of the slot.
void* SlotValue(const Functions& functions, const SlotDescription& slot);
void SetSlotValue(Functions& functions, const SlotDescription& slot, void* function);

// How a program reaches the device. A usable library offers at least one.
enum class LaunchRoute : uint8_t {
  kNone,
  kHostArgs,    // aclrtBinaryLoadFromData + aclrtLaunchKernelWithHostArgs
  kKernelArgs,  // aclrtBinaryLoadFromFile + aclrtKernelArgs… + aclrtLaunchKernelWithConfig
};
LaunchRoute FindLaunchRoute(const Functions& functions);

struct TableInfo {
  std::string path;      // of the library file
  bool is_mock = false;  // exports pypto_mock_version
};

// Owns the library, the function pointers and the layers. Has a fixed address: handles point at it and must not
// outlive it. Thread rule: calls from any thread; layers are added before the table is shared.
//
// Each function is a method of its own name and type: table.aclrtMalloc(&pointer, bytes, policy). Calling an optional
// function that the library lacks gives code 200001 (or null text), never success.
class PYPTO_API Table {
 public:
  // `functions` must hold all required functions.
  Table(const Functions& functions, TableInfo info, base::DynamicLibrary library = {});
  ~Table();
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  // Whether the library offers the function.
  bool Has(CallId id) const;
  LaunchRoute launch_route() const noexcept { return launch_route_; }
  const std::string& library_path() const noexcept { return info_.path; }
  bool is_mock() const noexcept { return info_.is_mock; }
  // Any symbol of the library (the mock's side door); null when it has none of this name.
  void* Symbol(const char* name) const noexcept { return library_.Symbol(name); }
  const Functions& functions() const noexcept { return functions_; }
  // False once the process is ending, and in a forked child: then no ACL call may be made from a destructor.
  bool usable() const noexcept;

  // The first layer added is the outermost. Returns the layer for its own controls.
  template <typename L>
  L* AddLayer(std::unique_ptr<L> layer) {
    L* raw = layer.get();
    AddLayerErased(std::move(layer));
    return raw;
  }
  // Null when no layer of this type is installed.
  template <typename L>
  L* FindLayer() const {
    if (chain_ == nullptr) return nullptr;
    for (const auto& layer : chain_->layers()) {
      if (auto* found = dynamic_cast<L*>(layer.get()); found != nullptr) return found;
    }
    return nullptr;
  }
  // What the layers know to be alive; empty when nothing is, or when no layer watches.
  std::string LeakReport() const;
  // The library stays mapped when the table goes: its threads may outlive aclFinalize.
  void KeepLibraryMapped() noexcept { keep_mapped_ = true; }

#define PYPTO_ACL_FUNCTION(need, return_type, name, ...)                          \
  template <typename... A>                                                        \
  [[gnu::always_inline]] return_type name(A... arguments) const {                 \
    static_assert(std::is_invocable_v<acl_abi::function_types::name*, A...>,      \
                  "arguments do not fit the type of " #name " in functions.inc"); \
    return Invoke<CallId::name>(functions_.name, arguments...);                   \
  }
#include "pypto/acl_abi/functions.inc"

 private:
  template <CallId kId, typename R, typename... P>
  [[gnu::always_inline]] R Invoke(R (*function)(P...), std::type_identity_t<P>... arguments) const {
    if (chain_ == nullptr) [[likely]] {
      return function != nullptr ? function(arguments...) : Missing<R>();
    }
    return InvokeLayered<R>(kId, function, arguments...);
  }
  // Functions with a variable number of arguments.
  template <CallId kId, typename R, typename... P, typename... A>
  R Invoke(R (*function)(P..., ...), A... arguments) const {
    if (chain_ == nullptr) [[likely]] {
      return function != nullptr ? function(arguments...) : Missing<R>();
    }
    return InvokeLayered<R>(kId, function, arguments...);
  }

  template <typename R>
  static R Missing() {
    if constexpr (std::is_same_v<R, aclError>) {
      return acl_abi::kErrorUnsupported;
    } else {
      return R();
    }
  }

  template <typename R, typename F, typename... A>
  [[gnu::noinline, gnu::cold]] R InvokeLayered(CallId id, F function, A... arguments) const {
    const ArgumentView views[] = {MakeArgument(arguments)..., ArgumentView{}};
    Call call(id, views, sizeof...(A), std::is_same_v<R, aclError>);
    const size_t entered = chain_->Enter(call);
    const bool run = !call.answered() && function != nullptr;
    if constexpr (std::is_void_v<R>) {
      if (run) function(arguments...);
      chain_->Leave(call, entered);
    } else if constexpr (std::is_same_v<R, aclError>) {
      if (!call.answered()) call.code_ = run ? function(arguments...) : acl_abi::kErrorUnsupported;
      chain_->Leave(call, entered);
      return call.code_;
    } else {
      if (run) call.text_ = function(arguments...);
      chain_->Leave(call, entered);
      return call.text_;
    }
  }

  void AddLayerErased(std::unique_ptr<Layer> layer);

  Functions functions_;
  std::unique_ptr<LayerChain> chain_;  // null: no layer, calls go straight to the library
  TableInfo info_;
  LaunchRoute launch_route_;
  uint64_t process_generation_;
  bool keep_mapped_ = false;
  base::DynamicLibrary library_;
};

}  // namespace pypto::acl
