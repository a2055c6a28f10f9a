/* The loops of a native caller: what the Python benchmark times beside the Python handle. */
#include <pypto/c_api.h>

enum { kMost = 8 };

static pypto_registration* registration_of(uint64_t bits) { return (pypto_registration*)(uintptr_t)bits; }

static void fill(pypto_argument* list, const uint64_t* tensors, size_t arguments) {
  for (size_t i = 0; i < arguments && i < kMost; ++i) {
    list[i].kind = PYPTO_ARGUMENT_TENSOR;
    list[i].value.tensor = (pypto_tensor*)(uintptr_t)tensors[i];
  }
}

/* Launches `count` times with arguments that are all resident tensors; the first status that is not 0. */
int32_t native_launches(uint64_t registration, const uint64_t* tensors, size_t arguments, uint64_t count);
int32_t native_launches(uint64_t registration, const uint64_t* tensors, size_t arguments, uint64_t count) {
  pypto_argument list[kMost] = {0};
  fill(list, tensors, arguments);
  for (uint64_t i = 0; i < count; ++i) {
    const pypto_status status = pypto_registration_launch(registration_of(registration), list, arguments, NULL);
    if (status != PYPTO_OK) return status;
  }
  return PYPTO_OK;
}

/* The same, each submitted, waited for and released. */
int32_t native_submits(uint64_t registration, const uint64_t* tensors, size_t arguments, uint64_t count);
int32_t native_submits(uint64_t registration, const uint64_t* tensors, size_t arguments, uint64_t count) {
  pypto_argument list[kMost] = {0};
  fill(list, tensors, arguments);
  for (uint64_t i = 0; i < count; ++i) {
    pypto_completion* completion = NULL;
    pypto_status status = pypto_registration_submit(registration_of(registration), list, arguments, NULL, &completion);
    if (status == PYPTO_OK) status = pypto_completion_wait(completion, PYPTO_FOREVER);
    if (status == PYPTO_OK) status = pypto_completion_release(completion);
    if (status != PYPTO_OK) return status;
  }
  return PYPTO_OK;
}
