/* The header in strict C11: compiles alone, its macros are constants of C, a struct starts zeroed with its size. */
#include "pypto/c_api.h"

#include <string.h>

_Static_assert(sizeof(pypto_argument) == 32, "frozen");
_Static_assert(sizeof(pypto_line_item) == 192, "frozen");
_Static_assert(PYPTO_POOL_COUNT == 3, "frozen");

int capi_header_in_c11(void);
int capi_header_in_c11(void) {
  pypto_worker_config config = PYPTO_STRUCT(pypto_worker_config);
  pypto_worker* worker = NULL;
  pypto_error error = PYPTO_STRUCT(pypto_error);
  if (config.struct_size != sizeof(config) || config.platform != NULL || config.timeout_ms != 0) return 1;
  config.platform = "no such platform";
  if (pypto_worker_open(&config, &worker) != PYPTO_ERROR_INVALID_ARGUMENT || worker != NULL) return 2;
  if (pypto_last_error(&error) != PYPTO_OK || error.status != PYPTO_ERROR_INVALID_ARGUMENT) return 3;
  if (strstr(error.message, "no such platform") == NULL) return 4;
  if (strcmp(pypto_version(), "") == 0 || pypto_abi_version() != PYPTO_ABI_VERSION) return 5;
  return 0;
}
