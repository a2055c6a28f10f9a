"""Convolutions: a matrix product with the cells that the kernel meets, or one channel by one, added up in FP32."""

from __future__ import annotations

import itertools
import math
from typing import Any

from pypto.dtypes import DataType
from pypto.frontend.catalogue.arguments import to_dtype_argument, to_static_extents, to_tensor_argument
from pypto.frontend.catalogue.declarations import declare
from pypto.frontend.catalogue.elementwise import ELEMENTWISE, add, cast_to, emit, mul
from pypto.frontend.catalogue.matrix import extensions, matmul, scale_of
from pypto.frontend.catalogue.movement import concat, index_select, is_whole, padded_to, with_valid
from pypto.frontend.places import trace_error
from pypto.frontend.symbolic import maximum
from pypto.frontend.tensor import Tensor

_FLOATS = (DataType.DT_FP32, DataType.DT_FP16, DataType.DT_BF16)
_TERMS = 512  # of one product: columns take that many times the memory of the cells of one channel


def _shapes() -> Any:
    from pypto.frontend.catalogue import operations

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

    `paddings`: one per dim, or two (before and behind it). `extend_params`: bias_tensor [O]; then scale (a float) or
    scale_tensor (FP32 in the low bits of UINT64 or INT64); then relu_type.
    With `transposed` it is the gradient of such a convolution in its input: w is [C, O / groups, ...], the result has
    (extent - 1) * stride - paddings + dilation * (taps - 1) + output_padding + 1 cells in each dim.
    """
    options = extensions(extend_params, "conv()", {"bias_tensor", "relu_type", "scale", "scale_tensor"})
    source, kernel = to_tensor_argument(x, "conv()"), to_tensor_argument(w, "conv()")
    dtype = to_dtype_argument(out_dtype, "conv()")
    dims = source.dim - 2
    shape, taps = list(source.static_shape("conv()")), list(kernel.static_shape("conv()"))
    sound = 1 <= dims <= 3 and len(taps) == len(shape) and source.dtype == kernel.dtype and dtype in _FLOATS
    channels = -1 if not sound else taps[0] if transposed else taps[1] * groups
    if not sound or source.dtype not in _FLOATS or shape[1] != channels or taps[0] % groups:
        layout = "[C, O / groups, ...]" if transposed else "[O, C / groups, ...]"
        raise trace_error(
            ValueError,
            f"conv(): expected x [N, C, ...] and w {layout} of one float dtype and 1 to 3 further dims, got "
            f"{source.describe()} and {kernel.describe()} with groups={groups}",
        )
    steps, spread = (to_static_extents(each, "conv()") for each in (strides, dilations))
    around = to_static_extents(paddings, "conv()")
    if len(around) == dims:
        around = [amount for amount in around for _ in range(2)]
    if len(around) != 2 * dims or len(steps) != dims or len(spread) != dims or min([*steps, *spread]) < 1:
        raise trace_error(ValueError, f"conv(): strides, paddings and dilations go with {dims} dims and are positive")
    further = _further(output_paddings, steps, spread) if transposed else None
    if output_paddings and not transposed:
        raise trace_error(ValueError, "conv(): output_paddings go with transposed=True")
    valid = None if is_whole(source) else source.valid_shape
    if valid is not None:
        source = padded_to(source, shape)
        extents = _valid_of(valid, taps[2:], steps, spread, around, further)
    result = _convolved(source, kernel, steps, spread, around, further, groups, options)
    result = cast_to(result, dtype)
    if valid is None:
        return result
    return with_valid(result, [valid[0], list(result.static_shape("conv()"))[1], *extents])


def _convolved(
    source: Tensor, kernel: Tensor, steps: list[int], spread: list[int], around: list[int],
    further: list[int] | None, groups: int, options: dict[str, Any],
) -> Tensor:  # fmt: skip
    """The convolution in FP32; transposed where there are amounts behind the result."""
    dims = len(steps)
    if further is not None:
        taps = list(kernel.static_shape("conv()"))
        around = _around_transposed(around, taps[2:], steps, spread, further)
        source, kernel, steps = _spaced(source, steps), _turned(kernel, groups), [1] * dims
    shape, taps = list(source.static_shape("conv()")), list(kernel.static_shape("conv()"))
    padded = _padded(source, shape, around)
    sizes = [
        (shape[2 + i] + around[2 * i] + around[2 * i + 1] - spread[i] * (taps[2 + i] - 1) - 1) // steps[i] + 1
        for i in range(dims)
    ]
    if min(sizes) < 1:
        raise trace_error(ValueError, f"conv(): a kernel of {taps[2:]} does not fit {shape[2:]} with these paddings")
    one_by_one = taps[1] == 1 and taps[0] == groups
    gather = _each_channel if one_by_one else _by_columns
    product = _extended(gather(padded, kernel, sizes, steps, spread, groups), taps[0], options)
    result: Tensor = _shapes().reshape(product, [shape[0], taps[0], *sizes])
    return result


def _valid_of(
    valid: list[Any], kernel: list[int], steps: list[int], spread: list[int], around: list[int],
    further: list[int] | None,
) -> list[Any]:  # fmt: skip
    """Extents of what the valid part and its paddings give."""
    found = []
    for i, (extent, step) in enumerate(zip(valid[2:], steps, strict=True)):
        reach, pads = spread[i] * (kernel[i] - 1), around[2 * i] + around[2 * i + 1]
        if further is None:
            found.append(maximum(0, extent + (pads - reach - 1 + step)) // step)
        else:
            found.append(maximum(0, (extent - 1) * step + (reach - pads + further[i] + 1)))
    return found


def _extended(product: Tensor, count: int, options: dict[str, Any]) -> Tensor:
    """Bias, scale and relu of [N, O, cells]; bias and a tensor of scales have one number for all, or one per output."""
    if "bias_tensor" in options:
        bias = to_tensor_argument(options["bias_tensor"], "conv()")
        product = add(product, _per_output(cast_to(bias, DataType.DT_FP32), count, "bias_tensor"))
    if "scale" in options or "scale_tensor" in options:
        scale = scale_of(options, "conv()")
        product = mul(product, _per_output(scale, count, "scale_tensor") if isinstance(scale, Tensor) else scale)
    return ELEMENTWISE["relu"](product) if options.get("relu_type") else product


def _per_output(x: Tensor, count: int, name: str) -> Tensor:
    amount = math.prod(x.static_shape("conv()"))
    if amount not in (1, count):
        raise trace_error(
            ValueError, f"conv(): {name} holds {amount} numbers; expected 1 or one for each of {count} outputs"
        )
    laid: Tensor = _shapes().reshape(x, [1, amount, 1])
    return laid


def _around_transposed(
    around: list[int], kernel: list[int], steps: list[int], spread: list[int], further: list[int]
) -> list[int]:
    """The paddings of the plain convolution of spaced cells; negative where cells are taken away."""
    result = []
    for i, taps in enumerate(kernel):
        reach = spread[i] * (taps - 1)
        result += [reach - around[2 * i], reach - around[2 * i + 1] + further[i] - (steps[i] - 1)]
    return result


def _further(output_paddings: Any, steps: list[int], spread: list[int]) -> list[int]:
    """Cells behind the result of a transposed convolution: fewer than the stride or the dilation."""
    amounts = to_static_extents(output_paddings or [0] * len(steps), "conv()")
    limits = [max(step, apart) for step, apart in zip(steps, spread, strict=True)]
    if len(amounts) != len(steps) or any(not 0 <= amount < most for amount, most in zip(amounts, limits, strict=False)):
        raise trace_error(
            ValueError, f"conv(): output_paddings are at least 0 and below the stride or the dilation {limits}, got "
            f"{amounts}"
        )  # fmt: skip
    return amounts


def _spaced(x: Tensor, steps: list[int]) -> Tensor:
    """`step - 1` zeros behind each cell."""
    for i, step in enumerate(steps):
        if step == 1:
            continue
        shape = list(x.static_shape("conv()"))
        before, extent, behind = math.prod(shape[: 2 + i]), shape[2 + i], math.prod(shape[3 + i :])
        zeros = _shapes().full([before, extent, step - 1, behind], 0.0, x.dtype)
        spaced = concat([_shapes().reshape(x, [before, extent, 1, behind]), zeros], 2)
        x = _shapes().reshape(spaced, [*shape[: 2 + i], extent * step, *shape[3 + i :]])
    return x


def _turned(w: Tensor, groups: int) -> Tensor:
    """[C, O / groups, ...] as [O, C / groups, ...], the places of the kernel in reverse order."""
    inputs, outputs, *kernel = w.static_shape("conv()")
    count = math.prod(kernel)
    flat = _shapes().reshape(w, [groups, inputs // groups, outputs, count])
    if count > 1:
        flat = index_select(flat, 3, emit("_arange", [count - 1, -1], dims=[count], dtype=int(DataType.DT_INT32)))
    swapped = _shapes().transpose(flat, 1, 2)
    turned: Tensor = _shapes().reshape(swapped, [groups * outputs, inputs // groups, *kernel])
    return turned


def _padded(source: Tensor, shape: list[int], around: list[int]) -> Tensor:
    """With zeros before and behind the dims after the second; negative amounts take cells away."""
    if min(around) < 0:
        starts = [0, 0, *(max(0, -amount) for amount in around[0::2])]
        ends = [0, 0, *(max(0, -amount) for amount in around[1::2])]
        shape = [size - start - end for size, start, end in zip(shape, starts, ends, strict=True)]
        if min(shape) < 1:
            raise trace_error(ValueError, "conv(): nothing is left of x by these paddings")
        source = _shapes().view(source, shape, starts)
        around = [max(0, amount) for amount in around]
    if not any(around):
        return source
    larger = [*shape[:2], *(size + around[2 * i] + around[2 * i + 1] for i, size in enumerate(shape[2:]))]
    destination = declare(larger, source.dtype)
    destination.move(_shapes().full(larger, 0.0, source.dtype))
    _shapes().write_region(destination, source, [0, 0, *around[0::2]])
    return destination


def _places(kernel: list[int]) -> list[tuple[int, ...]]:
    return list(itertools.product(*(range(extent) for extent in kernel)))


class _Patches:
    """The cells of x [_, _, ...] that the places of a kernel meet.

    Of every step-th cell there are as many tensors as steps, from which the places take windows.
    """

    def __init__(self, x: Tensor, sizes: list[int], steps: list[int], spread: list[int]) -> None:
        self._sizes, self._steps, self._spread = sizes, steps, spread
        self._phases: dict[tuple[int, ...], Tensor] = {(): x}

    def at(self, place: tuple[int, ...]) -> Tensor:
        """Of one place, [_, _, sizes]."""
        firsts = [tap * apart for tap, apart in zip(place, self._spread, strict=True)]
        phase = tuple(first % step for first, step in zip(firsts, self._steps, strict=True))
        x = self._phase(phase[::-1])
        starts = [first // step for first, step in zip(firsts, self._steps, strict=True)]
        extents = list(x.static_shape("conv()"))
        if extents[2:] == self._sizes:
            return x
        window: Tensor = _shapes().view(x, [*extents[:2], *self._sizes], [0, 0, *starts])
        return window

    def _phase(self, lasts: tuple[int, ...]) -> Tensor:
        """Every step-th cell of the last dims, the last one first."""
        if lasts not in self._phases:
            before, dim = self._phase(lasts[:-1]), len(self._steps) - len(lasts)
            step, extent = self._steps[dim], before.static_shape("conv()")[2 + dim]
            if step > 1:
                count = (extent - lasts[-1] + step - 1) // step
                where = emit("_arange", [lasts[-1], step], dims=[count], dtype=int(DataType.DT_INT32))
                before = index_select(before, 2 + dim, where)
            self._phases[lasts] = before
        return self._phases[lasts]


def _each_channel(
    x: Tensor, w: Tensor, sizes: list[int], steps: list[int], spread: list[int], groups: int
) -> Tensor:  # fmt: skip
    """[N, C, product of sizes] in FP32, of channels that do not mix: products of cells, added up place by place."""
    batch, channels = x.static_shape("conv()")[:2]
    kernel = list(w.static_shape("conv()"))[2:]
    weights = cast_to(_shapes().reshape(w, [channels, 1, math.prod(kernel)]), DataType.DT_FP32)
    patches = _Patches(x, sizes, steps, spread)
    total: Tensor | None = None
    for number, place in enumerate(_places(kernel)):
        patch = cast_to(patches.at(place), DataType.DT_FP32)
        weight = _shapes().view(weights, [channels, 1, 1], [0, 0, number])
        product = mul(patch, _shapes().reshape(weight, [1, channels, *[1] * len(sizes)]))
        total = product if total is None else add(total, product)
    assert total is not None
    result: Tensor = _shapes().reshape(total, [batch, channels, math.prod(sizes)])
    return result


def _by_columns(
    x: Tensor, w: Tensor, sizes: list[int], steps: list[int], spread: list[int], groups: int
) -> Tensor:  # fmt: skip
    """[N, O, product of sizes] in FP32: products of the kernel with the cells that it meets, as columns."""
    batch, channels, *extents = x.static_shape("conv()")
    count, inputs, *kernel = w.static_shape("conv()")
    taps, cells = math.prod(kernel), math.prod(sizes)
    weights = _shapes().reshape(w, [groups, count // groups, inputs * taps])
    products = 1 if groups > 1 else max(1, min(inputs, round(inputs * taps / _TERMS)))
    together = -(-inputs // products)
    total: Tensor | None = None
    for first in range(0, inputs, together):
        part = min(together, inputs - first)
        source = x if groups > 1 else _shapes().view(x, [batch, part, *extents], [0, first, *[0] * len(extents)])
        source = _shapes().reshape(source, [batch * part * groups, 1, *extents])
        columns = _columns(source, kernel, sizes, steps, spread)
        columns = _shapes().reshape(columns, [batch, groups, part * taps, cells])
        lines = _shapes().view(weights, [groups, count // groups, part * taps], [0, 0, first * taps])
        product = matmul(_shapes().reshape(lines, [1, groups, count // groups, part * taps]), columns, DataType.DT_FP32)
        total = product if total is None else add(total, product)
    assert total is not None
    result: Tensor = _shapes().reshape(total, [batch, count, cells])
    return result


def _columns(x: Tensor, kernel: list[int], sizes: list[int], steps: list[int], spread: list[int]) -> Tensor:
    """[rows, places of the kernel, ...] of x [rows, 1, ...]."""
    places, patches = _places(kernel), _Patches(x, sizes, steps, spread)
    if len(places) == 1:
        return patches.at(places[0])
    columns = declare([x.static_shape("conv()")[0], len(places), *sizes], x.dtype)
    for number, place in enumerate(places):
        _shapes().write_region(columns, patches.at(place), [0, number, *[0] * len(sizes)])
    return columns


EXPLICIT: dict[str, Any] = {"conv": conv}
