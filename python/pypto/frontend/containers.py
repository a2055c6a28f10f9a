"""Notices when a loop body or a branch changes a Python container or object that existed before it.

Such a change would happen once while tracing instead of once per iteration, so it is refused rather than mistraced.
Tensor objects are not containers: writing into them is what kernels do.
"""
# ruff: noqa: D105, D107

from __future__ import annotations

import abc
import collections
import gc
import itertools
import math
import operator
import sys
import types
from collections.abc import Iterator
from typing import Any, NamedTuple

from pypto.frontend.arrays import contents
from pypto.frontend.code_objects import RUNTIME
from pypto.frontend.definitions import attributes_of, put_attribute
from pypto.frontend.maybe import split
from pypto.frontend.tracer import NoValue, TensorLike

_LEAVES = (
    int, float, complex, str, bytes, type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType,
    types.CodeType, TensorLike, NoValue, type(None),
)  # fmt: skip
_LIBRARIES = frozenset(sys.stdlib_module_names - {"__main__"}) | {"pypto", "torch", "numpy"}
_CLASSES = (type, abc.ABCMeta)
_OF_LIBRARIES: set[type] = set()  # classes that are found to be of these
_NO_PARTS: set[type] = {int, float, complex, bool, str, bytes, type(None)}  # and what else was found to have none
_ARRAYS = frozenset({"torch", "numpy"})
_BUILT_IN = frozenset({list, tuple, dict, set, frozenset, type, types.ModuleType, types.FunctionType})
_MAX_OBJECTS = 20000
_MAX_ARRAY_BYTES = 1 << 20


def parts_of(value: Any) -> list[tuple[Any, Any]] | None:
    """Keys and elements of a container, plain object or class of the user; None for everything else."""
    if type(value) in _CLASSES:
        return _class_parts(value)
    if isinstance(value, _LEAVES):
        return None if type(value) in _NO_PARTS else _definition_parts(value)
    if isinstance(value, list | tuple | bytearray | collections.deque):
        return list(enumerate(value))
    if isinstance(value, dict):
        return list(value.items())
    if isinstance(value, set | frozenset):
        return [(element, None) for element in value]
    if isinstance(value, types.MethodType):
        return [("__self__", value.__self__)]
    if hasattr(type(value), "__length_hint__"):  # an iterator: how much of it is left
        return [("elements left", operator.length_hint(value))]
    if hasattr(type(value), "__next__") and not isinstance(getattr(value, "__dict__", None), dict):
        return _iterator_parts(value)
    return _object_parts(value)


def _iterator_parts(value: Any) -> list[tuple[Any, Any]]:
    """What tells how far an iterator is that does not know how much of it is left."""
    if isinstance(value, types.GeneratorType):
        frame = value.gi_frame
        names = {} if frame is None else {name: id(each) for name, each in frame.f_locals.items()}
        return [("position", str((frame and frame.f_lasti, names)))]
    if isinstance(value, itertools.count):
        return [("next element", repr(value))]
    return [(f"iterator {position}", each) for position, each in enumerate(gc.get_referents(value))]


def _is_of_library(kind: type) -> bool:
    return kind.__module__.partition(".")[0] in _LIBRARIES


def _class_parts(kind: type) -> list[tuple[Any, Any]] | None:
    """Attributes of a class of the user that are no methods."""
    if kind in _OF_LIBRARIES or _is_of_library(kind):
        return None
    names = vars(kind).items()
    return [(name, each) for name, each in names if not name.startswith("__") and not hasattr(type(each), "__get__")]


def _definition_parts(value: Any) -> list[tuple[Any, Any]] | None:
    """What a class, module or function of the user holds besides code."""
    parts: list[tuple[Any, Any]] | None = attributes_of(value)
    if not isinstance(value, type | types.ModuleType | types.FunctionType):
        _NO_PARTS.add(type(value))
    return parts


def _object_parts(value: Any) -> list[tuple[Any, Any]] | None:
    """Attributes of an object of the user; the contents of an array."""
    module = type(value).__module__.partition(".")[0]
    if module == "torch" or (module == "numpy" and 0 < getattr(value, "nbytes", 0) <= _MAX_ARRAY_BYTES):
        return [("contents", contents(value, _MAX_ARRAY_BYTES))]
    if module in {"pypto", "builtins", "numpy"}:
        return None
    held = getattr(value, "__dict__", None)
    parts = list(held.items()) if isinstance(held, dict) else []
    for base in type(value).__mro__:
        slots = base.__dict__.get("__slots__", ())
        for slot in (slots,) if isinstance(slots, str) else slots:
            if hasattr(value, slot):
                parts.append((slot, getattr(value, slot)))
    return parts if parts or isinstance(held, dict) else None


def defaults_of(function: types.FunctionType) -> list[Any]:
    """Default values of the parameters."""
    return [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]


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
    return found + [(name, names[name]) for name in function.__code__.co_names if name in names]


class Change(NamedTuple):
    """An element that is not what it was."""

    path: str
    container: Any
    key: Any = None
    old: Any = None
    new: Any = None


class Snapshot:
    """The contents of all containers reachable from some values, and the outer variables of functions."""

    def __init__(self, *, arrays: bool = True) -> None:
        self._arrays = arrays  # whether the contents of arrays are looked at
        self._seen: dict[int, tuple[Any, list[tuple[Any, Any]], str]] = {}
        self._functions: dict[types.FunctionType, list[tuple[str, Any]]] = {}
        self._kinds: set[type] = set()  # whose classes were looked at
        self.owner: Any = None  # the FunctionRuntime whose loop or branch has made the snapshot

    def add(self, value: Any, path: str) -> None:
        """Adds what is reachable from a value and not known yet."""
        stack = [(value, path)]
        while stack and len(self._seen) < _MAX_OBJECTS:
            item, name = stack.pop()
            if id(item) in self._seen:
                continue
            if isinstance(item, types.FunctionType):
                self._seen[id(item)] = (item, parts_of(item) or [], name)
                self._add_captured(item, name, stack)
                continue
            is_array = type(item).__module__.partition(".")[0] in _ARRAYS
            parts = None if is_array and not self._arrays else parts_of(item)
            kind = type(item)
            if kind not in _OF_LIBRARIES and kind not in self._kinds:
                self._kinds.add(kind)
                if _is_of_library(kind):
                    _OF_LIBRARIES.add(kind)
                stack.append((kind, kind.__name__))
            if parts is None:
                continue
            self._seen[id(item)] = (item, parts, name)  # the item is held, so its id stays its own
            if type(item) not in _BUILT_IN:
                stack.append((type(item), type(item).__name__))
            for key, element in parts:
                stack.append((element, f"{name}[{key!r}]" if not isinstance(key, str) else f"{name}.{key}"))

    def _add_captured(self, function: types.FunctionType, path: str, stack: list[tuple[Any, str]]) -> None:
        """What a function made in a traced frame captures, which it may change where it is called."""
        if RUNTIME in function.__code__.co_freevars:
            names = function.__code__.co_freevars
            captured = zip(names, variables_of(function), strict=False)
            stack += [(value, f"{path}.{name}") for name, (_, value) in captured]
            if function.__defaults__ or function.__kwdefaults__:
                stack += [(value, f"default {at} of {path}") for at, value in enumerate(defaults_of(function))]

    def add_function(self, function: types.FunctionType, *, frame_is_known: bool = False) -> None:
        """Adds what a function can change: its outer variables and what they hold.

        With `frame_is_known` the variables it captures are locals of a traced frame, which the tracer carries itself.
        """
        if function in self._functions:
            return
        variables = variables_of(function)
        self._functions[function] = [] if frame_is_known else variables
        for name, value in variables:
            self.add(value, name)

    def add_globals(self, function: types.FunctionType) -> None:
        """Adds what a function can change of what it does not capture, if it is not known yet."""
        for name, value in variables_of(function):
            if name not in function.__code__.co_freevars:
                self.add(value, name)

    def containers(self) -> Iterator[tuple[str, Any]]:
        """Paths and containers."""
        yield from ((path, item) for item, _, path in self._seen.values())

    def path_of(self, value: Any) -> str | None:
        """The path of a container that is among them."""
        found = self._seen.get(id(value))
        return None if found is None else found[2]

    def find(self, path: str) -> Any:
        """The container at a path; None where there is none."""
        return next((item for item, _, name in self._seen.values() if name == path), None)

    def places(self) -> dict[str, tuple[Any, Any]]:
        """Container and key of every element, by path."""
        return {f"{path}[{key!r}]": (item, key) for item, parts, path in self._seen.values() for key, _ in parts}

    def restore(self) -> None:
        """Gives lists, dicts and objects of the user back what they held."""
        for item, before, _ in self._seen.values():
            after = parts_of(item) or []
            if len(after) == len(before) and all(
                same_element(a, c) and same_element(b, d) for (a, b), (c, d) in zip(before, after, strict=True)
            ):
                continue
            if isinstance(item, list):
                item[:] = [element for _, element in before]
            elif isinstance(item, dict):
                item.clear()
                item.update(before)
            elif isinstance(item, type):
                for key in {key for key, _ in after} - {key for key, _ in before}:
                    delattr(item, key)
                for key, element in before:
                    setattr(item, key, element)
            elif isinstance(item, types.ModuleType | types.FunctionType) or isinstance(
                getattr(item, "__dict__", None), dict
            ):
                for key, element in before:
                    put_attribute(item, key, element)

    def changes(self) -> Iterator[Change]:
        """Elements that are not what they were; those that cannot be put back have no key."""
        for item, before, path in self._seen.values():
            after = parts_of(item) or []
            if len(after) != len(before):
                yield Change(f"{path} (its length went from {len(before)} to {len(after)})", item)
                continue
            for (old_key, old), (new_key, new) in zip(before, after, strict=True):
                if old_key is not new_key and not _same_number(old_key, new_key):
                    yield Change(path, item)
                elif old is not new and not _same_number(old, new):
                    yield Change(f"{path}[{new_key!r}]", item, new_key, old, new)
        for function, variables in self._functions.items():
            if not variables:
                continue
            for (name, old), (_, new) in zip(variables, variables_of(function), strict=True):
                if old is not new and not _same_number(old, new):
                    yield Change(f"{name}, an outer variable of {function.__name__}(),", function)


def _same_number(a: Any, b: Any) -> bool:
    plain = (int, float, str, bool, bytes)
    if type(a) is not type(b) or not isinstance(a, plain) or a != b:
        return False
    return not isinstance(a, float) or math.copysign(1.0, a) == math.copysign(1.0, b)


def put(container: Any, key: Any, value: Any) -> None:
    """Sets an element, or an attribute, also of what is frozen."""
    if isinstance(container, list | dict):
        container[key] = value
    else:
        put_attribute(container, key, value)


def same_element(a: Any, b: Any) -> bool:
    """Whether keys or elements of a container are the same."""
    return a is b or _same_number(a, b)


def snapshot_of(frame: dict[str, Any], function: types.FunctionType) -> Snapshot:
    """Containers that a frame and its function can reach."""
    snapshot = Snapshot()
    names = {name: split(value, None)[0] for name, value in frame.items() if not name.startswith("_pypto_")}
    for name, value in sorted(names.items(), key=lambda each: isinstance(each[1], types.FunctionType)):
        snapshot.add(value, name)
    snapshot.add_function(function)
    return snapshot
