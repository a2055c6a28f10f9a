// Slots of the table and what is known about it.
#include "pypto/acl/table.h"

#include <array>
#include <cstring>

#include "pypto/base/process.h"

namespace pypto::acl {
namespace {

constexpr bool IsRequired(std::string_view need) { return need == "Required"; }

constexpr std::array<SlotDescription, kCallCount> kSlots = {{
#define PYPTO_ACL_FUNCTION(need, return_type, name, ...) \
  {#name, CallId::name, IsRequired(#need), offsetof(Functions, name)},
#include "pypto/acl_abi/functions.inc"
}};

}  // namespace

std::span<const SlotDescription> Slots() { return kSlots; }

void* SlotValue(const Functions& functions, const SlotDescription& slot) {
  void* function = nullptr;
  std::memcpy(static_cast<void*>(&function), reinterpret_cast<const std::byte*>(&functions) + slot.offset,
              sizeof(function));
  return function;
}

void SetSlotValue(Functions& functions, const SlotDescription& slot, void* function) {
  std::memcpy(reinterpret_cast<std::byte*>(&functions) + slot.offset, static_cast<const void*>(&function),
              sizeof(function));
}

LaunchRoute FindLaunchRoute(const Functions& functions) {
  if (functions.aclrtBinaryLoadFromData != nullptr && functions.aclrtLaunchKernelWithHostArgs != nullptr) {
    return LaunchRoute::kHostArgs;
  }
  if (functions.aclrtBinaryLoadFromFile != nullptr && functions.aclrtKernelArgsInit != nullptr &&
      functions.aclrtKernelArgsAppend != nullptr && functions.aclrtKernelArgsFinalize != nullptr &&
      functions.aclrtLaunchKernelWithConfig != nullptr) {
    return LaunchRoute::kKernelArgs;
  }
  return LaunchRoute::kNone;
}

Table::Table(const Functions& functions, TableInfo info, base::DynamicLibrary library)
    : functions_(functions),
      info_(std::move(info)),
      launch_route_(FindLaunchRoute(functions)),
      process_generation_(base::ProcessGeneration()),
      library_(std::move(library)) {}

Table::~Table() {
  if (keep_mapped_) library_.Release();
}

bool Table::Has(CallId id) const { return SlotValue(functions_, kSlots[static_cast<size_t>(id)]) != nullptr; }

bool Table::usable() const noexcept {
  return !base::ProcessExiting() && process_generation_ == base::ProcessGeneration();
}

std::string Table::LeakReport() const { return chain_ != nullptr ? chain_->LeakReport() : std::string(); }

void Table::AddLayerErased(std::unique_ptr<Layer> layer) {
  if (chain_ == nullptr) chain_ = std::make_unique<LayerChain>();
  chain_->Add(std::move(layer));
}

}  // namespace pypto::acl
