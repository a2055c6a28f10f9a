"""What a container, object or class of the user consists of, and what else can be reached through it."""

from __future__ import annotations

import abc
import collections
import enum
import functools
import gc
import itertools
import operator
import types
from typing import Any

from pypto.frontend.kernels.arrays import contents
from pypto.frontend.objects.definitions import attributes_of, is_of_library, package_of, slots_of
from pypto.frontend.objects.hidden import hidden_in
from pypto.frontend.objects.plainly import plainly
from pypto.frontend.tracing.tracer import NoValue, TensorLike

_LEAVES = (
    int, float, complex, str, bytes, type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType,
    types.CodeType, TensorLike, NoValue, type(None),
)  # fmt: skip
_CLASSES = (type, abc.ABCMeta)
PLAIN: frozenset[type] = frozenset({int, float, complex, bool, str, bytes, type(None)})
_NO_PARTS: set[type] = {*PLAIN}  # and what else of libraries was found to have none
ARRAYS = frozenset({"torch", "numpy"})
BUILT_IN = frozenset({list, tuple, dict, set, frozenset, type, types.ModuleType, types.FunctionType})
_MAX_ARRAY_BYTES = 1 << 20
_METHODS = (types.BuiltinFunctionType, types.MethodWrapperType)
VIEWS: tuple[type, ...] = type({}.keys()), type({}.values()), type({}.items())
_ALONE: frozenset[type] = frozenset(
    {int, float, bool, str, bytes, complex, type(None), types.ModuleType, types.CodeType}
)  # lead nowhere
_SHOWN = (int, float, complex, str, bytes, type(None), enum.Enum)
LEADS_NOWHERE: set[type] = {
    *_ALONE - {types.ModuleType},
    list,
    tuple,
    types.FunctionType,
}  # classes whose objects lead to their parts only
_TEE: type = type(itertools.tee(())[0])
# Objects of Python that show nothing of what they hold.
_HOLDERS: frozenset[type] = frozenset(
    {
        functools.partial, operator.methodcaller, operator.itemgetter, operator.attrgetter, types.MappingProxyType,
        *VIEWS,
    }
)  # fmt: skip


def parts_of(value: Any) -> list[tuple[Any, Any]] | None:
    """Keys and elements of a container, plain object or class of the user; None for everything else."""
    kind = type(value)
    if kind is list or kind is tuple:
        return list(enumerate(value))
    if kind in _CLASSES:
        return _class_parts(value)
    if isinstance(value, _LEAVES):
        return None if kind in _NO_PARTS else _definition_parts(value)
    if kind is dict:
        return list(value.items())
    if isinstance(value, list | tuple | bytearray | collections.deque):
        return [*enumerate(plainly(value)), *_slots_beside(value)]
    if isinstance(value, dict):
        return [*dict_of(value).items(value), *_slots_beside(value)]
    if isinstance(value, set | frozenset):
        return [(element, None) for element in plainly(value)]
    hidden = hidden_in(kind)
    if hidden is not None:
        return hidden.read(value)
    if isinstance(value, types.MethodType):
        return [("__self__", value.__self__)]
    if hasattr(type(value), "__length_hint__"):  # an iterator: how much of it is left
        return [("elements left", operator.length_hint(value))]
    if hasattr(type(value), "__next__") and not isinstance(getattr(value, "__dict__", None), dict):
        return _iterator_parts(value)
    return _object_parts(value)


class SlotBeside(str):
    """The name of a slot of an object whose elements are its parts."""

    __slots__ = ()


def _slots_beside(value: Any) -> list[tuple[Any, Any]]:
    """Slots that a class of the user adds to a list or dict."""
    if type(value) in BUILT_IN:
        return []
    names = [name for name in slots_of(type(value)) if hasattr(value, name)]
    return [(SlotBeside(name), getattr(value, name)) for name in names]


def dict_of(value: dict[Any, Any]) -> Any:
    """The built-in class whose methods tell and set what a dict holds, by no code of the user."""
    return collections.OrderedDict if isinstance(value, collections.OrderedDict) else dict


def inner_of(value: Any) -> list[tuple[str, Any]]:
    """What can be reached through a value besides its parts, and the end of its path."""
    kind = type(value)
    if isinstance(value, dict):
        if _ALONE.issuperset(map(type, value)):
            return _beside(value)
        return [*_beside(value), *((f" key {at}", key) for at, key in enumerate(value) if type(key) not in _ALONE)]
    if isinstance(value, set | frozenset):
        elements = [each for each in plainly(value) if type(each) not in _ALONE]
        return [*_beside(value), *((f" element {at}", each) for at, each in enumerate(elements))]
    if isinstance(value, list | tuple | int | float | str | bytes | collections.deque):
        return _beside(value)
    if isinstance(value, type):
        return _in_class(value)
    if kind in _HOLDERS:
        return [(f" part {at}", each) for at, each in enumerate(gc.get_referents(value))]
    if kind in _METHODS:
        return [] if isinstance(value.__self__, types.ModuleType | type) else [(".__self__", value.__self__)]
    if kind is types.MethodType:
        return [(".__func__", value.__func__)]
    if hidden_in(kind) is not None:
        return _beside(value)
    if is_of_library(kind):
        LEADS_NOWHERE.add(kind)
    return []


def _beside(value: Any) -> list[tuple[str, Any]]:
    """The attributes of an object of a class of the user that is derived from a built-in one: a dict."""
    held = None if type(value) in BUILT_IN else getattr(value, "__dict__", None)
    return [(".__dict__", held)] if isinstance(held, dict) else []


def _in_class(kind: type) -> list[tuple[str, Any]]:
    """Methods of a class of the user, which may have attributes, its descriptors, and members of an enumeration."""
    if is_of_library(kind):
        return []
    if isinstance(kind, enum.EnumMeta):
        members: Any = kind.__members__
        return [(f".{name}", member) for name, member in members.items()]
    found = []
    for name, each in vars(kind).items():
        function = getattr(each, "__func__", each)
        has_state = isinstance(function, types.FunctionType) and function.__dict__
        if has_state or (hasattr(type(each), "__get__") and not is_of_library(type(each))):
            found.append((f".{name}", function if has_state else each))
    return found


def step_of(key: Any, position: int) -> str:
    """A key as it stands in a path: the same in each trace."""
    return f"[{key!r}]" if _is_shown(key) else f"[key {position}]"


def _is_shown(key: Any) -> bool:
    return all(map(_is_shown, key)) if isinstance(key, tuple) else isinstance(key, _SHOWN)


def _iterator_parts(value: Any) -> list[tuple[Any, Any]]:
    """What tells how far an iterator is that does not know how much of it is left."""
    if isinstance(value, types.GeneratorType):
        frame = value.gi_frame
        names = {} if frame is None else {name: id(each) for name, each in frame.f_locals.items()}
        return [("position", str((frame and frame.f_lasti, names)))]
    if isinstance(value, itertools.count):
        return [("next element", repr(value))]
    referents = [(f"iterator {position}", each) for position, each in enumerate(gc.get_referents(value))]
    if isinstance(value, _TEE) and hasattr(value, "__reduce__"):
        referents.append(("position", repr(value.__reduce__()[2][1:])))
    return referents


def _class_parts(kind: type) -> list[tuple[Any, Any]] | None:
    """Attributes of a class of the user that are no methods."""
    if is_of_library(kind):
        return None
    names = vars(kind).items()
    return [(name, each) for name, each in names if not name.startswith("__") and not hasattr(type(each), "__get__")]


def _definition_parts(value: Any) -> list[tuple[Any, Any]] | None:
    """What a class, module or function of the user holds besides code."""
    parts: list[tuple[Any, Any]] | None = attributes_of(value)
    if not isinstance(value, type | types.ModuleType | types.FunctionType) and is_of_library(type(value)):
        _NO_PARTS.add(type(value))
    return parts


def _object_parts(value: Any) -> list[tuple[Any, Any]] | None:
    """Attributes of an object of the user; the contents of an array."""
    kind = type(value)
    module = package_of(kind)
    if module == "torch" or (module == "numpy" and getattr(value, "nbytes", 0) > 0):
        return [("contents", contents(value, _MAX_ARRAY_BYTES))]
    if module in {"pypto", "builtins", "numpy"}:
        return None
    held = getattr(value, "__dict__", None)
    parts = list(held.items()) if isinstance(held, dict) else []
    parts += [(slot, getattr(value, slot)) for slot in slots_of(type(value)) if hasattr(value, slot)]
    if isinstance(value, BaseException):
        parts.append(("args", value.args))
    return parts if parts or isinstance(held, dict) else None
