"""ChipWorker: one device, one stream, its memory and its programs."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Any
from weakref import WeakKeyDictionary

from pypto import _core
from pypto.runtime import _torch, current
from pypto.runtime.config import RunConfig


def _require_positive(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < 1 << 63:
        raise ValueError(f"{name} must be a positive int below 2**63, got {value!r}")
    return value


def _require_address(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < 1 << 64:
        raise ValueError(f"{name} must be an address as an int, got {value!r}")
    return value


def _require_shape(shape: Any) -> list[int]:
    if isinstance(shape, (str, bytes)) or not isinstance(shape, Sequence):
        raise TypeError(f"shape must be a tuple or list of ints, got {type(shape).__name__}")
    for dim in shape:
        if isinstance(dim, bool) or not isinstance(dim, int):
            raise TypeError(f"shape {tuple(shape)!r} has a dim that is not an int: {dim!r}")
        if not -(1 << 63) <= dim < 1 << 63:
            raise ValueError(f"shape {tuple(shape)!r} has a dim that does not fit 64 bits")
    return list(shape)


class ChipWorker:
    """One in-order queue on one device; may be used from several threads, whose calls are serialised in order.

    Dispatches, copies, uploads, downloads and frees take effect in call order. Blocking calls release the GIL. As a
    context manager it is the current worker of its platform inside the block and is closed at its end.
    """

    def __init__(self, config: RunConfig | None = None) -> None:
        """Opens the device at once; DeviceUnavailableError says what was looked for when there is none."""
        if config is not None and not isinstance(config, RunConfig):
            raise TypeError(f"config must be a RunConfig, got {type(config).__name__}")
        self._config = config or RunConfig()
        # Handles of dispatches without one; a program goes with its image.
        self._handles: WeakKeyDictionary[_core.CompiledImage, _core.RegistrationHandle] = WeakKeyDictionary()
        self._core = _core.Worker.open(self._config.platform, self._config.device_id, self._config.timeout_ms)

    @property
    def config(self) -> RunConfig:
        """What the worker was opened with."""
        return self._config

    @property
    def platform(self) -> str:
        """The platform's name."""
        return self._config.platform

    @property
    def is_open(self) -> bool:
        """False once closed."""
        return self._core.is_open

    @property
    def is_usable(self) -> bool:
        """Open, not broken by a kernel fault or a lost device, and of this process."""
        try:
            self._core.check_usable()
        except RuntimeError:
            return False
        return True

    @property
    def library_path(self) -> str:
        """The ACL library in use."""
        return self._core.library_path

    def init(self) -> None:
        """Opens again after close(); earlier handles and tensors stay dead."""
        self._core.init()

    def close(self) -> None:
        """Waits for work in flight, frees all memory still held, unloads programs, closes handles. Idempotent."""
        current.leave(self)
        self._core.close()

    def __enter__(self) -> ChipWorker:
        """Becomes current for its platform and device; ValueError when another worker of that binding is."""
        self._core.check_usable()
        current.enter(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes the worker."""
        self.close()

    @staticmethod
    def current(platform: str = "a2a3sim", device_id: int = 0) -> ChipWorker | None:
        """The current worker of a platform and device in this context, or None."""
        _core.validate_platform(platform)
        return current.find(platform, device_id)

    def malloc(self, nbytes: int) -> int:
        """Raw device memory; its address."""
        return self._core.malloc(_require_positive("nbytes", nbytes))

    def free(self, ptr: int) -> None:
        """Frees what malloc() gave; ValueError for anything else."""
        self._core.free(_require_address("ptr", ptr))

    def copy_to(self, dst_dev: int, src_host: int, nbytes: int) -> None:
        """Synchronous copy from a host address into one live allocation of this worker."""
        self._core.copy_to(
            _require_address("dst_dev", dst_dev),
            _require_address("src_host", src_host),
            _require_positive("nbytes", nbytes),
        )

    def copy_from(self, dst_host: int, src_dev: int, nbytes: int) -> None:
        """Synchronous copy out of one live allocation of this worker to a host address."""
        self._core.copy_from(
            _require_address("dst_host", dst_host),
            _require_address("src_dev", src_dev),
            _require_positive("nbytes", nbytes),
        )

    def alloc_tensor(self, shape: Sequence[int], dtype: Any, *, init: Any = None) -> _core.DeviceTensor:
        """A resident tensor; `init` (torch, numpy, DLPack) is uploaded once. Nothing stays allocated on failure."""
        tensor = self._core.try_alloc_tensor(self, shape, dtype, init)
        if tensor is not None:
            return tensor
        name = _torch.dtype_name(dtype)
        if init is not None:
            init = _torch.check_init(init, name)
        tensor = self._core.alloc_tensor(self, _require_shape(shape), name, init)
        if _torch.is_dtype(dtype):
            _core.remember_dtype(dtype, name)
        return tensor

    def free_tensor(self, tensor: _core.DeviceTensor) -> None:
        """Frees after the work that uses it; again is a no-op. ValueError for another worker's tensor or a view."""
        self._core.free_tensor(tensor)

    def register(self, compiled: Any) -> _core.RegistrationHandle:
        """A new handle of a compiled program; the device program is loaded once per content fingerprint."""
        return self._core.register(self, _image_of(compiled))

    def run(self, compiled: Any, *args: Any) -> Any:
        """Registers if needed, then dispatches."""
        return self._shared_handle(_image_of(compiled))(*args)

    def memory_info(self) -> dict[str, int]:
        """Bytes: `free` and `total` of the device; held here: `resident staging workspace programs cached`."""
        return self._core.memory_info()

    def counters(self) -> dict[str, int]:
        """Exact counts since open: copies and bytes by direction, launches, program loads, device mallocs, frees."""
        return self._core.counters()

    def trim(self) -> None:
        """Gives pooled free memory back to the device, and on the simulator to the system."""
        self._core.trim()

    def synchronize(self, timeout_ms: int | None = None) -> None:
        """Waits for all submitted work; TimeoutError lists what is in flight."""
        if timeout_ms is not None:
            _require_positive("timeout_ms", timeout_ms)
        self._core.synchronize(timeout_ms)

    def __repr__(self) -> str:
        """Platform, device and whether it is open."""
        state = "open" if self.is_open else "closed"
        return f"<ChipWorker {self._config.platform} device {self._config.device_id}, {state}>"

    def _shared_handle(self, image: _core.CompiledImage) -> _core.RegistrationHandle:
        handle = self._handles.get(image)
        if handle is None or not handle.is_open:
            handle = self._handles[image] = self._core.shared_registration(self, image)
        return handle

    def _view_rows(self, tensor: _core.DeviceTensor, key: Any) -> _core.DeviceTensor:
        if not isinstance(key, slice) or key.step not in (None, 1):
            raise TypeError(f"a DeviceTensor is sliced by whole leading rows, as in t[4:8]; got {key!r}")
        begin, end, _ = key.indices(tensor.shape[0])
        return self._core.view_rows(self, tensor, begin, end)


def is_compiled(value: Any) -> bool:
    """Whether it is a CompiledProgram (or its image)."""
    return isinstance(getattr(value, "_image", value), _core.CompiledImage)


def _image_of(compiled: Any) -> _core.CompiledImage:
    image = getattr(compiled, "_image", compiled)
    if not isinstance(image, _core.CompiledImage):
        raise TypeError(f"expected a CompiledProgram (from pypto.ir.compile), got {type(compiled).__name__}")
    return image
