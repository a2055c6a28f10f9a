"""Dispatch of compiled programs and jitted kernels on the current or the default worker."""

from __future__ import annotations

from functools import cache
from typing import Any

from pypto import _core
from pypto.runtime import current


def handle_of(image: _core.CompiledImage) -> _core.RegistrationHandle:
    """The handle of an image on the current worker of its platform, else on the default one."""
    return current.for_platform(image.platform)._shared_handle(image)


def dispatch_kernel(image: _core.CompiledImage, args: tuple[Any, ...]) -> None:
    """Runs a jitted kernel's image; all tensors are given and nothing is returned."""
    handle_of(image)(*args)


@cache
def default_platform() -> str:
    """Where a jitted kernel runs when no run mode was set: hardware if a vendor library is found, else the mock."""
    return "a2a3" if _core.hardware_library_found() else "a2a3sim"
