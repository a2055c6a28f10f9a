"""What of a kernel's surroundings takes part in its cache key: sources, captured variables, globals it reads."""
# ruff: noqa: D105, D107

from __future__ import annotations

import abc
import collections
import contextvars
import dataclasses
import enum
import functools
import logging
import sys
import types
import weakref
from collections.abc import Iterator
from typing import Any

from pypto import _core
from pypto.frontend.kernels.arrays import Described, contents, described, is_numpy_array, is_torch_tensor
from pypto.frontend.kernels.reading import (
    captured_values,
    is_own_module,
    namespace,
    reading_of,
    wrapped_by,
)
from pypto.frontend.kernels.tensor_reads import contents_of
from pypto.frontend.objects.definitions import slots_of
from pypto.frontend.objects.hidden import has_pointers, hidden_in, is_generator, is_released, know_packages
from pypto.frontend.objects.installed import is_installed_file
from pypto.frontend.objects.parts import VIEWS, parts_of
from pypto.frontend.objects.plainly import SEQUENCES, attributes_in, names_of_class, plainly, slot_of
from pypto.frontend.tracing import helpers
from pypto.frontend.tracing.calls import held_by

_PLAIN = (int, float, complex, str, bytes, bool, type(None))
_WHOLE = (*_PLAIN, *SEQUENCES, dict, set, frozenset, functools.partial)  # classes whose contents are part of keys
OF_LOGGERS = ("level", "disabled", "parent")  # attributes that tell which messages one takes
_REDUCING = ("__reduce__", "__reduce_ex__", "__getstate__")
_HEAP_TYPE = 1 << 9  # the flag of classes that a class statement makes
_dump_of: Any = vars(abc)["_get_dump"]  # the registry of an abstract class, and more
# What a class holds besides what its author wrote: nothing in it changes what a kernel reads.
CLASS_BOOKKEEPING = frozenset(
    {
        "__dict__",
        "__weakref__",
        "__annotations__",
        "__dataclass_params__",
        "__abstractmethods__",
        "_abc_impl",
        "__parameters__",
        "__orig_bases__",
        "__firstlineno__",
        "__static_attributes__",
    }
)


class SameObject:
    """Stands for an object whose content is not compared: equal only to itself, which it keeps alive."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SameObject) and other.value is self.value

    def __hash__(self) -> int:
        return hash(type(self.value).__qualname__)


class Keys:
    """Makes the keys of one look at the captures; of an object that is reached again a key tells which one it is.

    Tensors of torch are part of a key but for their contents: which of these count is known once they were read.
    """

    def __init__(self) -> None:
        know_packages()
        self.tensors: dict[int, Any] = {}  # of torch, by id
        self.generators: dict[int, Any] = {}  # of random numbers, by id
        self._known: dict[
            int, tuple[Any, int]
        ] = {}  # by id, with the position; an object is held: its id stays its own

    def of(self, value: Any) -> Any:
        """A hashable key that is equal for values that trace alike."""
        if type(value) in _PLAIN:
            # 1, 1.0 and True are equal in Python and trace differently; 0.0 and -0.0 too.
            return (type(value), repr(value) if isinstance(value, float | complex) else value)
        if (isinstance(value, types.ModuleType) and not is_own_module(value)) or _is_plain_builtin(value):
            return SameObject(value)
        known = self._known.get(id(value))
        if known is not None:
            return ("again", known[1])
        self._known[id(value)] = (value, len(self._known))
        return self._content(value)

    def _content(self, value: Any) -> Any:
        if isinstance(value, type):
            return self._class(value)
        if isinstance(value, types.FunctionType):
            return self._function(value)
        if isinstance(value, enum.Enum):
            return (self.of(type(value)), self._elements(value), self._attributes(value))
        if isinstance(value, types.ModuleType):
            return (SameObject(value), self.of(namespace(vars(value))))
        parts = stands_for(value)
        if parts is not None:
            return (type(value), tuple(self.of(part) for part in parts))
        if is_torch_tensor(value):
            self.tensors[id(value)] = value
            return (SameObject(value), described(value), self._items(vars(value)))
        if is_unseen(value):
            return SameObject(object())
        state = state_of(value)
        if state is not None:
            if is_generator(type(value)):
                self.generators[id(value)] = value
            held = tuple((self.of(key), self.of(part)) for key, part in state)
            return (SameObject(value), self.of(type(value)), held, self._items(attributes_in(value)))
        if _is_opaque(value):
            return SameObject(value)
        return (self.of(type(value)), self._elements(value), self._attributes(value))

    def _elements(self, value: Any) -> Any:
        """What a container or an array holds, or what a plain value is."""
        if isinstance(value, _PLAIN):
            plain: Any = next(kind for kind in reversed(type(value).__mro__) if kind in _PLAIN)
            return repr(plain(value))
        if isinstance(value, bytearray):
            return _core.fingerprint(value)
        if isinstance(value, SEQUENCES):
            return tuple(self.of(element) for element in plainly(value))
        if isinstance(value, dict):
            factory = value.default_factory if isinstance(value, collections.defaultdict) else None
            return (self._items(plainly(value)), self.of(factory))
        if isinstance(value, set | frozenset):
            return tuple(self.of(element) for element in plainly(value))  # in the order in which it is iterated
        if isinstance(value, functools.partial):
            return (self.of(value.func), self.of(value.args), self.of(value.keywords))
        if is_numpy_array(value):
            return (described(value), self.of(value.tolist()) if value.dtype.hasobject else contents(value))
        return None

    def _items(self, held: Any) -> Any:
        return tuple((self.of(key), self.of(part)) for key, part in held.items())

    def _attributes(self, value: Any) -> Any:
        """Attributes and slots of an object, and what it would be pickled as where these are not all of it."""
        found = self._items(attributes_in(value))
        slots = [(name, self.of(slot_of(value, name))) for name in slots_of(type(value))]
        if isinstance(value, BaseException):
            return (found, tuple(slots), self.of(value.args))
        shows_all = is_seen_whole(type(value)) and (found or slots or is_user_class(type(value)))
        if shows_all or isinstance(value, (*_WHOLE, enum.Enum)) or is_numpy_array(value):
            return (found, tuple(slots))
        return (found, tuple(slots), self._made_of(value))

    def _made_of(self, value: Any) -> Any:
        """What an object would be pickled as; itself where it shows nothing of itself, or by code of the user."""
        try:
            methods = [held_by(type(value), name) for name in _REDUCING]
            if any(isinstance(each, types.FunctionType) and not is_installed(each) for each in methods):
                return SameObject(value)
            made, *state = value.__reduce_ex__(2)
            return (self.of(made), tuple(self.of(part) for part in state))
        except Exception:
            return SameObject(value)

    def _class(self, value: type) -> Any:
        """A class of the user: what it and its bases and its metaclass define."""
        if not is_user_class(value):
            return SameObject(value)
        bases = [base for base in value.__mro__ if is_user_class(base)]
        held = tuple((name, self.of(part)) for base in bases for name, part in what_counts_in(base))
        more = tuple((names_of_class(base), annotations_in(vars(base)), registered_in(base)) for base in bases)
        return (SameObject(value), held, more, self.of(type(value)))

    def _function(self, function: types.FunctionType) -> Any:
        if is_installed(function):
            return (SameObject(function), tuple(self.of(each) for each in wrapped_by(function)))
        captured = tuple((name, self.of(value)) for name, value in captured_values(function))
        defaults = self.of((function.__defaults__, function.__kwdefaults__))
        attributes = self.of(vars(function)) if vars(function) else None
        named = (function.__name__, function.__qualname__, self.of(function.__doc__), self.of(function.__module__))
        return ("function", reading_of(function).text, defaults, captured, attributes, named, annotations_in(function))


def what_counts_in(kind: type) -> list[tuple[str, Any]]:
    """What a class of the user defines.

    Combinations of flags are added to the members by value when they are first made: of flags these do not count.
    """
    left = {*CLASS_BOOKKEEPING, "_value2member_map_"} if issubclass(kind, enum.Flag) else CLASS_BOOKKEEPING
    return [(name, part) for name, part in vars(kind).items() if name not in left]


def annotations_in(names: Any) -> tuple[Any, ...]:
    """The annotations of a function or in the dict of a class, by identity: what they name is not read through them."""
    found = names.__annotations__ if isinstance(names, types.FunctionType) else names.get("__annotations__")
    return tuple((name, SameObject(part)) for name, part in found.items()) if type(found) is dict else ()


def registered_in(kind: type) -> tuple[Any, ...]:
    """The virtual subclasses of an abstract class."""
    if not issubclass(type(kind), abc.ABCMeta):
        return ()
    registered = [found() for found in _dump_of(kind)[0]]
    return tuple(SameObject(each) for each in sorted(registered, key=id) if each is not None)


def state_of(value: Any) -> list[tuple[Any, Any]] | None:
    """What tells how far an iterator, a file or a generator of random numbers is; None for other objects."""
    hidden = hidden_in(type(value))
    if hidden is not None:
        return hidden.read(value)
    is_iterator = hasattr(type(value), "__next__") and not is_user_class(type(value))
    return parts_of(value) if is_iterator else None


def stands_for(value: Any) -> tuple[Any, ...] | None:
    """The objects that one of the interpreter's own stands for; None for any other."""
    if isinstance(value, types.MethodType):
        return (value.__func__, value.__self__)
    if isinstance(value, staticmethod | classmethod):
        return (value.__func__,)
    if isinstance(value, property | types.DynamicClassAttribute):
        return (value.fget, value.fset, value.fdel)
    if isinstance(value, types.CellType):
        return tuple(_contents_of(value))
    if isinstance(value, types.BuiltinFunctionType):
        return (value.__name__, value.__self__)
    if isinstance(value, (types.MappingProxyType, *VIEWS)):
        mapping: Any = getattr(value, "mapping", value)
        return (dict(mapping),)
    if isinstance(value, memoryview):
        return () if is_released(value) else (value.format, value.shape, value.tobytes())
    if isinstance(value, weakref.ref):
        return (value(),)
    if isinstance(value, logging.Logger):
        levels = [vars(each).get(name) for each in loggers_from(value) for name in ("level", "disabled")]
        return (value.name, vars(value.manager).get("_disable"), *levels)
    if isinstance(value, contextvars.ContextVar):
        return (value.get(None),)
    return None


def loggers_from(logger: logging.Logger | None) -> Iterator[logging.Logger]:
    """A logger and those that it asks for its level."""
    while logger is not None:
        yield logger
        logger = vars(logger).get("parent")


def _contents_of(cell: types.CellType) -> list[Any]:
    try:
        return [cell.cell_contents]
    except ValueError:  # not set yet
        return []


def _is_plain_builtin(value: Any) -> bool:
    """Whether it is a built-in function that is no method of an object."""
    is_one = type(value) is types.BuiltinFunctionType
    return is_one and isinstance(value.__self__, types.ModuleType | type | type(None))


def is_unseen(value: Any) -> bool:
    """Whether it reads what nothing tells of: scripted code and storages of torch, functions that are ufuncs, pointers
    of ctypes."""
    kind = type(value)
    if kind.__module__ == "numpy" and kind.__name__ == "ufunc":
        return str(value.__name__).endswith(" (vectorized)")  # made by numpy.frompyfunc
    if has_pointers(kind):
        return True
    is_torchs = kind.__module__.partition(".")[0] == "torch"
    return is_torchs and ("Script" in kind.__name__ or "Storage" in kind.__name__)


def _is_opaque(value: Any) -> bool:
    package = type(value).__module__.partition(".")[0]
    if package == "torch":
        return not attributes_in(value)
    if package == "dataclasses":  # what stands for a default that is missing or made
        return not isinstance(value, dataclasses.Field)
    plain = isinstance(value, (*SEQUENCES, dict, set, frozenset, BaseException))
    return package in ("builtins", "pypto", "_thread") and not plain


def is_user_class(value: type) -> bool:
    """Whether a class is the user's own: those of installed packages do not change while the process runs."""
    if helpers.is_library(value):
        return False
    return not is_installed_file(getattr(sys.modules.get(value.__module__), "__file__", None) or "")


def is_member(part: Any) -> bool:
    """Whether what a class holds is the descriptor of one of its slots, or of a field of ctypes."""
    is_field = type(part).__module__ == "_ctypes" and type(part).__name__ == "CField"
    return is_field or isinstance(part, types.MemberDescriptorType | types.GetSetDescriptorType)


def is_user_object(value: Any) -> bool:
    """Whether a value is an object of a class of the user that is no container and no plain value."""
    plain = (*_PLAIN, *SEQUENCES, dict, set, frozenset, type, types.FunctionType, types.ModuleType)
    return is_user_class(type(value)) and not isinstance(value, plain) and stands_for(value) is None


def value_key(value: Any) -> Any:
    """A hashable key that is equal for values that trace alike, whatever is read of them."""
    keys = Keys()
    key = keys.of(value)
    return (key, tuple(held for _, held in contents_of(keys.tensors.values())))


def is_seen_whole(kind: type) -> bool:
    """Whether contents, `__dict__` and `__slots__` are all that objects of a class hold: no other base is of C."""
    bases = [base for base in kind.__mro__ if base is not object and base not in _WHOLE]
    made_in_c = types.BuiltinFunctionType
    return all(base.__flags__ & _HEAP_TYPE and not isinstance(vars(base).get("__new__"), made_in_c) for base in bases)


def is_installed(function: types.FunctionType) -> bool:
    """Whether a function is library code, which does not change while the process runs."""
    return helpers.is_library(function) or is_installed_file(function.__code__.co_filename)


def is_compared_by_identity(value: Any) -> bool:
    """Whether the key of a value, which is not frozen, holds nothing but the object itself."""
    if isinstance(value, type | types.FunctionType | BaseException) or stands_for(value) is not None:
        return False
    return _is_opaque(value) and not is_torch_tensor(value) and not is_unseen(value)


def is_frozen(value: Any) -> bool:
    """Whether a value cannot change while it is the same object."""
    if type(value) is tuple or type(value) is Described:
        return all(is_frozen(element) for element in value)
    if isinstance(value, type):
        return not is_user_class(value)
    if isinstance(value, enum.Enum):
        return not is_user_class(type(value))
    return (
        type(value) in _PLAIN
        or (isinstance(value, types.ModuleType) and not is_own_module(value))
        or _is_plain_builtin(value)
        or (isinstance(value, types.FunctionType) and helpers.is_library(value) and not wrapped_by(value))
    )


class CaptureKey:
    """The key of a kernel's captures, recomputed only when something may have changed."""

    def __init__(self, function: types.FunctionType) -> None:
        self._function = function
        self._values: list[tuple[str, Any]] | None = None
        self._all_frozen = False
        self._key: Any = None

    def current(self, keys: Keys) -> Any:
        """The key for what is captured now; `keys` has made no key yet."""
        values = captured_values(self._function)
        known = self._values
        if (
            self._all_frozen
            and known is not None
            and len(known) == len(values)
            and all(a[0] == b[0] and a[1] is b[1] for a, b in zip(known, values, strict=True))
        ):
            return self._key
        self._key = tuple((name, keys.of(value)) for name, value in values)
        self._values = values
        self._all_frozen = all(is_frozen(value) for _, value in values)
        return self._key
