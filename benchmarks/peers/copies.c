// Copies to compare with: memcpy of the C library, and streaming stores that pass the caches by.
#include <immintrin.h>
#include <stddef.h>
#include <string.h>

void plain_copy(void* to, const void* from, size_t bytes) { memcpy(to, from, bytes); }

// `to` is 32-byte aligned; `bytes` is a multiple of 128.
__attribute__((target("avx"))) void streaming_copy(void* to, const void* from, size_t bytes) {
  char* out = to;
  const char* in = from;
  for (size_t i = 0; i < bytes; i += 128) {
    const __m256i a = _mm256_loadu_si256((const __m256i*)(in + i));
    const __m256i b = _mm256_loadu_si256((const __m256i*)(in + i + 32));
    const __m256i c = _mm256_loadu_si256((const __m256i*)(in + i + 64));
    const __m256i d = _mm256_loadu_si256((const __m256i*)(in + i + 96));
    _mm256_stream_si256((__m256i*)(out + i), a);
    _mm256_stream_si256((__m256i*)(out + i + 32), b);
    _mm256_stream_si256((__m256i*)(out + i + 64), c);
    _mm256_stream_si256((__m256i*)(out + i + 96), d);
  }
  _mm_sfence();
}
