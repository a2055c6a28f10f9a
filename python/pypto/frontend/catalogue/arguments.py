"""Checks and conversions of the arguments of operations."""
# ruff: noqa: D105, D107

from __future__ import annotations

import math
import numbers
import struct
from collections.abc import Sequence
from typing import Any

from pypto.dtypes import DataType, to_dtype
from pypto.frontend.floats import FloatScalar
from pypto.frontend.kernels.arrays import is_constant, kind_name
from pypto.frontend.places import trace_error
from pypto.frontend.symbolic import INT64_MAX, INT64_MIN, SymbolicScalar, as_int, check_trace, static_int, to_expr
from pypto.frontend.tensor import Tensor
from pypto.frontend.tracing.tracer import Trace

Operand = tuple[str, Any]


class Element:
    """A number of a given dtype: `pypto.Element(pypto.DT_FP16, 0.5)`."""

    __slots__ = ("dtype", "value")

    def __init__(self, dtype: DataType, value: float) -> None:
        self.dtype = to_dtype(dtype, "Element()")
        if is_constant(value) or not isinstance(value, numbers.Real):
            raise trace_error(TypeError, f"Element(): the value is an int or a float, got {kind_name(value)}")
        self.value: float = value

    def rounded(self) -> float:
        """The value as its dtype holds it."""
        if self.dtype == DataType.DT_FP16:
            try:
                (half,) = struct.unpack("<e", struct.pack("<e", self.value))
            except OverflowError:
                half = math.copysign(math.inf, self.value)
            return float(half)
        if self.dtype == DataType.DT_BF16:
            (bits,) = struct.unpack("<I", struct.pack("<f", self.value))
            cut = (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000
            (whole,) = struct.unpack("<f", struct.pack("<I", cut))
            return float(whole)
        return self.value

    def __repr__(self) -> str:
        return f"Element({self.dtype.name}, {self.value!r})"


def to_tensor_argument(value: Any, what: str) -> Tensor:
    """An argument that must be a tensor."""
    if isinstance(value, Tensor):
        return value
    check_usable(value)
    raise trace_error(TypeError, f"{what}: expected a tensor, got {kind_name(value)}")


def check_usable(value: Any) -> None:
    """Raises for a name without a value."""
    from pypto.frontend.tracing.carry import Unusable

    if isinstance(value, Unusable):
        value._refuse()


def to_dtype_argument(value: Any, what: str) -> DataType:
    """An argument that must be a data type."""
    try:
        return to_dtype(value, what)
    except TypeError as error:
        raise trace_error(TypeError, str(error)) from None


def to_number_operand(trace: Trace, value: Any, what: str) -> Operand | None:
    """A number as an operand of the core; None when it is not a number."""
    if isinstance(value, SymbolicScalar):
        known = static_int(value)
        if known is not None:
            return "int", known
        return "expr", to_expr(trace, value, what)
    if isinstance(value, FloatScalar):
        check_trace(trace, value)
        return value.operand()
    if isinstance(value, Element):
        value = value.rounded()
    number = as_int(value)
    if number is not None:
        if not INT64_MIN <= number <= INT64_MAX:
            raise trace_error(ValueError, f"{what}: {number} does not fit a 64-bit integer")
        return "int", number
    if isinstance(value, float) or (hasattr(value, "item") and getattr(value, "shape", None) == ()):
        return "float", float(value)
    return None


def to_scalar(value: Any, what: str) -> Any:
    """A number as a float; one that is known in a launch only as it is."""
    if isinstance(value, SymbolicScalar | FloatScalar):
        return value
    if is_constant(value):
        raise trace_error(TypeError, f"{what} is a number, got {kind_name(value)}")
    try:
        return float(value)
    except (TypeError, ValueError):
        check_usable(value)
        raise trace_error(TypeError, f"{what} is a number, got {type(value).__name__}") from None


def to_operand(trace: Trace, value: Any, what: str) -> Operand:
    """A tensor or a number as an operand of the core."""
    if isinstance(value, Tensor):
        return "tensor", value.use()
    number = to_number_operand(trace, value, what)
    if number is None:
        check_usable(value)
        raise trace_error(TypeError, f"{what}: expected a tensor or a number, got {kind_name(value)}")
    return number


def to_extents(shape: Any, what: str) -> list[Any]:
    """A list of ints and symbolic integers; one number counts as a list of one."""
    if isinstance(shape, SymbolicScalar) or as_int(shape) is not None:
        shape = [shape]
    if not isinstance(shape, Sequence) or isinstance(shape, str):
        raise trace_error(TypeError, f"{what}: expected a list of extents, got {type(shape).__name__}")
    extents: list[Any] = []
    for extent in shape:
        check_usable(extent)
        number = as_int(extent)
        if isinstance(extent, SymbolicScalar):
            extents.append(extent)
        elif number is not None and not isinstance(extent, bool):
            extents.append(number)
        else:
            raise trace_error(TypeError, f"{what}: extents are ints or symbolic integers, got {type(extent).__name__}")
    return extents


def to_static_extents(shape: Any, what: str) -> list[int]:
    """A list of extents that are known while tracing."""
    extents = []
    for extent in to_extents(shape, what):
        known = static_int(extent)
        if known is None:
            raise trace_error(ValueError, f"{what} requires integer extents, got the symbolic {extent}")
        extents.append(known)
    return extents


def to_dim(value: Any, rank: int, what: str) -> int:
    """A dim number, counted from the end when negative."""
    number = static_int(value)
    if number is None or isinstance(value, bool):
        raise trace_error(TypeError, f"{what}: expected an int as dim, got {type(value).__name__}")
    if not -rank <= number < rank:
        raise trace_error(IndexError, f"{what}: dim {number} is out of range, expected {-rank} to {rank - 1}")
    return number + rank if number < 0 else number
