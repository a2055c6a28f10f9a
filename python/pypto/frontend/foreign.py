"""Functions of torch and numpy that are given values of a running kernel: done where they are operations on numbers."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NoReturn

from pypto.frontend.catalogue.instead import instead_of
from pypto.frontend.kernels.arrays import is_array
from pypto.frontend.places import trace_error
from pypto.frontend.tracing.tracer import TensorLike

_OPERATORS: dict[str, Callable[..., Any]] = {
    "add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "divide": operator.truediv,
    "true_divide": operator.truediv, "floor_divide": operator.floordiv, "remainder": operator.mod,
    "power": operator.pow, "negative": operator.neg, "absolute": operator.abs, "equal": operator.eq,
    "not_equal": operator.ne, "less": operator.lt, "less_equal": operator.le, "greater": operator.gt,
    "greater_equal": operator.ge,
}  # fmt: skip
_NAMES = {"subtract": "sub", "multiply": "mul", "divide": "div", "true_divide": "div", "negative": "neg"}


def apply_ufunc(function: Any, method: str, inputs: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """`np.add(x, 1)`, and `np.float32(2) * x`, of a value of the kernel and numbers."""
    name = function.__name__
    numbers = [value.item() if is_array(value) and value.shape == () else value for value in inputs]
    if method != "__call__" or keywords or any(map(is_array, numbers)):
        refuse_function("numpy", name)
    if name in _OPERATORS:
        return _OPERATORS[name](*numbers)
    found = _operation(name) if any(isinstance(value, TensorLike) for value in inputs) else None
    return refuse_function("numpy", name) if found is None else found(*numbers)


def refuse_function(library: str, name: str) -> NoReturn:
    """An error for a function that cannot be done."""
    name = _NAMES.get(name.strip("_"), name.strip("_"))
    known = instead_of(name) or ". Instead: an operation of pypto; tensors of the host are parameters of the kernel"
    instead = known if _operation(name) is None else f". Instead: pypto.{name}()"
    raise trace_error(
        TypeError,
        f"{name}() of {library} is given a value of the kernel, which is known only when the kernel runs{instead}",
    )


def _operation(name: str) -> Any:
    from pypto.frontend.catalogue import operations

    return operations.CATALOGUE.get(name)
