"""Arrays and host tensors that kernels capture: what describes them, and their contents, for telling whether they
changed."""

from __future__ import annotations

import contextlib
import enum
import sys
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

from pypto import _core


class Described(NamedTuple):
    """All of an array or tensor but its contents."""

    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    place: str


def is_torch_tensor(value: Any) -> bool:
    """Whether it is a tensor of torch, on any device."""
    torch = sys.modules.get("torch")
    return torch is not None and issubclass(type(value), torch.Tensor)


def is_numpy_array(value: Any) -> bool:
    """Whether it is an array or a number of numpy."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and issubclass(type(value), numpy.ndarray | numpy.generic)


def is_array(value: Any) -> bool:
    """Whether it is a tensor of torch, or an array or a number of numpy."""
    return is_torch_tensor(value) or is_numpy_array(value)


def is_constant(value: Any) -> bool:
    """Whether it is a dtype or a mode of pypto, whose number is of no use to kernels."""
    return isinstance(value, enum.Enum) and type(value).__module__.partition(".")[0] == "pypto"


def kind_name(value: Any) -> str:
    """The type of a value, for errors; what to do about one of the host."""
    if is_constant(value):
        return f"{type(value).__name__}.{value.name}"
    name = type(value).__name__
    if not is_array(value):
        return name
    kind = "torch.Tensor" if is_torch_tensor(value) else f"numpy {name}"
    return f"a {kind} of the host (pass it to the kernel as a tensor parameter; a number of it is value.item())"


def described(value: Any) -> Described:
    """What describes an array or tensor."""
    if not is_torch_tensor(value):
        return Described(str(value.dtype), value.shape, value.strides, "numpy")
    with unseen():
        strides = tuple(value.stride()) if value.layout is sys.modules["torch"].strided else None
        return Described(str(value.dtype), tuple(value.shape), strides, str(value.device))


def unseen() -> AbstractContextManager[Any]:
    """A context in which tensors of torch are looked at by the front end: no reading of the kernel."""
    torch = sys.modules.get("torch")
    return contextlib.nullcontext() if torch is None else torch._C.DisableTorchFunction()


def contents(value: Any, max_bytes: int | None = None) -> Any:
    """Something that is equal for equal contents; None when there are none to see, or too many.

    Tensors of a device are known by the version that torch counts, which writes through `.data` do not change.
    """
    with unseen():
        if max_bytes is not None and not 0 < size_of(value) <= max_bytes:
            return mark_of(value)
        if not is_torch_tensor(value):
            return fingerprint_of(value)
        flat = bytes_of_tensor(value)
        return mark_of(value) if flat is None else _core.fingerprint(flat)


def size_of(value: Any) -> int:
    """The bytes of an array or tensor; 0 for what is none, or is sparse."""
    if is_torch_tensor(value):
        return 0 if value.layout is not sys.modules["torch"].strided else int(value.nbytes)
    return int(value.nbytes) if is_numpy_array(value) else 0


def state_of_tensor(tensor: Any) -> tuple[Any, ...]:
    """All that a kernel may read of a tensor of torch but its description: contents, and what autograd keeps there."""
    with unseen():
        has_gradient = tensor.is_leaf or tensor.retains_grad
        gradient = tensor.grad if has_gradient else None
        held = None if gradient is None else (described(gradient), contents(gradient))
        return contents(tensor), tensor.requires_grad, tensor.is_leaf, held


def mark_of(value: Any) -> bytes | None:
    """Something that is another one when a large array or tensor has changed; None for others."""
    if is_torch_tensor(value):
        return None if value.is_inference() else b"%d" % value._version
    numpy = sys.modules.get("numpy")
    return None if numpy is None or not isinstance(value, numpy.ndarray) else fingerprint_of(value)


def fingerprint_of(array: Any) -> bytes:
    """Of the contents of an array or number of numpy; of objects in it, which ones these are."""
    is_plain = getattr(array.flags, "c_contiguous", False) and array.dtype.kind in "biufcSVU"
    return _core.fingerprint(array if is_plain and array.ndim > 0 else array.tobytes())


def is_fixed(array: Any) -> bool:
    """Whether an array of numpy shows memory that nothing can write: that of bytes."""
    while type(array).__module__ == "numpy":
        if array.flags.writeable:
            return False
        array = array.base
    return type(array) is bytes


def bytes_of_tensor(value: Any) -> Any:
    """An array of the bytes of a tensor of torch, the same memory if it is contiguous; None where there are none."""
    try:
        plain = value.detach().resolve_conj().resolve_neg().contiguous()
        return plain.flatten().view(sys.modules["torch"].uint8).numpy()
    except (RuntimeError, TypeError):  # not of the host, or of a layout without bytes
        return None
