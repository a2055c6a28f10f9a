"""How many dims the tensors of each operation may have, as the core's table of operations says."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from pypto import _core
from pypto.frontend.places import trace_error
from pypto.frontend.tensor import Tensor

_OWN_CHECKS = frozenset({"conv", "fillpad", "scatter_update", "unpack"})  # these say more than a number of dims
_SIZES = frozenset({"full", "normal", "uniform"})  # the first argument is a shape

# By the user's name of an operation; the front end names it without the underscore of its row.
RANKS: dict[str, tuple[int, int]] = {row[1].removeprefix("_"): row[8] for row in _core.OPERATIONS} | _core.COMPOSED


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


def limited(name: str, operation: Callable[..., Any]) -> Callable[..., Any]:
    """The operation as users call it: it refuses tensors of other ranks."""
    if name in _OWN_CHECKS:
        return operation
    if name in _SIZES:

        @functools.wraps(operation)
        def sized(size: Any, *arguments: Any, **keywords: Any) -> Any:
            if isinstance(size, list | tuple) and not 1 <= len(size) <= RANKS[name][1]:
                raise _refuse(name, f"{len(size)}: {list(size)}")
            return operation(size, *arguments, **keywords)

        return sized

    @functools.wraps(operation)
    def checked(*arguments: Any, **keywords: Any) -> Any:
        _check(name, arguments if arguments else tuple(keywords.values()))
        return operation(*arguments, **keywords)

    return checked
