// Kernels for x86-64-v4 with AVX512-BF16 and AVX512-VNNI.
#define PYPTO_SIMD_SET avx512_bf16
#define PYPTO_SIMD_BYTES 64

#include "pypto/device/simd/table.inl.h"
