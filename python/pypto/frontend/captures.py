"""What of a kernel's surroundings takes part in its cache key: sources, captured variables, globals it reads."""
# ruff: noqa: D105, D107

from __future__ import annotations

import ast
import collections
import dataclasses
import enum
import types
from typing import Any

from pypto.frontend import helpers
from pypto.frontend.source import NoSourceError, read_source

_PLAIN = (int, float, complex, str, bytes, bool, type(None), enum.Enum)
_OPAQUE_PACKAGES = frozenset({"builtins", "pypto", "torch"})
_MAX_OBJECTS = 10000
_MAX_SOURCES = 1024

# Text of a function (or its code object without one) and the dotted names it reads.
_Reading = tuple[Any, tuple[tuple[str, ...], ...]]
_readings: dict[tuple[types.CodeType, str], _Reading] = {}


class SameObject:
    """Stands for an object whose content is not compared: equal only to itself, which it keeps alive."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SameObject) and other.value is self.value

    def __hash__(self) -> int:
        return hash(type(self.value).__qualname__)


class _Keys:
    """Makes the keys of one look at the captures; objects that are reached twice are looked at once."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, Any]] = {}  # by id; the object is held, so its id stays its own

    def of(self, value: Any) -> Any:
        """A hashable key that is equal for values that trace alike."""
        if isinstance(value, _PLAIN):
            # 1, 1.0 and True are equal in Python and trace differently; 0.0 and -0.0 too.
            return (type(value), repr(value) if isinstance(value, float | complex) else value)
        if isinstance(value, types.ModuleType | type | types.BuiltinFunctionType) or len(self._known) > _MAX_OBJECTS:
            return SameObject(value)
        known = self._known.get(id(value))
        if known is not None:
            return known[1]
        self._known[id(value)] = (value, SameObject(value))  # what a cycle sees
        key = self._content(value)
        self._known[id(value)] = (value, key)
        return key

    def _content(self, value: Any) -> Any:
        if isinstance(value, list | tuple | bytearray | collections.deque):
            return (type(value), tuple(self.of(element) for element in value))
        if isinstance(value, dict):
            return (dict, tuple((self.of(key), self.of(held)) for key, held in value.items()))
        if isinstance(value, set | frozenset):
            return (type(value), frozenset(self.of(element) for element in value))
        if isinstance(value, types.FunctionType):
            return self._function(value)
        if type(value).__module__ == "numpy" and hasattr(value, "tobytes"):
            return (type(value), str(value.dtype), value.shape, value.tobytes())
        if _is_opaque(value):
            return (SameObject(value), getattr(value, "_version", None))  # the version of a torch tensor's contents
        return self._object(value)

    def _object(self, value: Any) -> Any:
        if dataclasses.is_dataclass(value):
            names = [field.name for field in dataclasses.fields(value)]
        elif isinstance(getattr(value, "__dict__", None), dict):
            names = sorted(value.__dict__)
        else:
            return SameObject(value)
        held = tuple((name, self.of(getattr(value, name, None))) for name in names)
        return (SameObject(type(value)), held)

    def _function(self, function: types.FunctionType) -> Any:
        if is_installed(function):
            return SameObject(function)
        captured = tuple((name, self.of(value)) for name, value in captured_values(function))
        defaults = self.of((function.__defaults__, function.__kwdefaults__))
        return ("function", _reading(function)[0], defaults, captured)


def _is_opaque(value: Any) -> bool:
    return type(value).__module__.partition(".")[0] in _OPAQUE_PACKAGES


def value_key(value: Any) -> Any:
    """A hashable key that is equal for values that trace alike."""
    return _Keys().of(value)


def is_installed(function: types.FunctionType) -> bool:
    """Whether a function is library code, which does not change while the process runs."""
    filename = function.__code__.co_filename
    return helpers.is_library(function) or "site-packages" in filename or "dist-packages" in filename


def _dotted(node: ast.expr) -> tuple[str, ...] | None:
    if isinstance(node, ast.Name):
        return (node.id,)
    if isinstance(node, ast.Attribute):
        owner = _dotted(node.value)
        return None if owner is None else (*owner, node.attr)
    return None


def _reading(function: types.FunctionType) -> _Reading:
    """Source and names of a function, read once."""
    key = (function.__code__, function.__code__.co_filename)
    known = _readings.get(key)
    if known is not None:
        return known
    if len(_readings) >= _MAX_SOURCES:
        _readings.clear()
    try:
        source = read_source(function)
    except NoSourceError:
        made: _Reading = (function.__code__, tuple((name,) for name in function.__code__.co_names))
    else:
        paths = {
            path
            for statement in source.tree.body
            for node in ast.walk(statement)
            if isinstance(node, ast.Name | ast.Attribute) and (path := _dotted(node)) is not None
        }
        made = (source.text, tuple(sorted(paths)))
    _readings[key] = made
    return made


def captured_values(function: types.FunctionType) -> list[tuple[str, Any]]:
    """Captured variables, the globals that the source names, and what it names inside modules of the user."""
    values: list[tuple[str, Any]] = []
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            values.append((name, cell.cell_contents))
        except ValueError:  # not set yet
            continue
    for path in global_paths(function):
        if path[0] not in function.__globals__:
            continue
        value = function.__globals__[path[0]]
        depth = 1
        while depth < len(path) and is_user_module(value):
            value = vars(value).get(path[depth])
            depth += 1
        values.append((".".join(path[:depth]), value))
    return values


def global_paths(function: types.FunctionType) -> list[tuple[str, ...]]:
    """The dotted names in a function that may begin with a global: not with a parameter, a local or a captured name."""
    code = function.__code__
    own = {*code.co_freevars, *code.co_varnames, *code.co_cellvars}
    return [path for path in _reading(function)[1] if path[0] not in own]


def is_user_module(value: Any) -> bool:
    """Whether it is a module whose variables count among the globals that a kernel reads."""
    return isinstance(value, types.ModuleType) and not helpers.is_library_name(value.__name__)


def is_compared_by_identity(value: Any) -> bool:
    """Whether the key of a value, which is not frozen, holds nothing but the object itself."""
    containers = (list, tuple, bytearray, collections.deque, dict, set, frozenset, types.FunctionType)
    return _is_opaque(value) and not isinstance(value, containers) and not hasattr(value, "_version")


def is_frozen(value: Any) -> bool:
    """Whether a value cannot change while it is the same object."""
    if isinstance(value, tuple):
        return all(is_frozen(element) for element in value)
    return isinstance(value, (*_PLAIN, types.ModuleType, type, types.BuiltinFunctionType)) or (
        isinstance(value, types.FunctionType) and helpers.is_library(value)
    )


class CaptureKey:
    """The key of a kernel's captures, recomputed only when something may have changed."""

    def __init__(self, function: types.FunctionType) -> None:
        self._function = function
        self._values: list[tuple[str, Any]] | None = None
        self._all_frozen = False
        self._key: Any = None

    def current(self) -> Any:
        """The key for what is captured now."""
        values = captured_values(self._function)
        known = self._values
        if (
            self._all_frozen
            and known is not None
            and len(known) == len(values)
            and all(a[0] == b[0] and a[1] is b[1] for a, b in zip(known, values, strict=True))
        ):
            return self._key
        keys = _Keys()
        self._key = tuple((name, keys.of(value)) for name, value in values)
        self._values = values
        self._all_frozen = all(is_frozen(value) for _, value in values)
        return self._key
