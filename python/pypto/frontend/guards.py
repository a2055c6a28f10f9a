"""What a jitted kernel depends on besides its arguments, as the places of objects that the core compares."""
# ruff: noqa: D105, D107

from __future__ import annotations

import builtins
import enum
import types
from collections.abc import Mapping
from typing import Any

from pypto.frontend import captures, helpers
from pypto.frontend.options import KernelOptions

_MAX_GUARDS = 256
_SCALARS = (int, float, bool, str, type(None))


def is_comparable(constants: Mapping[str, Any]) -> bool:
    """Whether the core can compare scalar arguments by type and value."""
    return all(
        type(value) in _SCALARS or (isinstance(value, enum.Enum) and captures.is_frozen(value))
        for value in constants.values()
    )


class Guards:
    """Collects entries for the core's kernel guards; as long as all hold, what is watched traces alike.

    Values whose content only Python code can compare cannot be watched: the `watch` methods give False for them.
    """

    def __init__(self) -> None:
        self.entries: list[tuple[Any, ...]] = []
        self._seen: set[tuple[Any, ...]] = set()

    def watch_options(self, options: KernelOptions) -> bool:
        """The option dicts of a kernel."""
        return all(self._value(values) for values in options.given.values())

    def watch(self, function: types.FunctionType) -> bool:
        """What a function captured and the globals it reads, and the same of the functions among them."""
        for cell in function.__closure__ or ():
            try:
                value = cell.cell_contents
            except ValueError:  # not set yet
                self.entries.append(("cell", cell))
                continue
            self.entries.append(("cell", cell, value))
            if not self._value(value):
                return False
        if captures.user_imports(function):
            return False
        paths = captures.global_paths(function)
        return all(self._path(function.__globals__, path) for path in paths) and len(self.entries) <= _MAX_GUARDS

    def _path(self, names: dict[str, Any], path: tuple[str, ...]) -> bool:
        """A dotted name: a global, and what it names inside modules of the user."""
        for depth, name in enumerate(path):
            found = (names[name],) if name in names else ()
            if ("item", id(names), name) not in self._seen:
                self._seen.add(("item", id(names), name))
                self.entries.append(("item", names, name, *found))
            if not found and depth == 0 and name in vars(builtins):
                return self._path(vars(builtins), path)
            if not found:
                return True
            value = found[0]
            if depth + 1 < len(path) and captures.is_user_module(value):
                names = vars(value)
                continue
            return self._value(value)
        return True

    def _value(self, value: Any) -> bool:
        if captures.is_frozen(value):
            return True
        if ("value", id(value)) in self._seen:
            return True
        self._seen.add(("value", id(value)))
        if type(value) is tuple:
            return all(self._value(element) for element in value)
        if type(value) is list:
            self.entries.append(("list", value, tuple(value)))
            return len(value) <= _MAX_GUARDS and all(self._value(element) for element in value)
        if type(value) is dict:
            return self._dict(value)
        if isinstance(value, types.FunctionType):
            return self._function(value)
        return captures.is_compared_by_identity(value)

    def _dict(self, value: dict[Any, Any]) -> bool:
        if len(value) > _MAX_GUARDS or not all(type(key) in (str, int) for key in value):
            return False
        self.entries.append(("size", value, len(value)))
        self.entries.extend(("item", value, key, held) for key, held in value.items())
        return all(self._value(held) for held in value.values())

    def _function(self, function: types.FunctionType) -> bool:
        if helpers.is_library(function) or captures.is_installed(function):
            return True
        if function.__kwdefaults__ is not None or not captures.is_frozen(function.__defaults__):
            return False
        self.entries.append(("function", function, function.__code__, function.__defaults__))
        return self.watch(function) and (not vars(function) or self._value(vars(function)))
