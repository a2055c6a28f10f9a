"""The operations of the kernel language: conversions, fills and views here, the others in modules by kind."""
# ruff: noqa: D105, D107

from __future__ import annotations

import enum
import math
from typing import Any

from pypto.dtypes import PACKED, DataType
from pypto.frontend.catalogue import (
    added,
    convolution,
    elementwise,
    extra,
    matrix,
    microscaling,
    movement,
    packed,
    reductions,
)
from pypto.frontend.catalogue.arguments import (
    Element,
    to_dim,
    to_dtype_argument,
    to_extents,
    to_number_operand,
    to_static_extents,
    to_tensor_argument,
)
from pypto.frontend.catalogue.declarations import make
from pypto.frontend.catalogue.elementwise import ELEMENTWISE, cast_to, emit
from pypto.frontend.catalogue.ranks import limited
from pypto.frontend.catalogue.reinterpreted import ReinterpretedTensor, reinterpreted
from pypto.frontend.catalogue.tensor_methods import TensorMethods
from pypto.frontend.kernels.arrays import kind_name
from pypto.frontend.places import trace_error
from pypto.frontend.symbolic import as_int, static_int, to_expr
from pypto.frontend.tensor import Tensor
from pypto.frontend.tracing.tracer import require


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


def _member(kind: type[enum.IntEnum], value: Any, what: str) -> enum.IntEnum:
    try:
        return kind[value] if isinstance(value, str) else kind(value)
    except (KeyError, ValueError):
        names = ", ".join(f"{kind.__name__}.{name}" for name in kind.__members__)
        raise trace_error(ValueError, f"cast(): {what} is one of {names}, got {value!r}") from None


def cast(x: Any, dtype: Any, mode: Any = CastMode.CAST_NONE, satmode: Any = SaturationMode.OFF) -> Tensor:
    """Conversion to another dtype. FP4 results are clamped to the largest value."""
    rounding, saturation = _member(CastMode, mode, "mode"), _member(SaturationMode, satmode, "satmode")
    attributes = {"cast_mode": int(rounding), "saturate": bool(saturation)}
    number = int(to_dtype_argument(dtype, "cast()"))
    source = to_tensor_argument(x, "cast()")
    if source.dtype == number or (source.dtype not in PACKED and number not in PACKED):
        return emit("cast", [source], dtype=number, **attributes)
    if source.dtype == DataType.DT_INT4:
        return cast(packed.int4_widened(source), DataType(number), mode, satmode)
    if number == DataType.DT_INT4:
        wide = packed.widened(source) if source.dtype in PACKED else source
        whole: Tensor = packed.int4_narrowed(cast(wide, DataType.DT_INT32, mode, satmode), bool(attributes["saturate"]))
        return whole
    wide = packed.widened(source) if source.dtype in PACKED else cast_to(source, DataType.DT_FP32)
    if number in PACKED:
        narrow: Tensor = packed.narrowed(wide, DataType(number), int(rounding))
        return narrow
    return cast_to(wide, DataType(number), **attributes)


def clone(x: Any) -> Tensor:
    """A copy."""
    return emit("clone", [to_tensor_argument(x, "clone()")])


def transpose(x: Any, d0: int, d1: int) -> Tensor:
    """Two dims swapped."""
    source = to_tensor_argument(x, "transpose()")
    first, second = (to_dim(dim, source.dim, "transpose()") for dim in (d0, d1))
    return emit("transpose", [source], dim0=first, dim1=second)


# Tensors of one value.


def full(size: Any, value: Any, dtype: Any, *, valid_shape: Any = None) -> Tensor:
    """A tensor of one value."""
    trace = require("full()")
    shape = to_static_extents(size, "full()")
    operand = to_number_operand(trace, value, "full()")
    if operand is None:
        raise trace_error(TypeError, f"full(): expected a number as value, got {kind_name(value)}")
    if isinstance(value, Element) and value.dtype != to_dtype_argument(dtype, "full()"):
        raise trace_error(TypeError, f"full(): {value!r} does not fit {to_dtype_argument(dtype, 'full()').name}")
    target = to_dtype_argument(dtype, "full()")
    if target in PACKED and len(shape) > 4:  # casts of them take one dim more
        flat = reshape(full([math.prod(shape[:-1]), shape[-1]], value, target), shape)
        return flat if valid_shape is None else view(flat, shape, [0] * len(shape), valid_shape=valid_shape)
    if target in PACKED:
        given = value.value if isinstance(value, Element) else value
        wide = DataType.DT_INT32 if target == DataType.DT_INT4 else DataType.DT_FP32
        return cast(full(shape, given, wide, valid_shape=valid_shape), target)
    valid = _valid_exprs(valid_shape, "full()")
    return make(trace, trace.build("fill", operand, int(target), shape, valid))


def _filled(what: str, size: tuple[Any, ...], dtype: Any, value: int) -> Tensor:
    if dtype is None and size and isinstance(size[-1], DataType):
        name = size[-1].name
        raise trace_error(TypeError, f"{what}: extents are ints, got {name}. Instead: give it as dtype=pypto.{name}")
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
    """A window of static extent at offsets that may be symbolic; past the end of x it is padding.

    `view(x, dtype=dt)` is all of x with its bytes read as another dtype; the last dim is rescaled.
    """
    source = to_tensor_argument(x, "view()")
    trace = require("view()")
    if dtype is not None:
        if shape is not None or offsets is not None or valid_shape is not None:
            raise trace_error(TypeError, "view(): dtype= stands alone; take the window before or after it")
        return reinterpreted(source, to_dtype_argument(dtype, "view()"))
    if shape is None:
        raise trace_error(TypeError, "view(): missing the shape of the window")
    rank = source.dim
    extents = to_static_extents(shape, "view()")
    starts = [0] * rank if offsets is None else to_extents(offsets, "view()")
    for name, given in (("shape", extents), ("offsets", starts)):
        if len(given) != rank:
            text = f"view(): {name} has {len(given)} entries for a tensor of {rank} dims (rank mismatch)"
            raise trace_error(ValueError, text)
    valid = _valid_exprs(valid_shape, "view()")
    if valid and len(valid) != rank:
        text = f"view(): valid_shape has {len(valid)} entries for a tensor of {rank} dims (rank mismatch)"
        raise trace_error(ValueError, text)
    if isinstance(source, ReinterpretedTensor):
        return source.window(extents, starts, valid_shape)
    exprs = [to_expr(trace, start, "view()") for start in starts]
    window = trace.build("slice", source.use(), extents, exprs, valid)
    trace.bases[window] = trace.bases.get(source.id, source)
    return make(trace, window)


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
    if destination.is_linked and source.is_variable:  # which may be written as well
        source_id = trace.build("op", "clone", [("tensor", source_id)], {})
    destination.write(lambda each: trace.build("assemble", each.writable(), source_id, exprs))


# Everything together.

_OPERATIONS: dict[str, Any] = {
    **ELEMENTWISE,
    **elementwise.EXPLICIT,
    **reductions.EXPLICIT,
    **movement.EXPLICIT,
    **added.EXPLICIT,
    **matrix.EXPLICIT,
    **extra.EXPLICIT,
    **microscaling.EXPLICIT,
    **convolution.EXPLICIT,
    **{
        function.__name__: function
        for function in (assemble, cast, clone, full, ones, reshape, transpose, unsqueeze, view, zeros)
    },
}
CATALOGUE: dict[str, Any] = {name: limited(name, operation) for name, operation in _OPERATIONS.items()}

# What a tensor does not have as a method: operations whose first argument is no tensor.
_NO_METHODS = frozenset(
    {"arange", "assemble", "atomic_add", "concat", "full", "normal", "ones", "uniform", "where", "zeros"}
)


# Operations that are methods of tensors too.
METHODS = tuple(name for name in CATALOGUE if name not in _NO_METHODS and name not in vars(TensorMethods))
for _name in METHODS:
    setattr(TensorMethods, _name, CATALOGUE[_name])


def __getattr__(name: str) -> Any:
    """Operations of the catalogue that other modules hold."""
    if name in CATALOGUE:
        return CATALOGUE[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
