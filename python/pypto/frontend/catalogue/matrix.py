"""Matrix products with what may follow them, and quantisation."""

from __future__ import annotations

from typing import Any

from pypto.dtypes import DataType, bytes_of, is_float
from pypto.frontend.catalogue.arguments import to_dim, to_dtype_argument, to_tensor_argument
from pypto.frontend.catalogue.elementwise import ELEMENTWISE, add, cast_to, emit, mul
from pypto.frontend.floats import is_number
from pypto.frontend.places import trace_error
from pypto.frontend.tensor import Tensor

_EXTENSIONS = {"bias_tensor", "scale", "scale_tensor", "relu_type", "trans_mode"}
_WIDE = (DataType.DT_INT64, DataType.DT_UINT64)
_RINT = 1


def matmul(
    a: Any,
    b: Any,
    out_dtype: Any,
    *,
    a_trans: bool = False,
    b_trans: bool = False,
    c_matrix_nz: bool = False,
    extend_params: Any = None,
) -> Tensor:
    """a @ b over the last two dims, accumulated in FP32 (INT32 for INT8) and rounded once to `out_dtype`.

    `extend_params`: bias_tensor [..., 1, N]; scale (a float) or scale_tensor (FP32 in the low bits of UINT64 or INT64)
    for INT8 -> FP16 and for any -> INT8; relu_type; trans_mode (FP32 inputs rounded to TF32).
    """
    if c_matrix_nz:
        raise trace_error(NotImplementedError, "matmul(): c_matrix_nz=True is not supported")
    left, right = to_tensor_argument(a, "matmul()"), to_tensor_argument(b, "matmul()")
    dtype = to_dtype_argument(out_dtype, "matmul()")
    options = extensions(extend_params, "matmul()", _EXTENSIONS)
    if options.get("trans_mode") and left.dtype == DataType.DT_FP32:
        left, right = emit("_to_tf32", [left]), emit("_to_tf32", [right])
    transposes = {"a_trans": bool(a_trans), "b_trans": bool(b_trans)}
    whole = left.dtype == DataType.DT_INT8
    scaled = dtype == DataType.DT_INT8 or (whole and dtype == DataType.DT_FP16)
    follows = any(options.get(name) for name in ("relu_type",)) or "bias_tensor" in options or scaled
    if not follows:
        if "scale" in options or "scale_tensor" in options:
            raise trace_error(
                ValueError, f"matmul(): a scale is for INT8 -> FP16 and for results of INT8, got {left.dtype.name} -> "
                f"{dtype.name}"
            )  # fmt: skip
        return emit("matmul", [left, right], dtype=int(dtype), **transposes)
    inner = DataType.DT_INT32 if whole else DataType.DT_FP32
    product = emit("matmul", [left, right], dtype=int(inner), **transposes)
    return extended(product, dtype, scaled, options)


def extensions(extend_params: Any, what: str, known: set[str]) -> dict[str, Any]:
    """The entries of `extend_params` that are given."""
    options = dict(extend_params or {})
    unknown = sorted(set(options) - known)
    if unknown:
        raise trace_error(ValueError, f"{what}: unknown extend_params {unknown}; known: {', '.join(sorted(known))}")
    return {name: value for name, value in options.items() if value is not None}


def extended(product: Tensor, dtype: DataType, scaled: bool, options: dict[str, Any]) -> Tensor:
    """Bias, scale, relu and the one rounding at the end."""
    if "bias_tensor" in options:
        bias = to_tensor_argument(options["bias_tensor"], "matmul()")
        product = add(product, cast_to(bias, product.dtype))
    if scaled:
        product = mul(cast_to(product, DataType.DT_FP32), scale_of(options, "matmul()"))
    if options.get("relu_type"):
        product = ELEMENTWISE["relu"](product)
    if dtype == DataType.DT_INT8:
        return cast_to(product, dtype, cast_mode=_RINT, saturate=True)
    return cast_to(product, dtype)


def scale_of(options: dict[str, Any], what: str) -> Any:
    """The number or the FP32 tensor that `extend_params` multiply with."""
    if "scale_tensor" in options:
        scale = to_tensor_argument(options["scale_tensor"], "matmul()")
        if scale.dtype not in _WIDE:
            raise trace_error(TypeError, f"{what}: scale_tensor is DT_UINT64 or DT_INT64, got {scale.dtype.name}")
        return emit("_scale_bits", [scale])
    return _ten_bits(float(options.get("scale", 1.0)))


def _ten_bits(value: float) -> float:
    """An FP32 whose significand keeps 10 bits."""
    import struct

    (bits,) = struct.unpack("<I", struct.pack("<f", value))
    (kept,) = struct.unpack("<f", struct.pack("<I", bits & 0xFFFFE000))
    return float(kept)


def matmul_operator(a: Any, b: Any) -> Tensor:
    """`a @ b`: the dtype of b, INT32 for INT8, FP32 for floats of 8 bits."""
    for each in (a, b):
        if is_number(each):
            raise trace_error(TypeError, "`@` multiplies matrices, one operand is a number. Instead: multiply with *")
    right = to_tensor_argument(b, "matmul()")
    dtype = DataType.DT_INT32 if right.dtype == DataType.DT_INT8 else right.dtype
    if is_float(dtype) and bytes_of(dtype) == 1:
        dtype = DataType.DT_FP32
    return matmul(a, right, dtype)


def _along(x: Tensor, scale: Any, axis: Any, what: str) -> Any:
    """A number, a tensor that broadcasts, or one of 1 dim laid along the axis."""
    from pypto.frontend.catalogue.operations import reshape

    if not isinstance(scale, Tensor) or scale.dim != 1 or x.dim == 1:
        return scale
    shape = [1] * x.dim
    shape[to_dim(axis, x.dim, what)] = scale.static_shape(what)[0]
    return reshape(scale, shape)


def quantize(x: Any, scale: Any, otype: Any, axis: int, zero_points: Any = None) -> Tensor:
    """round(x * scale) as INT8, or round(x * scale + zero_points) as UINT8, clamped."""
    source, dtype = to_tensor_argument(x, "quantize()"), to_dtype_argument(otype, "quantize()")
    expected = DataType.DT_INT8 if zero_points is None else DataType.DT_UINT8
    if source.dtype != DataType.DT_FP32 or dtype != expected:
        raise trace_error(TypeError, f"quantize(): FP32 to {expected.name}, got {source.dtype.name} to {dtype.name}")
    scaled = mul(source, _along(source, scale, axis, "quantize()"))
    if zero_points is not None:
        scaled = add(scaled, _floats(_along(source, zero_points, axis, "quantize()")))
    return cast_to(scaled, dtype, cast_mode=_RINT, saturate=True)


def _floats(value: Any) -> Any:
    return cast_to(value, DataType.DT_FP32) if isinstance(value, Tensor) else value


def dequantize(x: Any, scale: Any, otype: Any, axis: int, zero_points: Any = None) -> Tensor:
    """(x + zero_points) * scale in FP32, as `otype`."""
    source, dtype = to_tensor_argument(x, "dequantize()"), to_dtype_argument(otype, "dequantize()")
    if source.dtype not in (DataType.DT_INT8, DataType.DT_INT16) or not is_float(dtype):
        raise trace_error(TypeError, f"dequantize(): INT8 or INT16 to floats, got {source.dtype.name} to {dtype.name}")
    value = cast_to(source, DataType.DT_FP32)
    if zero_points is not None:
        value = add(value, _floats(_along(source, zero_points, axis, "dequantize()")))
    return cast_to(mul(value, _floats(_along(source, scale, axis, "dequantize()"))), dtype)


EXPLICIT: dict[str, Any] = {function.__name__: function for function in (dequantize, matmul, quantize)}
