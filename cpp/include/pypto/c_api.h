/* The C ABI of pypto: load compiled programs, keep tensors on a device, dispatch. For programs without Python, and for
 * programs that hold a Python interpreter beside: both use the one runtime of the process.
 *
 * Rules
 *  1. Names: pypto_<object>_<verb>. Every fallible function returns a pypto_status, 0 for success, and gives results
 *     through pointers at the end; on failure these are left as they were. Nothing throws across this boundary.
 *  2. Errors: a failing call leaves code, text and details in the calling thread; pypto_last_error reads them. They
 *     stay until the next failing call of that thread. Success does not touch them.
 *  3. Handles are names, not addresses. Each function that makes one says so; the caller gives it back with the
 *     pypto_<object>_release of its type. A null, stale, foreign handle or one of another type gives
 *     PYPTO_ERROR_INVALID_HANDLE. Release waits for calls of other threads that use the same handle. Releasing null is
 *     a success that does nothing. Objects may be released in any order; a worker's tensors and registrations are dead
 *     once it is closed or released, but their handles still have to be released.
 *  4. Threads: every function may be called from any thread. A worker is one in-order queue: what is called takes
 *     effect in call order; calls that find it busy wait.
 *  5. Structs that begin with `struct_size` carry the size that the caller was compiled with: set it to sizeof the
 *     struct (PYPTO_STRUCT does) and the rest to zero before filling. Fields that a caller does not know keep their
 *     default; a field that is set and that the library does not know gives PYPTO_ERROR_UNSUPPORTED. Structs without
 *     struct_size never change within an ABI version.
 *  6. Strings are UTF-8 and end with NUL. Those inside info structs live until the handle they came from is released.
 *     Functions that take (buffer, capacity, needed) write at most `capacity` bytes, always end them with NUL when
 *     capacity is not 0, and give in *needed the bytes of the whole text with its NUL; buffer and needed may be null.
 *  7. Callbacks run inside the call that caused them. They must not throw, and calls with a handle made inside one
 *     give PYPTO_ERROR_FAILED_PRECONDITION. What a callback throws is caught: a should_stop counts as "stop".
 *  8. Host memory is contiguous and row-major. It is used during the call only; for submit: inputs during the call,
 *     outputs until the completion has finished.
 *  9. Times are in nanoseconds unless a name says otherwise; a timeout_ms of PYPTO_FOREVER waits without limit.
 * 10. Versions: the library is libpypto.so.<ABI version> and its symbols carry the version node PYPTO_<ABI version>.
 *     Within one ABI version functions and fields are only added. After fork a child gets errors for what the parent
 *     opened.
 */
#ifndef PYPTO_C_API_H_
#define PYPTO_C_API_H_

#include "pypto/c_types.h"

#define PYPTO_C_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Versions and errors ---------------------------------------------------------------------------------------- */

/* Version of the library, "major.minor.patch". */
PYPTO_C_API const char* pypto_version(void);
/* The ABI the loaded library implements; differs from PYPTO_ABI_VERSION when header and library do not match. */
PYPTO_C_API uint32_t pypto_abi_version(void);
/* "invalid argument"; "unknown" for a number that is none. Lives as long as the process. */
PYPTO_C_API const char* pypto_status_name(pypto_status status);
/* A status of PYPTO_OK when no call of this thread has failed. Fails, without changing the record, on a bad size. */
PYPTO_C_API pypto_status pypto_last_error(pypto_error* error);
PYPTO_C_API void pypto_clear_error(void);

/* ---- Programs --------------------------------------------------------------------------------------------------- */

/* Bytes of one element; 0 for a number that is no dtype. */
PYPTO_C_API size_t pypto_dtype_bytes(uint32_t dtype);
/* Reads a program file, or its bytes (which are copied). Make a program; any thread and worker may share it.
 * PYPTO_ERROR_IO, or PYPTO_ERROR_PROGRAM_FORMAT for what is damaged, truncated or newer. */
PYPTO_C_API pypto_status pypto_program_load(const char* path, pypto_program** program);
PYPTO_C_API pypto_status pypto_program_load_bytes(const void* data, size_t bytes, pypto_program** program);
/* A program out of a device binary that another compiler built. `parameters` is an array whose elements all carry the
 * struct_size of the first: kind, name, and for a tensor dtype, direction, rank and dims (-1: dynamic, named by its
 * symbol); the dtype of a scalar says how it travels: PYPTO_INT32 or PYPTO_FP32 in 4 bytes, PYPTO_INT64 in 8. Makes a
 * program. PYPTO_ERROR_INVALID_ARGUMENT says which parameter is wrong. */
PYPTO_C_API pypto_status pypto_program_from_binary(const pypto_device_binary* binary, const pypto_parameter* parameters,
                                                   size_t count, pypto_program** program);
/* Writes the file that load reads; the same bytes for the same program. */
PYPTO_C_API pypto_status pypto_program_save(pypto_program* program, const char* path);
PYPTO_C_API pypto_status pypto_program_release(pypto_program* program);
PYPTO_C_API pypto_status pypto_program_get_info(pypto_program* program, pypto_program_info* info);
/* A readable listing; lives as the strings of the info. */
PYPTO_C_API pypto_status pypto_program_get_text(pypto_program* program, const char** text);
PYPTO_C_API pypto_status pypto_program_get_parameter(pypto_program* program, size_t index, pypto_parameter* parameter);
/* The workspace for given dims. Up to `capacity` line items are written; *item_count is how many there are. `budget`,
 * `items` and `item_count` may be null. PYPTO_ERROR_INVALID_ARGUMENT names a value that is missing. */
PYPTO_C_API pypto_status pypto_program_get_budget(pypto_program* program, const pypto_named_value* values,
                                                  size_t value_count, pypto_budget* budget, pypto_line_item* items,
                                                  size_t capacity, size_t* item_count);

/* ---- Workers ---------------------------------------------------------------------------------------------------- */

/* Opens a device; null config: the mock's device 0. Makes a worker. */
PYPTO_C_API pypto_status pypto_worker_open(const pypto_worker_config* config, pypto_worker** worker);
/* Waits for work in flight, frees what is held, unloads programs. Idempotent; the handle stays. */
PYPTO_C_API pypto_status pypto_worker_close(pypto_worker* worker);
/* Opens a closed one again; tensors and registrations of earlier openings stay dead. */
PYPTO_C_API pypto_status pypto_worker_init(pypto_worker* worker);
/* Closes and gives the handle back; it is gone also when closing reports an error. */
PYPTO_C_API pypto_status pypto_worker_release(pypto_worker* worker);
/* PYPTO_OK while it can be used; else why not (closed, broken by a fault, forked). */
PYPTO_C_API pypto_status pypto_worker_check(pypto_worker* worker);
/* Waits for all submitted work. PYPTO_FOREVER: the worker's own time limit. PYPTO_ERROR_TIMEOUT lists what runs. */
PYPTO_C_API pypto_status pypto_worker_synchronize(pypto_worker* worker, int64_t timeout_ms);
/* Gives pooled free memory back to the device. */
PYPTO_C_API pypto_status pypto_worker_trim(pypto_worker* worker);
PYPTO_C_API pypto_status pypto_worker_get_info(pypto_worker* worker, pypto_worker_info* info);
/* The current workers of the calling thread. Enter: PYPTO_ERROR_INVALID_ARGUMENT when one of the same platform and
 * device is current. Leave: a no-op when it is not. Current: the innermost of the platform (null: any) and device (-1:
 * any), the handle that was entered, not a new one; PYPTO_ERROR_NOT_FOUND. Released workers are no longer current. */
PYPTO_C_API pypto_status pypto_worker_enter(pypto_worker* worker);
PYPTO_C_API pypto_status pypto_worker_leave(pypto_worker* worker);
PYPTO_C_API pypto_status pypto_worker_current(const char* platform, int32_t device_id, pypto_worker** worker);
/* Path of the ACL library in use; "" when closed. */
PYPTO_C_API pypto_status pypto_worker_get_library_path(pypto_worker* worker, char* buffer, size_t capacity,
                                                       size_t* needed);
/* A symbol of the ACL library in use, such as a function of the mock's side door. PYPTO_ERROR_NOT_FOUND. */
PYPTO_C_API pypto_status pypto_worker_get_library_symbol(pypto_worker* worker, const char* name, void** symbol);
PYPTO_C_API pypto_status pypto_worker_get_counters(pypto_worker* worker, pypto_counters* counters);
PYPTO_C_API pypto_status pypto_worker_get_memory_info(pypto_worker* worker, pypto_memory_info* info);
/* 1 when an ACL library that could serve the hardware platforms is on this machine, usable or not. */
PYPTO_C_API int32_t pypto_hardware_library_found(void);

/* ---- Memory and tensors ----------------------------------------------------------------------------------------- */

/* Raw device memory, and synchronous copies inside one live allocation (offsets allowed). */
PYPTO_C_API pypto_status pypto_worker_malloc(pypto_worker* worker, int64_t bytes, uint64_t* address);
PYPTO_C_API pypto_status pypto_worker_free(pypto_worker* worker, uint64_t address);
PYPTO_C_API pypto_status pypto_worker_copy_to(pypto_worker* worker, uint64_t destination, const void* source,
                                              int64_t bytes);
PYPTO_C_API pypto_status pypto_worker_copy_from(pypto_worker* worker, void* destination, uint64_t source,
                                                int64_t bytes);
/* A resident tensor: dims > 0. `init`, when not null, is uploaded once: host memory of the whole tensor. Makes a
 * tensor; nothing stays allocated on failure. */
PYPTO_C_API pypto_status pypto_tensor_alloc(pypto_worker* worker, uint32_t dtype, const int64_t* shape, size_t rank,
                                            const void* init, pypto_tensor** tensor);
/* Rows [begin, end) of the first dim, sharing memory with the base and keeping it. Makes a tensor. */
PYPTO_C_API pypto_status pypto_tensor_view_rows(pypto_tensor* tensor, int64_t begin, int64_t end, pypto_tensor** view);
/* The whole tensor; `bytes` must be its size. */
PYPTO_C_API pypto_status pypto_tensor_upload(pypto_tensor* tensor, const void* source, size_t bytes);
PYPTO_C_API pypto_status pypto_tensor_download(pypto_tensor* tensor, void* destination, size_t bytes);
/* Frees the memory at once, which kills its views. The handle stays, dead. No-op on a dead tensor; a view:
 * PYPTO_ERROR_INVALID_ARGUMENT. */
PYPTO_C_API pypto_status pypto_tensor_free(pypto_tensor* tensor);
/* Gives the handle back. The memory goes with the last handle of the base and its views. */
PYPTO_C_API pypto_status pypto_tensor_release(pypto_tensor* tensor);
PYPTO_C_API pypto_status pypto_tensor_get_info(pypto_tensor* tensor, pypto_tensor_info* info);

/* ---- Launches --------------------------------------------------------------------------------------------------- */

/* Loads the program on the worker's device, unless a registration of the same content is open. Makes a
 * registration. */
PYPTO_C_API pypto_status pypto_worker_register(pypto_worker* worker, pypto_program* program,
                                               pypto_registration** registration);
/* Waits for its work; the device program is unloaded with its last registration. Idempotent; the handle stays. */
PYPTO_C_API pypto_status pypto_registration_unregister(pypto_registration* registration);
/* Unregisters and gives the handle back; it stays when unregistering fails with PYPTO_ERROR_TIMEOUT. */
PYPTO_C_API pypto_status pypto_registration_release(pypto_registration* registration);
/* Dispatches and waits. Arguments are those of all parameters, in order; all are checked before anything is copied.
 * Null options: none. */
PYPTO_C_API pypto_status pypto_registration_launch(pypto_registration* registration, const pypto_argument* arguments,
                                                   size_t count, const pypto_launch_options* options);
/* The same without a registration of one's own: registers if needed, and keeps that until the worker is closed. */
PYPTO_C_API pypto_status pypto_worker_run(pypto_worker* worker, pypto_program* program, const pypto_argument* arguments,
                                          size_t count, const pypto_launch_options* options);
/* The same on the thread's current worker of the program's platform. There is no default worker: without a current
 * one PYPTO_ERROR_FAILED_PRECONDITION. */
PYPTO_C_API pypto_status pypto_program_run(pypto_program* program, const pypto_argument* arguments, size_t count,
                                           const pypto_launch_options* options);
/* Dispatches warmup + rounds times and aggregates the rounds; `rounds` is at least 1. Each round also goes to `times`
 * when that is not null: room for `rounds`. The `times` of the options must be null. Ends at the first failure. */
PYPTO_C_API pypto_status pypto_registration_benchmark(pypto_registration* registration, const pypto_argument* arguments,
                                                      size_t count, uint32_t rounds, uint32_t warmup,
                                                      const pypto_launch_options* options, pypto_round* times,
                                                      pypto_benchmark* benchmark);
/* Dispatches once with every leaf timed, on the mock only: PYPTO_ERROR_UNSUPPORTED elsewhere and for device binaries.
 * Up to `capacity` source lines are written, the longest first; *line_count is how many there are. `trace_path` (null:
 * none) gets a JSON file for chrome://tracing or Perfetto. The `times` of the options must be null. */
PYPTO_C_API pypto_status pypto_registration_profile(pypto_registration* registration, const pypto_argument* arguments,
                                                    size_t count, const pypto_launch_options* options,
                                                    const char* trace_path, pypto_profile* profile,
                                                    pypto_profile_line* lines, size_t capacity, size_t* line_count);
/* Dispatches without waiting; host inputs are captured before it returns. With 64 in flight it waits for the oldest.
 * `times` of the options must be null. Makes a completion. */
PYPTO_C_API pypto_status pypto_registration_submit(pypto_registration* registration, const pypto_argument* arguments,
                                                   size_t count, const pypto_launch_options* options,
                                                   pypto_completion** completion);
/* Waits for the end, writes host outputs, returns the status of the launch, the same each time. */
PYPTO_C_API pypto_status pypto_completion_wait(pypto_completion* completion, int64_t timeout_ms);
/* *done is 1 once it has ended; the first 1 writes host outputs. Never blocks: 0 while another call is in the worker.
 */
PYPTO_C_API pypto_status pypto_completion_poll(pypto_completion* completion, int32_t* done);
/* *done is 1 once host outputs are written, without a look at the device. */
PYPTO_C_API pypto_status pypto_completion_done(pypto_completion* completion, int32_t* done);
/* Waits if it has not ended. */
PYPTO_C_API pypto_status pypto_completion_release(pypto_completion* completion);
/* Shapes of the trailing outputs that follow from the given leading arguments. Up to `capacity` are written. */
PYPTO_C_API pypto_status pypto_registration_infer_outputs(pypto_registration* registration,
                                                          const pypto_argument* arguments, size_t count,
                                                          pypto_output* outputs, size_t capacity, size_t* output_count);
PYPTO_C_API pypto_status pypto_registration_get_report(pypto_registration* registration,
                                                       pypto_workspace_report* report);

/* Device tasks of the last launch, when it ran with log level INFO or lower; else none. Up to `capacity` are written;
 * *task_count is how many there are. */
PYPTO_C_API pypto_status pypto_registration_get_tasks(pypto_registration* registration, pypto_task_report* tasks,
                                                      size_t capacity, size_t* task_count);

/* The pools of each parallel copy in task number `task` of that list. PYPTO_ERROR_OUT_OF_RANGE. */
PYPTO_C_API pypto_status pypto_registration_get_task_copies(pypto_registration* registration, size_t task,
                                                            pypto_pool_usage* copies, size_t capacity,
                                                            size_t* copy_count);

/* ---- Options, log, timing marks --------------------------------------------------------------------------------- */

/* A root scope: the defaults of the schema, changed by the JSON file at `defaults_path` (null: none) or by the one that
 * TILEFWK_CONFIG_PATH names, whose "global" part becomes the process's. Makes options. */
PYPTO_C_API pypto_status pypto_options_create(const char* defaults_path, pypto_options** options);
/* An inner scope that starts with the values of this one. Makes options. */
PYPTO_C_API pypto_status pypto_options_child(pypto_options* options, const char* name, pypto_options** child);
/* Changes values: a JSON object of full keys such as {"runtime.run_mode": 1}. Checked whole before anything changes. */
PYPTO_C_API pypto_status pypto_options_update(pypto_options* options, const char* json);
/* All keys have the values of the root again. */
PYPTO_C_API pypto_status pypto_options_reset(pypto_options* options);
/* The value of a full key, as JSON. PYPTO_ERROR_NOT_FOUND. */
PYPTO_C_API pypto_status pypto_options_get(pypto_options* options, const char* key, char* buffer, size_t capacity,
                                           size_t* needed);
/* All values as a JSON object; and one readable line per key with value, origin and effect. */
PYPTO_C_API pypto_status pypto_options_get_json(pypto_options* options, char* buffer, size_t capacity, size_t* needed);
PYPTO_C_API pypto_status pypto_options_describe(pypto_options* options, char* buffer, size_t capacity, size_t* needed);
PYPTO_C_API pypto_status pypto_options_release(pypto_options* options);
/* Values under "global.": one set per process, shared with Python, not checked. */
PYPTO_C_API pypto_status pypto_global_set(const char* name, const char* json);
PYPTO_C_API pypto_status pypto_global_get(const char* name, char* buffer, size_t capacity, size_t* needed);
/* The call wins over ASCEND_GLOBAL_LOG_LEVEL and its kin; the default is PYPTO_LOG_ERROR. */
PYPTO_C_API pypto_status pypto_log_set_level(int32_t level);
PYPTO_C_API int32_t pypto_log_get_level(void);
/* The level of the environment rules again. */
PYPTO_C_API pypto_status pypto_log_reset_level(void);
/* Root folder of the log files; printing to stdout in place of files; the file that is open, "" when none is. */
PYPTO_C_API pypto_status pypto_log_set_root(const char* path);
PYPTO_C_API pypto_status pypto_log_set_stdout(int32_t on);
PYPTO_C_API pypto_status pypto_log_get_file(char* buffer, size_t capacity, size_t* needed);
/* Gets every written record at or above `lowest`, from any thread, several at a time. *id names it for removal. */
PYPTO_C_API pypto_status pypto_log_add_callback(pypto_log_callback callback, void* user, int32_t lowest, uint64_t* id);
/* After it returns no call of the callback is under way in another thread and none begins. */
PYPTO_C_API pypto_status pypto_log_remove_callback(uint64_t id);
/* Timing marks ([STRACE] records): "off", "stderr", "plog" or the path of a file. The call wins over PYPTO_STRACE. */
PYPTO_C_API pypto_status pypto_trace_set(const char* target);
/* Every record goes to the callback, from the dispatching thread; null: off. */
PYPTO_C_API pypto_status pypto_trace_set_callback(pypto_trace_callback callback, void* user);

#ifdef __cplusplus
}
#endif

#endif /* PYPTO_C_API_H_ */
