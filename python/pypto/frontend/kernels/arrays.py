"""The contents of arrays and host tensors that kernels capture, for telling whether they changed."""

from __future__ import annotations

import hashlib
import sys
from typing import Any

_MAX_KEPT_BYTES = 4096  # of larger contents a hash is kept


def package_of(value: Any) -> str:
    """The package that defines the type of a value."""
    return type(value).__module__.partition(".")[0]


def is_torch_tensor(value: Any) -> bool:
    """Whether it is a tensor of torch, on any device."""
    return package_of(value) == "torch" and hasattr(value, "data_ptr")


def contents(value: Any, max_bytes: int | None = None) -> Any:
    """Something that is equal for equal contents; None when there are none to see, or too many.

    Tensors of a device are known by the version that torch counts, which writes through `.data` do not change.
    """
    if max_bytes is not None and not 0 < getattr(value, "nbytes", 0) <= max_bytes:
        return getattr(value, "_version", None)
    if not is_torch_tensor(value):
        return kept(value.tobytes())
    flat = bytes_of_tensor(value)
    return value._version if flat is None else kept(flat.tobytes())


def bytes_of_tensor(value: Any) -> Any:
    """An array of the bytes of a tensor of torch, the same memory if it is contiguous; None where there are none."""
    try:
        return value.detach().contiguous().flatten().view(sys.modules["torch"].uint8).numpy()
    except (RuntimeError, TypeError):  # not of the host, or of a layout without bytes
        return None


def kept(data: bytes) -> bytes:
    """The bytes, or a hash of many."""
    return data if len(data) <= _MAX_KEPT_BYTES else hashlib.sha256(data).digest()
