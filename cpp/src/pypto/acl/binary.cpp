// Loading kernel binaries.
#include "pypto/acl/binary.h"

#include <iterator>

#include "pypto/acl/errors.h"

namespace pypto::acl {

using acl_abi::aclrtBinaryLoadOption;
using acl_abi::aclrtBinaryLoadOptions;

base::Result<Binary> Binary::LoadFromData(const Table& table, std::span<const std::byte> image, uint32_t magic) {
  aclrtBinaryLoadOption list[] = {{acl_abi::kBinaryLoadLazy, {}}, {acl_abi::kBinaryLoadMagic, {}}};
  list[1].value.magic = magic;
  const aclrtBinaryLoadOptions options{list, std::size(list)};
  acl_abi::aclrtBinHandle raw = nullptr;
  PYPTO_RETURN_IF_ERROR(PYPTO_ACL_CALL(table, aclrtBinaryLoadFromData, image.data(), image.size(), &options, &raw));
  return Binary(table, raw);
}

base::Result<Binary> Binary::LoadFromFile(const Table& table, const std::string& path) {
  aclrtBinaryLoadOption not_lazy{acl_abi::kBinaryLoadLazy, {}};
  aclrtBinaryLoadOptions options{&not_lazy, 1};
  acl_abi::aclrtBinHandle raw = nullptr;
  base::Status status = PYPTO_ACL_CALL(table, aclrtBinaryLoadFromFile, path.c_str(), &options, &raw);
  if (!status.ok()) return std::move(status).WithContext("while loading '" + path + "'");
  return Binary(table, raw);
}

base::Result<FunctionView> Binary::Function(const std::string& kernel_name) const {
  acl_abi::aclrtFuncHandle function = nullptr;
  base::Status status = PYPTO_ACL_CALL(*table_, aclrtBinaryGetFunction, raw_, kernel_name.c_str(), &function);
  if (!status.ok()) return std::move(status).WithContext("while looking up kernel '" + kernel_name + "'");
  return FunctionView(function);
}

}  // namespace pypto::acl
