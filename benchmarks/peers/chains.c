// Element-wise chains as one writes them by hand: one loop, everything in registers. Compiled with -O3 for the
// processor at hand, so that the compiler vectorises them. BF16 is rounded after every operation, as kernels do.
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline float FromBits(uint32_t bits) {
  float x;
  memcpy(&x, &bits, 4);
  return x;
}
static inline uint32_t ToBits(float x) {
  uint32_t bits;
  memcpy(&bits, &x, 4);
  return bits;
}

// About 1 ulp: 2^n times a polynomial in [-ln 2 / 2, ln 2 / 2].
static inline float Exp(float x) {
  x = x < -87.0f ? -87.0f : x;
  x = x > 88.0f ? 88.0f : x;
  const float shifted = x * 1.44269504f + 12582912.0f;
  const float n = shifted - 12582912.0f;
  const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  return p * FromBits((ToBits(shifted) << 23) + 0x3f800000u);
}

typedef float fp32;
static inline float LoadFp32(fp32 x) { return x; }
static inline fp32 StoreFp32(float x) { return x; }
static inline float RoundFp32(float x) { return x; }

typedef uint16_t bf16;
static inline float LoadBf16(bf16 x) { return FromBits((uint32_t)x << 16); }
static inline uint32_t RoundedBits(float x) {
  const uint32_t bits = ToBits(x);
  const uint32_t rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
  return x != x ? bits | 0x400000u : rounded;
}
static inline bf16 StoreBf16(float x) { return (bf16)(RoundedBits(x) >> 16); }
static inline float RoundBf16(float x) { return FromBits(RoundedBits(x) & 0xffff0000u); }

#define CHAINS(type, Type)                                                                                  \
  void scale_add_##type(type* restrict out, const type* restrict x, const type* restrict y, size_t n) {     \
    for (size_t i = 0; i < n; ++i) {                                                                        \
      out[i] = Store##Type(Round##Type(Load##Type(x[i]) * 2.0f) + Load##Type(y[i]));                        \
    }                                                                                                       \
  }                                                                                                         \
  void gate_##type(type* restrict out, const type* restrict x, const type* restrict y, size_t n) {          \
    for (size_t i = 0; i < n; ++i) {                                                                        \
      float a = Round##Type(Round##Type(Load##Type(x[i]) * 0.25f) + 0.5f);                                  \
      a = a > 0.0f ? a : 0.0f;                                                                              \
      a = a < 1.0f ? a : 1.0f;                                                                              \
      out[i] = Store##Type(a * Load##Type(y[i]));                                                           \
    }                                                                                                       \
  }                                                                                                         \
  void scale_add_exp_##type(type* restrict out, const type* restrict x, const type* restrict y, size_t n) { \
    for (size_t i = 0; i < n; ++i) {                                                                        \
      out[i] = Store##Type(Exp(Round##Type(Round##Type(Load##Type(x[i]) * 2.0f) + Load##Type(y[i]))));      \
    }                                                                                                       \
  }

CHAINS(fp32, Fp32)
CHAINS(bf16, Bf16)
