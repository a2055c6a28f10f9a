"""Tensors of the host as declarations, and the NZ layout: blocks of 16 rows of 32 bytes, column of blocks by column."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from typing import Any

from pypto.dtypes import DataType, bytes_of, from_host_dtype, to_dtype
from pypto.errors import fe_error
from pypto.frontend.annotations import TensorSpec, TileOpFormat, make_spec
from pypto.frontend.symbolic import as_int

NZ_ROWS = 16
NZ_ROW_BYTES = 32
_VENDOR_NZ = 29  # the vendor's number of the format
_numbers = itertools.count()


def _up(extent: int, unit: int) -> int:
    return -(-extent // unit) * unit


def nz_shape(shape: Sequence[int], dtype: Any) -> list[int]:
    """A shape padded as NZ asks for: the last dim to whole rows of 32 bytes, the one before it to 16 rows."""
    padded = [int(extent) for extent in shape]
    if len(padded) < 2:
        raise fe_error(ValueError, f"nz_shape(): NZ is a layout of 2 dims or more, got {padded}")
    padded[-2] = _up(padded[-2], NZ_ROWS)
    padded[-1] = _up(padded[-1], NZ_ROW_BYTES // bytes_of(to_dtype(dtype, "nz_shape()")))
    return padded


def nd_to_nz(tensor: Any) -> Any:
    """A torch tensor [..., m, n] as [..., n / n0, m / 16, 16, n0] with n0 elements in 32 bytes; padding is zeros."""
    *batch, rows, columns = nz_shape(tensor.shape, tensor.dtype)
    width = NZ_ROW_BYTES // bytes_of(to_dtype(tensor.dtype, "nd_to_nz()"))
    padded = tensor.new_zeros([*batch, rows, columns])
    padded[..., : tensor.shape[-2], : tensor.shape[-1]] = tensor
    blocks = padded.reshape([*batch, rows // NZ_ROWS, NZ_ROWS, columns // width, width])
    order = [*range(len(batch)), *(len(batch) + axis for axis in (2, 0, 1, 3))]
    return blocks.permute(order).contiguous()


def nz_to_nd(tensor: Any, shape: Sequence[int]) -> Any:
    """The inverse of `nd_to_nz`: the elements of `shape` without the padding."""
    *batch, rows, columns = nz_shape(shape, tensor.dtype)
    width = NZ_ROW_BYTES // bytes_of(to_dtype(tensor.dtype, "nz_to_nd()"))
    expected = [*batch, columns // width, rows // NZ_ROWS, NZ_ROWS, width]
    if list(tensor.shape) != expected:
        raise fe_error(ValueError, f"nz_to_nd(): {list(shape)} is {expected} in NZ, got {list(tensor.shape)}")
    order = [*range(len(batch)), *(len(batch) + axis for axis in (1, 2, 0, 3))]
    whole = tensor.permute(order).reshape([*batch, rows, columns])
    return whole[..., : shape[-2], : shape[-1]].contiguous()


def format_of(tensor: Any) -> TileOpFormat | None:
    """The layout of a tensor on an NPU; None for tensors elsewhere, which have none to tell."""
    if getattr(getattr(tensor, "device", None), "type", None) != "npu":
        return None
    import torch_npu  # type: ignore[import-not-found]

    is_nz = torch_npu.get_npu_format(tensor) == _VENDOR_NZ
    return TileOpFormat.TILEOP_NZ if is_nz else TileOpFormat.TILEOP_ND


def _axes(dynamic_axis: Any, rank: int) -> set[int]:
    axes = set()
    for axis in [] if dynamic_axis is None else dynamic_axis:
        number = as_int(axis)
        if number is None or isinstance(axis, bool):
            raise fe_error(TypeError, f"from_torch(): dynamic_axis is a list of ints, got {axis!r} in it")
        if not -rank <= number < rank:
            raise fe_error(IndexError, f"from_torch(): dynamic axis {number} is out of range for {rank} dims")
        axes.add(number % rank)
    return axes


def from_torch(
    tensor: Any, name: str = "", dynamic_axis: Sequence[int] | None = None, *, format: TileOpFormat | None = None  # noqa: A002
) -> TensorSpec:  # fmt: skip
    """The declaration of a torch tensor, which it keeps as its data.

    Without a name it is TENSOR_n. The axes of `dynamic_axis` are dynamic dims (-1 in its shape); a tensor without dims
    has the shape [1]. `format` is that of the tensor where it lies on an NPU, else ND; an NZ tensor has its shape
    padded: the last dim to 32 bytes, the one before it to 16.
    """
    dtype: DataType | None = None
    if hasattr(tensor, "shape") and hasattr(tensor, "dtype") and not isinstance(tensor, TensorSpec):
        dtype = from_host_dtype(tensor.dtype)
        if dtype is None:
            raise fe_error(TypeError, f"from_torch(): dtype {tensor.dtype} is not supported")
    else:
        raise fe_error(TypeError, f"from_torch(): expected a torch.Tensor, got {type(tensor).__name__}")
    shape = [int(extent) for extent in tensor.shape] or [1]
    layout = TileOpFormat(format) if format is not None else format_of(tensor) or TileOpFormat.TILEOP_ND
    if layout == TileOpFormat.TILEOP_NZ:
        shape = nz_shape(shape, dtype)
    for axis in _axes(dynamic_axis, len(shape)):
        shape[axis] = -1
    spec = make_spec(shape, dtype, layout, name or f"TENSOR_{next(_numbers)}")
    return dataclasses.replace(spec, data=tensor)
