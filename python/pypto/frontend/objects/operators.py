"""Operators and conditions on objects of the user: their methods are traced as helpers are.

Where such a method is not written in Python, or holds what kernels cannot hold, it runs as Python runs it, and what it
has changed in containers is looked at behind it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from pypto.frontend.objects import following
from pypto.frontend.objects.definitions import LIBRARY_TYPES
from pypto.frontend.objects.equality import contains, contains_not, equal, is_generated, unequal
from pypto.frontend.symbolic import SymbolicScalar, static_int
from pypto.frontend.tracing.calls import held_by, is_written, method
from pypto.frontend.tracing.helpers import is_users
from pypto.frontend.tracing.maybe import Maybe
from pypto.frontend.tracing.tracer import FloatLike, TensorLike, current

_OPERATORS: dict[str, tuple[Any, str]] = {
    "Add": (operator.add, "+"),
    "Sub": (operator.sub, "-"),
    "Mult": (operator.mul, "*"),
    "MatMult": (operator.matmul, "@"),
    "Div": (operator.truediv, "/"),
    "FloorDiv": (operator.floordiv, "//"),
    "Mod": (operator.mod, "%"),
    "Pow": (operator.pow, "**"),
    "LShift": (operator.lshift, "<<"),
    "RShift": (operator.rshift, ">>"),
    "BitAnd": (operator.and_, "&"),
    "BitOr": (operator.or_, "|"),
    "BitXor": (operator.xor, "^"),
    "Eq": (equal, "=="),
    "NotEq": (unequal, "!="),
    "Lt": (operator.lt, "<"),
    "LtE": (operator.le, "<="),
    "Gt": (operator.gt, ">"),
    "GtE": (operator.ge, ">="),
    "In": (contains, "in"),
    "NotIn": (contains_not, "not in"),
}
_METHODS = {
    "Add": "add", "Sub": "sub", "Mult": "mul", "MatMult": "matmul", "Div": "truediv", "FloorDiv": "floordiv",
    "Mod": "mod", "Pow": "pow", "LShift": "lshift", "RShift": "rshift", "BitAnd": "and", "BitOr": "or", "BitXor": "xor",
}  # fmt: skip
_COMPARISONS = {
    "Eq": ("eq", "eq"), "NotEq": ("ne", "ne"), "Lt": ("lt", "gt"), "LtE": ("le", "ge"), "Gt": ("gt", "lt"),
    "GtE": ("ge", "le"),
}  # fmt: skip
_IN_PLACE = {
    "Add": operator.iadd, "Sub": operator.isub, "Mult": operator.imul, "MatMult": operator.imatmul,
    "Div": operator.itruediv, "FloorDiv": operator.ifloordiv, "Mod": operator.imod, "Pow": operator.ipow,
    "LShift": operator.ilshift, "RShift": operator.irshift, "BitAnd": operator.iand, "BitOr": operator.ior,
    "BitXor": operator.ixor,
}  # fmt: skip
_SEQUENCES = (list, tuple, str, bytes, bytearray)
_OF_THE_KERNEL = (SymbolicScalar, TensorLike, FloatLike)
_JOINING = ("Add", "Mult")  # what sequences do when all else fails


def natively(function: Any, *arguments: Any) -> Any:
    """A call that runs code of the user as ordinary Python; what it has changed is looked at behind it."""
    result = function(*arguments)
    trace = current()
    if trace is not None and trace.kin is not None:
        following.settle(trace, None, None, follows=False)
    return result


# Operators.


def binary(name: str, a: Any, b: Any) -> Any:
    """`a + b` and the other operators of two operands, comparisons too."""
    if name == "Mod" and isinstance(a, str | bytes) and isinstance(b, tuple) and any(map(is_users, b)):
        return natively(operator.mod, a, b)
    if (type(a) in LIBRARY_TYPES and type(b) in LIBRARY_TYPES) or not (is_users(a) or is_users(b)):
        return _OPERATORS[name][0](a, b)
    if name in ("In", "NotIn"):
        return _contains(name, a, b)
    if name in ("Eq", "NotEq") and is_generated(type(a)):
        return _OPERATORS[name][0](a, b)
    if name in _COMPARISONS:
        left, right = (f"__{each}__" for each in _COMPARISONS[name])
    else:
        left, right = f"__{_METHODS[name]}__", f"__r{_METHODS[name]}__"
    words = {left, right, "__eq__"} if name == "NotEq" else {left, right}
    if not any(is_written(type(x), each) for x in (a, b) for each in words):
        return natively(_OPERATORS[name][0], a, b)
    return _by_methods(name, (a, left), (b, right))


def _run_by(value: Any, word: str) -> Callable[..., Any] | None:
    """A special method of an object, also one that is not written in Python."""
    kind = type(value)
    found: Callable[..., Any] | None = method(kind, word, value)
    if found is None:
        held = held_by(kind, word)
        found = held.__get__(value, kind) if hasattr(type(held), "__get__") else held
    return found


def _by_methods(name: str, one: tuple[Any, str], other: tuple[Any, str]) -> Any:
    """As Python tries them: the class of the right operand first where it is derived from that of the left one."""
    (a, left), (b, right) = one, other
    tries = [(a, left, b), (b, right, a)]
    is_comparison = name in _COMPARISONS
    if name in _JOINING and isinstance(a, _SEQUENCES) and not is_users(a):
        tries = tries[::-1]
    elif isinstance(a, _OF_THE_KERNEL) and not isinstance(b, int | float) and is_written(type(b), right):
        tries = tries[1:]  # the left one would refuse it
    elif type(a) is type(b) and not is_comparison:
        tries = tries[:1]
    elif (
        type(b) is not type(a)
        and isinstance(b, type(a))
        and (is_comparison or held_by(type(b), right) is not held_by(type(a), right))
    ):
        tries = tries[::-1]
    for value, word, operand in tries:
        kind = type(value)
        is_opposite = held_by(kind, word) is object.__ne__ and is_written(kind, "__eq__")
        run = _run_by(value, "__eq__" if is_opposite else word)
        result: Any = NotImplemented if run is None else run(operand)
        if result is not NotImplemented:
            return _opposite(condition(result)) if is_opposite else result
    if name in ("Eq", "NotEq"):
        return (a is b) == (name == "Eq")
    symbol, kinds = _OPERATORS[name][1], f"'{type(a).__name__}' and '{type(b).__name__}'"
    if is_comparison:
        raise TypeError(f"'{symbol}' not supported between instances of {kinds}")
    raise TypeError(f"unsupported operand type(s) for {symbol}: {kinds}")


def in_place(name: str, a: Any, b: Any) -> Any:
    """`a += b` and its like: the new value of a."""
    change: Callable[[Any, Any], Any] = _IN_PLACE[name]
    if not is_users(a) and not is_users(b):
        return change(a, b)
    word = f"__i{_METHODS[name]}__"
    if name in _JOINING and isinstance(a, _SEQUENCES) and not is_users(a):
        found = method(type(b), f"__r{_METHODS[name]}__", b)
        result = NotImplemented if found is None else found(a)
        if result is not NotImplemented:
            return result
        if found is not None:
            return getattr(a, word if hasattr(a, word) else f"__{_METHODS[name]}__")(b)
        return natively(change, a, b)
    found = method(type(a), word, a) if is_users(a) else None
    if found is not None:
        result = found(b)
        if result is not NotImplemented:
            return result
    elif hasattr(type(a), word):
        return natively(change, a, b)
    return binary(name, a, b)


def _contains(name: str, a: Any, b: Any) -> Any:
    found = method(type(b), "__contains__", b) if is_users(b) else None
    if found is None:
        return natively(_OPERATORS[name][0], a, b)
    result = condition(found(a))
    result = result if isinstance(result, SymbolicScalar) else bool(result)
    return result if name == "In" else _opposite(result)


def _opposite(result: Any) -> Any:
    return ~result if isinstance(result, SymbolicScalar) else not result


def _not_none(name: Maybe) -> Any:
    """Whether a name that holds None on some paths counts as true."""
    if static_int(name.bound) is not None:
        return condition(name.resolve())
    found = condition(name.value)
    if isinstance(found, SymbolicScalar):
        return (found != 0) & name.bound
    return name.bound if found else False


def condition(value: Any) -> Any:
    """What stands for an object of the user in a condition, or for a name that may hold None."""
    if type(value) is Maybe:
        return _not_none(value)
    if type(value) in LIBRARY_TYPES or not is_users(value):
        return value
    kind = type(value)
    for name in ("__bool__", "__len__"):
        found = method(kind, name, value)
        if found is not None:
            result = found()
            if name == "__bool__" and not isinstance(result, bool | SymbolicScalar):
                raise TypeError(f"__bool__ should return bool, returned {type(result).__name__}")
            return result
        if held_by(kind, name) is not None:
            return natively(bool, value)
    return value
