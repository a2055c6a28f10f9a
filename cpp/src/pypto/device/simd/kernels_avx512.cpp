// Kernels for x86-64-v4 (AVX-512 F, BW, CD, DQ, VL).
#define PYPTO_SIMD_SET avx512
#define PYPTO_SIMD_BYTES 64

#include "pypto/device/simd/table.inl.h"
