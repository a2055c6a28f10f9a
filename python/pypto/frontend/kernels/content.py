"""Hashes of values by content, equal in every process: what an image depends on, as the key of its file.

A value that runs code of the user counts with that code: an enum, a named tuple or a dict of a class of the user with
the methods of its class. What cannot be seen whole has no hash.
"""
# ruff: noqa: D105, D107

from __future__ import annotations

import collections
import dataclasses
import enum
import functools
import hashlib
import operator
import os
import sys
import types
from pathlib import Path
from typing import Any

from pypto.frontend.kernels import reading
from pypto.frontend.kernels.captures import is_seen_whole, registered_in
from pypto.frontend.objects.definitions import is_library_name
from pypto.frontend.objects.plainly import names_of_class
from pypto.frontend.rewriting.source import NoSourceError, read_source
from pypto.frontend.tracing import helpers

_NUMBERS_AND_TEXTS = (bool, int, float, complex, str, bytes, bytearray, range, slice, type(...), type(None))
_SEQUENCES = (list, tuple, collections.deque)
_CALLS = (operator.itemgetter, operator.attrgetter, operator.methodcaller)  # reduced to what made them
_MEMBERS = frozenset({"_member_names_", "_member_map_", "_value2member_map_"})
_DESCRIPTIONS = (
    types.MemberDescriptorType,
    types.GetSetDescriptorType,
    type(vars(collections.namedtuple("_", "a"))["a"]),
)


_OF_A_PROCESS = (
    "os",
    "posix",
    "sys",
    "importlib",
    "random",
    "time",
)  # modules that give what no other process need have


class UnstableError(Exception):
    """A value has no content that another process could compare."""


def content_digest(value: Any) -> str:
    """A hash of a value that is equal in every process; UnstableError when there is none."""
    digest = _Digest()
    digest.feed(value)
    return digest.hexdigest()


class _Digest:
    """Hashes values by content; what is reached twice is looked at once. Used by one thread."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self._seen: dict[int, tuple[Any, int]] = {}

    def hexdigest(self) -> str:
        return self._hash.hexdigest()

    def _put(self, *texts: str) -> None:
        for text in texts:
            data = text.encode("utf-8", "surrogatepass")
            self._hash.update(b"%d:" % len(data))
            self._hash.update(data)

    def feed(self, value: Any) -> None:
        """Adds a value; UnstableError when it has no content."""
        if isinstance(value, _NUMBERS_AND_TEXTS) and not isinstance(value, enum.Enum):
            plain: Any = next(kind for kind in _NUMBERS_AND_TEXTS if isinstance(value, kind))
            self._put(type(value).__qualname__, plain.__repr__(value))
            self._made_by_the_user(value)
        elif id(value) in self._seen:
            self._put("again", str(self._seen[id(value)][1]))
        else:
            self._seen[id(value)] = (value, len(self._seen))
            self._content(value)

    def _content(self, value: Any) -> None:
        if isinstance(value, enum.Enum):
            self._put("enum", type(value).__qualname__, value.name)
            self.feed(value.value)
            self._made_by_the_user(value)
        elif isinstance(value, (*_SEQUENCES, dict, set, frozenset)):
            self._container(value)
            self._made_by_the_user(value)
        elif isinstance(value, functools.partial):
            self._put("partial", type(value).__qualname__)
            self.feed((value.func, value.args, value.keywords, vars(value)))
            self._made_by_the_user(value)
        elif isinstance(value, types.ModuleType):
            self._module(value)
        elif isinstance(value, types.FunctionType):
            self._function(value)
        elif isinstance(value, types.MethodType):
            self._put("method")
            self.feed((value.__func__, value.__self__))
        elif isinstance(value, types.BuiltinFunctionType):
            self._builtin(value)
        elif isinstance(value, types.CodeType):
            self._code(value)
        elif isinstance(value, type):
            self._class(value)
        else:
            self._object(value)

    def _container(self, value: Any) -> None:
        if isinstance(value, set | frozenset):
            self._put("set", *sorted(content_digest(element) for element in value))
            return
        self._put(type(value).__qualname__, str(len(value)))
        if not isinstance(value, dict):
            for element in (*value, *([value.maxlen] if isinstance(value, collections.deque) else [])):
                self.feed(element)
            return
        for key, held in value.items():
            self.feed(key)
            self.feed(held)
        if isinstance(value, collections.defaultdict):
            self.feed(value.default_factory)

    def _made_by_the_user(self, value: Any) -> None:
        """Of a value whose class the user wrote: the class, with its code, and the attributes beside the contents."""
        if not is_library_name(type(value).__module__):
            self.feed(type(value))
            self._attributes(value)

    def _attributes(self, value: Any) -> None:
        held = dict(getattr(value, "__dict__", {}))
        for base in type(value).__mro__:
            slots = [(name, slot) for name, slot in vars(base).items() if type(slot) is types.MemberDescriptorType]
            held.update(
                (f"{base.__qualname__}.{name}", slot.__get__(value)) for name, slot in slots if _is_set(slot, value)
            )
        for name, attribute in sorted(held.items()):
            self._put(name)
            self.feed(attribute)

    def _module(self, module: types.ModuleType) -> None:
        """Library modules by name; others, of which anything may be read by name, with all that they hold."""
        self._put("module", module.__name__)
        if is_library_name(module.__name__):
            _refuse_of_a_process(module.__name__)
            self._put(str(getattr(module, "__version__", "")))
            return
        self._file_of(module)
        for name, value in sorted(vars(module).items()):
            if name.startswith("__") and name.endswith("__"):
                continue
            self._put(name)
            try:
                self.feed(value)
            except UnstableError:  # what a kernel reads of it is fed on its own; here its code counts
                maker = sys.modules.get(getattr(value, "__module__", None) or type(value).__module__)
                if maker is not None and not is_library_name(maker.__name__):
                    self._file_of(maker)

    def _file_of(self, module: types.ModuleType) -> None:
        try:
            self._put(hashlib.sha256(Path(getattr(module, "__file__", None) or "").read_bytes()).hexdigest())
        except OSError:
            raise UnstableError(f"module {module.__name__} has no file") from None

    def _builtin(self, value: types.BuiltinFunctionType) -> None:
        if not isinstance(value.__self__, types.ModuleType | None):
            raise UnstableError(f"{value!r} is bound to an object")
        _refuse_of_a_process(str(value.__module__))
        self._put("builtin", str(value.__module__), value.__qualname__)

    def _function(self, function: types.FunctionType) -> None:
        self._put("function", str(function.__module__), function.__qualname__)
        if helpers.is_library(function):
            _refuse_of_a_process(function.__module__)
            for each in reading.wrapped_by(function):
                self.feed(each)
            return
        self._put(os.path.basename(function.__code__.co_filename), str(function.__code__.co_firstlineno))
        try:
            self._put(read_source(function).text)
        except NoSourceError:
            self._code(function.__code__)
        self.feed(function.__defaults__)
        self.feed(function.__kwdefaults__)
        self.feed([(mode.name, mode.value) for mode in reading.modes(function)])
        self.feed([function.__name__, function.__doc__, vars(function)])
        self._annotations(function.__annotations__)
        for name, value in reading.captured_values(function):
            self._put(name)
            self.feed(value)

    def _annotations(self, annotations: Any) -> None:
        """By name: what they stand for is not read through them."""
        for name, held in annotations.items() if isinstance(annotations, dict) else ():
            named = held if isinstance(held, str) else getattr(held, "__qualname__", type(held).__qualname__)
            self._put(name, str(named))

    def _code(self, code: types.CodeType) -> None:
        self._put("code", code.co_code.hex(), repr(code.co_names), repr(code.co_varnames), code.co_exceptiontable.hex())
        for constant in code.co_consts:
            self.feed(constant)

    def _class(self, value: type) -> None:
        """Library classes by name; of others the class they are made by, the bases, the functions and attributes."""
        self._put("class", value.__module__, *names_of_class(value))
        if is_library_name(value.__module__):
            return
        self.feed(vars(value).get("__doc__"))
        self._annotations(vars(value).get("__annotations__"))
        self._put(*sorted(each.value.__qualname__ for each in registered_in(value)))
        for base in (*value.__bases__, *([] if is_library_name(type(value).__module__) else [type(value)])):
            self.feed(base)
        for name, attribute in sorted(vars(value).items()):
            for held in _functions_of(attribute):
                if isinstance(held, types.FunctionType):
                    self._put(name)
                    self.feed((held.__defaults__, held.__kwdefaults__) if _is_generated(value, held) else held)
                elif not _is_of_the_language(value, name) and not isinstance(held, _DESCRIPTIONS):
                    self._put(name)
                    self.feed(held)
        if dataclasses.is_dataclass(value):
            for field in dataclasses.fields(value):
                self._put(field.name, str(field.type))
                self.feed((field.default, field.default_factory))

    def _object(self, value: Any) -> None:
        kind = type(value)
        if kind.__module__ == "numpy" and hasattr(value, "tobytes") and not getattr(value.dtype, "hasobject", True):
            self._put("numpy", kind.__qualname__, str(value.dtype), str(value.shape), value.tobytes().hex())
        elif kind.__module__ == "torch" and kind.__qualname__ in {"dtype", "device", "Size"}:
            self._put("torch", repr(value))
        elif kind.__module__.startswith("pypto.") and kind.__qualname__ in {"Element", "StaticDim", "DynamicDim"}:
            self._put(kind.__qualname__, repr(value))
        elif kind.__module__ == "dataclasses":  # what stands for a default that is missing or made
            self._put(kind.__qualname__)
        elif kind in _CALLS:
            self._put("call", kind.__qualname__)
            self.feed(value.__reduce__()[1:])
        elif kind is types.MappingProxyType:
            self._put("mappingproxy")
            self.feed(dict(value))
        elif kind is functools.partialmethod:
            self._put("partialmethod")
            self.feed((value.func, value.args, value.keywords))
        elif kind is functools.singledispatchmethod:
            self._put("singledispatchmethod")
            self.feed((value.func, list(value.dispatcher.registry.values())))
        elif kind is functools._lru_cache_wrapper:
            self._put("cached")
            self.feed(value.__wrapped__)
        elif is_library_name(kind.__module__) or not is_seen_whole(kind):
            raise UnstableError(f"an object of type {kind.__module__}.{kind.__qualname__} has no content to compare")
        else:
            self.feed(kind)
            self._attributes(value)


def _refuse_of_a_process(module: str) -> None:
    if module.partition(".")[0] in _OF_A_PROCESS:
        raise UnstableError(f"module {module} gives what is of this process, such as variables of the environment")


def _is_set(slot: Any, value: Any) -> bool:
    try:
        slot.__get__(value)
    except AttributeError:
        return False
    return True


def _is_generated(owner: type, function: types.FunctionType) -> bool:
    """Whether a method is made of the fields of a class, which are fed as they are."""
    made_of_fields = dataclasses.is_dataclass(owner) or hasattr(owner, "_field_defaults")
    return made_of_fields and function.__code__.co_filename.startswith("<")


def _is_of_the_language(owner: type, name: str) -> bool:
    """Whether an attribute of a class is kept there by Python itself."""
    kept_by_enum = isinstance(owner, enum.EnumMeta) and name.startswith("_") and name.endswith("_")
    if kept_by_enum and name in _MEMBERS:
        return name == "_value2member_map_" and issubclass(owner, enum.Flag)  # has all combinations that were made
    return kept_by_enum or name == "_abc_impl" or (name.startswith("__") and name.endswith("__"))


def _functions_of(attribute: Any) -> list[Any]:
    """The functions inside a method or property of a class; anything else as it is."""
    if isinstance(attribute, staticmethod | classmethod):
        return [attribute.__func__]
    if isinstance(attribute, property):
        return [each for each in (attribute.fget, attribute.fset, attribute.fdel) if each is not None]
    return [attribute.func] if isinstance(attribute, functools.cached_property) else [attribute]
