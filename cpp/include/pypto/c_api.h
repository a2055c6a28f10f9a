/* The C ABI of pypto: what other native programs link.
 *
 * Conventions: functions are named pypto_<object>_<verb>; nothing throws across this boundary; strings returned are
 * owned by the library and live until the process ends unless a function says otherwise. Thread-safe unless stated.
 * The shared library is libpypto.so.<ABI major>; its symbols carry the version node PYPTO_<ABI major>.
 */
#ifndef PYPTO_C_API_H_
#define PYPTO_C_API_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PYPTO_C_API __attribute__((visibility("default")))

/* The ABI this header describes. */
#define PYPTO_ABI_VERSION 0u

/* Version of the library, "major.minor.patch". */
PYPTO_C_API const char* pypto_version(void);

/* The ABI the loaded library implements; differs from PYPTO_ABI_VERSION when header and library do not match. */
PYPTO_C_API uint32_t pypto_abi_version(void);

#ifdef __cplusplus
}
#endif

#endif /* PYPTO_C_API_H_ */
