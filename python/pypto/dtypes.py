"""Data types of tensor elements, made from the core's table: `DataType.DT_FP32` and `DT_FP32`."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any

from pypto import _core

if TYPE_CHECKING:

    class DataType(enum.IntEnum):
        """A data type; the number is the core's."""

        DT_FP32 = 0
        DT_FP16 = 1
        DT_BF16 = 2
        DT_INT32 = 3
        DT_INT8 = 4
        DT_BOOL = 5
        DT_INT16 = 6
        DT_INT64 = 7
        DT_UINT8 = 8
        DT_UINT16 = 9
        DT_UINT32 = 10
        DT_UINT64 = 11
        DT_FP8E4M3 = 12
        DT_FP8E5M2 = 13
        DT_FP8E8M0 = 14
        DT_HF8 = 15
        DT_FP4_E2M1X2 = 16
        DT_FP4_E1M2X2 = 17
        DT_INT4 = 18

else:
    DataType = enum.IntEnum(
        "DataType", {f"DT_{row[1]}": row[0] for row in _core.DTYPES}, module=__name__, qualname="DataType"
    )
    DataType.__doc__ = "A data type; the number is the core's."

DT_FP32 = DataType.DT_FP32
DT_FP16 = DataType.DT_FP16
DT_BF16 = DataType.DT_BF16
DT_INT32 = DataType.DT_INT32
DT_INT8 = DataType.DT_INT8
DT_BOOL = DataType.DT_BOOL
DT_INT16 = DataType.DT_INT16
DT_INT64 = DataType.DT_INT64
DT_UINT8 = DataType.DT_UINT8
DT_UINT16 = DataType.DT_UINT16
DT_UINT32 = DataType.DT_UINT32
DT_UINT64 = DataType.DT_UINT64
DT_FP8E4M3 = DataType.DT_FP8E4M3
DT_FP8E5M2 = DataType.DT_FP8E5M2
DT_FP8E8M0 = DataType.DT_FP8E8M0
DT_HF8 = DataType.DT_HF8
DT_FP4_E2M1X2 = DataType.DT_FP4_E2M1X2
DT_FP4_E1M2X2 = DataType.DT_FP4_E1M2X2
DT_INT4 = DataType.DT_INT4

# Two elements in a byte: tensors of kernels count elements, host tensors count bytes.
PACKED = frozenset({DT_FP4_E2M1X2, DT_FP4_E1M2X2, DT_INT4})

_ELEMENT_BYTES = {DataType(row[0]): int(row[3]) for row in _core.DTYPES}
_KINDS = {DataType(row[0]): str(row[4]) for row in _core.DTYPES}
_TORCH_NAMES = {DataType(row[0]): str(row[2]) for row in _core.DTYPES}
# Hosts hold what they have no dtype for as UINT8, whose own number is lower.
_BY_TORCH_NAME = {name: dtype for dtype, name in reversed(_TORCH_NAMES.items())}
_BY_TORCH_NAME["float4_e2m1fn_x2"] = DT_FP4_E2M1X2


def bytes_of(dtype: DataType) -> int:
    """Bytes of one element, or of the pair that a byte of FP4 or INT4 holds."""
    return _ELEMENT_BYTES[dtype]


def is_float(dtype: DataType) -> bool:
    """Whether elements are floating-point numbers."""
    return _KINDS[dtype] == "float"


def torch_name(dtype: DataType) -> str:
    """Name of the torch dtype without its module: `float32`."""
    return _TORCH_NAMES[dtype]


def from_host_dtype(dtype: Any) -> DataType | None:
    """The data type of a torch or numpy dtype, or of a DataType; None when there is none."""
    if isinstance(dtype, DataType):
        return dtype
    return _BY_TORCH_NAME.get(str(getattr(dtype, "name", None) or dtype).rpartition(".")[2])


def serves(host: DataType, expected: DataType) -> bool:
    """Whether a host tensor of one dtype is taken where another is declared: UINT8 for HF8, FP4 and INT4."""
    return host == expected or (host == DT_UINT8 and _TORCH_NAMES[expected] == "uint8")


def to_dtype(value: Any, what: str) -> DataType:
    """Checks an argument that must be a DataType; a torch or numpy dtype counts too."""
    dtype = from_host_dtype(value)
    if dtype is None:
        raise TypeError(f"{what}: expected a data type such as pypto.DT_FP32, got {value!r}")
    return dtype
