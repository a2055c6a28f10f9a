// Version entry points of the C ABI.
#include "pypto/c_api.h"

extern "C" {

const char* pypto_version(void) { return PYPTO_VERSION; }

uint32_t pypto_abi_version(void) { return PYPTO_ABI_VERSION; }

}  // extern "C"
