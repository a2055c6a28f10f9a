"""`atomic_add`: sums in a region of a tensor."""

from __future__ import annotations

from typing import Any

from pypto.dtypes import DataType
from pypto.frontend.catalogue.arguments import to_extents, to_tensor_argument
from pypto.frontend.catalogue.elementwise import add, cast_to
from pypto.frontend.tensor import Tensor


def _shapes() -> Any:
    from pypto.frontend.catalogue import operations

    return operations


def atomic_add(src: Any, offsets: Any, dst: Any) -> None:
    """Adds src to the region of dst at offsets."""
    source, target = to_tensor_argument(src, "atomic_add()"), to_tensor_argument(dst, "atomic_add()")
    starts = to_extents(offsets, "atomic_add()")
    present = _shapes().view(target, list(source.static_shape("atomic_add()")), starts)
    _shapes().write_region(target, _sum_of(present, source), starts)


# Integers that `add` does not take on every platform: INT16 and INT32 have the same sums modulo their width.
_NARROW = (DataType.DT_INT8, DataType.DT_UINT8)
_SAME_BITS = {DataType.DT_UINT16: DataType.DT_INT16, DataType.DT_UINT32: DataType.DT_INT32}


def _sum_of(a: Tensor, b: Tensor) -> Tensor:
    dtype = a.dtype
    if dtype != b.dtype or dtype not in (*_NARROW, *_SAME_BITS):
        return add(a, b)
    if dtype in _NARROW:
        return cast_to(add(cast_to(a, DataType.DT_INT16), cast_to(b, DataType.DT_INT16)), dtype)
    bits = [_shapes().view(each, dtype=_SAME_BITS[dtype]) for each in (a, b)]
    result: Tensor = _shapes().view(add(*bits), dtype=dtype)
    return result


EXPLICIT: dict[str, Any] = {"atomic_add": atomic_add}
