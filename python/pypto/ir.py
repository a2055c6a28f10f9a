"""Compiled programs: `compile` makes one of a kernel, `load` reads a file, `load_kernel` wraps a device binary."""
# ruff: noqa: D105, D107

from __future__ import annotations

import os
import platform as host
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pypto import _core
from pypto.dtypes import DT_FP32, DT_INT64, DataType

__all__ = [
    "CompiledProgram",
    "DeviceBinary",
    "LineItem",
    "Parameter",
    "PoolBudget",
    "WorkspaceBudget",
    "compile",
    "load",
    "load_kernel",
]

# Names of magics of the vendor's interface and what they are: (core kind of the file format, mix kernel).
_MAGICS = {
    "aicore": (0, False),
    "vector": (1, False),
    "cube": (2, False),
    "mix": (0, True),
    0x43554245: (0, False),
    0x41415246: (1, False),
    0x41494343: (2, False),
}
_HOST_MACHINES = {"x86_64": 62, "aarch64": 183}  # e_machine of ELF


@dataclass(frozen=True)
class Parameter:
    """A parameter of a program. A tensor's dims are sizes or names of dynamic dims; `direction` is in, out or inout."""

    name: str
    kind: str  # "tensor", "int" or "float"
    dtype: DataType | None = None
    dims: tuple[int | str, ...] = ()
    direction: str = "in"
    partial_reason: str = ""  # why a parameter that looks like an output is inout


@dataclass(frozen=True)
class DeviceBinary:
    """AI-core code inside a program; `core` is aicore, vector or cube, `bytes` its size."""

    entry: str
    core: str
    blocks: int
    takes_sync_address: bool
    bytes: int
    chip: str = ""
    packed: bool = True  # takes its parameters one after another; else a launch block


@dataclass(frozen=True)
class PoolBudget:
    """One pool of the workspace, in bytes; `unit` is what depth 1 takes."""

    name: str
    present: bool
    depth: int
    unit: int
    capacity: int
    next_depth_bytes: int


@dataclass(frozen=True)
class LineItem:
    """One line of a budget."""

    name: str
    bytes: int
    text: str


@dataclass(frozen=True)
class WorkspaceBudget:
    """The workspace of one launch, in bytes, without the engine's own items."""

    pools: tuple[PoolBudget, ...]
    items: tuple[LineItem, ...]
    boundary_bytes: int
    parallelism: int
    total_bytes: int

    def __str__(self) -> str:
        """The line items and the total."""
        return "\n".join([*(item.text for item in self.items), f"total: {self.total_bytes} B"])


def _parameter(row: dict[str, Any]) -> Parameter:
    if not row["is_tensor"]:
        return Parameter(row["name"], "float" if row["is_float"] else "int")
    return Parameter(
        row["name"], "tensor", DataType(row["dtype"]), tuple(row["dims"]), row["direction"], row["partial_reason"]
    )


class CompiledProgram(_core.ProgramCall):
    """A program for one platform. Immutable; any thread.

    Calling it dispatches on the current worker of its platform, else on the process's default one; trailing outputs
    that are left out are returned as fresh tensors.
    """

    def __init__(self, image: _core.CompiledImage) -> None:
        """`image` is the core's compiled image."""
        super().__init__(image)
        self._parameters: tuple[Parameter, ...] | None = None

    @property
    def name(self) -> str:
        """Name of the kernel."""
        return str(self._image.name)

    @property
    def __name__(self) -> str:
        return self.name

    @property
    def platform(self) -> str:
        """Where it runs: a2a3, a5, a2a3sim or a5sim."""
        return str(self._image.platform)

    @property
    def fingerprint(self) -> str:
        """Hash of program, plan, platform and format version, in hex; equal for equal programs."""
        return str(self._image.fingerprint)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters in signature order."""
        if self._parameters is None:
            self._parameters = tuple(_parameter(row) for row in self._image.parameters)
        return self._parameters

    @property
    def binaries(self) -> tuple[DeviceBinary, ...]:
        """The device binaries; empty for a program that was traced."""
        return tuple(DeviceBinary(**row) for row in self._image.binaries)

    @property
    def sections(self) -> tuple[tuple[str, int], ...]:
        """Kind and bytes of each section of the file: plan, debug, and one binary per chip."""
        return tuple(self._image.sections)

    @property
    def source_hash(self) -> str:
        """SHA-256 of the kernel's source text in hex; empty when the program holds none."""
        return str(self._image.source_hash)

    @property
    def source_files(self) -> tuple[str, ...]:
        """Base names of the files the kernel was traced from."""
        return tuple(self._image.source_files)

    def workspace_budget(self, **values: int) -> WorkspaceBudget:
        """The workspace for given values of dynamic dims and integer parameters, by name."""
        budget = self._image.workspace_budget(values)
        return WorkspaceBudget(
            pools=tuple(PoolBudget(**row) for row in budget["pools"]),
            items=tuple(LineItem(*row) for row in budget["items"]),
            boundary_bytes=budget["boundary_bytes"],
            parallelism=budget["parallelism"],
            total_bytes=budget["total_bytes"],
        )

    def to_text(self) -> str:
        """Readable listing of the program."""
        return str(self._image.to_text())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the program to a file that `load` and the C interface read."""
        temporary = f"{os.fspath(path)}.{os.getpid()}.part"
        try:
            with open(temporary, "wb") as file:
                file.write(self._image.bytes)
            os.replace(temporary, path)
        except BaseException:
            if os.path.exists(temporary):
                os.unlink(temporary)
            raise

    def __repr__(self) -> str:
        return f"<CompiledProgram {self.name} for {self.platform}, {self.fingerprint[:12]}>"


def compile(kernel: Any, *samples: Any, platform: str = "a2a3sim", **scalars: Any) -> CompiledProgram:  # noqa: A001
    """Compiles a jitted kernel for a platform.

    Samples (tensors in the order of the parameters, then scalars) are needed only where the annotations leave shapes
    or dtypes open; only shape and dtype of tensors are read. A scalar that is given is compiled in and is no parameter
    of the program; one annotated `int` or `float` that is not given is a number of each launch.
    """
    from pypto.frontend.kernels.kernel import JitKernel

    if not isinstance(kernel, JitKernel):
        raise TypeError(f"ir.compile(): expected a kernel under pypto.frontend.jit, got {type(kernel).__name__}")
    return CompiledProgram(kernel.compile_image(samples, scalars, platform))


def load(path: str | os.PathLike[str]) -> CompiledProgram:
    """Reads a program file; ProgramFormatError when it is damaged, truncated or of a newer version."""
    with open(path, "rb") as file:
        return CompiledProgram(_core.read_image(file.read()))


def _runs_on_this_host(code: bytes) -> bool:
    """Whether an ELF file holds code for this machine's processors."""
    if len(code) < 20 or code[:6] != b"\x7fELF\x02\x01":
        return False
    return bool(struct.unpack_from("<H", code, 18)[0] == _HOST_MACHINES.get(host.machine()))


def _row(parameter: Parameter) -> tuple[str, bool, int, str, list[int | str]]:
    if not isinstance(parameter, Parameter):
        raise TypeError(f"parameters must be ir.Parameter, got {type(parameter).__name__}")
    if parameter.kind == "tensor":
        if parameter.dtype is None:
            raise ValueError(f"parameter '{parameter.name}' is a tensor and needs a dtype")
        return (parameter.name, True, int(parameter.dtype), parameter.direction, list(parameter.dims))
    if parameter.kind not in {"int", "float"}:
        raise ValueError(f"parameter '{parameter.name}' has kind '{parameter.kind}': tensor, int or float is needed")
    default = DT_FP32 if parameter.kind == "float" else DT_INT64
    dtype = default if parameter.dtype is None else parameter.dtype
    if (parameter.kind == "float") != (dtype == DT_FP32):
        raise ValueError(f"parameter '{parameter.name}' of kind '{parameter.kind}' cannot travel as {dtype.name}")
    return (parameter.name, False, int(dtype), "in", [])


def load_kernel(
    path_or_bytes: str | os.PathLike[str] | bytes | bytearray | memoryview,
    *,
    entry: str,
    parameters: Sequence[Parameter],
    blocks: int = 1,
    magic: str | int = "aicore",
    platform: str | None = None,
) -> CompiledProgram:
    """Makes a program of an AI-core binary (an ELF file) that was built elsewhere.

    `entry` is the kernel's name, of a mix kernel without its tail. The kernel takes its parameters one after another,
    at their natural alignment: a tensor as an 8-byte device address, an int in 8 bytes (4 with dtype DT_INT32), a float
    in 4. `magic` says which cores run it: "aicore", "vector", "cube", or "mix", whose first argument, ahead of the
    parameters, is the hardware synchronisation address; the numbers of the vendor's interface are taken too.
    `direction` of a tensor is taken at its word: "out" means written whole.

    `platform` is where it shall run: by default a2a3, or a2a3sim when the file is a shared object for this host, which
    is what the mock runs in the place of AI-core code (docs/guides/mock_acl.md).
    """
    if magic not in _MAGICS:
        raise ValueError(f"magic={magic!r} is unknown: aicore, vector, cube, mix, 0x43554245, 0x41415246 or 0x41494343")
    if isinstance(blocks, bool) or not isinstance(blocks, int):
        raise TypeError(f"blocks must be an int, got {type(blocks).__name__}")
    if not 1 <= blocks <= 65535:
        raise ValueError(f"blocks={blocks} is outside 1 to 65535")
    if isinstance(path_or_bytes, (bytes, bytearray, memoryview)):
        code = bytes(path_or_bytes)
    else:
        with open(path_or_bytes, "rb") as file:
            code = file.read()
    if code[:4] != b"\x7fELF":
        raise ValueError(f"the kernel '{entry}' is no ELF file: it begins with {code[:4]!r}")
    if platform is None:
        platform = "a2a3sim" if _runs_on_this_host(code) else "a2a3"
    _core.validate_platform(platform)
    core, mix = _MAGICS[magic]
    return CompiledProgram(
        _core.make_prebuilt(code, entry, [_row(parameter) for parameter in parameters], blocks, core, mix, platform)
    )
