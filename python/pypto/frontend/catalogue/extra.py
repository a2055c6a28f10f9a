"""Operations of the a5 platforms, random numbers, and those under `pypto.experimental`."""

from __future__ import annotations

import math
from typing import Any

from pypto.dtypes import DataType
from pypto.frontend.catalogue.arguments import to_dtype_argument, to_scalar, to_static_extents, to_tensor_argument
from pypto.frontend.catalogue.elementwise import add, cast_to, emit, exp, maximum, mul, sub
from pypto.frontend.catalogue.matrix import matmul
from pypto.frontend.catalogue.reductions import amax, sum
from pypto.frontend.places import trace_error
from pypto.frontend.symbolic import SymbolicScalar, as_int, static_int
from pypto.frontend.tensor import Tensor
from pypto.frontend.tracing.tracer import require


def interleave(x: Any, y: Any) -> tuple[Tensor, Tensor]:
    """x0 y0 x1 y1 ... along the last dim, as its first and its second half."""
    inputs = [to_tensor_argument(x, "interleave()"), to_tensor_argument(y, "interleave()")]
    return emit("_interleave", [*inputs, 0]), emit("_interleave", [*inputs, 1])


def deinterleave(x: Any, y: Any = None) -> tuple[Tensor, Tensor]:
    """Elements at even and at odd places of the last dim of x, or of x and y behind each other."""
    first = to_tensor_argument(x, "deinterleave()")
    if y is None:
        return emit("_deinterleave", [first, 1]), emit("_deinterleave", [first, 2])
    second = to_tensor_argument(y, "deinterleave()")
    return emit("_deinterleave_two", [first, second, 0]), emit("_deinterleave_two", [first, second, 1])


def _halves(value: Any) -> list[Any] | None:
    """The low and the high 32 bits of an int of 64 bits, or of a symbolic integer, which is not negative."""
    number = as_int(value)
    if number is not None:
        return [number & 0xFFFFFFFF, number >> 32 & 0xFFFFFFFF]
    return [value % (1 << 32), value // (1 << 32)] if isinstance(value, SymbolicScalar) else None


def _random(name: str, shape: Any, key: Any, counter: Any, alg: Any, dtype: Any) -> Tensor:
    what = f"{name}()"
    extents = to_static_extents(shape, what)
    words = list(counter) if isinstance(counter, list | tuple) else [counter]
    parts = (key, *words, 0) if len(words) == 1 else (key, *words)
    numbers = [half for part in parts for half in _halves(part) or ()]
    if len(parts) != 3 or len(numbers) != 6:
        raise trace_error(TypeError, f"{what}: key is an int, counter one or two (its low and its high 64 bits)")
    return emit(f"_{name}", numbers, dims=extents, dtype=int(to_dtype_argument(dtype, what)))


def uniform(shape: Any, key: Any, counter: Any, alg: Any = None, dtype: Any = DataType.DT_FP32) -> Tensor:
    """Philox4x32-10 numbers in [0, 1): element i is word i % 4 of the block at counter + i // 4."""
    return _random("uniform", shape, key, counter, alg, dtype)


def normal(shape: Any, key: Any, counter: Any, alg: Any = None, dtype: Any = DataType.DT_FP32) -> Tensor:
    """Standard normal numbers made of the same words in pairs, by Box and Muller."""
    return _random("normal", shape, key, counter, alg, dtype)


def transposed_batchmatmul(a: Any, b: Any, out_dtype: Any) -> Tensor:
    """[M, B, N]: the product of a [M, B, K] and b [B, K, N] for each index of the dim in the middle."""
    from pypto.frontend.catalogue.operations import transpose

    left = to_tensor_argument(a, "transposed_batchmatmul()")
    if left.dtype not in (DataType.DT_FP16, DataType.DT_BF16):
        raise trace_error(
            TypeError, f"transposed_batchmatmul(): dtype {left.dtype.name} is not supported; accepted: DT_FP16, DT_BF16"
        )
    product = matmul(transpose(left, 0, 1), b, out_dtype)
    result: Tensor = transpose(product, 0, 1)
    return result


def gather_in_ub(param: Any, indices: Any, block_table: Any, block_size: int, axis: int = -2) -> Tensor:
    """Rows of the paged tensor [..., width] under a view at logical indices, through a block table of one row.

    All dims but the last count rows, in row-major order. Index i is row `block_table[0, i // block_size] * block_size +
    i % block_size`; the result is [k, width].
    """
    return _gathered("gather_in_ub", param, indices, block_table, block_size, axis)


def _gathered(name: str, param: Any, indices: Any, block_table: Any, block_size: Any, axis: int) -> Tensor:
    from pypto.frontend.catalogue.operations import reshape, view

    what = f"{name}()"
    source, table = to_tensor_argument(param, what), to_tensor_argument(block_table, what)
    places = to_tensor_argument(indices, what)
    if source.dim < 2 or table.dim != 2 or axis not in (-2, source.dim - 2):
        raise trace_error(
            ValueError, f"{what}: expected a tensor of at least 2 dims, a block table of 2 dims, and axis -2, "
            f"got {source.describe()}, {table.describe()} and {axis}"
        )  # fmt: skip
    size = as_int(block_size)
    if not isinstance(block_size, SymbolicScalar) and (size is None or size < 1):
        raise trace_error(ValueError, f"{what}: block_size is a positive int or a symbolic integer, got {block_size!r}")
    count = math.prod(places.static_shape(what))
    pages = table.static_shape(what)[1]
    table = _as_index(reshape(view(table, [1, pages], [0, 0]), [pages]))
    width = source.static_shape(what)[-1]
    rows = _rows_under(source, width, what)
    result = emit(f"_{name}", [rows, _as_index(reshape(places, [count])), table, block_size], axis=0)
    valid = source.valid_shape[-1]
    if static_int(valid) == width:
        return result
    narrowed: Tensor = view(result, [count, width], [0, 0], valid_shape=[result.valid_shape[0], valid])
    return narrowed


def _as_index(x: Tensor) -> Tensor:
    return x if x.dtype in (DataType.DT_INT32, DataType.DT_INT64) else cast_to(x, DataType.DT_INT32)


# Rows of a window that covers a tensor of any number of them; what lies behind its end is padding.
_MOST_ROWS = 2**31 - 1


def _rows_under(source: Tensor, width: int, what: str) -> Tensor:
    """The tensor under a view as rows of the view's width."""
    from pypto.frontend.catalogue.operations import reshape, view

    base: Tensor = require(what).bases.get(source.id, source)
    columns = base.shape[-1]
    if base.dim != source.dim:
        base, columns = source, width
    rows: Any = 1
    for extent in base.shape[:-1]:
        rows = rows * extent
    known = static_int(rows)
    if base.dim > 2:
        base = reshape(base, [rows, columns], inplace=known is None)
    if base is source and known is not None:
        return source
    whole: Tensor = view(base, [_MOST_ROWS if known is None else known, width], [0, 0])
    return whole


def gather_in_l1(
    src: Any,
    indices: Any,
    block_table: Any,
    block_size: int,
    size: int,
    is_b_matrix: bool = False,
    is_trans: bool = False,
) -> Tensor:
    """The first `size` columns of the rows that `gather_in_ub` gives: [k, size], or [size, k] with `is_trans`."""
    from pypto.frontend.catalogue.operations import transpose, view

    rows = _gathered("gather_in_l1", src, indices, block_table, block_size, -2)
    count, width = rows.static_shape("gather_in_l1()")
    part = rows if size == width else view(rows, [count, size], [0, 0])
    result: Tensor = transpose(part, 0, 1) if is_trans else part
    return result


def online_softmax(scores: Any, scale: float) -> tuple[Tensor, Tensor, Tensor]:
    """(exp(scale * s - m) as BF16, its column maxima m [1, q], its column sums [1, q]) over dim 0 of FP32 scores."""
    source = emit("_online_softmax", [to_tensor_argument(scores, "online_softmax()")])
    scaled = mul(source, to_scalar(scale, "online_softmax(): scale"))
    largest = amax(scaled, 0, keepdim=True)
    weights = exp(sub(scaled, largest))
    return cast_to(weights, DataType.DT_BF16), largest, sum(weights, 0, keepdim=True)


def online_softmax_update(m0: Any, l0: Any, o0: Any, m1: Any, l1: Any, o1: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Maxima, sums and outputs of two blocks merged into one: (m, l, o)."""
    first = emit("_online_softmax", [to_tensor_argument(m0, "online_softmax_update()")])
    largest = maximum(first, m1)
    old, new = exp(sub(first, largest)), exp(sub(m1, largest))
    return largest, add(mul(l0, old), mul(l1, new)), add(mul(o0, old), mul(o1, new))


EXPLICIT: dict[str, Any] = {function.__name__: function for function in (deinterleave, interleave, normal, uniform)}
EXPERIMENTAL = {
    function.__name__: function
    for function in (gather_in_l1, gather_in_ub, online_softmax, online_softmax_update, transposed_batchmatmul)
}
