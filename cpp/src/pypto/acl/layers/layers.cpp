// Installing layers by name.
#include "pypto/acl/layers/layers.h"

#include <memory>
#include <string>

#include "pypto/acl/layers/call_log.h"
#include "pypto/acl/layers/fault_injection.h"
#include "pypto/acl/layers/validation.h"

namespace pypto::acl {
namespace {

base::Status InstallOne(Table& table, std::string_view name) {
  if (name == "validation") {
    table.AddLayer(std::make_unique<ValidationLayer>());
  } else if (name == "fault") {
    table.AddLayer(std::make_unique<FaultInjectionLayer>());
  } else if (name == "log") {
    table.AddLayer(std::make_unique<CallLogLayer>());
  } else {
    return base::MakeStatus(base::StatusCode::kInvalidArgument,
                            "unknown ACL layer '%s': the layers are validation, fault and log",
                            std::string(name).c_str());
  }
  return base::OkStatus();
}

}  // namespace

base::Status InstallLayers(Table& table, std::string_view names) {
  while (!names.empty()) {
    const size_t comma = names.find(',');
    std::string_view name = names.substr(0, comma);
    names = comma == std::string_view::npos ? std::string_view() : names.substr(comma + 1);
    while (name.starts_with(' ')) name.remove_prefix(1);
    while (name.ends_with(' ')) name.remove_suffix(1);
    if (!name.empty()) PYPTO_RETURN_IF_ERROR(InstallOne(table, name));
  }
  return base::OkStatus();
}

}  // namespace pypto::acl
