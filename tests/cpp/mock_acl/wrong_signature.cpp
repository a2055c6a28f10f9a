// Must not compile: the compiler names the function whose type is not that of the list.
#include "pypto/mock_acl/exports.h"

namespace pypto::acl_abi {

extern "C" aclError aclrtFree(const void*) { return 0; }

}  // namespace pypto::acl_abi
