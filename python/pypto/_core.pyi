"""The C++ core of pypto."""

from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from typing import Any


def set_leak_warnings(arg: bool, /) -> None: ...

def raise_status(code: int, message: str, file: str = '', line: int = 0) -> None:
    """
    Raises the exception of a status code of the core; the error classes are tested through it.
    """

STATUS_CODES: dict = ...

DTYPES: list = ...

OPERATIONS: list = ...

COMPOSED: list = ...

EXPRESSION_OPERATORS: dict = ...

class Program:
    """A traced kernel, before planning. Immutable."""

    @property
    def name(self) -> str: ...

    @property
    def files(self) -> list[str]: ...

    def to_text(self) -> str:
        """Readable listing, stable for equal programs."""

class Builder:
    """Builds a program statement by statement. One thread at a time."""

    def __init__(self, name: str) -> None: ...

    def add_tensor_parameter(self, name: str, dtype: int, dims: Sequence[int | None], symbols: Sequence[str]) -> int:
        """
        Adds a tensor parameter; a dim of None is dynamic. Returns the id of its tensor.
        """

    def add_int_parameter(self, name: str) -> int:
        """
        Adds an integer parameter of each launch. Returns the id of its expression.
        """

    def add_float_parameter(self, name: str) -> int:
        """
        Adds a floating parameter of each launch. Returns its index among the scalars.
        """

    def add_file(self, name: str, text: str, path: str, def_line: int) -> int:
        """
        Index of a traced function for set_place; the kernel's comes first. `text` is its source from the `def` on, `def_line` the line of that in the file at `path`.
        """

    def set_place(self, file: int, line: int, column: int) -> None:
        """Place of the statements that follow."""

    def set_tiles(self, vector_tile: Sequence[int], m: int, k: int, n: int) -> None:
        """Tile shapes of the operations that follow."""

    def declare(self, name: str, dtype: int, shape: Sequence[int]) -> int:
        """Declares a tensor with undefined contents."""

    def op(self, name: str, inputs: Sequence[tuple[str, object]], attributes: dict) -> int:
        """Adds an operation; returns its output."""

    def fill(self, value: tuple[str, object], dtype: int, shape: Sequence[int], valid: Sequence[int]) -> int: ...

    def slice(self, base: int, shape: Sequence[int], offsets: Sequence[int], valid: Sequence[int]) -> int: ...

    def reshape(self, base: int, shape: Sequence[int], valid: Sequence[int]) -> int: ...

    def alias(self, base: int, shape: Sequence[int | None]) -> int:
        """The same cells in another shape; one entry may be None."""

    def move(self, destination: int, source: int) -> None: ...

    def assemble(self, destination: int, source: int, offsets: Sequence[int]) -> None: ...

    def read_cell(self, tensor: int, indices: Sequence[int]) -> int:
        """Reads a cell of an integer tensor; returns its expression."""

    def add_slot(self, name: str, is_float: bool, limit: int | None = None) -> int:
        """
        Adds a number that statements set while the kernel runs; with a limit it is 0 to that.
        """

    def set_slots(self, values: Sequence[tuple[int, int]]) -> None:
        """Sets slots, all at once."""

    def check(self, condition: int, text: str) -> None:
        """A kernel fault with this text where the condition is 0."""

    def begin_loop(self, name: str, start: int, stop: int, step: int, parallel: bool, submit_before: bool) -> int:
        """Opens a loop; returns the expression of its index."""

    def end_loop(self) -> None: ...

    def begin_if(self, condition: int) -> None: ...

    def begin_else(self) -> None: ...

    def end_if(self) -> None: ...

    def finish(self) -> Program:
        """Verifies and hands the program over; the builder is empty afterwards."""

    def const(self, value: int) -> int: ...

    def add(self, a: int, b: int) -> int: ...

    def sub(self, a: int, b: int) -> int: ...

    def mul(self, a: int, b: int) -> int: ...

    def slot(self, slot: int) -> int: ...

    def float_const(self, value: float) -> int: ...

    def float_scalar(self, index: int) -> int:
        """The floating parameter of that index as an expression."""

    def make_expr(self, op: int, a: int, b: int | None = None, c: int | None = None) -> int:
        """An expression of one of EXPRESSION_OPERATORS."""

    def expr_value(self, expr: int) -> int | None:
        """The value of a constant expression, else None."""

    def expr_range(self, expr: int) -> tuple[int, int]:
        """Least and greatest value the expression can be proven to have."""

    def expr_slots(self, expr: int) -> list[int]:
        """Slots that the expression holds."""

    def expr_loops(self, expr: int) -> list[int]:
        """Loops whose indices the expression holds."""

    def expr_is_leaf(self, expr: int) -> bool:
        """Whether it is a dim, a parameter or a loop index."""

    def expr_text(self, expr: int) -> str: ...

    def tensor_dtype(self, tensor: int) -> int: ...

    def tensor_shape(self, tensor: int) -> list[int]:
        """Expressions of the extents."""

    def tensor_valid(self, tensor: int) -> list[int]:
        """Expressions of the valid extents."""

    def to_text(self) -> str: ...

class CompiledImage:
    """A compiled program. Immutable; any thread."""

    @property
    def name(self) -> str: ...

    @property
    def platform(self) -> str: ...

    @property
    def fingerprint(self) -> str: ...

    @property
    def binaries(self) -> list: ...

    @property
    def sections(self) -> list:
        """(kind, bytes) of each section of the file, in its order."""

    @property
    def source(self) -> str: ...

    @property
    def source_files(self) -> list[str]: ...

    @property
    def source_hash(self) -> str: ...

    @property
    def parameters(self) -> list:
        """One dict per parameter, in signature order."""

    @property
    def options(self) -> dict: ...

    @property
    def bytes(self) -> bytes: ...

    def with_kernel_at(self, path: str, def_line: int) -> CompiledImage:
        """The same image, with the place of its kernel in this process."""

    def to_text(self) -> str: ...

    def workspace_budget(self, values: Mapping[str, int], engine_bytes: int = 0) -> dict:
        """
        The workspace for given dims and scalars by name: pools, line items and totals in bytes.
        """

def compile(program: Program, platform: str, stitch_function_max_num: int, max_workspace_kb: int, stitch_function_num_per_pool: Sequence[int], parallelism: int) -> CompiledImage:
    """
    Plans a program for a platform. Raises CompileError or WorkspaceError with the source place.
    """

def read_image(data: bytes) -> CompiledImage:
    """
    Reads the bytes of a program file; ProgramFormatError when they are damaged or newer.
    """

class OptionScope:
    """A node of the option scopes. Immutable; any thread."""

    @property
    def name(self) -> str: ...

    @property
    def depth(self) -> int: ...

    @property
    def parent(self) -> OptionScope | None: ...

    def child(self, name: str) -> OptionScope: ...

    def with_values(self, values: dict, of_jit: bool = False) -> OptionScope:
        """
        The node with these full keys changed; everything is checked before anything is changed.
        """

    def reset(self) -> OptionScope: ...

    def get(self, key: str) -> object:
        """The value of a full key; KeyError when there is none."""

    def has(self, key: str) -> bool: ...

    def is_given(self, key: str) -> bool:
        """Whether a scope or a jit decorator gave the value."""

    def origin(self, key: str) -> str: ...

    def get_group(self, group: str) -> dict:
        """Values of a group, by key without its prefix."""

    def get_all(self) -> dict: ...

    def describe(self) -> str: ...

    def tree_text(self) -> str: ...

    def effective_text(self) -> str: ...

def load_option_root(packaged: str) -> OptionScope:
    """
    The scope of the defaults; TILEFWK_CONFIG_PATH names another file than the packaged one.
    """

def option_schema() -> list:
    """One dict per key."""

def check_option_in_kernel(key: str) -> None:
    """RuntimeError for a key that cannot be set while a kernel is traced."""

def set_global_option(name: str, value: object | None) -> None: ...

def get_global_option(name: str) -> object: ...

class DeviceTensor:
    """A tensor that stays on the device; made by ChipWorker.alloc_tensor. Immutable and hashable."""

    @property
    def data_ptr(self) -> int: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> Any: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def worker(self) -> Any: ...
    @property
    def is_alive(self) -> bool: ...
    @property
    def is_view(self) -> bool: ...
    def __len__(self) -> int: ...
    def __getitem__(self, rows: slice) -> DeviceTensor: ...
    def copy_from_host(self, src: Any) -> None: ...
    def to_host(self, out: Any = None) -> Any: ...

class Completion:
    """A submitted dispatch. Dropping an unfinished one waits for it."""

    def wait(self, timeout_ms: int | None = None) -> None: ...
    def done(self) -> bool: ...
    def result(self) -> Any: ...

class WorkspaceTask:
    """
    One device task of a launch; behind 1,024 of them one that sums all further ones. Bytes.
    """

    @property
    def task_id(self) -> int: ...

    @property
    def tasks(self) -> int:
        """1, or how many tasks it sums."""

    @property
    def stitch_count(self) -> int:
        """Root instances in it."""

    @property
    def alloc_failures(self) -> int:
        """1 when a full pool closed it."""

    @property
    def failed_pool(self) -> str | None:
        """The pool that closed it, or None."""

    @property
    def requested(self) -> int:
        """What the next instance takes from that pool."""

    @property
    def available(self) -> int: ...

    @property
    def capacity(self) -> int: ...

    @property
    def recommended_depths(self) -> dict[str, int]: ...

    @property
    def copies(self) -> list[dict[str, dict[str, int]]]:
        """
        Per parallel copy and pool: current (when the task was closed), peak, capacity.
        """

    def to_dict(self) -> dict: ...

    def __repr__(self) -> str: ...

class WorkspaceReport:
    """Figures of the last launch of a handle; bytes, microseconds."""

    @property
    def kernel(self) -> str: ...

    @property
    def launches(self) -> int:
        """Launches of the handle so far."""

    @property
    def device_wall_us(self) -> float: ...

    @property
    def mode(self) -> str:
        """Which option rules: by count, by memory, per pool."""

    @property
    def parallelism(self) -> int: ...

    @property
    def root_instances(self) -> int: ...

    @property
    def device_tasks(self) -> int: ...

    @property
    def leaf_tiles(self) -> int: ...

    @property
    def alloc_failures(self) -> int: ...

    @property
    def total_bytes(self) -> int:
        """The workspace without the engine's own items."""

    @property
    def boundary_bytes(self) -> int: ...

    @property
    def unit_bytes(self) -> dict[str, int]:
        """What depth 1 takes."""

    @property
    def peak_bytes(self) -> dict[str, int]:
        """The most over all copies."""

    @property
    def capacity_bytes(self) -> dict[str, int]: ...

    @property
    def actual_depths(self) -> dict[str, int]: ...

    @property
    def recommended_depths(self) -> dict[str, int]: ...

    @property
    def max_recommended_depths(self) -> dict[str, int]:
        """Element-wise maximum over all launches of the handle."""

    @property
    def next_depth_total_bytes(self) -> dict[str, int]:
        """By how much the workspace grows when that depth is raised by one."""

    @property
    def copies(self) -> list[dict[str, dict[str, int]]]:
        """Per parallel copy and pool: peak and capacity."""

    @property
    def tasks(self) -> list[WorkspaceTask]:
        """
        The device tasks of the last launch, when it ran with log level INFO; else empty.
        """

    def to_dict(self) -> dict:
        """Everything, as plain values."""

    def __str__(self) -> str: ...

    def __repr__(self) -> str: ...

class RegistrationHandle:
    """A program registered on a worker. Calling it dispatches and waits."""

    def __call__(self, *args: Any) -> Any: ...
    def submit(self, *args: Any) -> Completion: ...
    def unregister(self) -> None: ...
    def workspace_report(self) -> WorkspaceReport: ...
    def device_wall_us(self) -> float: ...
    def __enter__(self) -> RegistrationHandle: ...
    def __exit__(self, *exception: object) -> None: ...
    @property
    def is_open(self) -> bool: ...
    @property
    def worker(self) -> Any: ...
    @property
    def name(self) -> str: ...

class ProgramCall:
    """Calls an image on the current worker of its platform."""

    def __init__(self, image: CompiledImage) -> None: ...
    def __call__(self, *args: Any) -> Any: ...
    @property
    def _image(self) -> CompiledImage: ...

entered_workers: ContextVar[tuple[Any, ...]]

class KernelCall:
    """Calls that were seen before go to their program at once."""

    def __call__(self, *args: Any, **keywords: Any) -> None: ...
    def _forget_calls(self) -> None: ...
    @property
    def _known_hits(self) -> int: ...

def fingerprint(buffer: object) -> bytes:
    """
    What tells whether a contiguous buffer holds the same bytes: all of few, a hash of many.
    """

option_scope: ContextVar[OptionScope | None]

class Worker:
    """One device, one stream, its memory and its programs."""

    @staticmethod
    def open(platform: str, device_id: int, timeout_ms: int | None) -> Worker: ...

    def init(self) -> None: ...

    def close(self) -> None: ...

    def synchronize(self, timeout_ms: int | None) -> None: ...

    def register(self, owner: object, image: CompiledImage) -> RegistrationHandle: ...

    def shared_registration(self, owner: object, image: CompiledImage) -> RegistrationHandle: ...

    @property
    def is_open(self) -> bool: ...

    @property
    def is_mock(self) -> bool: ...

    @property
    def id(self) -> int: ...

    @property
    def library_path(self) -> str: ...

    @property
    def soc_name(self) -> str: ...

    def check_usable(self) -> None: ...

    def malloc(self, arg: int, /) -> int: ...

    def free(self, arg: int, /) -> None: ...

    def copy_to(self, arg0: int, arg1: int, arg2: int, /) -> None: ...

    def copy_from(self, arg0: int, arg1: int, arg2: int, /) -> None: ...

    def memory_info(self) -> dict: ...

    def counters(self) -> dict: ...

    def trim(self) -> None: ...

    def alloc_tensor(self, owner: object, shape: Sequence[int], dtype: str, init: object = None) -> DeviceTensor: ...

    def try_alloc_tensor(self, owner: object, shape: object, dtype: object, init: object) -> DeviceTensor | None: ...

    def free_tensor(self, arg: object, /) -> None: ...

    def view_rows(self, owner: object, tensor: DeviceTensor, begin: int, end: int) -> DeviceTensor: ...

def remember_dtype(dtype: object, name: str) -> None: ...

def validate_platform(arg: str, /) -> None: ...

def validate_config(platform: str, device_id: int, timeout_ms: int | None) -> None: ...

def is_simulator_platform(arg: str, /) -> bool: ...

def packaged_mock_path() -> str: ...

def hardware_library_found() -> bool: ...

def take_leak_reports() -> str: ...

def timed_call(handle: object, *args) -> tuple:
    """Dispatches once: (copy_ns, launch_ns, device_ns)."""

def set_trace(arg: str, /) -> None: ...

def set_trace_callback(listener: object | None) -> None: ...

def set_log_level(level: int | None) -> None:
    """0 DEBUG … 4 NULL; None: the environment's."""

def log_level() -> int: ...

def set_log_root(arg: str, /) -> None: ...

def set_log_to_stdout(arg: bool, /) -> None: ...

def current_log_file() -> str:
    """Path of the open plog file; empty when none is."""

def write_log(level: int, text: str) -> None:
    """One record, when the level is written."""

class MockControl:
    """The side door of one mock ACL library."""

    def __init__(self, path: str) -> None: ...

    @property
    def path(self) -> str: ...

    def fail_call(self, function: str | None, n: int, code: int) -> None: ...

    def fail_kernel(self, arg0: int, arg1: int, /) -> None: ...

    def pending_faults(self) -> int: ...

    def clear_faults(self) -> None: ...

    def set_delay(self, arg0: str, arg1: int, /) -> None: ...

    def clear_hooks(self) -> None: ...

    def counters(self) -> dict: ...

    def live_bytes(self, arg: int, /) -> int: ...

    def live_blocks(self, arg: int, /) -> int: ...

    def live_host_bytes(self) -> int: ...

    def live_handles(self) -> dict: ...

    def guard_violations(self) -> int: ...

    @property
    def simd(self) -> str | None: ...

    def give_back_calls(self) -> int: ...

    def shared_copies(self) -> int: ...

    def kernels_run(self) -> int: ...

    def reset(self) -> None: ...

def make_prebuilt(code: bytes, entry: str, parameters: Sequence[tuple[str, bool, int, str, Sequence[int | str]]], blocks: int, core: int, mix: bool, platform: str) -> CompiledImage:
    """
    A program of a device binary; parameters are (name, is_tensor, dtype, direction, dims).
    """

def probe_libraries(platform: str) -> list:
    """The libraries that the search for a platform looks at, in its order."""

def probe_devices(platform: str) -> dict:
    """Opens the platform's library and each of its devices for a moment."""

def log_root() -> str:
    """The folder of plog files, as the environment says."""

def unknown_variables() -> list[str]:
    """Names in the environment that start with PYPTO_ and mean nothing."""

class ProfileOperation:
    """One operation in all tiles of its leaf."""

    @property
    def name(self) -> str: ...

    @property
    def file(self) -> str:
        """Base name."""

    @property
    def path(self) -> str:
        """Of the file; empty in a program from a file."""

    @property
    def line(self) -> int:
        """
        Of the file; in a program from a file of the kernel, its `def` being line 1. 0: unknown.
        """

    @property
    def ns(self) -> float: ...

    @property
    def bytes(self) -> int:
        """Read from memory and written to it."""

class ProfileLeaf:
    """All instances of one leaf of the plan."""

    @property
    def leaf(self) -> int:
        """Its number among the leaves of the plan."""

    @property
    def root(self) -> str:
        """The root function it belongs to."""

    @property
    def kind(self) -> str:
        """vector, cube or whole."""

    @property
    def file(self) -> str: ...

    @property
    def line(self) -> int: ...

    @property
    def operations(self) -> list[ProfileOperation]:
        """In the order in which a tile runs them."""

    @property
    def instances(self) -> int: ...

    @property
    def tiles(self) -> int: ...

    @property
    def ns(self) -> float:
        """On all cores together."""

    @property
    def bytes(self) -> int: ...

class ProfileRun:
    """Neighbouring tiles of one leaf of one instance, on one core."""

    @property
    def leaf(self) -> int: ...

    @property
    def task(self) -> int:
        """Number of the device task."""

    @property
    def number(self) -> int:
        """Of the leaf in the task."""

    @property
    def core(self) -> int: ...

    @property
    def begin_ns(self) -> float:
        """Since the launch began on the device."""

    @property
    def ns(self) -> float: ...

    @property
    def tiles(self) -> int: ...

    @property
    def bytes(self) -> int: ...

class ProfileLine:
    """All operations of one source line."""

    @property
    def file(self) -> str: ...

    @property
    def path(self) -> str: ...

    @property
    def line(self) -> int: ...

    @property
    def text(self) -> str:
        """What the line says."""

    @property
    def operations(self) -> list[str]: ...

    @property
    def ns(self) -> float:
        """On all cores together."""

    @property
    def bytes(self) -> int: ...

    @property
    def tiles(self) -> int:
        """Of leaves with an operation of this line."""

class LaunchProfile:
    """One launch, timed leaf by leaf; nanoseconds and bytes."""

    @property
    def kernel(self) -> str: ...

    @property
    def device_ns(self) -> float:
        """Start to end on the device's clock."""

    @property
    def busy_ns(self) -> float:
        """In leaves, on all cores together."""

    @property
    def cores(self) -> int: ...

    @property
    def root_instances(self) -> int: ...

    @property
    def device_tasks(self) -> int: ...

    @property
    def leaf_tiles(self) -> int: ...

    @property
    def dropped_runs(self) -> int:
        """Runs that are in the sums only: a launch keeps 65,536."""

    @property
    def lines(self) -> list[ProfileLine]:
        """By source line, the longest first."""

    @property
    def leaves(self) -> list[ProfileLeaf]:
        """Those that ran, in the order of the plan."""

    @property
    def runs(self) -> list[ProfileRun]:
        """In the order of their begin."""

    def to_dict(self) -> dict[str, Any]:
        """Everything, as plain values."""

    def to_json(self) -> str:
        """to_dict() as JSON."""

    def chrome_trace(self, path: object | None = None) -> str:
        """
        The runs as JSON for chrome://tracing or Perfetto; written to `path` when that is given.
        """

    def __str__(self) -> str: ...

    def __repr__(self) -> str: ...

def profiled_call(handle: object, *args) -> LaunchProfile:
    """Dispatches once, timed leaf by leaf; all arguments are given."""
