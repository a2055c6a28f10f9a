/* A request loop in C11: loads a saved program, keeps the weight on the device, serves batches of different sizes and
 * prints host and device time. Usage: request_loop_c linear.pto */
#include <pypto/c_api.h>
#include <stdio.h>
#include <stdlib.h>

enum { IN = 64, OUT = 128, LARGEST = 33, REQUESTS = 12 };

static int Fail(const char* what) {
  pypto_error error = PYPTO_STRUCT(pypto_error);
  pypto_last_error(&error);
  fprintf(stderr, "%s: %s: %s\n", what, pypto_status_name(error.status), error.message);
  return 1;
}

static pypto_argument Host(float* data, const int64_t* shape) {
  pypto_argument argument = {0};
  argument.kind = PYPTO_ARGUMENT_HOST;
  argument.dtype = PYPTO_FP32;
  argument.rank = 2;
  argument.value.data = data;
  argument.shape = shape;
  return argument;
}

/* Every weight is 1/4 and row r of the request is filled with r + 1, so that every result is exact. */
static int CheckResult(const float* out, int64_t rows) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < OUT; ++c) {
      const float expected = (float)(r + 1) * IN / 4;
      if (out[r * OUT + c] != expected) {
        fprintf(stderr, "row %lld: %g instead of %g\n", (long long)r, (double)out[r * OUT + c], (double)expected);
        return 1;
      }
    }
  }
  return 0;
}

static int Serve(pypto_worker* worker, pypto_registration* linear, pypto_tensor* weight) {
  static float x[LARGEST * IN];
  static float out[LARGEST * OUT];
  for (int64_t i = 0; i < LARGEST * IN; ++i) x[i] = (float)(i / IN + 1);
  pypto_times times = PYPTO_STRUCT(pypto_times);
  pypto_launch_options options = PYPTO_STRUCT(pypto_launch_options);
  options.times = &times;
  for (int request = 0; request < REQUESTS; ++request) {
    const int64_t rows = 1 + request * 7 % LARGEST;
    const int64_t x_shape[2] = {rows, IN};
    const int64_t out_shape[2] = {rows, OUT};
    pypto_argument arguments[3] = {Host(x, x_shape), {0}, Host(out, out_shape)};
    arguments[1].kind = PYPTO_ARGUMENT_TENSOR;
    arguments[1].value.tensor = weight;
    if (pypto_registration_launch(linear, arguments, 3, &options) != PYPTO_OK) return Fail("launch");
    if (CheckResult(out, rows) != 0) return 1;
    printf("request %2d: %2lld rows, host %8.1f us, device %8.1f us\n", request, (long long)rows,
           (double)times.host_ns / 1e3, (double)times.device_ns / 1e3);
  }
  pypto_counters counters = PYPTO_STRUCT(pypto_counters);
  if (pypto_worker_get_counters(worker, &counters) != PYPTO_OK) return Fail("counters");
  printf("%llu launches, %llu program load, %llu bytes up, %llu down\n", (unsigned long long)counters.launches,
         (unsigned long long)counters.program_loads, (unsigned long long)counters.h2d_bytes,
         (unsigned long long)counters.d2h_bytes);
  return 0;
}

int main(int argc, char** argv) {
  static float weights[IN * OUT];
  const int64_t weight_shape[2] = {IN, OUT};
  pypto_program* program = NULL;
  pypto_worker* worker = NULL;
  pypto_tensor* weight = NULL;
  pypto_registration* linear = NULL;
  int result = 1;
  if (argc != 2) {
    fprintf(stderr, "usage: %s linear.pto\n", argv[0]);
    return 2;
  }
  for (int i = 0; i < IN * OUT; ++i) weights[i] = 0.25f;
  if (pypto_program_load(argv[1], &program) != PYPTO_OK) {
    Fail("load");
  } else if (pypto_worker_open(NULL, &worker) != PYPTO_OK) {
    Fail("open");
  } else if (pypto_tensor_alloc(worker, PYPTO_FP32, weight_shape, 2, weights, &weight) != PYPTO_OK) {
    Fail("alloc");
  } else if (pypto_worker_register(worker, program, &linear) != PYPTO_OK) {
    Fail("register");
  } else {
    result = Serve(worker, linear, weight);
  }
  /* Null is fine for what was not reached. */
  pypto_registration_release(linear);
  pypto_tensor_release(weight);
  if (pypto_worker_release(worker) != PYPTO_OK) result = Fail("close");
  pypto_program_release(program);
  return result;
}
