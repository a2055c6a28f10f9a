/* Kernels in the place of AI-core code, for tests: a shared object of the host, against the installed header only. */
#include <pypto/mock_acl.h>
#include <string.h>

#define KERNEL __attribute__((visibility("default"))) void

/* y = a * x + y over n values; each block takes a part. */
struct axpy_args {
  uint64_t x, y;
  float a;
  int32_t n;
};
KERNEL axpy(const void* args, size_t bytes, uint32_t block, uint32_t blocks, const pypto_mock_env* env) {
  struct axpy_args a;
  if (bytes != sizeof(a)) return;
  memcpy(&a, args, sizeof(a));
  const uint64_t all = (uint64_t)a.n * sizeof(float);
  const float* x = env->map(a.x, all, PYPTO_MOCK_READ);
  float* y = env->map(a.y, all, PYPTO_MOCK_READ | PYPTO_MOCK_WRITE);
  for (int32_t i = (int32_t)block; i < a.n; i += (int32_t)blocks) y[i] += a.a * x[i];
}

/* Copies its argument block to the address in its first 8 bytes. */
KERNEL echo(const void* args, size_t bytes, uint32_t block, uint32_t blocks, const pypto_mock_env* env) {
  uint64_t to = 0;
  memcpy(&to, args, sizeof(to));
  memcpy(env->map(to, bytes, PYPTO_MOCK_WRITE), args, bytes);
  (void)block, (void)blocks;
}

/* A mix kernel: {synchronisation address, out}. The cube part stores the address, the vector part counts its blocks. */
KERNEL mixed_mix_aic(const void* args, size_t bytes, uint32_t block, uint32_t blocks, const pypto_mock_env* env) {
  uint64_t words[2] = {0, 0};
  memcpy(words, args, bytes < sizeof(words) ? bytes : sizeof(words));
  uint64_t* out = env->map(words[1], 3 * sizeof(uint64_t), PYPTO_MOCK_WRITE);
  if (block == 0) out[1] = 0;
  out[0] = words[0];
  out[2] = blocks;
}
KERNEL mixed_mix_aiv(const void* args, size_t bytes, uint32_t block, uint32_t blocks, const pypto_mock_env* env) {
  uint64_t words[2] = {0, 0};
  memcpy(words, args, bytes < sizeof(words) ? bytes : sizeof(words));
  uint64_t* out = env->map(words[1], 3 * sizeof(uint64_t), PYPTO_MOCK_WRITE);
  out[1] += 1;
  (void)block, (void)blocks;
}

/* Block 1 leaves the block whose address is its first argument. */
KERNEL stray(const void* args, size_t bytes, uint32_t block, uint32_t blocks, const pypto_mock_env* env) {
  uint64_t address = 0;
  memcpy(&address, args, sizeof(address));
  uint32_t* out = env->map(address, sizeof(uint32_t), PYPTO_MOCK_WRITE);
  *out = block + 1;
  if (block == 1) {
    env->map(address, (uint64_t)1 << 40, PYPTO_MOCK_READ);
    *out = 99; /* not reached */
  }
  (void)bytes, (void)blocks;
}

KERNEL no_access(const void* args, size_t bytes, uint32_t block, uint32_t blocks, const pypto_mock_env* env) {
  uint64_t address = 0;
  memcpy(&address, args, sizeof(address));
  env->map(address, 4, 0);
  (void)bytes, (void)block, (void)blocks;
}

KERNEL until_aborted(const void* args, size_t bytes, uint32_t block, uint32_t blocks, const pypto_mock_env* env) {
  while (env->aborted() == 0) {
  }
  (void)args, (void)bytes, (void)block, (void)blocks;
}
