"""The functions of the user that code which runs as ordinary Python may call: what they change is watched as well."""

from __future__ import annotations

import collections
import functools
import sys
import types
from collections.abc import Iterable, Iterator
from typing import Any

from pypto.frontend.objects.definitions import is_code, is_library_name, is_of_library
from pypto.frontend.objects.installed import is_installed_file

_BY_TEXT = frozenset({"globals", "exec", "eval"})
_HOLDERS = (list, tuple, dict, collections.defaultdict)
_MAX_HELD = 1024  # elements of a container that are looked at
_CALLED = (types.FunctionType, types.MethodType, functools.partial, *_HOLDERS)


def defaults_of(function: types.FunctionType) -> list[Any]:
    """Default values of the parameters."""
    return [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]


def names_of(code: types.CodeType) -> tuple[str, ...]:
    """Names of globals and attributes in the code of a function, and in that of functions inside it."""
    inner = [each for each in code.co_consts if type(each) is types.CodeType]
    return (*code.co_names, *(name for each in inner for name in names_of(each))) if inner else code.co_names


def variables_of(function: types.FunctionType) -> list[tuple[str, Any]]:
    """What a function can reach without arguments: captured variables and the globals it names."""
    found: list[tuple[str, Any]] = []
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            found.append((name, cell.cell_contents))
        except ValueError:  # not set yet
            found.append((name, None))
    if function.__defaults__ or function.__kwdefaults__:
        found += [(f"default {at} of {function.__name__}", value) for at, value in enumerate(defaults_of(function))]
    names = function.__globals__
    named: Iterable[str] = names_of(function.__code__)
    if not _BY_TEXT.isdisjoint(named):  # it may name any global
        named = [name for name, value in names.items() if not name.startswith("__") and not is_code(value)]
    return found + [(name, names[name]) for name in dict.fromkeys(named) if name in names]


def _behind(value: Any) -> Iterable[Any]:
    """What a call of a value, or another use of it, leads to."""
    if isinstance(value, types.MethodType):
        return value.__func__, value.__self__
    if isinstance(value, staticmethod | classmethod):
        return (value.__func__,)
    if isinstance(value, property):
        return value.fget, value.fset, value.fdel
    if isinstance(value, functools.partial | functools.cached_property):
        return (value.func,)
    if isinstance(value, types.BuiltinMethodType):
        return (value.__self__,)
    if isinstance(value, type):
        bases = [each for each in value.__mro__ if not is_of_library(each)]
        return [held for base in bases for held in vars(base).values()]
    wrapped = getattr(value, "__wrapped__", None) if is_of_library(type(value)) and callable(value) else None
    held = value if type(value) in _HOLDERS and len(value) <= _MAX_HELD else ()
    made_by = value.default_factory if isinstance(value, collections.defaultdict) else None
    return [wrapped, made_by, type(value), *(held.values() if isinstance(held, dict) else held)]


def _named_by(function: types.FunctionType) -> Iterator[Any]:
    """What a function names: its variables, and what it names of modules."""
    names = names_of(function.__code__)
    for _, value in variables_of(function):
        yield value
        if isinstance(value, types.ModuleType) and not is_library_name(value.__name__):
            yield from (vars(value)[name] for name in names if name in vars(value))


def callees_of(values: Iterable[Any], package: str = "") -> list[types.FunctionType]:
    """The functions of the user that values lead to, and those that these can call.

    Those of installed packages are none, except of the one that is given.
    """
    stack, seen = list(values), dict[int, Any]()
    found: list[types.FunctionType] = []
    while stack:
        value = stack.pop()
        if id(value) in seen:
            continue
        seen[id(value)] = value
        if isinstance(value, types.FunctionType):
            if _is_own(value, package):
                found.append(value)
                stack += _named_by(value)
                if hasattr(value, "__wrapped__"):
                    stack.append(value.__wrapped__)
        elif not isinstance(value, type) or not is_of_library(value):
            stack += _behind(value)
    return found


def _is_installed(package: str) -> bool:
    """Whether a package lies where packages are installed."""
    return is_installed_file(getattr(sys.modules.get(package), "__file__", None) or "")


def _is_own(function: types.FunctionType, package: str) -> bool:
    module: Any = function.__module__
    if is_library_name(module) or not isinstance(module, str):
        return False
    root = module.partition(".")[0]
    return root == package or not _is_installed(root)


def special_methods_of(kind: type) -> list[types.FunctionType]:
    """Methods of a class that Python itself calls for its objects."""
    held = [(name, getattr(each, "__func__", each)) for name, each in vars(kind).items() if name.startswith("__")]
    return [each for _, each in held if isinstance(each, types.FunctionType) and _is_written(each)]


def _is_written(function: types.FunctionType) -> bool:
    return function.__code__.co_filename != "<string>"  # as those of dataclasses


def passed_by(function: types.FunctionType, names: Iterable[tuple[str, str]], package: str) -> list[types.FunctionType]:
    """The functions of the user that a function may give to others, by the names and attributes that it uses so."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    found = []
    for name, attribute in names:
        try:
            value = cells[name].cell_contents if name in cells else function.__globals__.get(name)
        except ValueError:  # not set yet
            continue
        if attribute:
            value = _static_attribute(value, attribute)
        if isinstance(value, _CALLED):
            found.append(value)
    return callees_of(found, package) if found else []


def _static_attribute(value: Any, name: str) -> Any:
    """An attribute of a module, or what a class has for its objects, by no code of the user."""
    if isinstance(value, types.ModuleType):
        return vars(value).get(name)
    kind = value if isinstance(value, type) else type(value)
    found = next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), None)
    return getattr(found, "__func__", found)
