// PYPTO_API marks what leaves the shared core library for the bindings (version node PYPTO_PRIVATE_<version>).
#pragma once

#define PYPTO_API [[gnu::visibility("default")]]
