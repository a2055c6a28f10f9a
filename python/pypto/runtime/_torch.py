"""What the runtime needs of torch, imported on first use."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

# pypto dtype name -> torch attribute.
_NAMES = {
    "FP32": "float32",
    "FP16": "float16",
    "BF16": "bfloat16",
    "INT32": "int32",
    "INT8": "int8",
    "BOOL": "bool",
    "INT16": "int16",
    "INT64": "int64",
    "UINT8": "uint8",
    "UINT16": "uint16",
    "UINT32": "uint32",
    "UINT64": "uint64",
    "FP8E4M3": "float8_e4m3fn",
    "FP8E5M2": "float8_e5m2",
    "FP8E8M0": "float8_e8m0fnu",
    # torch has no such dtypes.
    "HF8": "uint8",
    "FP4_E2M1X2": "uint8",
    "FP4_E1M2X2": "uint8",
    "INT4": "uint8",
}


@cache
def torch_dtype(name: str) -> torch.dtype:
    """The torch dtype of a pypto dtype name such as "FP16"."""
    import torch

    dtype: torch.dtype = getattr(torch, _NAMES[name])
    return dtype


@cache
def _names_by_dtype() -> dict[object, str]:
    return {torch_dtype(name): name for name in reversed(_NAMES)}


def dtype_name(dtype: Any) -> str:
    """The pypto dtype name of a torch dtype, a pypto dtype constant or such a name; TypeError for anything else."""
    if isinstance(dtype, str) and dtype in _NAMES:
        return dtype
    name = getattr(dtype, "name", None)
    if isinstance(name, str) and name.removeprefix("DT_") in _NAMES:
        return name.removeprefix("DT_")
    try:
        return _names_by_dtype()[dtype]
    except (KeyError, TypeError):
        raise TypeError(f"dtype {dtype!r} is not supported: expected a torch dtype of {', '.join(_NAMES)}") from None


def is_dtype(value: Any) -> bool:
    """Whether it is a dtype of torch itself."""
    import torch

    return type(value) is torch.dtype


def empty(shape: tuple[int, ...], name: str) -> torch.Tensor:
    """A new CPU tensor of a pypto dtype."""
    import torch

    return torch.empty(shape, dtype=torch_dtype(name))


def tensor_text(tensor: torch.Tensor, *, edgeitems: int, precision: int, threshold: int, linewidth: int) -> str:
    """The elements as text, under print options of torch that are in force for this only."""
    from torch import _tensor_str as text

    before = vars(text.PRINT_OPTS).copy()
    try:
        values = {"edgeitems": edgeitems, "precision": precision, "threshold": threshold, "linewidth": linewidth}
        vars(text.PRINT_OPTS).update(values)
        return str(tensor)
    finally:
        vars(text.PRINT_OPTS).update(before)


def _plain_array(value: Any, name: str, output: bool) -> Any:
    """An array that torch can share: writable, of native byte order, without negative strides."""
    import numpy

    plain = value.flags.writeable and value.dtype.isnative and min(value.strides, default=0) >= 0
    if plain:
        return value
    if output:
        raise ValueError(f"argument '{name}' is an output, but not a plain array: not all tensors are contiguous")
    return numpy.array(value, dtype=value.dtype.newbyteorder("="), order="C")


def check_init(init: Any, expected: str) -> Any:
    """`init` of alloc_tensor; ValueError naming both dtypes when its own is none that pypto knows."""
    dtype = getattr(init, "dtype", None)
    if dtype is None:
        return init
    import torch

    if isinstance(init, torch.Tensor) and dtype not in _names_by_dtype():
        raise ValueError(f"init has dtype {dtype}, expected {expected}")
    if type(init).__module__.partition(".")[0] == "numpy" and str(dtype.newbyteorder("=")) not in _NAMES.values():
        raise ValueError(f"init has dtype {dtype}, expected {expected}")
    return init


def _to_tensor(value: Any, name: str, output: bool) -> torch.Tensor:
    import torch

    if isinstance(value, torch.Tensor):
        return value
    if type(value).__module__.partition(".")[0] == "numpy":
        import numpy

        if not isinstance(value, numpy.ndarray):
            raise TypeError(f"argument '{name}' must be a tensor, got {type(value).__name__}")
        return torch.from_numpy(_plain_array(value, name, output))
    if hasattr(value, "__dlpack__"):
        return torch.from_dlpack(value)
    if hasattr(value, "__array__"):
        import numpy

        return torch.from_numpy(numpy.ascontiguousarray(value))
    raise TypeError(f"argument '{name}' must be a tensor, got {type(value).__name__}")


def _refuse_device(tensor: torch.Tensor, name: str) -> None:
    from torch._subclasses.fake_tensor import FakeTensor

    if isinstance(tensor, FakeTensor):
        raise ValueError(f"argument '{name}' is a FakeTensor: it holds no data")
    if tensor.device.type != "cpu":
        raise ValueError(
            f"argument '{name}' is on device {tensor.device}, expected a CPU tensor or a DeviceTensor: call .cpu()"
        )
    if tensor.layout != torch_strided():
        raise ValueError(f"argument '{name}' has layout {tensor.layout}, expected a dense (strided) tensor")


@cache
def torch_strided() -> object:
    """The layout of dense tensors."""
    import torch

    return torch.strided


def check_writable(tensor: torch.Tensor, name: str) -> None:
    """A tensor that requires grad may be written with grad mode off only, as in torch: ValueError otherwise."""
    import torch

    if tensor.requires_grad and torch.is_grad_enabled():
        what = "a leaf tensor" if tensor.is_leaf else "a tensor"
        raise ValueError(
            f"argument '{name}' is an output and {what} that requires grad: it would be written in place, which "
            "autograd cannot follow; call under torch.no_grad(), or pass a detached tensor"
        )


def note_written(values: tuple[Any, ...]) -> None:
    """Counts a write in the version of each torch tensor, so that a backward pass that needs old values refuses."""
    import torch

    tracked = [value for value in values if isinstance(value, torch.Tensor) and not value.is_inference()]
    torch.autograd.graph.increment_version(tracked)


def as_contiguous(value: Any, name: str, output: bool) -> torch.Tensor:
    """A plain, contiguous CPU tensor over the same memory; strided or lazily conjugated inputs are copied.

    Outputs must already be plain and contiguous: ValueError otherwise. A read-only array as an output is refused.
    """
    import torch

    if output and getattr(getattr(value, "flags", None), "writeable", True) is False:
        raise ValueError(f"argument '{name}' is read-only, but the kernel writes it")
    tensor = _to_tensor(value, name, output)
    if output:
        check_writable(tensor, name)
    _refuse_device(tensor, name)
    if tensor.dtype is getattr(torch, "float4_e2m1fn_x2", None):
        tensor = tensor.view(torch.uint8)
    if tensor.dtype not in _names_by_dtype():
        raise TypeError(
            f"argument '{name}' has dtype {tensor.dtype}, which no kernel takes; convert it, as in .float()"
        )
    tensor = tensor.detach()
    if type(tensor) is not torch.Tensor:
        tensor = tensor.as_subclass(torch.Tensor)
    lazy = tensor.is_conj() or tensor.is_neg()
    if output and (lazy or not tensor.is_contiguous()):
        raise ValueError(
            f"argument '{name}' is an output with shape {tuple(tensor.shape)} and strides {tensor.stride()}: "
            "not all tensors are contiguous; pass a contiguous tensor"
        )
    if lazy:
        tensor = tensor.resolve_conj().resolve_neg()
    # A dim of extent 1 may carry any stride: an alias with the ordinary ones reads the same memory.
    if tensor.is_contiguous():
        return tensor.as_strided(tensor.shape, _row_major(tensor.shape))
    return tensor.contiguous()


def _row_major(shape: torch.Size) -> list[int]:
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return strides[::-1]
