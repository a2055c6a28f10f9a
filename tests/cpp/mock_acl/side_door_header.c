/* The side door's header is C. */
#include "pypto/mock_acl.h"

int32_t MockVersionOfTheHeader(void);

int32_t MockVersionOfTheHeader(void) { return PYPTO_MOCK_VERSION + (int32_t)MOCK_HANDLE_CONTEXT; }
