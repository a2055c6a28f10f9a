// What one core can do: multiply-adds in registers per dtype, and reading memory. Compiled for the processor at hand.
#include <immintrin.h>
#include <stddef.h>

#define REGISTERS 12

// Each gives how many operations `rounds` did; a dtype without an instruction of its own gives 0.
#if defined(__AVX512F__)
typedef __m512 floats;
#define LANES 16
#define MADD _mm512_fmadd_ps
#define SPREAD _mm512_set1_ps
#else
typedef __m256 floats;
#define LANES 8
#define MADD _mm256_fmadd_ps
#define SPREAD _mm256_set1_ps
#endif

double peak_fp32(long rounds, float* sink) {
  floats sums[REGISTERS];
#pragma GCC unroll 12
  for (int i = 0; i < REGISTERS; ++i) sums[i] = SPREAD((float)i);
  const floats a = SPREAD(0.5f), b = SPREAD(0.25f);
  for (long round = 0; round < rounds; ++round) {
#pragma GCC unroll 12
    for (int i = 0; i < REGISTERS; ++i) {
      sums[i] = MADD(sums[i], a, b);
      __asm__ volatile("" : "+v"(sums[i]));
    }
  }
#pragma GCC unroll 12
  for (int i = 0; i < REGISTERS; ++i) sink[i % 4] += sums[i][0];
  return 2.0 * LANES * REGISTERS * (double)rounds;
}

double peak_bf16(long rounds, float* sink) {
#if defined(__AVX512BF16__)
  __m512 sums[REGISTERS];
#pragma GCC unroll 12
  for (int i = 0; i < REGISTERS; ++i) sums[i] = _mm512_set1_ps((float)i);
  const __m512bh a = (__m512bh)_mm512_set1_epi32(0x3f003f00);
  for (long round = 0; round < rounds; ++round) {
#pragma GCC unroll 12
    for (int i = 0; i < REGISTERS; ++i) {
      sums[i] = _mm512_dpbf16_ps(sums[i], a, a);
      __asm__ volatile("" : "+v"(sums[i]));
    }
  }
#pragma GCC unroll 12
  for (int i = 0; i < REGISTERS; ++i) sink[i % 4] += sums[i][0];
  return 4.0 * LANES * REGISTERS * (double)rounds;
#else
  (void)rounds, (void)sink;
  return 0;
#endif
}

double peak_int8(long rounds, float* sink) {
#if defined(__AVX512VNNI__)
  __m512i sums[REGISTERS];
#pragma GCC unroll 12
  for (int i = 0; i < REGISTERS; ++i) sums[i] = _mm512_set1_epi32(i);
  const __m512i a = _mm512_set1_epi32(0x01010101);
  for (long round = 0; round < rounds; ++round) {
#pragma GCC unroll 12
    for (int i = 0; i < REGISTERS; ++i) {
      sums[i] = _mm512_dpbusd_epi32(sums[i], a, a);
      __asm__ volatile("" : "+v"(sums[i]));
    }
  }
#pragma GCC unroll 12
  for (int i = 0; i < REGISTERS; ++i) sink[i % 4] += (float)sums[i][0];
  return 8.0 * LANES * REGISTERS * (double)rounds;
#else
  (void)rounds, (void)sink;
  return 0;
#endif
}

// `bytes` is a multiple of 256.
void read_all(const void* from, size_t bytes, float* sink) {
  floats sums[4];
  for (int i = 0; i < 4; ++i) sums[i] = SPREAD(0.0f);
  const floats* at = from;
  for (size_t i = 0; i < bytes / sizeof(floats); i += 4) {
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) sums[j] += at[i + (size_t)j];
  }
  for (int i = 0; i < 4; ++i) sink[i] += sums[i][0];
}
