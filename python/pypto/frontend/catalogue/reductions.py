"""Operations along dims: sums, extremes, running sums, norms, order."""

from __future__ import annotations

import enum
from typing import Any

from pypto.dtypes import DataType, is_float
from pypto.frontend.catalogue.arguments import to_dim, to_scalar, to_tensor_argument
from pypto.frontend.catalogue.elementwise import add, cast_to, div, emit, exp, mul, rsqrt, sub
from pypto.frontend.places import trace_error
from pypto.frontend.symbolic import static_int
from pypto.frontend.tensor import Tensor


def _reduction(name: str, x: Any, dim: Any, keepdim: bool) -> Tensor:
    source = to_tensor_argument(x, f"{name}()")
    return emit(name, [source], axis=to_dim(dim, source.dim, f"{name}()"), keepdim=bool(keepdim))


def sum(x: Any, dim: int, keepdim: bool = False) -> Tensor:  # noqa: A001
    """Sum along one dim, accumulated in FP32."""
    return _reduction("sum", x, dim, keepdim)


def prod(x: Any, dim: int, keepdim: bool = False) -> Tensor:
    """Product along one dim."""
    return _reduction("prod", x, dim, keepdim)


def amax(x: Any, dim: int, keepdim: bool = False) -> Tensor:
    """Largest value along one dim."""
    return _reduction("amax", x, dim, keepdim)


def amin(x: Any, dim: int, keepdim: bool = False) -> Tensor:
    """Smallest value along one dim."""
    return _reduction("amin", x, dim, keepdim)


def without_dims(x: Tensor, dims: list[int]) -> Tensor:
    """The tensor without dims of extent 1; the last one stays."""
    from pypto.frontend.catalogue.operations import reshape

    shape = [extent for dim, extent in enumerate(x.static_shape("reshape()")) if dim not in dims]
    return reshape(x, shape or [1])


def _first(name: str, x: Any, dim: Any, keepdim: bool) -> Tensor:
    source = to_tensor_argument(x, f"{name}()")
    axis = to_dim(dim, source.dim, f"{name}()")
    index = emit(f"_{name}", [source], axis=axis)
    return index if keepdim else without_dims(index, [axis])


def argmax(x: Any, dim: int = -1, keepdim: bool = False) -> Tensor:
    """Index of the first largest value along a dim, INT32; a NaN counts as the largest."""
    return _first("argmax", x, dim, keepdim)


def argmin(x: Any, dim: int = -1, keepdim: bool = False) -> Tensor:
    """Index of the first smallest value along a dim, INT32; a NaN counts as the smallest."""
    return _first("argmin", x, dim, keepdim)


def cumsum(x: Any, dim: int) -> Tensor:
    """Sum of all elements up to each one along a dim; integers give INT64."""
    source = to_tensor_argument(x, "cumsum()")
    return emit("_cumsum", [source], axis=to_dim(dim, source.dim, "cumsum()"))


def cumprod(x: Any, dim: int) -> Tensor:
    """Product of all elements up to each one along a dim."""
    source = to_tensor_argument(x, "cumprod()")
    return emit("_cumprod", [source], axis=to_dim(dim, source.dim, "cumprod()"))


def var(x: Any, dim: Any = None, correction: float = 1, keepdim: bool = False) -> Tensor:
    """Variance along one dim, several, or all; the divisor is max(0, N - correction)."""
    source = to_tensor_argument(x, "var()")
    rank = source.dim
    given = list(range(rank)) if dim is None else (list(dim) if isinstance(dim, list | tuple) else [dim])
    dims = sorted({to_dim(each, rank, "var()") for each in given})
    if not dims or not is_float(source.dtype):
        raise trace_error(TypeError, f"var(): expected a float tensor and at least one dim, got {source.describe()}")
    wide = cast_to(source, DataType.DT_FP32)
    count: Any = 1
    for each in dims:
        count = count * source.valid_shape[each]
    mean = div(_sum_over(wide, dims), count)
    centred = sub(wide, mean)
    squares = _sum_over(mul(centred, centred), dims)
    known = static_int(count)
    if known is not None:
        divisor: Any = float(max(0.0, known - correction))
    else:
        whole = static_int(correction)
        if whole is None:
            raise trace_error(TypeError, "var(): correction is an int where the number of elements is symbolic")
        divisor = (count - whole).max(0)
    result = cast_to(div(squares, divisor), source.dtype)
    return result if keepdim else without_dims(result, dims)


def _sum_over(x: Tensor, dims: list[int]) -> Tensor:
    for dim in dims:
        x = sum(x, dim, keepdim=True)
    return x


def softmax(x: Any, dim: int) -> Tensor:
    """exp(x - max) / sum along a dim, FP32."""
    source = to_tensor_argument(x, "softmax()")
    shifted = exp(sub(source, amax(source, dim, keepdim=True)))
    return div(shifted, sum(shifted, dim, keepdim=True))


def rms_norm(x: Any, gamma: Any = None, epsilon: float = 1e-6) -> Tensor:
    """X * rsqrt(mean(x * x) + epsilon) * gamma along the last dim, computed in FP32."""
    source = to_tensor_argument(x, "rms_norm()")
    wide = cast_to(source, DataType.DT_FP32)
    mean = div(sum(mul(wide, wide), -1, keepdim=True), source.valid_shape[-1])
    result = mul(wide, rsqrt(add(mean, to_scalar(epsilon, "rms_norm(): epsilon"))))
    if gamma is not None:
        result = mul(result, cast_to(to_tensor_argument(gamma, "rms_norm()"), DataType.DT_FP32))
    return cast_to(result, source.dtype)


class TopKAlgo(enum.IntEnum):
    """How `topk` may search; the result does not depend on it."""

    MERGE_SORT = 0


def topk(
    x: Any, k: int, dim: Any = None, largest: bool = True, algo: Any = TopKAlgo.MERGE_SORT
) -> tuple[Tensor, Tensor]:
    """The k largest or smallest values of the last dim in order, and their indices (INT32); of equals the first."""
    source = to_tensor_argument(x, "topk()")
    axis = source.dim - 1 if dim is None else to_dim(dim, source.dim, "topk()")
    if axis != source.dim - 1:
        raise trace_error(ValueError, f"topk(): dim {dim} is not the last one; use pypto.transpose before and after")
    inputs = [source, k, 1 if largest else 0]
    whole = [static_int(extent) for extent in source.valid_shape] == list(source.static_shape("topk()"))
    index = emit("_sorted_index", inputs, axis=axis)
    # The order is found once, where the values can be looked up.
    if is_float(source.dtype) and whole:
        return emit("_gather", [source, index], axis=axis), index
    return emit("_sorted", inputs, axis=axis), index


def argsort(x: Any, dim: Any = None, descending: bool = False) -> Tensor:
    """Indices that sort along a dim (the last one by default), INT32; equal elements keep their order."""
    source = to_tensor_argument(x, "argsort()")
    axis = source.dim - 1 if dim is None else to_dim(dim, source.dim, "argsort()")
    if axis == 0 and source.dim == 4:
        raise trace_error(ValueError, "argsort(): dim 0 of a tensor of 4 dims is not supported; use pypto.transpose")
    extent = source.static_shape("argsort()")[axis]
    return emit("_sorted_index", [source, extent, 1 if descending else 0], axis=axis)


EXPLICIT: dict[str, Any] = {
    function.__name__: function
    for function in (
        amax, amin, argmax, argmin, argsort, cumprod, cumsum, prod, rms_norm, softmax, sum, topk, var
    )
}  # fmt: skip
