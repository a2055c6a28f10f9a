"""`view(x, dtype=dt)`: the bytes of a tensor read as another dtype.

A tensor of static extents is read at once. One with a dynamic dim is read where a window of it is taken, with the same
result, because the tensor under it must not be written from there on.
"""
# ruff: noqa: D107

from __future__ import annotations

import math
from typing import Any

from pypto.dtypes import PACKED, DataType, bytes_of
from pypto.frontend.catalogue.elementwise import emit
from pypto.frontend.places import trace_error
from pypto.frontend.symbolic import static_int, to_expr
from pypto.frontend.tensor import Tensor
from pypto.frontend.tracing.tracer import require


def _parts() -> Any:
    from pypto.frontend.catalogue import operations

    return operations


def _row_bytes(elements: Any, dtype: DataType) -> Any:
    return elements // 2 if dtype in PACKED else elements * bytes_of(dtype)


def _elements(count: Any, dtype: DataType) -> Any:
    return count * 2 if dtype in PACKED else count // bytes_of(dtype)


def _rescaled(source: Tensor, extents: list[Any], dtype: DataType) -> list[Any]:
    """Extents with the last one in elements of the dtype."""
    last = extents[-1]
    if static_int(last) is not None and _row_bytes(int(last), source.dtype) % bytes_of(dtype):
        raise trace_error(
            ValueError, f"view(): the {last} elements of {bytes_of(source.dtype)} bytes in the last dim of "
            f"{source.describe()} are no whole number of {dtype.name}, of {bytes_of(dtype)} bytes each"
        )  # fmt: skip
    return [*extents[:-1], _elements(_row_bytes(last, source.dtype), dtype)]


def reinterpreted(source: Tensor, dtype: DataType) -> Tensor:
    """The bytes of the elements as another dtype; the last dim is rescaled, also its valid extent."""
    if any(static_int(extent) is None for extent in source.shape):
        return ReinterpretedTensor.of(source, dtype)
    if source.dtype == dtype:
        same: Tensor = _parts().view(source, list(source.shape), [0] * source.dim)
        return same
    if dtype == DataType.DT_BOOL:  # whatever is not 0 is true
        part = _parts().CATALOGUE
        raw = reinterpreted(source, DataType.DT_UINT8)
        truth: Tensor = part["logical_not"](part["logical_not"](raw))
        return truth
    shape, valid = _rescaled(source, list(source.shape), dtype), _rescaled(source, list(source.valid_shape), dtype)
    cells = _parts().reshape(source, [math.prod(source.static_shape("view(dtype=)"))])
    count = math.prod(shape) // (2 if dtype in PACKED else 1)
    read = _parts().reshape(emit("_bytes", [cells], dims=[count], dtype=int(dtype)), shape)
    whole = [static_int(extent) for extent in valid] == shape
    result: Tensor = _parts().view(read, shape, [0] * len(shape), valid_shape=None if whole else valid)
    return result


class ReinterpretedTensor(Tensor):
    """The bytes of a tensor with dynamic dims as another dtype; windows of it can be taken."""

    __slots__ = ("_as", "_under")
    _as: DataType
    _under: Tensor

    @classmethod
    def of(cls, source: Tensor, dtype: DataType) -> ReinterpretedTensor:
        """All of `source`, which cannot be written from here on."""
        if static_int(source.shape[-1]) is None:
            raise trace_error(
                ValueError, f"view(): dtype= needs a static last dim, which is rescaled, got {source.describe()}; "
                "take a slice first"
            )  # fmt: skip
        _rescaled(source, list(source.shape), dtype)
        made: ReinterpretedTensor = cls.make(require("view()"), source.use())  # type: ignore[assignment]
        made._under, made._as = source, dtype
        reason = f"a tensor that is viewed as {dtype.name} as a whole"
        source.forbid_writes(reason)
        made.forbid_writes(reason)
        return made

    @property
    def dtype(self) -> DataType:
        """The dtype that the bytes are read as."""
        return self._as

    def shape_exprs(self) -> list[int]:
        """Expressions of the extents."""
        extents = _rescaled(self._under, list(self._under.shape), self._as)
        return [to_expr(self._trace, extent, "view()") for extent in extents]

    valid_exprs = shape_exprs

    def use(self) -> int:
        """There is no operand of dynamic extents."""
        self.static_shape("an operation")
        raise AssertionError("a reinterpreted tensor of static extents")

    def window(self, extents: list[int], starts: list[Any], valid_shape: Any) -> Tensor:
        """A window of it: one of the tensor under it, reinterpreted."""
        old, new = self._under.dtype, self._as
        in_bytes = [_row_bytes(extents[-1], new), _row_bytes(starts[-1], new)]
        unit = bytes_of(old)
        known = static_int(in_bytes[1])
        if in_bytes[0] % unit or known is None or known % unit:
            raise trace_error(
                ValueError, f"view(): the last dim of a window of {new.name} over {old.name} begins and ends at static "
                f"multiples of {unit} bytes, got offset {in_bytes[1]} and extent {in_bytes[0]} in bytes"
            )  # fmt: skip
        under = _parts().view(
            self._under, [*extents[:-1], _elements(in_bytes[0], old)], [*starts[:-1], _elements(known, old)]
        )
        result = reinterpreted(under, new)
        if valid_shape is None:
            return result
        narrow: Tensor = _parts().view(result, extents, [0] * len(extents), valid_shape=valid_shape)
        return narrow
