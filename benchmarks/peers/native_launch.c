/* The loop of a native caller: what the Python benchmark times beside the Python handle. */
#include <pypto/c_api.h>

/* Launches `count` times with arguments that are all resident tensors; the first status that is not 0. */
int32_t native_launches(uint64_t registration, const uint64_t* tensors, size_t arguments, uint64_t count);
int32_t native_launches(uint64_t registration, const uint64_t* tensors, size_t arguments, uint64_t count) {
  pypto_argument list[8] = {0};
  for (size_t i = 0; i < arguments && i < 8; ++i) {
    list[i].kind = PYPTO_ARGUMENT_TENSOR;
    list[i].value.tensor = (pypto_tensor*)(uintptr_t)tensors[i];
  }
  for (uint64_t i = 0; i < count; ++i) {
    const pypto_status status =
        pypto_registration_launch((pypto_registration*)(uintptr_t)registration, list, arguments, NULL);
    if (status != PYPTO_OK) return status;
  }
  return PYPTO_OK;
}
