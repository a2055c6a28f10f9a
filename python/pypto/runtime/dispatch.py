"""Dispatch of compiled programs and jitted kernels on the current or the default worker."""

from __future__ import annotations

from functools import cache
from typing import Any

from pypto import _core
from pypto.runtime import current


def dispatch_image(image: _core.CompiledImage, args: tuple[Any, ...]) -> Any:
    """Runs an image on the worker of its platform; fresh outputs are returned for trailing ones left out."""
    return current.for_platform(image.platform)._shared_handle(image)(*args)


def dispatch_compiled(compiled: Any, args: tuple[Any, ...]) -> Any:
    """Runs a CompiledProgram."""
    return dispatch_image(compiled._image, args)


def dispatch_kernel(image: _core.CompiledImage, args: tuple[Any, ...]) -> None:
    """Runs a jitted kernel's image; all tensors are given and nothing is returned."""
    dispatch_image(image, args)


@cache
def default_platform() -> str:
    """Where a jitted kernel runs when no run mode was set: hardware if a vendor library is found, else the mock."""
    return "a2a3" if _core.hardware_library_found() else "a2a3sim"
