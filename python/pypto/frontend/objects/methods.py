"""Items, attributes, loops and `with` on objects of the user: their methods are traced as helpers are.

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

from pypto.frontend.objects import following, looked_at
from pypto.frontend.objects.definitions import LIBRARY_TYPES
from pypto.frontend.objects.operators import binary, condition, natively
from pypto.frontend.objects.plainly import attributes_in
from pypto.frontend.symbolic import SymbolicScalar, maximum, minimum
from pypto.frontend.tracing.calls import BUILTINS, called, held_by, is_written, method, with_functions
from pypto.frontend.tracing.helpers import is_users
from pypto.frontend.tracing.tracer import current

_MISSING = object()
_CONVERSIONS: dict[int, Any] = {ord("s"): str, ord("r"): repr, ord("a"): ascii}
_PLAIN = (  # descriptors that run no code of the user
    types.FunctionType, types.MemberDescriptorType, types.GetSetDescriptorType, staticmethod, classmethod,
    types.BuiltinFunctionType, types.WrapperDescriptorType, types.MethodDescriptorType, type,
)  # fmt: skip
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


def _attribute(value: Any, name: str) -> Any:
    kind: Any = type(value)
    if kind.__getattribute__ is not object.__getattribute__:
        return natively(getattr, value, name)
    if not is_written(kind, "__getattr__"):
        has_other = held_by(kind, "__getattr__") is not None
        return natively(getattr, value, name) if has_other else _found_attribute(value, kind, name)
    try:
        return _found_attribute(value, kind, name)
    except AttributeError:
        return method(kind, "__getattr__", value)(name)


def _found_attribute(value: Any, kind: type, name: str) -> Any:
    """An attribute that `__getattr__` need not make."""
    own = held_by(kind, name, _MISSING)
    if type(own) is property and isinstance(own.fget, types.FunctionType):
        return called(types.MethodType(own.fget, value), is_special=True)()
    if (
        isinstance(own, functools.cached_property)
        and name not in attributes_in(value)
        and isinstance(own.func, types.FunctionType)
    ):
        made = attributes_in(value)[name] = called(types.MethodType(own.func, value), is_special=True)()
        return made
    if own is _MISSING or isinstance(own, _PLAIN) or not hasattr(type(own), "__get__"):
        return object.__getattribute__(value, name)
    return natively(object.__getattribute__, value, name)


def _change_attribute(value: Any, by: str, plain: Any, name: str, *new: Any) -> None:
    kind = type(value)
    found = method(kind, by, value)
    if found is not None:
        found(name, *new)
        return
    own = held_by(kind, name, _MISSING)
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


def _hasattr(value: Any, name: str) -> bool:
    if not is_users(value):
        looks: Any = looked_at.stands_for(hasattr)
        return bool(looks(value, name))
    try:
        getattr(user(value), name)
    except AttributeError:
        return False
    return True


def _folded(builtin: Any, values: Any) -> Any:
    """`any` or `all`, which look at the elements of a list or tuple that only the running kernel knows as well."""
    result: Any = builtin is all
    is_listed = isinstance(values, list | tuple)
    for value in values:
        found = condition(value)
        if is_listed and isinstance(found, SymbolicScalar) and not found.is_concrete():
            found = found != 0
            result = found if isinstance(result, bool) else result | found if builtin is any else result & found
        elif bool(found) is (builtin is any):
            return bool(found)
    return result


def _extreme(builtin: Any, of_numbers: Any) -> Any:
    """`max` or `min`, which may call a function or compare objects."""

    def run(*arguments: Any, **keywords: Any) -> Any:
        values = arguments[0] if len(arguments) == 1 and isinstance(arguments[0], list | tuple) else arguments
        if keywords.get("key") is None and not any(map(is_users, values)):
            return of_numbers(*arguments, **keywords)
        return natively(functools.partial(with_functions, builtin, **keywords), *arguments)

    return run


def _sum(values: Any, /, start: Any = 0) -> Any:
    values = values if isinstance(values, list | tuple) else list(values)
    if not any(map(is_users, (start, *values))):
        return sum(values, start)
    return functools.reduce(functools.partial(binary, "Add"), values, start)


BUILTINS.update(
    {
        getattr: _getattr, setattr: _setattr, delattr: _delattr, hasattr: _hasattr, len: _len, next: _next, abs: _abs,
        any: functools.partial(_folded, any), all: functools.partial(_folded, all), sum: _sum,
        max: _extreme(max, maximum), min: _extreme(min, minimum),
    }
)  # fmt: skip


# Texts.


def _text(value: Any, word: str) -> str:
    """What `str`, `repr` or `ascii` gives for an object of the user."""
    kind = type(value)
    if word == "__str__" and held_by(kind, word) is object.__str__:
        word = "__repr__"
    found = method(kind, word, value)
    made = natively(str if word == "__str__" else repr, value) if found is None else found()
    if not isinstance(made, str):
        raise TypeError(f"{word} returned non-string (type {type(made).__name__})")
    return made


def _format(value: Any, form: Any = "") -> Any:
    kind = type(value)
    if held_by(kind, "__format__") is object.__format__ and form == "":
        return _text(value, "__str__")
    found = method(kind, "__format__", value)
    return natively(format, value, form) if found is None else found(form)


def _known(found: Any) -> Any:
    return found if isinstance(found, SymbolicScalar) else bool(found)


_TEXTS: dict[Any, Any] = {
    str: lambda value: _text(value, "__str__"),
    repr: lambda value: _text(value, "__repr__"),
    ascii: lambda value: ascii(_Text(_text(value, "__repr__"))),
    format: _format,
    bool: lambda value: _known(condition(value)),
}


class _Text(str):
    """A text that is its own `repr`."""

    def __repr__(self) -> str:
        return str(self)


def _of_text(builtin: Any) -> Any:
    def run(*arguments: Any, **keywords: Any) -> Any:
        if arguments and is_users(arguments[0]) and not isinstance(arguments[0], bytes | bytearray):
            return _TEXTS[builtin](*arguments)
        looks: Any = looked_at.stands_for(builtin) or builtin
        return looks(*arguments, **keywords)

    return run


BUILTINS.update({each: _of_text(each) for each in _TEXTS})


class _Shown:
    """An object of the user in an f-string."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def __format__(self, form: str) -> str:
        return str(_format(self._value, form))


def shown(value: Any, conversion: int) -> Any:
    """What an f-string shows in the place of a value, converted."""
    if not is_users(value):
        return value if conversion < 0 else _CONVERSIONS[conversion](value)
    return _Shown(value) if conversion < 0 else _TEXTS[_CONVERSIONS[conversion]](value)


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
