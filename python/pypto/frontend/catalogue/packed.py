"""Tensors of two elements in a byte: kernels see elements, the core stores bytes.

FP4 values are those of the OCP Microscaling Formats Specification 1.0 (E2M1: 0, 0.5, 1, 1.5, 2, 3, 4, 6 and their
negatives); E1M2 has the same layout with one bit of exponent and two of significand, and so the multiples of 0.25 up
to 1.75. There is no infinity and no NaN. INT4 is -8 .. 7 in two's complement. The first element of a pair lies in the
low half of its byte.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pypto.dtypes import PACKED, DataType
from pypto.frontend.places import trace_error
from pypto.frontend.symbolic import static_int

if TYPE_CHECKING:
    from pypto.frontend.tensor import Tensor
    from pypto.frontend.tracing.tracer import Trace

# Modes of `cast` (CastMode).
_ROUND, _FLOOR, _CEIL, _TRUNC, _ODD = 2, 3, 4, 5, 6

# Where the builder takes extents or offsets of a tensor: the argument that tells the dtype or the tensor, and those.
LISTS = {"declare": (1, (2,)), "slice": (0, (1, 2, 3)), "reshape": (0, (1, 2)), "assemble": (0, (2,))}


def _halved(trace: Trace, amounts: list[Any], known: bool) -> list[Any]:
    """With the last one counted in bytes; `known` says that they are ints rather than expressions."""
    if not amounts:
        return amounts
    last = amounts[-1] if known else trace.builder.expr_value(amounts[-1])
    if last is None or last % 2 and last != -1:
        what = "a symbolic one" if last is None else str(last)
        raise trace_error(
            ValueError,
            f"the last dim of an FP4 or INT4 tensor takes even extents and offsets, two elements to a byte, got {what}",
        )
    half = last if last == -1 else last // 2
    return [*amounts[:-1], half if known else trace.constant(half)]


def stored(trace: Trace, method: str, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Arguments of the builder for a tensor as the core stores it."""
    subject, lists = LISTS[method]
    dtype = arguments[subject] if method == "declare" else trace.builder.tensor_dtype(arguments[subject])
    if dtype not in PACKED:
        return arguments
    changed = list(arguments)
    for position in lists:
        known = position == 1 and method in ("slice", "reshape")
        changed[position] = _halved(trace, list(changed[position]), known)
    return tuple(changed)


def counted(trace: Trace, dtype: int, exprs: list[int]) -> list[int]:
    """Extents of the core as extents in elements."""
    if dtype not in PACKED:
        return exprs
    return [*exprs[:-1], trace.constant(2 * int(trace.builder.expr_value(exprs[-1]) or 0))]


def unpacked(x: Tensor) -> Tensor:
    """The elements of a packed tensor in INT32 or FP32."""
    return _cast(x, DataType.DT_INT32 if x.dtype == DataType.DT_INT4 else DataType.DT_FP32)


def repacked(x: Tensor, dtype: DataType) -> Tensor:
    """What was unpacked in the packed dtype again: INT4 wraps, FP4 is rounded to even and clamped."""
    return _cast(x, dtype)


def _cast(x: Tensor, dtype: DataType) -> Tensor:
    """Casts of packed tensors take one dim more than they have: of whole ones with five, leading dims are one."""
    part = _parts()
    shape = list(x.static_shape("cast()"))
    if x.dim < 5 or [static_int(extent) for extent in x.valid_shape] != shape:
        result: Tensor = part["cast"](x, dtype)
        return result
    flat = part["reshape"](x, [math.prod(shape[:-1]), shape[-1]])
    whole: Tensor = part["reshape"](part["cast"](flat, dtype), shape)
    return whole


def int4_widened(x: Any) -> Any:
    """The elements of an INT4 tensor in INT32."""
    from pypto.frontend.catalogue.reinterpreted import reinterpreted

    part = _parts()
    raw = part["cast"](reinterpreted(x, DataType.DT_UINT8), DataType.DT_INT32)
    shape = list(raw.static_shape("cast()"))
    halves = (part["bitwise_and"](raw, 15), part["floor_div"](raw, 16))
    codes = part["concat"]([part["reshape"](half, [*shape, 1]) for half in halves], len(shape))
    codes = part["reshape"](codes, [*shape[:-1], shape[-1] * 2])
    return codes - part["floor_div"](codes, 8) * 16


def int4_narrowed(x: Any, saturate: bool) -> Any:
    """An INT32 tensor as INT4: the low four bits, or clamped to -8 .. 7."""
    from pypto.frontend.catalogue.reinterpreted import reinterpreted

    part = _parts()
    shape = list(x.static_shape("cast()"))
    if shape[-1] % 2:
        raise trace_error(ValueError, f"cast(): the last dim of an INT4 tensor is even, got {shape}")
    number = part["clip"](x, -8, 7) if saturate else x
    low, high = _halves(part["bitwise_and"](number, 15), shape)
    return reinterpreted(part["cast"](low + high * 16, DataType.DT_UINT8), DataType.DT_INT4)


def _halves(codes: Any, shape: list[int]) -> list[Any]:
    """Elements at even and at odd places of the last dim."""
    part = _parts()
    pairs = part["reshape"](codes, [*shape[:-1], shape[-1] // 2, 2])
    return [
        part["reshape"](
            part["view"](pairs, [*shape[:-1], shape[-1] // 2, 1], [0] * len(shape) + [place]),
            [*shape[:-1], shape[-1] // 2],
        )
        for place in (0, 1)
    ]


def _parts() -> Any:
    from pypto.frontend.catalogue import operations

    return operations.CATALOGUE


def widened(x: Any) -> Any:
    """The elements of an FP4 tensor in FP32."""
    from pypto.frontend.catalogue.elementwise import emit

    part = _parts()
    pairs = emit("cast", [x], dtype=int(DataType.DT_FP32))
    shape = list(pairs.static_shape("cast()"))
    high = part["floor"](part["mul"](pairs, 0.0625))
    codes = part["concat"]([part["reshape"](half, [*shape, 1]) for half in (pairs - high * 16.0, high)], len(shape))
    codes = part["reshape"](codes, [*shape[:-1], shape[-1] * 2])
    signs = part["floor"](codes * 0.125)
    magnitudes = codes - signs * 8.0
    if x.dtype == DataType.DT_FP4_E1M2X2:
        values = magnitudes * 0.25
    else:
        # Piecewise linear: steps of 0.5 up to 2, of 1 up to 4, of 2 up to 6.
        values = part["maximum"](magnitudes * 0.5, part["maximum"](magnitudes - 2.0, magnitudes * 2.0 - 8.0))
    return values * (1.0 - signs * 2.0)


def narrowed(x: Any, dtype: DataType, mode: int = 0) -> Any:
    """An FP32 tensor as FP4, rounded by a mode of `cast` and clamped to the largest value; NaN becomes 0."""
    from pypto.frontend.catalogue.elementwise import emit

    part = _parts()
    shape = list(x.static_shape("cast()"))
    if shape[-1] % 2:
        raise trace_error(ValueError, f"cast(): the last dim of an FP4 tensor is even, got {shape}")
    number = part["where"](part["isnan"](x), 0.0, x)
    magnitude = part["minimum"](part["abs"](number), 1.75 if dtype == DataType.DT_FP4_E1M2X2 else 6.0)
    negative = part["cast"](part["signbit"](number), DataType.DT_FP32)
    codes = _codes(magnitude, negative, dtype, mode) + negative * 8.0
    low, high = _halves(codes, shape)
    return emit("cast", [low + high * 16.0], dtype=int(dtype))


def _codes(magnitude: Any, negative: Any, dtype: DataType, mode: int) -> Any:
    """Codes without sign of magnitudes up to the largest value."""
    part = _parts()

    def stepped(whole: Any) -> Any:
        """Codes, given how places between two codes become one of them."""
        if dtype == DataType.DT_FP4_E1M2X2:
            return whole(magnitude * 4.0)
        # The steps of 0.5, 1 and 2, of which the coarsest that reaches here counts least.
        middle, coarse = whole(magnitude) + 2.0, whole(magnitude * 0.5) + 4.0
        return part["minimum"](whole(magnitude * 2.0), part["minimum"](middle, coarse))

    def half_away(y: Any) -> Any:
        below = part["floor"](y)
        return below + part["cast"](part["ge"](y - below, 0.5), DataType.DT_FP32)

    if mode == _ROUND:
        return stepped(half_away)
    if mode not in (_FLOOR, _CEIL, _TRUNC, _ODD):
        return stepped(part["round"])
    below = stepped(part["floor"])
    if mode == _TRUNC:
        return below
    above = stepped(part["ceil"])
    if mode == _ODD:
        odd = part["remainder"](below, 2.0)
        return below * odd + above * (1.0 - odd)
    outward = negative if mode == _FLOOR else 1.0 - negative
    return below + (above - below) * outward
