"""Convolutions, one matrix product per place of the kernel, added up in FP32."""

from __future__ import annotations

import itertools
import math
from typing import Any

from pypto.dtypes import DataType, is_float
from pypto.frontend.arguments import to_dtype_argument, to_static_extents, to_tensor_argument
from pypto.frontend.elementwise import ELEMENTWISE, add, cast_to, emit
from pypto.frontend.matrix import matmul
from pypto.frontend.movement import concat, index_select
from pypto.frontend.places import trace_error
from pypto.frontend.tensor import Tensor, declare


def _shapes() -> Any:
    from pypto.frontend import operations

    return operations


def conv(
    x: Any,
    w: Any,
    out_dtype: Any,
    strides: Any,
    paddings: Any,
    dilations: Any,
    *,
    groups: int = 1,
    transposed: bool = False,
    output_paddings: Any = None,
    extend_params: Any = None,
) -> Tensor:
    """A convolution over 1 to 3 dims: x [N, C, ...], w [O, C / groups, ...], accumulated in FP32, rounded once.

    `paddings`: one per dim, or two (before and behind it). `extend_params`: bias_tensor [O], relu_type.
    """
    source, kernel = to_tensor_argument(x, "conv()"), to_tensor_argument(w, "conv()")
    dtype = to_dtype_argument(out_dtype, "conv()")
    dims = source.dim - 2
    if transposed or output_paddings:
        raise trace_error(NotImplementedError, "conv(): transposed=True is not in this version")
    shape, taps = list(source.static_shape("conv()")), list(kernel.static_shape("conv()"))
    sound = 1 <= dims <= 3 and len(taps) == len(shape) and source.dtype == kernel.dtype and is_float(dtype)
    if not sound or not is_float(source.dtype) or shape[1] != taps[1] * groups or taps[0] % groups:
        raise trace_error(
            ValueError,
            "conv(): expected x [N, C, ...] and w [O, C / groups, ...] of one float dtype and 1 to 3 further dims, got "
            f"{source.describe()} and {kernel.describe()} with groups={groups}",
        )
    steps, spread = (to_static_extents(each, "conv()") for each in (strides, dilations))
    around = to_static_extents(paddings, "conv()")
    if len(around) == dims:
        around = [amount for amount in around for _ in range(2)]
    if len(around) != 2 * dims or len(steps) != dims or len(spread) != dims or min([*steps, *spread]) < 1:
        raise trace_error(ValueError, f"conv(): strides, paddings and dilations go with {dims} dims and are positive")
    padded = _padded(source, shape, around)
    sizes = [
        (shape[2 + i] + around[2 * i] + around[2 * i + 1] - spread[i] * (taps[2 + i] - 1) - 1) // steps[i] + 1
        for i in range(dims)
    ]
    if min(sizes) < 1:
        raise trace_error(ValueError, f"conv(): a kernel of {taps[2:]} does not fit {shape[2:]} with these paddings")
    parts = []
    for group in range(groups):
        patch = _channels(padded, 1, group * taps[1], taps[1])
        weights = _channels(kernel, 0, group * (taps[0] // groups), taps[0] // groups)
        parts.append(_one_group(patch, weights, sizes, steps, spread))
    product = parts[0] if groups == 1 else concat(parts, 1)
    options = dict(extend_params or {})
    if options.get("bias_tensor") is not None:
        bias = cast_to(to_tensor_argument(options["bias_tensor"], "conv()"), DataType.DT_FP32)
        product = add(product, _shapes().reshape(bias, [1, taps[0], 1]))
    if options.get("relu_type"):
        product = ELEMENTWISE["relu"](product)
    result: Tensor = _shapes().reshape(cast_to(product, dtype), [shape[0], taps[0], *sizes])
    return result


def _padded(source: Tensor, shape: list[int], around: list[int]) -> Tensor:
    if not any(around):
        return source
    larger = [*shape[:2], *(size + around[2 * i] + around[2 * i + 1] for i, size in enumerate(shape[2:]))]
    destination = declare(larger, source.dtype)
    destination.move(_shapes().full(larger, 0.0, source.dtype))
    _shapes().write_region(destination, source, [0, 0, *around[0::2]])
    return destination


def _channels(x: Tensor, dim: int, first: int, count: int) -> Tensor:
    shape = list(x.static_shape("conv()"))
    if shape[dim] == count:
        return x
    offsets = [first if each == dim else 0 for each in range(len(shape))]
    shape[dim] = count
    part: Tensor = _shapes().view(x, shape, offsets)
    return part


def _one_group(x: Tensor, w: Tensor, sizes: list[int], steps: list[int], spread: list[int]) -> Tensor:
    """[N, O, product of sizes] in FP32."""
    batch, channels, *extents = x.static_shape("conv()")
    count, _, *kernel = w.static_shape("conv()")
    total: Tensor | None = None
    for place in itertools.product(*(range(extent) for extent in kernel)):
        patch = x
        for i, tap in enumerate(place):
            first = tap * spread[i]
            if steps[i] > 1:
                where = emit("_arange", [first, steps[i]], dims=[sizes[i]], dtype=int(DataType.DT_INT32))
                patch = index_select(patch, 2 + i, where)
            elif sizes[i] != extents[i]:
                shape = list(patch.static_shape("conv()"))
                shape[2 + i] = sizes[i]
                patch = _shapes().view(patch, shape, [first if each == 2 + i else 0 for each in range(len(shape))])
        columns = _shapes().reshape(patch, [batch, channels, math.prod(sizes)])
        weights = _shapes().view(w, [count, channels, *[1] * len(kernel)], [0, 0, *place])
        matrix = _shapes().reshape(weights, [1, count, channels])
        product = matmul(matrix, columns, DataType.DT_FP32)
        total = product if total is None else add(total, product)
    assert total is not None
    return total


EXPLICIT = {"conv": conv}
