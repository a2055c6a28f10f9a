"""Compiled programs: `compile` makes one of a kernel, `load` reads one from a file."""
# ruff: noqa: D105, D107

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from pypto import _core
from pypto.dtypes import DataType

__all__ = ["CompiledProgram", "LineItem", "Parameter", "PoolBudget", "WorkspaceBudget", "compile", "load"]


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


class CompiledProgram:
    """A program for one platform. Immutable; any thread. Calling it dispatches on a worker of its platform."""

    def __init__(self, image: Any) -> None:
        """`image` is the core's compiled image."""
        self._image = image
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

    def __call__(self, *arguments: Any) -> Any:
        """Dispatches; trailing outputs that are left out are returned as fresh tensors."""
        import pypto  # the top of the package alone knows the runtime

        return pypto.runtime.dispatch_compiled(self, arguments)

    def __repr__(self) -> str:
        return f"<CompiledProgram {self.name} for {self.platform}, {self.fingerprint[:12]}>"


def compile(kernel: Any, *samples: Any, platform: str = "a2a3sim", **scalars: Any) -> CompiledProgram:  # noqa: A001
    """Compiles a jitted kernel for a platform.

    Samples (tensors in the order of the parameters, then scalars) are needed only where the annotations leave shapes
    or dtypes open; only shape and dtype of tensors are read. A scalar that is given is compiled in and is no parameter
    of the program; one annotated `int` or `float` that is not given is a number of each launch.
    """
    from pypto.frontend.kernel import JitKernel

    if not isinstance(kernel, JitKernel):
        raise TypeError(f"ir.compile(): expected a kernel under pypto.frontend.jit, got {type(kernel).__name__}")
    return CompiledProgram(kernel.compile_image(samples, scalars, platform))


def load(path: str | os.PathLike[str]) -> CompiledProgram:
    """Reads a program file; ProgramFormatError when it is damaged, truncated or of a newer version."""
    with open(path, "rb") as file:
        return CompiledProgram(_core.read_image(file.read()))
