// Kernels for x86-64-v3 (AVX2, FMA, F16C).
#define PYPTO_SIMD_SET avx2
#define PYPTO_SIMD_BYTES 32

#include "pypto/device/simd/table.inl.h"
