/* Types of the C ABI: handles, codes, structs. Part of pypto/c_api.h, which says the rules. */
#ifndef PYPTO_C_TYPES_H_
#define PYPTO_C_TYPES_H_

#include <stddef.h>
#include <stdint.h>

/* The ABI this header describes. */
#define PYPTO_ABI_VERSION 0u

/* A zeroed struct with its size: pypto_worker_config config = PYPTO_STRUCT(pypto_worker_config); */
#ifdef __cplusplus
#define PYPTO_STRUCT(type)                                  \
  ([] {                                                     \
    type made{};                                            \
    made.struct_size = static_cast<uint32_t>(sizeof(type)); \
    return made;                                            \
  }())
#else
#define PYPTO_STRUCT(type) ((type){.struct_size = (uint32_t)sizeof(type)})
#endif

#define PYPTO_FOREVER INT64_C(-1)
#define PYPTO_MAX_RANK 8

typedef struct pypto_program pypto_program;           /* a compiled program; immutable */
typedef struct pypto_worker pypto_worker;             /* one device, one stream, its memory and its programs */
typedef struct pypto_tensor pypto_tensor;             /* a tensor that stays on a worker */
typedef struct pypto_registration pypto_registration; /* a program loaded on a worker */
typedef struct pypto_completion pypto_completion;     /* a submitted launch */
typedef struct pypto_options pypto_options;           /* a scope of option values */

/* ---- Versions and errors ---------------------------------------------------------------------------------------- */

typedef int32_t pypto_status;
enum {
  PYPTO_OK = 0,
  PYPTO_ERROR_INVALID_ARGUMENT = 1,
  PYPTO_ERROR_TYPE_MISMATCH = 2,
  PYPTO_ERROR_OUT_OF_RANGE = 3,
  PYPTO_ERROR_NOT_FOUND = 4,
  PYPTO_ERROR_FAILED_PRECONDITION = 5, /* closed object, broken worker, wrong order of calls */
  PYPTO_ERROR_UNSUPPORTED = 6,
  PYPTO_ERROR_TIMEOUT = 7,
  PYPTO_ERROR_ACL = 8,
  PYPTO_ERROR_OUT_OF_DEVICE_MEMORY = 9,
  PYPTO_ERROR_COMPILE = 10,
  PYPTO_ERROR_WORKSPACE = 11,
  PYPTO_ERROR_DEVICE_UNAVAILABLE = 12,
  PYPTO_ERROR_PROGRAM_FORMAT = 13,
  PYPTO_ERROR_IO = 14,
  PYPTO_ERROR_INTERNAL = 15,
  PYPTO_ERROR_INVALID_HANDLE = 32, /* null, of another type, released, or never made by this library */
  PYPTO_ERROR_OUT_OF_HOST_MEMORY = 33
};

/* What the last failing call of this thread reported. Strings are never null and live until the next failing call. */
typedef struct pypto_error {
  uint32_t struct_size;
  pypto_status status;
  int32_t acl_code;          /* the aclError, 0 when none was involved */
  int32_t source_line;       /* of the kernel's source, 0 when unknown */
  const char* message;       /* what, with numbers; why; what to do */
  const char* acl_call;      /* such as "aclrtMalloc" */
  const char* acl_text;      /* the ACL library's own text */
  const char* failure_class; /* "out_of_memory", "timeout", "kernel_fault", "device_lost", ... */
  const char* source_file;
  const char* largest_holders; /* of device memory, for PYPTO_ERROR_OUT_OF_DEVICE_MEMORY; then also bytes: */
  uint64_t asked_bytes;
  uint64_t free_bytes;
  uint64_t total_bytes;
} pypto_error;

/* ---- Programs --------------------------------------------------------------------------------------------------- */

/* Element types; the numbers are those of program files. */
typedef enum pypto_dtype {
  PYPTO_FP32 = 0,
  PYPTO_FP16 = 1,
  PYPTO_BF16 = 2,
  PYPTO_INT32 = 3,
  PYPTO_INT8 = 4,
  PYPTO_BOOL = 5,
  PYPTO_INT16 = 6,
  PYPTO_INT64 = 7,
  PYPTO_UINT8 = 8,
  PYPTO_UINT16 = 9,
  PYPTO_UINT32 = 10,
  PYPTO_UINT64 = 11,
  PYPTO_FP8E4M3 = 12,
  PYPTO_FP8E5M2 = 13,
  PYPTO_FP8E8M0 = 14,
  PYPTO_HF8 = 15,
  PYPTO_FP4_E2M1X2 = 16, /* two elements in a byte: the last dim counts bytes */
  PYPTO_FP4_E1M2X2 = 17,
  PYPTO_INT4 = 18 /* two elements in a byte as well */
} pypto_dtype;

typedef enum pypto_direction {
  PYPTO_IN = 0,
  PYPTO_OUT = 1, /* written whole before any read */
  PYPTO_INOUT = 2,
  PYPTO_UNUSED = 3
} pypto_direction;

typedef enum pypto_parameter_kind {
  PYPTO_PARAMETER_TENSOR = 0,
  PYPTO_PARAMETER_INT = 1,
  PYPTO_PARAMETER_FLOAT = 2
} pypto_parameter_kind;

typedef struct pypto_program_info {
  uint32_t struct_size;
  uint32_t parameter_count;
  uint32_t binary_count;   /* AI-core binaries inside */
  uint32_t reserved;       /* 0 */
  const char* name;        /* of the kernel */
  const char* platform;    /* "a2a3", "a5", "a2a3sim", "a5sim" */
  const char* fingerprint; /* of the content, 64 hex digits */
  const void* bytes;       /* of the program file */
  size_t byte_count;
} pypto_program_info;

typedef struct pypto_parameter {
  uint32_t struct_size;
  uint32_t kind;      /* pypto_parameter_kind */
  uint32_t dtype;     /* pypto_dtype: of a tensor; of a scalar only for pypto_program_from_binary, which says how */
  uint32_t direction; /* pypto_direction, of a tensor */
  uint32_t rank;      /* of a tensor */
  uint32_t reserved;  /* 0 */
  const char* name;
  const char* partial_reason;          /* why it is inout though it looks like an output; may be "" */
  int64_t dims[PYPTO_MAX_RANK];        /* the size, -1 where it is dynamic */
  const char* symbols[PYPTO_MAX_RANK]; /* name of a dynamic dim; null where it is static */
} pypto_parameter;

/* Order of the pools in arrays of three. */
typedef enum pypto_pool {
  PYPTO_POOL_ROOT_INNER = 0,
  PYPTO_POOL_ASSEMBLE_OUTCAST = 1,
  PYPTO_POOL_EXCLUSIVE_OUTCAST = 2,
  PYPTO_POOL_COUNT = 3
} pypto_pool;

/* A dynamic dim or an integer parameter, by name. */
typedef struct pypto_named_value {
  const char* name;
  int64_t value;
} pypto_named_value;

/* The workspace of one launch, in bytes. */
typedef struct pypto_budget {
  uint32_t struct_size;
  uint32_t parallelism;
  uint32_t depths[PYPTO_POOL_COUNT];
  uint32_t present[PYPTO_POOL_COUNT]; /* 1 where the kernel needs the pool */
  uint64_t unit_bytes[PYPTO_POOL_COUNT];
  uint64_t capacity_bytes[PYPTO_POOL_COUNT];
  uint64_t next_depth_bytes[PYPTO_POOL_COUNT]; /* growth of the total when that depth is raised by one */
  uint64_t boundary_bytes;
  uint64_t tensor_bytes;
  uint64_t engine_bytes;
  uint64_t total_bytes;
} pypto_budget;

/* One line of a budget; the bytes of all lines add up to the total. */
typedef struct pypto_line_item {
  uint64_t bytes;
  char name[40];
  char text[144];
} pypto_line_item;

/* What an AI-core binary was built for. */
typedef enum pypto_core_kind { PYPTO_CORE_AICORE = 0, PYPTO_CORE_VECTOR = 1, PYPTO_CORE_CUBE = 2 } pypto_core_kind;

/* A device binary that another compiler built; everything is copied. */
typedef struct pypto_device_binary {
  uint32_t struct_size;
  uint32_t core;              /* pypto_core_kind */
  uint32_t blocks;            /* 1 ... 65535 */
  int32_t takes_sync_address; /* 1 for a mix kernel: its argument block begins with the synchronisation address */
  const char* platform;       /* null: "a2a3sim" */
  const char* entry;          /* name of the kernel in the binary, which becomes the program's */
  const void* code;
  size_t code_bytes;
} pypto_device_binary;

/* ---- Workers ---------------------------------------------------------------------------------------------------- */

typedef struct pypto_worker_config {
  uint32_t struct_size;
  int32_t device_id;
  const char* platform;          /* null: "a2a3sim" */
  int64_t timeout_ms;            /* of every wait of the worker; 0: for ever */
  const char* mock_library_path; /* of the mock that serves *sim; null: the one beside the library */
} pypto_worker_config;

typedef struct pypto_worker_info {
  uint32_t struct_size;
  int32_t device_id;
  uint64_t id; /* unique in the process */
  int32_t is_open;
  int32_t is_mock;
  char platform[16];
  char soc_name[64]; /* "" when closed */
} pypto_worker_info;

/* Exact counts since the worker was opened. Inline bytes travel with a launch and are no copy. */
typedef struct pypto_counters {
  uint32_t struct_size;
  uint32_t reserved; /* 0 */
  uint64_t h2d_copies;
  uint64_t h2d_bytes;
  uint64_t d2h_copies;
  uint64_t d2h_bytes;
  uint64_t inline_bytes;
  uint64_t launches;
  uint64_t program_loads;
  uint64_t program_unloads;
  uint64_t device_mallocs;
  uint64_t device_frees;
  uint64_t statistics_reads;
} pypto_counters;

/* Bytes: of the device, and held by this worker by kind; cached is pooled and free. */
typedef struct pypto_memory_info {
  uint32_t struct_size;
  uint32_t reserved; /* 0 */
  uint64_t free_bytes;
  uint64_t total_bytes;
  uint64_t resident_bytes;
  uint64_t staging_bytes;
  uint64_t workspace_bytes;
  uint64_t program_bytes;
  uint64_t cached_bytes;
} pypto_memory_info;

/* ---- Memory and tensors ----------------------------------------------------------------------------------------- */

typedef struct pypto_tensor_info {
  uint32_t struct_size;
  uint32_t dtype;
  uint32_t rank;
  int32_t is_alive;
  int32_t is_view;
  uint32_t reserved; /* 0 */
  uint64_t address;  /* on the device */
  uint64_t bytes;
  uint64_t worker_id;
  int64_t shape[PYPTO_MAX_RANK];
} pypto_tensor_info;

/* ---- Launches --------------------------------------------------------------------------------------------------- */

typedef enum pypto_argument_kind {
  PYPTO_ARGUMENT_TENSOR = 0, /* resident: nothing is copied */
  PYPTO_ARGUMENT_HOST = 1,   /* host memory: copied by the direction of the parameter */
  PYPTO_ARGUMENT_INT = 2,
  PYPTO_ARGUMENT_FLOAT = 3
} pypto_argument_kind;

typedef struct pypto_argument {
  uint32_t kind;     /* pypto_argument_kind */
  uint32_t dtype;    /* HOST */
  uint32_t rank;     /* HOST */
  uint32_t reserved; /* 0 */
  union {
    pypto_tensor* tensor;
    void* data; /* HOST; may be null when a dim is 0. Not written unless the parameter is out or inout. */
    int64_t int_value;
    double float_value;
  } value;
  const int64_t* shape; /* HOST */
} pypto_argument;

/* Where the time of one launch went. */
typedef struct pypto_times {
  uint32_t struct_size;
  uint32_t reserved; /* 0 */
  int64_t host_ns;   /* the whole launch */
  int64_t copy_ns;   /* copies to the device and back */
  int64_t launch_ns; /* launch and wait */
  int64_t device_ns; /* start to end on the device's clock */
} pypto_times;

typedef struct pypto_launch_options {
  uint32_t struct_size;
  uint32_t reserved; /* 0 */
  /* Asked every 50 ms from the waiting thread; not 0: the launch is aborted where the library can. */
  int32_t (*should_stop)(void* user);
  void* user;
  pypto_times* times; /* filled when not null; the launch then also reads statistics back */
} pypto_launch_options;

/* A tensor that a caller must provide for a trailing output. */
typedef struct pypto_output {
  uint32_t parameter;
  uint32_t dtype;
  uint32_t rank;
  uint32_t reserved; /* 0 */
  int64_t shape[PYPTO_MAX_RANK];
} pypto_output;

/* Figures of the last launch of a registration, as the device wrote them; all 0 before the first. */
typedef struct pypto_workspace_report {
  uint32_t struct_size;
  uint32_t parallelism;
  uint64_t launches; /* of the registration so far */
  double device_wall_us;
  uint64_t root_instances;
  uint64_t device_tasks;
  uint64_t leaf_tiles;
  uint64_t alloc_failures;
  uint64_t total_bytes;
  uint64_t boundary_bytes;
  uint64_t peak_bytes[PYPTO_POOL_COUNT];
  uint64_t capacity_bytes[PYPTO_POOL_COUNT];
  uint64_t unit_bytes[PYPTO_POOL_COUNT];
  uint64_t next_depth_bytes[PYPTO_POOL_COUNT];
  uint32_t actual_depths[PYPTO_POOL_COUNT];
  uint32_t recommended_depths[PYPTO_POOL_COUNT];
  uint32_t max_recommended_depths[PYPTO_POOL_COUNT]; /* over all launches of the registration */
  uint32_t reserved;                                 /* 0 */
} pypto_workspace_report;

/* One device task of a launch. */
typedef struct pypto_task_report {
  uint64_t task_id;
  uint64_t tasks;        /* 1; the last report of a launch may sum several */
  uint64_t stitch_count; /* root instances in it */
  uint64_t alloc_failures;
  uint64_t requested_bytes; /* of the last failure, as the next three */
  uint64_t available_bytes;
  uint64_t failed_capacity_bytes;
  uint32_t failed_pool; /* pypto_pool */
  uint32_t recommended_depths[PYPTO_POOL_COUNT];
  uint64_t current_bytes[PYPTO_POOL_COUNT]; /* when the task was closed; the largest of the parallel copies */
  uint64_t peak_bytes[PYPTO_POOL_COUNT];    /* the same */
} pypto_task_report;

/* Bytes of the three pools in one parallel copy. */
typedef struct pypto_pool_usage {
  uint64_t current_bytes[PYPTO_POOL_COUNT]; /* when the task was closed */
  uint64_t peak_bytes[PYPTO_POOL_COUNT];
  uint64_t capacity_bytes[PYPTO_POOL_COUNT];
} pypto_pool_usage;

/* One round of a benchmark, in nanoseconds; fields as in pypto_times. */
typedef struct pypto_round {
  int64_t host_ns;
  int64_t copy_ns;
  int64_t launch_ns;
  int64_t device_ns;
} pypto_round;

/* Aggregates over rounds, in nanoseconds. stdev: of a sample, 0 for one round; percentiles: linear interpolation
 * between the closest ranks. */
typedef struct pypto_series {
  double median;
  double mean;
  double min;
  double max;
  double stdev;
  double p90;
  double p95;
  double p99;
} pypto_series;

typedef struct pypto_benchmark {
  uint32_t struct_size;
  uint32_t rounds;
  pypto_series host;
  pypto_series device;
  pypto_series copy;
  pypto_series overhead; /* host less device less copies, per round */
} pypto_benchmark;

/* One launch timed leaf by leaf; nanoseconds. */
typedef struct pypto_profile {
  uint32_t struct_size;
  uint32_t cores;
  double device_ns; /* start to end on the device's clock */
  double busy_ns;   /* in leaves, on all cores together */
  uint64_t root_instances;
  uint64_t device_tasks;
  uint64_t leaf_tiles;
  uint64_t dropped_runs; /* runs of tiles that are in the sums only */
} pypto_profile;

/* All operations of one source line in such a launch. Strings are cut to fit. */
typedef struct pypto_profile_line {
  char file[64];        /* base name */
  char operations[128]; /* names, each once, blanks between them */
  int32_t line;         /* of the kernel, its `def` being 1, or of the file where it was traced; 0: unknown */
  uint32_t reserved;    /* 0 */
  double ns;            /* on all cores together */
  uint64_t bytes;       /* that tiles read from memory and write to it */
  uint64_t tiles;       /* of leaves with an operation of this line */
} pypto_profile_line;

/* ---- Options, log, timing marks --------------------------------------------------------------------------------- */

typedef enum pypto_log_level {
  PYPTO_LOG_DEBUG = 0,
  PYPTO_LOG_INFO = 1,
  PYPTO_LOG_WARNING = 2,
  PYPTO_LOG_ERROR = 3,
  PYPTO_LOG_NONE = 4
} pypto_log_level;

typedef struct pypto_log_record {
  uint32_t struct_size;
  int32_t level;
  int32_t line;
  uint32_t reserved; /* 0 */
  const char* module;
  const char* file; /* base name; "" when the record has no place */
  const char* text;
} pypto_log_record;

typedef void (*pypto_log_callback)(void* user, const pypto_log_record* record);
typedef void (*pypto_trace_callback)(void* user, const char* record);

#endif /* PYPTO_C_TYPES_H_ */
