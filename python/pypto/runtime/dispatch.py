"""Dispatch of compiled programs and jitted kernels on the current or the default worker."""

from __future__ import annotations

import threading
from functools import cache
from typing import Any

from pypto import _core
from pypto.dtypes import DataType
from pypto.runtime import _torch, current


def handle_of(image: _core.CompiledImage) -> _core.RegistrationHandle:
    """The handle of an image on the current worker of its platform, else on the default one."""
    return current.for_platform(image.platform)._shared_handle(image)


def dispatch_kernel(image: _core.CompiledImage, args: tuple[Any, ...]) -> None:
    """Runs a jitted kernel's image; all tensors are given and nothing is returned."""
    handle_of(image)(*args)


def outputs_behind(image: _core.CompiledImage, first: int) -> list[Any]:
    """New tensors of zeros for the parameters from number `first` on, whose dims are static."""
    rows = image.parameters[first:]
    return [_torch.empty(tuple(row["dims"]), DataType(row["dtype"]).name.removeprefix("DT_")).zero_() for row in rows]


_recorded = threading.local()


def keep_recorded(image: _core.CompiledImage) -> None:
    """Remembers the image of the last recording of this thread."""
    _recorded.image = image


def _host_tensors(values: tuple[Any, ...]) -> list[Any]:
    """Tensors out of lists, and the data of declarations made by from_torch."""
    found: list[Any] = []
    for value in values:
        if isinstance(value, list | tuple):
            found += _host_tensors(tuple(value))
        else:
            found.append(value.data if hasattr(value, "to_tensor") else value)
    return found


def _device_run_once_data_from_host(*tensors: Any) -> None:
    """Runs the last `with pypto.function(...)` of this thread; one tensor per tensor of it, in order.

    Lists are taken apart; a tensor is a torch tensor or a declaration made by from_torch.
    """
    image = getattr(_recorded, "image", None)
    if image is None:
        raise RuntimeError('nothing was recorded: write `with pypto.function("name", a, b):` first')
    given = _host_tensors(tensors)
    names = [row["name"] for row in image.parameters]
    if len(given) != len(names):
        raise ValueError(f"'{image.name}' takes {len(names)} tensors {names}, got {len(given)}")
    missing = [name for name, tensor in zip(names, given, strict=True) if tensor is None]
    if missing:
        raise ValueError(f"'{missing[0]}' holds no data: give a torch tensor, or declare it with pypto.from_torch")
    dispatch_kernel(image, tuple(given))


@cache
def default_platform() -> str:
    """Where a jitted kernel runs when no run mode was set: hardware if a vendor library is found, else the mock."""
    return "a2a3" if _core.hardware_library_found() else "a2a3sim"
