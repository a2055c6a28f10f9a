"""How many dims and which dtypes the tensors of each operation may have, as the core's table of operations says."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from pypto import _core
from pypto.dtypes import DataType
from pypto.frontend.catalogue.signatures import Arity
from pypto.frontend.places import trace_error
from pypto.frontend.tensor import Tensor
from pypto.frontend.tracing import tracer

_OWN_CHECKS = frozenset({"conv", "fillpad", "scatter_update", "unpack"})  # these say more than a number of dims
_OWN_DTYPES = frozenset({"scaled_mm", "unpack"})
_SIZES = frozenset({"full", "normal", "uniform"})  # the first argument is a shape

# By the user's name of an operation; the front end names it without the underscore of its row.
RANKS: dict[str, tuple[int, int]] = {row[1].removeprefix("_"): row[8] for row in _core.OPERATIONS} | {
    row[0]: row[2] for row in _core.COMPOSED
}
# Of the first operand, by the name of an operation that the front end makes of others.
_DTYPES: dict[str, frozenset[int]] = {row[0]: frozenset(row[1]) for row in _core.COMPOSED if row[0] not in _OWN_DTYPES}


def _refuse(name: str, got: str) -> Exception:
    low, high = RANKS[name]
    return trace_error(ValueError, f"{name}(): expected a tensor of {low} to {high} dims, got {got}")


def _check(name: str, values: Sequence[Any]) -> None:
    low, high = RANKS[name]
    for index, value in enumerate(values):
        if isinstance(value, Tensor):
            rank = value.dim
            if rank > high or (rank < low and index == 0):
                raise _refuse(name, f"{rank}: {value.describe()}")
            if index == 0:
                check_dtype(name, value)


def check_dtype(name: str, value: Tensor) -> None:
    """Refuses a first operand of a dtype that the operation has on no platform."""
    accepted = _DTYPES.get(name)
    if accepted is None or value.dtype in accepted:
        return
    texts = ", ".join(DataType(number).name for number in sorted(accepted))
    raise trace_error(TypeError, f"{name}(): dtype {value.dtype.name} is not supported; accepted: {texts}")


def limited(name: str, operation: Callable[..., Any]) -> Callable[..., Any]:
    """The operation as users call it: it refuses arguments that do not fit and tensors of other ranks."""
    arity = Arity(name, inspect.signature(operation))
    least, most = arity.least, arity.most
    sized, own = name in _SIZES, name in _OWN_CHECKS

    @functools.wraps(operation)
    def checked(*arguments: Any, **keywords: Any) -> Any:
        if keywords or not least <= len(arguments) <= most:
            bound = arity.bind(arguments, keywords)
            arguments, keywords = bound.args, bound.kwargs
        if sized:
            size = arguments[0]
            if isinstance(size, list | tuple) and not 1 <= len(size) <= RANKS[name][1]:
                raise _refuse(name, f"{len(size)}: {list(size)}")
        elif not own:
            _check(name, arguments)
        elif isinstance(arguments[0], Tensor):
            check_dtype(name, arguments[0])
        trace = tracer.current()
        if trace is None:
            return operation(*arguments, **keywords)
        before, trace.operation = trace.operation, name
        try:
            return operation(*arguments, **keywords)
        finally:
            trace.operation = before

    return checked
