/* Side door of the mock ACL library: faults, hooks, counters, clock, state. For tests.
 *
 * The library itself is used through the ACL functions only. These functions are exported beside them; a program that
 * opened the library finds them by dlsym on its handle. All state belongs to one loaded copy of the library.
 *
 * Rules
 *  1. Every function may be called from any thread, also before aclInit and after aclFinalize.
 *  2. Functions are named by their ACL name, such as "aclrtMalloc". A name the library does not know gives
 *     MOCK_UNKNOWN_NAME, or 0 where a count is returned.
 *  3. Hooks run on the calling thread of the ACL function, outside of all locks of the library; ACL calls made inside a
 *     hook are neither counted as hits of a fault nor hooked.
 *  4. A forked child starts with a library as after load.
 */
#ifndef PYPTO_MOCK_ACL_H_
#define PYPTO_MOCK_ACL_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PYPTO_MOCK_VERSION 1

#define MOCK_OK 0
#define MOCK_UNKNOWN_NAME (-1)

/* Bytes that fill a fresh block (0xff is NaN in every float format), a freed block, and the guard behind a block.
 * Blocks above 1 MiB (64 MiB in strict mode) are filled in their first and last 64 KiB only. */
#define MOCK_FRESH_BYTE 0xff
#define MOCK_FREED_BYTE 0xfe
#define MOCK_GUARD_BYTE 0xfd

/* PYPTO_MOCK_VERSION of the library. A library that exports this function is the mock. */
int32_t pypto_mock_version(void);

/* ---- Faults ---------------------------------------------------------------------------------------------------- */

/* The call number n from now (0: the next one) of `function` returns `code` and does nothing else. NULL: of any
 * function that returns an aclError. Rules add up; each strikes once. A call struck by one rule still counts for the
 * others. */
int32_t mock_fail_call(const char* function, uint64_t n, int32_t code);
/* The kernel number n from now, in order of execution on any device, ends with `code` in place of running: a fault such
 * as 507015 or a lost device, 507010. */
int32_t mock_fail_kernel(uint64_t n, int32_t code);
/* Rules of both kinds that have not struck. */
uint64_t mock_pending_faults(void);
void mock_clear_faults(void);

/* ---- Hooks ----------------------------------------------------------------------------------------------------- */

/* `arguments[i]` points to argument i. A result other than 0 goes to the caller and the function does nothing. */
typedef int32_t (*mock_before_hook)(void* user, const char* function, void* const* arguments);
/* Takes the function's place; its result is returned to the caller. */
typedef int32_t (*mock_replace_hook)(void* user, const char* function, void* const* arguments);
/* Gets the function's result and gives the one that the caller sees. */
typedef int32_t (*mock_after_hook)(void* user, const char* function, void* const* arguments, int32_t code);

/* One hook of each kind per function; NULL takes it away. Only functions that return an aclError are hooked. */
int32_t mock_set_before(const char* function, mock_before_hook hook, void* user);
int32_t mock_set_replace(const char* function, mock_replace_hook hook, void* user);
int32_t mock_set_after(const char* function, mock_after_hook hook, void* user);
/* Every call of the function first sleeps that long; 0 takes it away. */
int32_t mock_set_delay(const char* function, uint64_t nanoseconds);
void mock_clear_hooks(void);

/* ---- Counters and state ---------------------------------------------------------------------------------------- */

/* Names of the ACL functions, index 0 … count - 1; NULL beyond. */
uint64_t mock_function_count(void);
const char* mock_function_name(uint64_t index);
/* Calls since load or mock_reset, failed ones included; NULL: of all functions. */
uint64_t mock_call_count(const char* function);

/* Device memory that is allocated, as asked for; device -1: all devices. */
uint64_t mock_live_bytes(int32_t device);
uint64_t mock_live_blocks(int32_t device);
/* Page-locked host memory from aclrtMallocHost. */
uint64_t mock_live_host_bytes(void);

typedef enum mock_handle_kind {
  MOCK_HANDLE_CONTEXT = 0, /* primary contexts included */
  MOCK_HANDLE_STREAM = 1,  /* without default streams */
  MOCK_HANDLE_EVENT = 2,
  MOCK_HANDLE_BINARY = 3,
  MOCK_HANDLE_FUNCTION = 4
} mock_handle_kind;
uint64_t mock_live_handles(mock_handle_kind kind);

/* Blocks whose guard was found overwritten when they were freed. */
uint64_t mock_guard_violations(void);
/* Kernels that were executed to their end, faults included, since load or mock_reset. */
uint64_t mock_kernels_run(void);
/* Name of the set of tile kernels in use, such as "avx2"; NULL when PYPTO_SIMD names none that this processor runs. */
const char* pypto_mock_simd(void);
/* Threads of streams that exist now. */
uint64_t mock_stream_threads(void);

/* Pages of freed blocks are kept for the next ones. They go back to the system when this is called, when a stream's
 * thread falls asleep, 100 ms after the last launch, and when a device is reset. */
void mock_give_back(void);
/* How often pages went back (calls of madvise and munmap) since load or mock_reset. */
uint64_t mock_give_back_count(void);
/* Copies that were large enough for several threads since load or mock_reset. */
uint64_t mock_shared_copies(void);

/* The host bytes behind a device range, NULL unless it lies inside one live block. Valid until the block is freed. */
void* mock_device_bytes(const void* address, size_t bytes);

/* ---- Kernels of other compilers -------------------------------------------------------------------------------- */

/* The mock runs no AI-core code. In its place aclrtBinaryLoadFromData and -FromFile take a shared object of the host
 * (an ELF file linked with -shared) whose kernels have this type; a mix kernel `k` is the two functions k_mix_aic and
 * k_mix_aiv, called in this order. A launch calls the kernel once per block, one after another on one thread, so blocks
 * must not wait for each other. `args` is the argument block as the device sees it, and addresses in it are device
 * addresses. */
#define PYPTO_MOCK_READ 1u
#define PYPTO_MOCK_WRITE 2u

typedef struct pypto_mock_env {
  uint32_t bytes; /* of this structure; later versions append members */
  uint32_t reserved;
  /* The host pointer for `bytes` at a device address, for the accesses PYPTO_MOCK_READ | PYPTO_MOCK_WRITE. A range that
   * does not lie inside one live block ends the kernel there, by longjmp, and the launch with fault 507015. On the
   * thread that runs the kernel only; NULL on others. */
  void* (*map)(uint64_t address, uint64_t bytes, uint32_t access);
  /* Not 0 once the stream is being aborted: a long kernel then returns. */
  int32_t (*aborted)(void);
} pypto_mock_env;

typedef void (*pypto_mock_kernel)(const void* args, size_t bytes, uint32_t block, uint32_t blocks,
                                  const pypto_mock_env* env);

/* ---- Clock and reset ------------------------------------------------------------------------------------------- */

/* The device's clock, in nanoseconds, in steps of 20. */
int64_t mock_clock_ns(void);
void mock_advance_clock(int64_t nanoseconds);

/* Everything as after load: objects closed (running kernels are aborted), counters 0, no faults, no hooks, not
 * initialised; the environment is read again at the next aclInit. No other thread may be inside an ACL function. */
void mock_reset(void);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* PYPTO_MOCK_ACL_H_ */
