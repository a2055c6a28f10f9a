// Kernels for the baseline of the architecture (SSE2, NEON).
#define PYPTO_SIMD_SET plain
#define PYPTO_SIMD_BYTES 16

#include "pypto/device/simd/table.inl.h"
