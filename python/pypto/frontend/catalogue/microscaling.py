"""Products and quantisation of microscaled tensors: FP8 or FP4 elements with one E8M0 scale for every 32 along an axis.

The formats and the choice of the scale are those of the OCP Microscaling Formats Specification 1.0.
"""

from __future__ import annotations

from typing import Any

from pypto.dtypes import DataType
from pypto.frontend.catalogue.arguments import to_dim, to_dtype_argument, to_tensor_argument
from pypto.frontend.catalogue.elementwise import ELEMENTWISE, cast_to, emit, floor_div, gt, mul, where
from pypto.frontend.catalogue.matrix import extended, extensions, matmul
from pypto.frontend.catalogue.movement import arange, index_select, is_whole, padded_to, with_valid
from pypto.frontend.catalogue.reductions import amax
from pypto.frontend.places import trace_error
from pypto.frontend.symbolic import ceildiv
from pypto.frontend.tensor import Tensor

BLOCK = 32  # elements that share one scale
FP32, E8M0 = DataType.DT_FP32, DataType.DT_FP8E8M0
# Exponent of the largest power of two that the dtype holds, and its largest value in units of that.
_LARGEST_EXPONENT = {DataType.DT_FP8E4M3: 8, DataType.DT_FP8E5M2: 15, DataType.DT_FP4_E2M1X2: 2}
_LARGEST_FRACTION = {DataType.DT_FP8E4M3: 1.75, DataType.DT_FP8E5M2: 1.75, DataType.DT_FP4_E2M1X2: 1.5}


def _shapes() -> Any:
    from pypto.frontend.catalogue import operations

    return operations


def _names() -> str:
    return ", ".join(dtype.name for dtype in _LARGEST_EXPONENT)


def _scaled(x: Any, scale: Any, along: int, swapped: bool, name: str) -> Tensor:
    """X in FP32 times the scale of its block along dim `along` (-1 or -2); the scale may come transposed."""
    source, factors = to_tensor_argument(x, "scaled_mm()"), to_tensor_argument(scale, "scaled_mm()")
    if source.dtype not in _LARGEST_EXPONENT or factors.dtype != E8M0:
        raise trace_error(
            TypeError, f"scaled_mm(): {name} is {_names()} and scale_{name} is DT_FP8E8M0, got {source.dtype.name} and "
            f"{factors.dtype.name}"
        )  # fmt: skip
    if swapped:
        factors = _shapes().transpose(factors, factors.dim - 2, factors.dim - 1)
    shape = list(source.static_shape("scaled_mm()"))
    expected = list(shape)
    expected[along] = -(-shape[along] // BLOCK)
    if list(factors.static_shape("scaled_mm()")) != expected:
        raise trace_error(
            ValueError, f"scaled_mm(): scale_{name} has one element for every {BLOCK} along K of {name}: expected "
            f"{expected} for {shape}, got {list(factors.static_shape('scaled_mm()'))}"
        )  # fmt: skip
    block = floor_div(arange(shape[along]), BLOCK)
    return mul(_shapes().cast(source, FP32), index_select(cast_to(factors, FP32), along, block))


def scaled_mm(
    a: Any,
    b: Any,
    out_dtype: Any,
    scale_a: Any,
    scale_b: Any,
    *,
    a_trans: bool = False,
    b_trans: bool = False,
    scale_a_trans: bool = False,
    scale_b_trans: bool = False,
    c_matrix_nz: bool = False,
    extend_params: Any = None,
) -> Tensor:
    """The product of FP8 or FP4 (E2M1) matrices whose elements count times 2^scale of their block of 32 along K.

    a [..., M, K] goes with scale_a [..., M, ceil(K / 32)], b [..., K, N] with scale_b [..., ceil(K / 32), N]. Each
    `*_trans` says that this tensor comes with its last two dims swapped. Accumulated in FP32 and rounded once.
    `extend_params`: bias_tensor [..., 1, N], relu_type.
    """
    if c_matrix_nz:
        raise trace_error(NotImplementedError, "scaled_mm(): c_matrix_nz=True is not supported")
    dtype = to_dtype_argument(out_dtype, "scaled_mm()")
    if dtype not in (FP32, DataType.DT_FP16, DataType.DT_BF16):
        raise trace_error(TypeError, f"scaled_mm(): out_dtype is DT_FP32, DT_FP16 or DT_BF16, got {dtype.name}")
    options = extensions(extend_params, "scaled_mm()", {"bias_tensor", "relu_type"})
    left = _scaled(a, scale_a, -2 if a_trans else -1, bool(a_trans) != bool(scale_a_trans), "a")
    right = _scaled(b, scale_b, -1 if b_trans else -2, bool(b_trans) != bool(scale_b_trans), "b")
    product = matmul(left, right, FP32, a_trans=a_trans, b_trans=b_trans)
    return extended(product, dtype, False, options)


def quant_mx(
    x: Any, quant_dtype: Any = DataType.DT_FP8E4M3, mode: Any = "ROUND_DOWN", axis: int = -1,
    performance_mode: bool = True,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """(q, scale): x / 2^scale in FP8 or FP4 (E2M1), and one E8M0 scale for every 32 elements along the axis.

    The exponent is floor(log2(largest magnitude of the block)) less that of the largest power of two of `quant_dtype`
    (OCP Microscaling 1.0, section 6.3), at least -127. The last block may be shorter. q is rounded half to even and
    clamped. A block with an infinity or a NaN has the scale NaN. `mode` is ROUND_DOWN, which names that floor, or
    ROUND_UP: the exponent is one more where the largest magnitude would be clamped. `performance_mode` has no effect.
    """
    source, dtype = to_tensor_argument(x, "quant_mx()"), to_dtype_argument(quant_dtype, "quant_mx()")
    if dtype not in _LARGEST_EXPONENT:
        raise trace_error(TypeError, f"quant_mx(): quant_dtype is {_names()}, got {dtype.name}")
    direction = "ROUND_DOWN" if mode == 0 else getattr(mode, "name", mode)
    if direction not in ("ROUND_DOWN", "ROUND_UP"):
        raise trace_error(NotImplementedError, f"quant_mx(): the mode is ROUND_DOWN or ROUND_UP, got {mode!r}")
    last, along = source.dim - 1, to_dim(axis, source.dim, "quant_mx()")
    wide = cast_to(source, FP32)
    turned = wide if along == last else _shapes().transpose(wide, along, last)
    shape = list(turned.static_shape("quant_mx()"))
    count = -(-shape[-1] // BLOCK)
    valid, is_padded = source.valid_shape, not is_whole(source)
    whole = turned
    if is_padded or shape[-1] % BLOCK:
        whole = padded_to(turned, [*shape[:-1], count * BLOCK])
    blocks = _shapes().reshape(whole, [*shape[:-1], count, BLOCK])
    largest = amax(ELEMENTWISE["abs"](blocks), -1, keepdim=True)
    power = emit("_power_below", [largest])
    if direction == "ROUND_UP":
        power = where(gt(largest, mul(power, _LARGEST_FRACTION[dtype])), mul(power, 2.0), power)
    scale = cast_to(mul(power, 2.0 ** -_LARGEST_EXPONENT[dtype]), E8M0)
    small = mul(blocks, ELEMENTWISE["reciprocal"](cast_to(scale, FP32)))
    flat = _shapes().reshape(small, [*shape[:-1], count * BLOCK])
    kept = flat if shape[-1] % BLOCK == 0 else _shapes().view(flat, shape, [0] * len(shape))
    scales = _shapes().reshape(scale, [*shape[:-1], count])
    if along != last:
        kept, scales = (_shapes().transpose(each, along, last) for each in (kept, scales))
    elements = _shapes().cast(kept, dtype, satmode=1)
    if not is_padded:
        return elements, scales
    in_blocks = [ceildiv(extent, BLOCK) if at == along else extent for at, extent in enumerate(valid)]
    return with_valid(elements, valid), with_valid(scales, in_blocks)


EXPLICIT: dict[str, Any] = {function.__name__: function for function in (quant_mx, scaled_mm)}
