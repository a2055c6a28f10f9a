"""What a jitted kernel depends on besides its arguments, as the places of objects that the core compares."""
# ruff: noqa: D105, D107

from __future__ import annotations

import builtins
import enum
import functools
import types
from collections.abc import Mapping
from typing import Any

from pypto.frontend.kernels import captures
from pypto.frontend.kernels.arrays import bytes_of_tensor, is_torch_tensor
from pypto.frontend.kernels.options import KernelOptions
from pypto.frontend.objects import definitions
from pypto.frontend.tracing import helpers

_MAX_GUARDS = 4096
_MAX_ELEMENTS = 100_000  # of a list
_MAX_BYTES = 64 << 20  # of an array, of which a copy is kept
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
            return len(value) <= _MAX_ELEMENTS and all(self._value(element) for element in value)
        if type(value) is dict:
            return self._dict(value)
        if type(value) is frozenset:
            return all(self._value(element) for element in value)
        if type(value) is set:
            self.entries.append(("call", functools.partial(frozenset, value), frozenset(value)))
            return all(type(element) is str for element in value)  # 1 and True are equal
        if isinstance(value, types.FunctionType):
            return self._function(value)
        if isinstance(value, type):
            return self._class(value)
        if isinstance(value, types.MethodType | staticmethod | classmethod | property):
            return all(self._value(part) for part in captures.stands_for(value) or ())
        if is_torch_tensor(value) or hasattr(value, "tobytes"):
            return self._array(value)
        if captures.is_user_object(value) or type(value) is types.SimpleNamespace:
            return self._object(value)
        return captures.is_compared_by_identity(value)

    def _class(self, value: type) -> bool:
        """What a class of the user and its bases define."""
        self.entries.append(("bases", value, value.__mro__))
        for base in value.__mro__:
            if not captures.is_user_class(base):
                continue
            names = vars(base)
            self.entries.append(("size", base, len(names)))
            for name, part in names.items():
                if name in captures.CLASS_BOOKKEEPING:
                    continue
                self.entries.append(("item", base, name, part))
                if not captures.is_member(part) and not self._value(part):
                    return False
        return self._value(type(value))

    def _object(self, value: Any) -> bool:
        """Class, attributes and slots of an object."""
        attributes = (value.__dict__,) if isinstance(getattr(value, "__dict__", None), dict) else ()
        self.entries.append(("class", value, type(value), *attributes))
        for name in definitions.slots_of(type(value)):
            held = (getattr(value, name),) if hasattr(value, name) else ()
            self.entries.append(("slot", value, name, *held))
            if not all(self._value(part) for part in held):
                return False
        if isinstance(value, BaseException):  # its arguments are neither
            return False
        return self._value(type(value)) and all(self._dict(names) for names in attributes)

    def _array(self, value: Any) -> bool:
        """The contents of an array or a tensor of the host; of others the version that torch counts."""
        if is_torch_tensor(value):
            if value.is_inference():
                return False
            self.entries += [("call", each, each()) for each in (value.data_ptr, value.size, value.stride)]
            self.entries.append(("call", functools.partial(getattr, value, "_version"), value._version))
            if value.device.type != "cpu":
                return True
            flat = bytes_of_tensor(value) if value.is_contiguous() else None
        elif type(value).__module__ == "numpy" and not value.dtype.hasobject:
            flat = value
            for name in ("shape", "dtype"):
                self.entries.append(("call", functools.partial(getattr, value, name), getattr(value, name)))
        else:
            return False
        if flat is None or flat.nbytes > _MAX_BYTES or not flat.flags.c_contiguous:
            return False
        self.entries.append(("bytes", flat, flat.tobytes()))
        return True

    def _dict(self, value: dict[Any, Any]) -> bool:
        if len(value) > _MAX_GUARDS or not all(type(key) in (str, int) for key in value):
            return False
        self.entries.append(("size", value, len(value)))
        self.entries.extend(("item", value, key, held) for key, held in value.items())
        return all(self._value(held) for held in value.values())

    def _function(self, function: types.FunctionType) -> bool:
        if helpers.is_library(function) or captures.is_installed(function):
            return True
        named = function.__kwdefaults__
        if not captures.is_frozen(function.__defaults__) or not (named is None or self._dict(named)):
            return False
        self.entries.append(("function", function, function.__code__, function.__defaults__, named))
        return self.watch(function) and self._dict(vars(function))
