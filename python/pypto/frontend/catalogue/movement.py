"""Operations that move elements: parts put together, gathered, scattered, repeated, reinterpreted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from pypto.dtypes import PACKED, DataType, bytes_of, is_float
from pypto.frontend.catalogue import packed
from pypto.frontend.catalogue.arguments import (
    to_dim,
    to_dtype_argument,
    to_extents,
    to_static_extents,
    to_tensor_argument,
)
from pypto.frontend.catalogue.declarations import declare
from pypto.frontend.catalogue.elementwise import cast_to, emit, floor_div, remainder
from pypto.frontend.catalogue.ranks import check_dtype
from pypto.frontend.places import trace_error
from pypto.frontend.symbolic import SymbolicScalar, as_int, minimum, static_int, to_expr
from pypto.frontend.tensor import Tensor
from pypto.frontend.tracing.tracer import require


def _shapes() -> Any:
    from pypto.frontend.catalogue import operations

    return operations


def with_valid(destination: Tensor, valid: list[Any]) -> Tensor:
    """A tensor of which only so much is valid."""
    shape = list(destination.static_shape("view()"))
    whole = [static_int(extent) for extent in valid] == shape
    result: Tensor = _shapes().view(destination, shape, [0] * len(shape), valid_shape=None if whole else valid)
    return result


def concat(tensors: Any, dim: int = 0) -> Tensor:
    """The tensors behind each other along a dim; parts follow at their valid extents."""
    if not isinstance(tensors, list | tuple) or not 1 <= len(tensors) <= 128:
        raise trace_error(TypeError, "concat(): expected a list of 1 to 128 tensors")
    parts = [to_tensor_argument(part, "concat()") for part in tensors]
    shapes = [list(part.static_shape("concat()")) for part in parts]
    axis = to_dim(dim, len(shapes[0]), "concat()")
    check_dtype("concat", parts[0])
    for part, shape in zip(parts, shapes, strict=True):
        if part.dtype != parts[0].dtype:
            raise trace_error(
                TypeError, f"concat(): operand dtypes must match, got {parts[0].dtype.name} and {part.dtype.name} "
                "(there is no implicit promotion; cast one)"
            )  # fmt: skip
        others = [len(shape) == len(shapes[0]), shape[:axis] == shapes[0][:axis]]
        if not all(others) or shape[axis + 1 :] != shapes[0][axis + 1 :]:
            raise trace_error(
                ValueError, f"concat(): {parts[0].describe()} and {part.describe()} differ in more than dim {axis}"
            )
    shape = list(shapes[0])
    shape[axis] = sum(each[axis] for each in shapes)
    destination = declare(shape, parts[0].dtype)
    offsets: list[Any] = [0] * len(shape)
    valid: list[Any] = list(parts[0].valid_shape)
    for part in parts:
        _shapes().write_region(destination, part, list(offsets))
        offsets[axis] = offsets[axis] + part.valid_shape[axis]
        valid = [minimum(one, other) for one, other in zip(valid, part.valid_shape, strict=True)]
    valid[axis] = offsets[axis]
    return with_valid(destination, valid)


def permute(x: Any, dims: Any) -> Tensor:
    """The dims in the given order."""
    source = to_tensor_argument(x, "permute()")
    order = [to_dim(dim, source.dim, "permute()") for dim in to_static_extents(dims, "permute()")]
    return emit("permute", [source], dims=order)


def expand_clone(x: Any, shape: Any, *, valid_shape: Any = None) -> Tensor:
    """Dims of extent 1 repeated to a larger shape of equal rank."""
    source = to_tensor_argument(x, "expand_clone()")
    result = emit("expand_clone", [source], dims=to_static_extents(shape, "expand_clone()"))
    return result if valid_shape is None else with_valid(result, to_extents(valid_shape, "expand_clone()"))


def _filled_around(source: Tensor, shape: list[int], value: Any, what: str) -> Tensor:
    if isinstance(value, float) and not is_float(source.dtype):
        if not value.is_integer():
            raise trace_error(ValueError, f"{what}: float value {value} for the integer dtype {source.dtype.name}")
        value = int(value)
    destination = declare(shape, source.dtype)
    destination.move(_shapes().full(shape, value, source.dtype))
    _shapes().write_region(destination, source, [0] * len(shape))
    return with_valid(destination, list(shape))


def padded_to(source: Tensor, shape: list[int]) -> Tensor:
    """A larger shape of zeros with the source at its beginning."""
    return _filled_around(source, shape, 0, "pad()")


def is_whole(source: Tensor) -> bool:
    """Whether nothing of it is known to be padding, or may be."""
    return [static_int(extent) for extent in source.valid_shape] == list(source.static_shape("view()"))


def _constant_only(mode: str, what: str) -> None:
    if mode != "constant":
        raise trace_error(ValueError, f"{what}: mode is 'constant', got {mode!r}")


def fillpad(x: Any, mode: str = "constant", value: Any = 0) -> Tensor:
    """Cells outside of the valid shape become `value`; the result is valid as a whole."""
    source = to_tensor_argument(x, "fillpad()")
    _constant_only(mode, "fillpad()")
    shape = list(source.static_shape("fillpad()"))
    if len(shape) > 2:
        raise trace_error(ValueError, f"fillpad(): a tensor of 1 or 2 dims, got {source.describe()}")
    return _filled_around(source, shape, value, "fillpad()")


def pad(x: Any, pad: Any, mode: str = "constant", value: Any = 0) -> Tensor:
    """Cells added on the right and at the bottom: `pad` is [0, right] or [0, right, 0, bottom]."""
    source = to_tensor_argument(x, "pad()")
    _constant_only(mode, "pad()")
    amounts = to_static_extents(pad, "pad()")
    shape = list(source.static_shape("pad()"))
    sound = len(amounts) in (2, 4) and len(amounts) <= 2 * len(shape) and min(amounts) >= 0
    if not sound or any(amounts[0::2]):
        raise trace_error(
            ValueError, f"pad(): expected [0, right] or [0, right, 0, bottom], none negative, got {amounts}"
        )
    if isinstance(value, float) and not is_float(source.dtype):
        raise trace_error(ValueError, f"pad(): float value {value} for the integer dtype {source.dtype.name}")
    for position, amount in enumerate(amounts[1::2]):
        shape[-1 - position] += amount
    return _filled_around(source, shape, value, "pad()")


def arange(start: Any = None, end: Any = None, step: Any = 1) -> Tensor:
    """start + i * step below `end`: INT32 when every argument is an int, else FP32; one bound is the end."""
    first, last = (0, start) if end is None else (0 if start is None else start, end)
    given = (first, last, step)
    if any(as_int(value) is None and not isinstance(value, float) for value in given) or step == 0:
        raise trace_error(TypeError, "arange(): start, end and step are numbers, and step is not 0")
    count = math.ceil((last - first) / step)
    if count < 1:
        raise trace_error(ValueError, f"arange(): nothing lies between {first} and {last} in steps of {step}")
    whole = not any(isinstance(value, float) for value in given)
    dtype = DataType.DT_INT32 if whole else DataType.DT_FP32
    return emit("_arange", [first, step], dims=[count], dtype=int(dtype))


def gather(x: Any, dim: int, index: Any) -> Tensor:
    """Elements of x at indices along a dim, as torch.gather."""
    source, indices = to_tensor_argument(x, "gather()"), to_tensor_argument(index, "gather()")
    return emit("_gather", [source, indices], axis=to_dim(dim, source.dim, "gather()"))


def index_select(x: Any, dim: int, index: Any) -> Tensor:
    """Slices of x at indices along a dim; an index of 2 dims gives two dims in place of that one."""
    source, indices = to_tensor_argument(x, "index_select()"), to_tensor_argument(index, "index_select()")
    axis = to_dim(dim, source.dim, "index_select()")
    shape = list(indices.static_shape("index_select()"))
    if len(shape) > 2:
        raise trace_error(ValueError, f"index_select(): the index has 1 or 2 dims, got {indices.describe()}")
    if len(shape) == 1:
        return emit("_index_select", [source, indices], axis=axis)
    flat = emit("_index_select", [source, _shapes().reshape(indices, [shape[0] * shape[1]])], axis=axis)
    whole = list(source.static_shape("index_select()"))
    result: Tensor = _shapes().reshape(flat, [*whole[:axis], *shape, *whole[axis + 1 :]])
    return result


# Extent of a window over a dim of any size, whose bytes in all are an INT64; what lies behind its end is padding.
_MOST_BITS = 31
_ALL_BITS = 61


class Reach(NamedTuple):
    """What an update in place touches of its target."""

    axes: Sequence[int]  # dims that indices reach all of
    extents: Sequence[int]  # that it touches of the others
    exact: bool = True  # those are all of them


def _window(target: Tensor, name: str, reach: Reach) -> Tensor:
    """The tensor as an operand; one with dynamic dims as a window that covers what is touched of it."""
    extents = [static_int(extent) for extent in target.shape]
    if None not in extents:
        return target
    if len(reach.extents) != target.dim:
        raise trace_error(ValueError, f"{name}: {len(reach.extents)} dims for {target.describe()}; ranks are equal")
    trace = require(name)
    whole: list[int] = []
    for dim, extent in enumerate(extents):
        touched = 1 if dim in reach.axes else reach.extents[dim]
        whole.append(touched if extent is None else extent)
        if extent is None and dim not in reach.axes:
            fits = target.shape[dim] == touched if reach.exact else target.shape[dim] >= touched
            relation = f"{touched}, as the values" if reach.exact else f"at least {touched}, as the index"
            trace.build("check", to_expr(trace, fits, name), f"{name}: expected a tensor with {relation}, in dim {dim}")
    unknown = [dim for dim, extent in enumerate(extents) if extent is None and dim in reach.axes]
    room = _ALL_BITS - (math.prod(whole) * bytes_of(target.dtype)).bit_length()
    for dim in unknown:
        whole[dim] = 2 ** min(_MOST_BITS, room // len(unknown)) - 1
    window: Tensor = _shapes().view(target, whole, [0] * len(whole))
    return window


def update_in_place(target: Tensor, name: str, inputs: list[Any], reach: Reach, **attributes: Any) -> None:
    """Writes the operation on the target back into it; the core does so where the target lies."""
    window = _window(target, f"{name.removeprefix('_')}_()", reach)
    _shapes().write_region(target, emit(name, [window, *inputs], **attributes), [0] * target.dim)


_SCATTER_MODES = {None: 0, "add": 1, "multiply": 2}


def scatter(x: Any, dim: int, index: Any, src: Any, *, reduce: Any = None) -> Tensor:
    """X with src (a tensor or a number) written at indices along a dim, as torch.scatter."""
    target, indices = to_tensor_argument(x, "scatter()"), to_tensor_argument(index, "scatter()")
    if reduce not in tuple(_SCATTER_MODES):
        raise trace_error(ValueError, f"scatter(): reduce is None, 'add' or 'multiply', got {reduce!r}")
    axis = to_dim(dim, target.dim, "scatter()")
    if target.dtype in PACKED:
        values = packed.unpacked(src) if isinstance(src, Tensor) else src
        return packed.repacked(scatter(packed.unpacked(target), axis, indices, values, reduce=reduce), target.dtype)
    number = as_int(src)
    if number is not None and target.dtype in (DataType.DT_INT64, DataType.DT_UINT64):  # numbers go as FP64
        src = _shapes().full(list(indices.static_shape("scatter()")), number, target.dtype)
    return emit("_scatter", [target, indices, src, _SCATTER_MODES[reduce]], axis=axis)


def scatter_(x: Any, dim: int, index: Any, src: Any, *, reduce: Any = None) -> Tensor:
    """The same into x itself; returns x."""
    target, indices = to_tensor_argument(x, "scatter_()"), to_tensor_argument(index, "scatter_()")
    if reduce not in tuple(_SCATTER_MODES):
        raise trace_error(ValueError, f"scatter_(): reduce is None, 'add' or 'multiply', got {reduce!r}")
    axis, reach = to_dim(dim, target.dim, "scatter_()"), indices.static_shape("scatter_()")
    update_in_place(
        target, "_scatter", [indices, src, _SCATTER_MODES[reduce]], Reach([axis], reach, exact=False), axis=axis
    )
    return target


def index_put_(x: Any, indices: Any, values: Any, accumulate: bool = False) -> None:
    """x[i0, i1, ...] = values (or += with `accumulate`) for index tensors of 1 dim and equal length.

    `values` have the length of the indices in place of those dims of x, and broadcast to that.
    """
    target = to_tensor_argument(x, "index_put_()")
    if not isinstance(indices, list | tuple):
        raise trace_error(TypeError, "index_put_(): indices are a tuple or list of tensors, one for each leading dim")
    given = [to_tensor_argument(index, "index_put_()") for index in indices]
    if not 1 <= len(given) <= min(4, target.dim):
        raise trace_error(
            ValueError, f"index_put_(): expected 1 to {min(4, target.dim)} index tensors for {target.describe()}, got "
            f"{len(given)}"
        )  # fmt: skip
    _put(target, given, to_tensor_argument(values, "index_put_()"), bool(accumulate))


def _put(target: Tensor, indices: list[Tensor], values: Tensor, accumulate: bool) -> None:
    held = list(values.static_shape("index_put_()"))
    behind = [static_int(extent) for extent in target.shape[len(indices) :]]
    expected = [indices[0].static_shape("index_put_()")[0], *behind]
    if held != expected and None not in expected and len(held) <= len(expected):
        held = [1] * (len(expected) - len(held)) + held
        if all(extent in (1, wanted) for extent, wanted in zip(held, expected, strict=True)):
            values = expand_clone(_shapes().reshape(values, held), expected)
    reach = Reach(range(len(indices)), [1] * len(indices) + held[1:])
    update_in_place(target, "_index_put", [values, 1 if accumulate else 0, *indices], reach)


def scatter_update(x: Any, dim: int, index: Any, src: Any) -> Tensor:
    """Rows of x replaced at index[b, s]; x is [rows, d], or [blocks, block_size, 1, d] with src [b, s, 1, d]."""
    target, indices = (
        to_tensor_argument(x, "scatter_update()"),
        to_tensor_argument(index, "scatter_update()"),
    )
    source = to_tensor_argument(src, "scatter_update()")
    shape = [static_int(extent) for extent in target.shape]
    places = list(indices.static_shape("scatter_update()"))
    sound = len(shape) in (2, 4) and to_dim(dim, len(shape), "scatter_update()") == len(shape) - 2
    if not sound or len(places) != 2 or (len(shape) == 4 and shape[2] != 1):
        raise trace_error(
            ValueError,
            "scatter_update(): expected x of shape [rows, d] or [blocks, block_size, 1, d], dim -2 and an index of 2 "
            f"dims, got {target.describe()}, {dim} and {indices.describe()}",
        )
    count = places[0] * places[1]
    rows = _shapes().reshape(indices, [count])
    width = source.static_shape("scatter_update()")[-1] if shape[-1] is None else shape[-1]
    values = _shapes().reshape(source, [count, *shape[len(shape) // 2 : -1], width])
    if len(shape) == 4:
        narrow = cast_to(rows, DataType.DT_INT32)
        size = target.shape[1]
        cells = [floor_div(narrow, size), remainder(narrow, size)]
    else:
        cells = [rows]
    _put(target, cells, values, False)
    return target


def one_hot(x: Any, num_classes: int) -> Tensor:
    """INT64: 1 at the index that x holds, 0 elsewhere, in a new last dim."""
    source = to_tensor_argument(x, "one_hot()")
    shape = source.static_shape("one_hot()")
    wide = source.dtype == DataType.DT_INT64
    if source.dtype in (DataType.DT_INT8, DataType.DT_INT16):
        source = cast_to(source, DataType.DT_INT32)
    classes = arange(num_classes)
    index = _shapes().reshape(source, [*shape, 1])
    return emit("_same_index", [index, cast_to(classes, DataType.DT_INT64) if wide else classes])


def _triangle(what: str, x: Any, diagonal: Any, upper: int) -> Tensor:
    source = to_tensor_argument(x, what)
    if as_int(diagonal) is None and not isinstance(diagonal, SymbolicScalar):
        raise trace_error(TypeError, f"{what}: diagonal is an int or a symbolic integer")
    return emit("_triangle", [source, diagonal, upper])


def tril(x: Any, diagonal: Any = 0) -> Tensor:
    """The lower triangle of the last two dims; zeros above the diagonal."""
    return _triangle("tril()", x, diagonal, 0)


def triu(x: Any, diagonal: Any = 0) -> Tensor:
    """The upper triangle of the last two dims; zeros below the diagonal."""
    return _triangle("triu()", x, diagonal, 1)


def gathermask(x: Any, pattern_mode: int) -> Tensor:
    """Elements of the last dim: 1, 2 every second from 0 or 1; 3 to 6 every fourth from 0 to 3; 7 all."""
    return emit("gathermask", [to_tensor_argument(x, "gathermask()"), pattern_mode])


def pack(x: Any) -> Tensor:
    """The bytes of x in row-major order, UINT8 of one dim."""
    source = to_tensor_argument(x, "pack()")
    count = math.prod(source.static_shape("pack()")) * bytes_of(source.dtype)
    return emit("_bytes", [source], dims=[count], dtype=int(DataType.DT_UINT8))


def unpack(x: Any, dtype: Any) -> Tensor:
    """The inverse of `pack`: elements of `dtype` from a UINT8 tensor of one dim."""
    source, target = to_tensor_argument(x, "unpack()"), to_dtype_argument(dtype, "unpack()")
    shape = source.static_shape("unpack()")
    if source.dtype != DataType.DT_UINT8 or len(shape) != 1 or shape[0] % bytes_of(target):
        raise trace_error(
            ValueError, f"unpack(): expected DT_UINT8 of one dim that holds whole {target.name}, got "
            f"{source.describe()}"
        )  # fmt: skip
    return emit("_bytes", [source], dims=[shape[0] // bytes_of(target)], dtype=int(target))


EXPLICIT: dict[str, Any] = {
    function.__name__: function
    for function in (
        arange, concat, expand_clone, fillpad, gather, gathermask, index_put_, index_select, one_hot, pack, pad,
        permute, scatter, scatter_, scatter_update, tril, triu, unpack,
    )
}  # fmt: skip
