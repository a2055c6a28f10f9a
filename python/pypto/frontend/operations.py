"""The operations of the kernel language; element-wise ones are made from the core's table of operations."""
# ruff: noqa: D105, D107

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any, TypeVar

from pypto import _core
from pypto.dtypes import DataType
from pypto.frontend.arguments import (
    Element,
    to_dim,
    to_dtype_argument,
    to_extents,
    to_number_operand,
    to_operand,
    to_static_extents,
    to_tensor_argument,
)
from pypto.frontend.places import trace_error
from pypto.frontend.symbolic import as_int, static_int, to_expr
from pypto.frontend.tensor import Tensor, make
from pypto.frontend.tracer import require


class CastMode(enum.IntEnum):
    """How `cast` rounds; CAST_NONE truncates floats to integers and rounds to even otherwise."""

    CAST_NONE = 0
    CAST_RINT = 1
    CAST_ROUND = 2
    CAST_FLOOR = 3
    CAST_CEIL = 4
    CAST_TRUNC = 5
    CAST_ODD = 6


class SaturationMode(enum.IntEnum):
    """What `cast` does with values outside of an integer dtype: OFF wraps the bits, ON clamps."""

    OFF = 0
    ON = 1


_Function = TypeVar("_Function", bound=Callable[..., Any])


def _emit(name: str, inputs: list[Any], **attributes: Any) -> Tensor:
    trace = require(f"{name}()")
    operands = [to_operand(trace, value, f"{name}()") for value in inputs]
    return make(trace, trace.build("op", name, operands, attributes))


def _unary(name: str, doc: str) -> Callable[[Any], Tensor]:
    def operation(x: Any) -> Tensor:
        return _emit(name, [to_tensor_argument(x, f"{name}()")])

    return _named(operation, name, doc)


# What a number on the left of these becomes: x + y = y + x and so on.
_COMMUTATIVE = {"add", "mul", "maximum", "minimum"}


def _binary(name: str, doc: str) -> Callable[[Any, Any], Tensor]:
    def operation(x: Any, y: Any) -> Tensor:
        if isinstance(x, Tensor):
            return _emit(name, [x, y])
        to_operand(require(f"{name}()"), x, f"{name}()")
        other = to_tensor_argument(y, f"{name}()")
        if name in _COMMUTATIVE:
            return _emit(name, [other, x])
        if name == "sub":
            return neg(_emit("sub", [other, x]))
        if name == "div":
            return mul(reciprocal(other), x)
        return _emit(name, [x, other])

    return _named(operation, name, doc)


def _named(operation: _Function, name: str, doc: str) -> _Function:
    operation.__name__ = operation.__qualname__ = name
    operation.__doc__ = doc
    return operation


_MAKERS: dict[str, Callable[[str, str], Any]] = {"unary": _unary, "binary": _binary}
ELEMENTWISE: dict[str, Any] = {row[1]: _MAKERS[row[2]](row[1], row[5]) for row in _core.OPERATIONS if row[2] in _MAKERS}
add: Callable[[Any, Any], Tensor] = ELEMENTWISE["add"]
sub: Callable[[Any, Any], Tensor] = ELEMENTWISE["sub"]
mul: Callable[[Any, Any], Tensor] = ELEMENTWISE["mul"]
div: Callable[[Any, Any], Tensor] = ELEMENTWISE["div"]
maximum: Callable[[Any, Any], Tensor] = ELEMENTWISE["maximum"]
minimum: Callable[[Any, Any], Tensor] = ELEMENTWISE["minimum"]
neg: Callable[[Any], Tensor] = ELEMENTWISE["neg"]
exp: Callable[[Any], Tensor] = ELEMENTWISE["exp"]
reciprocal: Callable[[Any], Tensor] = ELEMENTWISE["reciprocal"]


def __getattr__(name: str) -> Any:
    """The other element-wise operations of the table."""
    if name in ELEMENTWISE:
        return ELEMENTWISE[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


# Matrix product, reductions, conversions.


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
    """a @ b over the last two dims, accumulated in FP32 (INT32 for INT8) and rounded once to `out_dtype`."""
    if c_matrix_nz:
        raise trace_error(NotImplementedError, "matmul(): c_matrix_nz=True is not supported")
    if extend_params:
        raise trace_error(NotImplementedError, "matmul(): extend_params is not in this version; use add and maximum")
    operands = [to_tensor_argument(a, "matmul()"), to_tensor_argument(b, "matmul()")]
    dtype = int(to_dtype_argument(out_dtype, "matmul()"))
    return _emit("matmul", operands, dtype=dtype, a_trans=bool(a_trans), b_trans=bool(b_trans))


def matmul_operator(a: Any, b: Any) -> Tensor:
    """`a @ b`: the dtype of b, INT32 for INT8."""
    right = to_tensor_argument(b, "matmul()")
    dtype = DataType.DT_INT32 if right.dtype == DataType.DT_INT8 else right.dtype
    return matmul(a, right, dtype)


def _reduction(name: str, x: Any, dim: Any, keepdim: bool) -> Tensor:
    source = to_tensor_argument(x, f"{name}()")
    return _emit(name, [source], axis=to_dim(dim, source.dim, f"{name}()"), keepdim=bool(keepdim))


def sum(x: Any, dim: int, keepdim: bool = False) -> Tensor:  # noqa: A001
    """Sum along one dim, accumulated in FP32."""
    return _reduction("sum", x, dim, keepdim)


def amax(x: Any, dim: int, keepdim: bool = False) -> Tensor:
    """Largest value along one dim."""
    return _reduction("amax", x, dim, keepdim)


def amin(x: Any, dim: int, keepdim: bool = False) -> Tensor:
    """Smallest value along one dim."""
    return _reduction("amin", x, dim, keepdim)


def cast(x: Any, dtype: Any, mode: Any = CastMode.CAST_NONE, satmode: Any = SaturationMode.OFF) -> Tensor:
    """Conversion to another dtype."""
    attributes = {"cast_mode": int(CastMode(mode)), "saturate": bool(SaturationMode(satmode))}
    number = int(to_dtype_argument(dtype, "cast()"))
    return _emit("cast", [to_tensor_argument(x, "cast()")], dtype=number, **attributes)


def clone(x: Any) -> Tensor:
    """A copy."""
    return _emit("clone", [to_tensor_argument(x, "clone()")])


def transpose(x: Any, dim0: int, dim1: int) -> Tensor:
    """Two dims swapped."""
    source = to_tensor_argument(x, "transpose()")
    first, second = (to_dim(dim, source.dim, "transpose()") for dim in (dim0, dim1))
    return _emit("transpose", [source], dim0=first, dim1=second)


# Tensors of one value.


def full(size: Any, value: Any, dtype: Any, *, valid_shape: Any = None) -> Tensor:
    """A tensor of one value."""
    trace = require("full()")
    shape = to_static_extents(size, "full()")
    operand = to_number_operand(trace, value, "full()")
    if operand is None:
        raise trace_error(TypeError, f"full(): expected a number as value, got {type(value).__name__}")
    if isinstance(value, Element) and value.dtype != to_dtype_argument(dtype, "full()"):
        raise trace_error(TypeError, f"full(): {value!r} does not fit {to_dtype_argument(dtype, 'full()').name}")
    valid = _valid_exprs(valid_shape, "full()")
    return make(trace, trace.build("fill", operand, int(to_dtype_argument(dtype, "full()")), shape, valid))


def _filled(what: str, size: tuple[Any, ...], dtype: Any, value: int) -> Tensor:
    shape = size[0] if len(size) == 1 and as_int(size[0]) is None else list(size)
    return full(shape, value, DataType.DT_FP32 if dtype is None else to_dtype_argument(dtype, what))


def zeros(*size: Any, dtype: Any = None) -> Tensor:
    """A tensor of zeros, FP32 unless said otherwise."""
    return _filled("zeros()", size, dtype, 0)


def ones(*size: Any, dtype: Any = None) -> Tensor:
    """A tensor of ones, FP32 unless said otherwise."""
    return _filled("ones()", size, dtype, 1)


# Shapes and windows.


def _valid_exprs(valid_shape: Any, what: str) -> list[int]:
    if valid_shape is None:
        return []
    trace = require(what)
    return [to_expr(trace, extent, what) for extent in to_extents(valid_shape, what)]


def reshape(x: Any, shape: Any, *, valid_shape: Any = None, inplace: bool = False) -> Tensor:
    """The same elements in row-major order in another shape; one entry may be -1."""
    source = to_tensor_argument(x, "reshape()")
    trace = require("reshape()")
    extents = to_extents(shape, "reshape()")
    if inplace:
        if valid_shape is not None:
            raise trace_error(ValueError, "reshape(): valid_shape goes with inplace=False")
        return source.reshaped_in_place(
            [extent if static_int(extent) is None else static_int(extent) for extent in extents]
        )
    if any(static_int(extent) is None for extent in extents):
        raise trace_error(ValueError, "reshape() requires integer shape when using non-inplace reshape")
    source.static_shape("reshape()")
    valid = _valid_exprs(valid_shape, "reshape()")
    return make(trace, trace.build("reshape", source.use(), [static_int(e) for e in extents], valid))


def unsqueeze(x: Any, dim: int) -> Tensor:
    """A new dim of extent 1 in front of `dim`."""
    source = to_tensor_argument(x, "unsqueeze()")
    shape = list(source.static_shape("unsqueeze()"))
    shape.insert(to_dim(dim, len(shape) + 1, "unsqueeze()"), 1)
    return reshape(source, shape)


def view(x: Any, shape: Any = None, offsets: Any = None, *, valid_shape: Any = None, dtype: Any = None) -> Tensor:
    """A window of static extent at offsets that may be symbolic; past the end of x it is padding."""
    source = to_tensor_argument(x, "view()")
    trace = require("view()")
    if dtype is not None:
        raise trace_error(NotImplementedError, "view(dtype=) is not in this version; use pypto.cast")
    if shape is None:
        raise trace_error(TypeError, "view(): missing the shape of the window")
    rank = source.dim
    extents = to_static_extents(shape, "view()")
    starts = [0] * rank if offsets is None else to_extents(offsets, "view()")
    for name, given in (("shape", extents), ("offsets", starts)):
        if len(given) != rank:
            raise trace_error(ValueError, f"view(): {name} has {len(given)} entries for a tensor of {rank} dims")
    valid = _valid_exprs(valid_shape, "view()")
    if valid and len(valid) != rank:
        raise trace_error(ValueError, f"view(): valid_shape has {len(valid)} entries for a tensor of {rank} dims")
    exprs = [to_expr(trace, start, "view()") for start in starts]
    return make(trace, trace.build("slice", source.use(), extents, exprs, valid))


def assemble(src: Any, offsets: Any = None, dst: Any = None, parallel: bool = False) -> None:
    """Writes valid parts into dst: `assemble(src, offsets, dst)` or `assemble([(src, offsets), ...], dst)`.

    With `parallel=True` the caller says that the parts do not overlap; the order is kept all the same.
    """
    if isinstance(src, list | tuple):
        target, pairs = (offsets if dst is None else dst), list(src)
    else:
        target, pairs = dst, [(src, offsets)]
    destination = to_tensor_argument(target, "assemble()")
    for part, starts in pairs:
        source = to_tensor_argument(part, "assemble()")
        source.static_shape("Assemble: shape of src tensor requires integer")
        write_region(destination, source, to_extents(starts, "assemble()"))


def write_region(destination: Tensor, source: Tensor, starts: list[Any]) -> None:
    """Writes the valid part of source at the starts; ranks and dtypes are equal."""
    trace = require("assemble()")
    if len(starts) != destination.dim:
        raise trace_error(ValueError, f"assemble(): {len(starts)} offsets for a tensor of {destination.dim} dims")
    exprs = [to_expr(trace, start, "assemble()") for start in starts]
    source_id = source.use()
    trace.build("assemble", destination.writable(), source_id, exprs)


# Operations made of others.


def relu(x: Any) -> Tensor:
    """max(x, 0)."""
    return maximum(to_tensor_argument(x, "relu()"), 0)


def _float_only(x: Any, what: str) -> Tensor:
    source = to_tensor_argument(x, what)
    if source.dtype != DataType.DT_FP32:
        raise trace_error(TypeError, f"{what}: expected DT_FP32, got {source.dtype.name}; use pypto.cast")
    return source


def sigmoid(x: Any) -> Tensor:
    """1 / (1 + exp(-x)), FP32."""
    return reciprocal(add(exp(neg(_float_only(x, "sigmoid()"))), 1.0))


def softmax(x: Any, dim: int) -> Tensor:
    """exp(x - max) / sum along a dim, FP32."""
    source = _float_only(x, "softmax()")
    shifted = exp(sub(source, amax(source, dim, keepdim=True)))
    return div(shifted, sum(shifted, dim, keepdim=True))
