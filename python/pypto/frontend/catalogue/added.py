"""Sums in a region of a tensor and in slices at indices."""

from __future__ import annotations

from typing import Any

from pypto.dtypes import PACKED, DataType, is_float
from pypto.frontend.catalogue import packed
from pypto.frontend.catalogue.arguments import to_dim, to_extents, to_tensor_argument
from pypto.frontend.catalogue.elementwise import add, emit
from pypto.frontend.catalogue.movement import Reach, update_in_place
from pypto.frontend.places import trace_error
from pypto.frontend.tensor import Tensor

# What `add` takes on every platform.
_ADDED = (DataType.DT_FP32, DataType.DT_FP16, DataType.DT_BF16, DataType.DT_INT16, DataType.DT_INT32)


def _shapes() -> Any:
    from pypto.frontend.catalogue import operations

    return operations


def atomic_add(src: Any, offsets: Any, dst: Any) -> None:
    """Adds src to the region of dst at offsets. Integers wrap; the sum of BOOL is whether either holds."""
    source, target = to_tensor_argument(src, "atomic_add()"), to_tensor_argument(dst, "atomic_add()")
    starts = to_extents(offsets, "atomic_add()")
    present = _shapes().view(target, list(source.static_shape("atomic_add()")), starts)
    _shapes().write_region(target, _sum_of(present, source), starts)


def _sum_of(a: Tensor, b: Tensor) -> Tensor:
    if a.dtype != b.dtype or a.dtype in _ADDED:
        return add(a, b)
    if a.dtype in PACKED:
        return packed.repacked(add(packed.unpacked(a), packed.unpacked(b)), a.dtype)
    return emit("_add_any", [a, b])


def _check_factor(what: str, target: Tensor, alpha: Any) -> None:
    """A float does not multiply integers."""
    if isinstance(alpha, float) and not is_float(target.dtype):
        raise trace_error(
            TypeError, f"{what}: float scalar incompatible with integer tensor dtype {target.dtype.name}; "
            f"alpha is {alpha}, give an int"
        )  # fmt: skip


def index_add(x: Any, dim: int, index: Any, src: Any, *, alpha: Any = 1) -> Tensor:
    """X with alpha * src added at indices along a dim; repeated indices accumulate."""
    target, indices = to_tensor_argument(x, "index_add()"), to_tensor_argument(index, "index_add()")
    _check_factor("index_add()", target, alpha)
    source, axis = to_tensor_argument(src, "index_add()"), to_dim(dim, target.dim, "index_add()")
    if target.dtype in PACKED and source.dtype == target.dtype:
        wide = index_add(packed.unpacked(target), axis, indices, packed.unpacked(source), alpha=alpha)
        return packed.repacked(wide, target.dtype)
    return emit("_index_add", [target, indices, source, alpha], axis=axis)


def index_add_(x: Any, dim: int, index: Any, src: Any, *, alpha: Any = 1) -> Tensor:
    """The same into x itself; returns x."""
    target, indices = to_tensor_argument(x, "index_add_()"), to_tensor_argument(index, "index_add_()")
    source, axis = to_tensor_argument(src, "index_add_()"), to_dim(dim, target.dim, "index_add_()")
    _check_factor("index_add_()", target, alpha)
    reach = Reach([axis], source.static_shape("index_add_()"))
    update_in_place(target, "_index_add", [indices, source, alpha], reach, axis=axis)
    return target


def index_add_ub(x: Any, dim: int, index: Any, src: Any, *, alpha: Any = 1) -> Tensor:
    """The same as `index_add`."""
    return index_add(x, dim, index, src, alpha=alpha)


def index_add__ub(x: Any, dim: int, index: Any, src: Any, *, alpha: Any = 1) -> Tensor:
    """The same as `index_add_`."""
    return index_add_(x, dim, index, src, alpha=alpha)


EXPLICIT: dict[str, Any] = {
    function.__name__: function for function in (atomic_add, index_add, index_add_, index_add__ub, index_add_ub)
}
