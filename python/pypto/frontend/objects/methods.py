"""Operators, items, attributes, loops and `with` on objects of the user: their methods are traced as helpers are.

Where such a method is not written in Python, or holds what kernels cannot hold, it runs as Python runs it, and what it
has changed in containers is looked at behind it.
"""
# ruff: noqa: D105, D107

from __future__ import annotations

import contextlib
import functools
import operator
import types
from collections.abc import Iterator
from typing import Any

from pypto.frontend.objects import following
from pypto.frontend.objects.definitions import LIBRARY_TYPES
from pypto.frontend.objects.equality import contains, contains_not, equal, is_generated, unequal
from pypto.frontend.symbolic import SymbolicScalar
from pypto.frontend.tracing.calls import BUILTINS, called, method
from pypto.frontend.tracing.helpers import is_users
from pypto.frontend.tracing.tracer import current

_MISSING = object()
_PLAIN = (  # descriptors that run no code of the user
    types.FunctionType, types.MemberDescriptorType, types.GetSetDescriptorType, staticmethod, classmethod,
    types.BuiltinFunctionType, types.WrapperDescriptorType, types.MethodDescriptorType, type,
)  # fmt: skip
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
    if not any(isinstance(getattr(type(x), each, None), types.FunctionType) for x in (a, b) for each in words):
        return natively(_OPERATORS[name][0], a, b)
    return _by_methods(name, (a, left), (b, right))


def _by_methods(name: str, one: tuple[Any, str], other: tuple[Any, str]) -> Any:
    """As Python tries them: the class of the right operand first where it is derived from that of the left one."""
    (a, left), (b, right) = one, other
    tries = [(a, left, b), (b, right, a)]
    is_comparison = name in _COMPARISONS
    if type(a) is type(b) and not is_comparison:
        tries = tries[:1]
    elif (
        type(b) is not type(a)
        and isinstance(b, type(a))
        and (is_comparison or getattr(type(b), right, None) is not getattr(type(a), right, None))
    ):
        tries = tries[::-1]
    if isinstance(a, _SEQUENCES) and not is_users(a) and not is_comparison:  # they join or repeat when all else fails
        tries = tries[::-1]
    for value, word, operand in tries:
        found: Any = getattr(type(value), word, None)
        is_opposite = found is object.__ne__ and isinstance(type(value).__eq__, types.FunctionType)
        found = type(value).__eq__ if is_opposite else found
        result: Any = (
            NotImplemented if found is None else called(types.MethodType(found, value), is_special=True)(operand)
        )
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
    if not is_users(a) and not is_users(b):
        return _IN_PLACE[name](a, b)  # type: ignore[no-untyped-call]
    found = method(type(a), f"__i{_METHODS[name]}__", a) if is_users(a) else None
    if found is not None:
        result = found(b)
        if result is not NotImplemented:
            return result
    elif not is_users(a) or hasattr(type(a), f"__i{_METHODS[name]}__"):
        return natively(_IN_PLACE[name], a, b)
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


def condition(value: Any) -> Any:
    """What stands for an object of the user in a condition."""
    if is_users(value):
        for name in ("__bool__", "__len__"):
            found = method(type(value), name, value)
            if found is not None:
                return found()
            if hasattr(type(value), name):
                break
    return value


# Items and attributes.


class _User:
    """An object of the user where an item or attribute of it is used, or an operator of one operand."""

    __slots__ = ("_of",)

    def __init__(self, value: Any) -> None:
        object.__setattr__(self, "_of", value)

    def __getattribute__(self, name: str) -> Any:
        return _attribute(object.__getattribute__(self, "_of"), name)

    def __setattr__(self, name: str, value: Any) -> None:
        _change_attribute(object.__getattribute__(self, "_of"), "__setattr__", setattr, name, value)

    def __delattr__(self, name: str) -> None:
        _change_attribute(object.__getattribute__(self, "_of"), "__delattr__", delattr, name)

    def __getitem__(self, key: Any) -> Any:
        return _by_method(self, "__getitem__", operator.getitem, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        _by_method(self, "__setitem__", operator.setitem, key, value)

    def __delitem__(self, key: Any) -> None:
        _by_method(self, "__delitem__", operator.delitem, key)

    def __neg__(self) -> Any:
        return _by_method(self, "__neg__", operator.neg)

    def __pos__(self) -> Any:
        return _by_method(self, "__pos__", operator.pos)

    def __invert__(self) -> Any:
        return _by_method(self, "__invert__", operator.invert)


def user(value: Any) -> Any:
    """What an item or attribute is taken from."""
    return value if type(value) in LIBRARY_TYPES or not is_users(value) else _User(value)


def _by_method(of: _User, name: str, plain: Any, *arguments: Any) -> Any:
    value = object.__getattribute__(of, "_of")
    found = method(type(value), name, value)
    return natively(plain, value, *arguments) if found is None else found(*arguments)


def _held_by_class(kind: type, name: str) -> Any:
    for each in kind.__mro__:
        if name in each.__dict__:
            return each.__dict__[name]
    return _MISSING


def _attributes(value: Any) -> dict[str, Any]:
    try:
        held = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return held if isinstance(held, dict) else {}


def _attribute(value: Any, name: str) -> Any:
    kind: Any = type(value)
    if kind.__getattribute__ is not object.__getattribute__:
        return natively(getattr, value, name)
    own = _held_by_class(kind, name)
    if type(own) is property and isinstance(own.fget, types.FunctionType):
        return called(types.MethodType(own.fget, value), is_special=True)()
    if own is _MISSING and name not in _attributes(value):
        found = method(kind, "__getattr__", value)
        return getattr(value, name) if found is None else found(name)
    if (
        isinstance(own, functools.cached_property)
        and name not in _attributes(value)
        and isinstance(own.func, types.FunctionType)
    ):
        made = _attributes(value)[name] = called(types.MethodType(own.func, value), is_special=True)()
        return made
    if own is _MISSING or isinstance(own, _PLAIN) or not hasattr(type(own), "__get__"):
        return getattr(value, name)
    return natively(getattr, value, name)


def _change_attribute(value: Any, by: str, plain: Any, name: str, *new: Any) -> None:
    kind = type(value)
    found = method(kind, by, value)
    if found is not None:
        found(name, *new)
        return
    own = _held_by_class(kind, name)
    accessor = getattr(own, "fset" if new else "fdel", None) if type(own) is property else None
    if isinstance(accessor, types.FunctionType):
        called(types.MethodType(accessor, value), is_special=True)(*new)
    elif own is _MISSING or isinstance(own, _PLAIN) or not hasattr(type(own), "__set__"):
        plain(value, name, *new)
    else:
        natively(plain, value, name, *new)


# Iteration and `with`.


def each(iterable: Any) -> Any:
    """What runs over an iterable in its place, where that runs code of the user."""
    if is_users(iterable):
        start = method(type(iterable), "__iter__", iterable)
        if start is None:
            return _items(natively(iter, iterable)) if hasattr(type(iterable), "__getitem__") else iterable
        made = start()
        if not hasattr(type(made), "__next__"):
            raise TypeError(f"iter() returned non-iterator of type '{type(made).__name__}'")
        return _items(made)
    return _items(iterable) if hasattr(type(iterable), "__next__") else iterable


def _items(iterator: Any) -> Iterator[Any]:
    following_one = method(type(iterator), "__next__", iterator) if is_users(iterator) else None
    while True:
        try:
            item = natively(next, iterator) if following_one is None else following_one()
        except StopIteration:
            return
        yield item


class _Managed:
    """An object of the user in a `with` statement."""

    def __init__(self, manager: Any) -> None:
        self._manager = manager

    def _run(self, name: str, *arguments: Any) -> Any:
        kind = type(self._manager)
        found = method(kind, name, self._manager) if is_users(self._manager) else None
        return natively(getattr(kind, name), self._manager, *arguments) if found is None else found(*arguments)

    def __enter__(self) -> Any:
        return self._run("__enter__")

    def __exit__(self, *error: Any) -> Any:
        return self._run("__exit__", *error)


def managed(manager: Any) -> Any:
    """What a `with` statement runs in place of its manager."""
    is_one = is_users(manager) or isinstance(manager, contextlib._GeneratorContextManager)
    return _Managed(manager) if is_one and hasattr(type(manager), "__enter__") else manager


# Built-in functions that run methods of the user.


def _getattr(value: Any, name: str, *otherwise: Any) -> Any:
    try:
        return getattr(user(value), name)
    except AttributeError:
        if not otherwise:
            raise
        return otherwise[0]


def _setattr(value: Any, name: str, new: Any) -> None:
    setattr(user(value), name, new)
    _settle()


def _delattr(value: Any, name: str) -> None:
    delattr(user(value), name)
    _settle()


def _len(value: Any) -> Any:
    found = method(type(value), "__len__", value) if is_users(value) else None
    return len(value) if found is None else found()


def _next(iterator: Any, *otherwise: Any) -> Any:
    found = method(type(iterator), "__next__", iterator) if is_users(iterator) else None
    try:
        return natively(next, iterator) if found is None else found()
    except StopIteration:
        if not otherwise:
            raise
        return otherwise[0]


def _abs(value: Any) -> Any:
    found = method(type(value), "__abs__", value) if is_users(value) else None
    return abs(value) if found is None else found()


BUILTINS.update({getattr: _getattr, setattr: _setattr, delattr: _delattr, len: _len, next: _next, abs: _abs})


# Elements as targets of comprehensions, where no statement can set them.


def put_item(value: Any, container: Any, key: Any) -> bool:
    """Sets an item as a statement does; always true."""
    user(container)[key] = value
    _settle()
    return True


def put_attribute(value: Any, container: Any, name: str) -> bool:
    """The same for an attribute."""
    setattr(user(container), name, value)
    _settle()
    return True


def _settle() -> None:
    trace = current()
    if trace is not None and trace.kin is not None:
        following.settle(trace, None, None)
