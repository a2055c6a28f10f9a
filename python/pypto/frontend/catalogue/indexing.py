"""Reading and writing regions of tensors with Python's index syntax."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pypto.frontend.catalogue import operations
from pypto.frontend.catalogue.arguments import check_usable, to_number_operand
from pypto.frontend.kernels.arrays import kind_name
from pypto.frontend.places import trace_error
from pypto.frontend.symbolic import SymbolicScalar, as_int, static_int, to_expr
from pypto.frontend.tensor import Tensor
from pypto.frontend.tracing.tracer import require

Integer = int | SymbolicScalar


@dataclass
class DimIndex:
    """What an index says about one dim. A slice has `start` and `stop`, None where it leaves them out."""

    start: Integer | None
    stop: Integer | None
    is_integer: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether it is a plain `:`."""
        return not self.is_integer and self.start is None and self.stop is None


def _is_index(value: Any) -> bool:
    return isinstance(value, SymbolicScalar) or (as_int(value) is not None and not isinstance(value, bool))


def expand(key: Any, rank: int) -> list[Any]:
    """The key as one entry per dim: `...` and missing trailing dims become `:`."""
    entries = list(key) if isinstance(key, tuple) else [key]
    if not isinstance(key, tuple) and not (_is_index(key) or isinstance(key, slice) or key is Ellipsis):
        check_usable(key)
        text = f"Invalid key type {kind_name(key)}: an index is made of ints, symbolic integers and slices"
        hint = "; pypto.where chooses elements by a mask, x[dim:index] and pypto.index_select by their places"
        raise trace_error(TypeError, f"{text}{hint if isinstance(key, Tensor) else ''}")
    for entry in entries:
        if not (_is_index(entry) or isinstance(entry, slice) or entry is Ellipsis):
            check_usable(entry)
            text = f"tuple key must be int, SymbolicScalar or slice, got {kind_name(entry)}"
            raise trace_error(TypeError, f"{text}{'; pypto.unsqueeze makes a new dim' if entry is None else ''}")
    ellipses = [position for position, entry in enumerate(entries) if entry is Ellipsis]
    if len(ellipses) > 1:
        raise trace_error(IndexError, "an index has one `...` at most")
    given = len(entries) - len(ellipses)
    if given > rank:
        raise trace_error(IndexError, f"rank not match, expect {rank}, but got {given}")
    position = ellipses[0] if ellipses else len(entries)
    fill: list[Any] = [slice(None)] * (rank - given)
    return [*entries[:position], *fill, *entries[position + len(ellipses) :]]


def _wrap(value: Any, extent: Integer, what: str) -> Integer:
    """An index with static negatives counted from the end."""
    if not _is_index(value):
        if isinstance(value, Tensor):
            raise trace_error(TypeError, "an index tensor stands alone, in x[dim:index_tensor]; use pypto.gather")
        check_usable(value)
        raise trace_error(TypeError, f"{what} must be int or SymbolicScalar, got {type(value).__name__}")
    known = static_int(value)
    if known is None:
        assert isinstance(value, SymbolicScalar)
        return value
    if known >= 0:
        return known
    size = static_int(extent)
    if size is not None and known < -size:
        raise trace_error(IndexError, f"index {known} is out of range for a dim of {size}")
    return extent + known if size is None else size + known


def resolve(key: Any, shape: list[Any]) -> list[DimIndex]:
    """One DimIndex per dim of the tensor."""
    resolved: list[DimIndex] = []
    for entry, extent in zip(expand(key, len(shape)), shape, strict=True):
        if not isinstance(entry, slice):
            resolved.append(DimIndex(_wrap(entry, extent, "an index"), None, is_integer=True))
            continue
        if entry.step is not None and static_int(entry.step) != 1:
            text = f"step must be 1 or None, got {entry.step}"
            raise trace_error(
                ValueError, f"{text}; pypto.reshape(x, [..., n, step]) has every step-th element in a column"
            )
        start = None if entry.start is None else _wrap(entry.start, extent, "the start of a slice")
        stop = None if entry.stop is None else _wrap(entry.stop, extent, "the stop of a slice")
        resolved.append(DimIndex(start, stop))
    return resolved


def _extent(index: DimIndex, size: Integer) -> Integer:
    start = 0 if index.start is None else index.start
    stop = size if index.stop is None else index.stop
    return stop - start


def _static_extent(index: DimIndex, size: Integer, dim: int) -> int:
    if index.is_integer:
        return 1
    extent = _extent(index, size)
    known = static_int(extent)
    if known is None:
        raise trace_error(
            ValueError,
            f"the extent of dim {dim} of a slice must be static, stop - start is {extent}; use a fixed extent such as "
            "x[i : i + 16] (what lies past the end is padding) or pypto.view(x, shape, offsets)",
        )
    if known <= 0:
        raise trace_error(ValueError, f"the extent of dim {dim} of a slice must be positive, stop - start is {known}")
    return known


def _is_gather(key: Any) -> bool:
    return isinstance(key, slice) and isinstance(key.stop, Tensor) and key.step is None


def read(x: Tensor, key: Any) -> Any:
    """`x[key]`: a value; integer indices drop their dim, and all-integer ones read a symbolic integer.

    `x[dim:index_tensor]` gathers along a dim.
    """
    if _is_gather(key):
        gathered: Tensor = operations.CATALOGUE["gather"](x, key.start or 0, key.stop)
        return gathered
    shape = x.shape
    indices = resolve(key, shape)
    if all(index.is_integer for index in indices):
        return _read_cell(x, [index.start for index in indices])
    extents = [_static_extent(index, size, dim) for dim, (index, size) in enumerate(zip(indices, shape, strict=True))]
    starts = [0 if index.start is None else index.start for index in indices]
    window = operations.view(x, extents, starts)
    kept = [extent for index, extent in zip(indices, extents, strict=True) if not index.is_integer]
    return window if len(kept) == len(extents) else operations.reshape(window, kept)


def _read_cell(x: Tensor, indices: list[Any]) -> SymbolicScalar:
    trace = require("a scalar read")
    exprs = [to_expr(trace, index, "a scalar read") for index in indices]
    expr = trace.build("read_cell", x.use(), exprs)
    name = next((name for name, each in trace.parameters.items() if each is x), "tensor")
    trace.shown[str(trace.builder.expr_text(expr))] = f"{name}[{', '.join(map(str, indices))}]"
    return SymbolicScalar._wrap(trace, expr)


def write(x: Tensor, key: Any, value: Any) -> None:
    """`x[key] = value`: all `:` moves the value in, otherwise it is written at the starts.

    `x[dim:index_tensor] = value` scatters along a dim.
    """
    if _is_gather(key):
        operations.CATALOGUE["scatter_"](x, key.start or 0, key.stop, value)
        return
    shape = x.shape
    indices = resolve(key, shape)
    whole = all(index.is_whole for index in indices)
    if isinstance(value, Tensor):
        if whole:
            x.move(value)
        else:
            _write_tensor(x, indices, shape, value)
        return
    trace = require("a write")
    if to_number_operand(trace, value, "a write") is None:
        check_usable(value)
        raise trace_error(TypeError, f"a region takes a tensor or a number, got {kind_name(value)}")
    extents = [_static_extent(index, size, dim) for dim, (index, size) in enumerate(zip(indices, shape, strict=True))]
    filled = operations.full(extents, value, x.dtype)
    if whole:
        x.move(filled)
    else:
        operations.write_region(x, filled, [0 if index.start is None else index.start for index in indices])


def _full_rank(indices: list[DimIndex], value: Tensor) -> list[int]:
    """The shape of the value with 1 at integer positions."""
    given = list(value.static_shape("Assemble: shape of src tensor requires integer"))
    rank, kept = len(indices), [index for index in indices if not index.is_integer]
    if len(given) == rank and all(
        extent == 1 for index, extent in zip(indices, given, strict=True) if index.is_integer
    ):
        return given
    if not kept and all(extent == 1 for extent in given):
        return [1] * rank
    if len(given) != len(kept):
        raise trace_error(
            ValueError,
            f"a value of shape {given} does not fit a region of {len(kept)} dims (or {rank} with 1 at the integer "
            "indices); there is no broadcasting in writes",
        )
    extents = iter(given)
    return [1 if index.is_integer else next(extents) for index in indices]


def _write_tensor(x: Tensor, indices: list[DimIndex], shape: list[Any], value: Tensor) -> None:
    full = _full_rank(indices, value)
    starts: list[Integer] = []
    for dim, (index, extent, size) in enumerate(zip(indices, full, shape, strict=True)):
        if index.is_integer:
            starts.append(index.start)  # type: ignore[arg-type]
            continue
        if index.start is None and index.stop is not None:
            starts.append(index.stop - extent)
            continue
        known = static_int(_extent(index, size))
        if known is not None and known != extent:
            raise trace_error(
                ValueError, f"dim {dim} of the region: expected extent {known}, got {extent} (value {full})"
            )
        starts.append(0 if index.start is None else index.start)
    source = value if full == list(value.static_shape("a write")) else operations.reshape(value, full)
    operations.write_region(x, source, starts)
