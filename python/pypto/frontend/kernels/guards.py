"""What a jitted kernel depends on besides its arguments, as the places of objects that the core compares."""
# ruff: noqa: D105, D107

from __future__ import annotations

import abc
import array
import builtins
import collections
import dataclasses
import decimal
import enum
import functools
import gc
import logging
import operator
import sys
import types
from collections.abc import Mapping
from typing import Any

from pypto.frontend.kernels import captures, reading
from pypto.frontend.kernels.arrays import (
    described,
    fingerprint_of,
    is_array,
    is_fixed,
    is_numpy_array,
    is_torch_tensor,
    state_of_tensor,
)
from pypto.frontend.kernels.options import KernelOptions
from pypto.frontend.kernels.tensor_reads import Reads
from pypto.frontend.objects import definitions
from pypto.frontend.objects.hidden import UNSET, is_flat, is_released
from pypto.frontend.objects.parts import VIEWS
from pypto.frontend.objects.plainly import NO_ATTRIBUTES, attributes_in, names_of_class, plainly, slot_of

_MAX_GUARDS = 4096
_MAX_ELEMENTS = 100_000  # of a list
_STANDING = (types.MethodType, staticmethod, classmethod, property, types.DynamicClassAttribute)
_BUFFERS = (bytearray, array.array, memoryview)
_UNCHANGING = frozenset({"datetime", "fractions", "ipaddress", "pathlib", "re", "typing", "uuid"})
_OF_FIELDS = ("default", "default_factory")  # the slots of a field of a dataclass that count
_SCALARS = (int, float, bool, str, type(None))
_IMMUTABLE = (operator.itemgetter, operator.attrgetter, operator.methodcaller)  # objects that reduce to what they hold
_CACHED: type = type(functools.cache(lambda: None))
_CONTAINERS = frozenset({tuple, list, dict, set, frozenset, collections.defaultdict, collections.OrderedDict})
_TUPLE_GETTER: type = type(vars(collections.namedtuple("_Named", "field"))["field"])  # noqa: PYI024


def _is_unchanging(value: Any) -> bool:
    """Whether it is of a class of a library whose objects do not change."""
    kind = type(value)
    package = kind.__module__.partition(".")[0]
    if package in _UNCHANGING or kind in (types.GenericAlias, types.UnionType, decimal.Decimal):
        return True
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.dtype | numpy.ufunc | numpy.finfo | numpy.iinfo)


def _is_plain_tensor(tensor: Any) -> bool:
    """Whether the core sees what describes a tensor, and its memory: one of the host whose memory is what it holds."""
    torch = sys.modules["torch"]
    if type(tensor) not in (torch.Tensor, torch.nn.Parameter) or tensor.layout is not torch.strided:
        return False
    changed_as_read = tensor.is_complex() or tensor.is_neg() or tensor.is_quantized  # complex: conj() is a mark
    return tensor.device.type == "cpu" and not changed_as_read and tensor.dtype not in _unseen_dtypes()


@functools.cache
def _unseen_dtypes() -> frozenset[Any]:
    """Of torch, which its DLPack does not know."""
    torch = sys.modules["torch"]
    known = (
        "float64 float32 float16 bfloat16 int64 int32 int16 int8 uint8 uint16 uint32 uint64 bool complex64 complex128"
    )
    seen = {getattr(torch, name) for name in known.split()}
    return frozenset(each for each in vars(torch).values() if isinstance(each, torch.dtype) and each not in seen)


class Guards:
    """Collects entries for the core's kernel guards; as long as all hold, what is watched traces alike.

    Values whose content only Python code can compare cannot be watched: the `watch` methods give False for them.
    """

    def __init__(self) -> None:
        self.entries: list[tuple[Any, ...]] = []
        self._seen: set[Any] = set()

    def watch_scalars(self, constants: Mapping[str, Any]) -> bool:
        """Scalar arguments, of which the core compares numbers and texts by type and value, and others by identity."""
        return all(
            type(value) in _SCALARS or (isinstance(value, enum.Enum) and self._value(value))
            for value in constants.values()
        )

    def watch_options(self, options: KernelOptions) -> bool:
        """The option dicts of a kernel."""
        return all(self._value(values) for values in options.given.values())

    def watch(self, function: types.FunctionType) -> bool:
        """What a function captured and the globals it reads, and the same of the functions among them."""
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            try:
                value = cell.cell_contents
            except ValueError:  # not set yet
                self.entries.append(("cell", cell))
                continue
            self.entries.append(("cell", cell, value))
            if not self._named(function, (name,), value, reading.paths_from(function, name)):
                return False
        paths = reading.global_paths(function)
        if not all(self._by_key(generator) for _, generator in reading.random_generators(function)):
            return False
        for mode in reading.modes(function):
            self.entries.append(("call", mode.get, mode.value))
        if not all(self._path(function, function.__globals__, path, 0) for path in paths):
            return False
        if reading.reading_of(function).by_text and not self._namespace(function.__globals__):
            return False
        is_watched = all(self._value(module) for module in reading.modules_by_text(function))
        return is_watched and self._imports(function) and len(self.entries) <= _MAX_GUARDS

    def _imports(self, function: types.FunctionType) -> bool:
        """What a function imports from modules of the user."""
        for name, module, attribute in reading.user_imports(function):
            value: Any = sys.modules.get(module)
            if value is None:
                return False
            self._item(sys.modules, module)
            if attribute is not None:
                self._item(vars(value), attribute)
                if attribute not in vars(value):  # a module that is imported then
                    return False
                value = vars(value)[attribute]
            if not self._named(function, (name,), value, reading.paths_from(function, name)):
                return False
        return True

    def _named(
        self, function: types.FunctionType, path: reading.Path, value: Any, paths: list[reading.Path] | None = None
    ) -> bool:
        """What a dotted name gives; a module by the names in it that `paths` go on with."""
        if paths is not None and reading.is_user_module(value):
            return all(
                self._path(function, vars(value), each, 1) if len(each) > 1 else self._value(value) for each in paths
            )
        read = reading.as_read(function, path, value)
        return self._value(value) if read is value else self._description(value)

    def _path(self, function: types.FunctionType, names: dict[str, Any], path: reading.Path, start: int) -> bool:
        """A dotted name from one of its parts on, as far as it goes through modules of the user."""
        for depth in range(start, len(path)):
            name = path[depth]
            self._item(names, name)
            if name not in names:
                missing_builtin = depth == 0 and names is not vars(builtins) and name in vars(builtins)
                if missing_builtin:
                    return self._path(function, vars(builtins), path, 0)
                self._item(names, "__getattr__")  # of a module
                return depth == 0 or "__getattr__" not in names or self._value(names["__getattr__"])
            value = names[name]
            if depth + 1 < len(path) and reading.is_user_module(value) and path[depth + 1] != "__dict__":
                names = vars(value)
                continue
            return self._named(function, path[: depth + 1], value)
        return True

    def _item(self, names: dict[str, Any], name: str) -> None:
        if ("item", id(names), name) not in self._seen:
            self._seen.add(("item", id(names), name))
            self.entries.append(("item", names, name, *((names[name],) if name in names else ())))

    def _namespace(self, names: dict[str, Any]) -> bool:
        """All variables of a module."""
        if ("names", id(names)) in self._seen:
            return True
        self._seen.add(("names", id(names)))
        self.entries.append(("size", names, len(names)))
        held = reading.namespace(names)
        for name in held:
            self._item(names, name)
        return len(held) <= _MAX_GUARDS and all(self._value(value) for value in held.values())

    def _value(self, value: Any) -> bool:
        if captures.is_frozen(value):
            return True
        if ("value", id(value)) in self._seen:
            return True
        self._seen.add(("value", id(value)))
        kind = type(value)
        if isinstance(value, types.FunctionType):
            return self._function(value)
        if isinstance(value, type):
            return self._class(value)
        if isinstance(value, types.ModuleType):
            return self._namespace(vars(value))
        if isinstance(value, _STANDING):
            return all(self._value(part) for part in captures.stands_for(value) or ())
        if is_array(value):
            return self._array(value)
        if isinstance(value, tuple | list | dict | set | frozenset):
            return self._container(value) and (kind in _CONTAINERS or self._object(value))
        if kind is functools.partial:
            return self._partial(value)
        if kind in _IMMUTABLE:
            return self._value(value.__reduce__()[1])
        if kind in _BUFFERS or is_flat(kind):
            if kind is memoryview and (is_released(value) or not value.c_contiguous):
                return self._by_key(value)
            self.entries.append(("bytes", value, bytes(value)))
            return kind in _BUFFERS or self._object(value)
        if kind is collections.deque:
            return self._elements(value, tuple(value))
        if kind is types.CellType:
            self.entries.append(("cell", value, *(held := captures.stands_for(value) or ())))
            return all(self._value(part) for part in held)
        if kind is functools.cached_property:
            return self._object(value, (value.func,))
        if kind is dataclasses.Field:
            made_by = (value.default, value.default_factory)
            self.entries += [("slot", value, *each) for each in zip(_OF_FIELDS, made_by, strict=True)]
            return all(self._value(part) for part in made_by)
        if kind is types.MappingProxyType or kind in VIEWS:
            return all(self._value(part) for part in gc.get_referents(value))
        if captures.is_unseen(value):
            return False
        if captures.state_of(value) is not None or isinstance(value, BaseException):
            return self._by_key(value)
        is_plain = isinstance(value, int | float | str | bytes) and captures.is_user_class(kind)
        is_torchs = kind.__module__.partition(".")[0] == "torch" and bool(attributes_in(value))
        if _is_unchanging(value):
            return True
        if kind is types.BuiltinFunctionType:  # of an object
            return self._value(value.__self__)
        if isinstance(value, logging.Logger):
            return self._logger(value)
        is_whole_object = captures.is_seen_whole(kind) and not captures.is_compared_by_identity(value)
        if is_whole_object or kind in (types.SimpleNamespace, _CACHED) or is_plain or is_torchs:
            return self._object(value)
        return kind is _TUPLE_GETTER or captures.is_compared_by_identity(value) or self._by_key(value)

    def _container(self, value: Any) -> bool:
        """The elements of a container of Python."""
        if isinstance(value, dict):
            if isinstance(value, collections.OrderedDict):  # its order is not that of the dict
                keys = collections.OrderedDict.keys(value)
                self.entries.append(("elements", keys, tuple(keys)))
            if isinstance(value, collections.defaultdict):
                self.entries.append(("slot", value, "default_factory", value.default_factory))
            made = not isinstance(value, collections.defaultdict) or self._value(value.default_factory)
            return made and self._dict(value)
        held = tuple(plainly(value))
        if isinstance(value, list):
            self.entries.append(("list", value, held))
        elif isinstance(value, set):
            return type(value) is set and self._elements(value, held)
        return len(held) <= _MAX_ELEMENTS and all(self._value(element) for element in held)

    def _elements(self, value: Any, held: tuple[Any, ...]) -> bool:
        """Of a container that the core iterates."""
        self.entries.append(("elements", value, held))
        return len(held) <= _MAX_ELEMENTS and all(self._value(element) for element in held)

    def _partial(self, value: Any) -> bool:
        """What functools.partial holds."""
        parts = (("func", value.func), ("args", value.args), ("keywords", value.keywords))
        self.entries += [("slot", value, name, part) for name, part in parts]
        return all(self._value(part) for _, part in parts) and self._dict(vars(value))

    def _class(self, value: type) -> bool:
        """What a class of the user and its bases define."""
        if issubclass(type(value), abc.ABCMeta) and "virtual subclasses" not in self._seen:
            self._seen.add("virtual subclasses")
            self.entries.append(("call", abc.get_cache_token, abc.get_cache_token()))
        for base in value.__mro__:
            if not captures.is_user_class(base):
                continue
            self.entries.append(("bases", base, base.__mro__, *names_of_class(base)))
            self.entries.append(("size", base, len(vars(base))))
            self._annotations(vars(base).get("__annotations__"))
            for name, part in captures.what_counts_in(base):
                self.entries.append(("item", base, name, part))
                if not captures.is_member(part) and not self._value(part):
                    return False
        return self._value(type(value))

    def _annotations(self, held: Any) -> None:
        """By identity: what they name is not read through them."""
        if type(held) is dict:
            self.entries.append(("dict", held, tuple(held), tuple(held.values())))

    def _object(self, value: Any, parts: tuple[Any, ...] | None = None) -> bool:
        """Class, attributes and slots of an object; given parts of it, these are all that is looked into."""
        held = attributes_in(value)
        attributes = () if held is NO_ATTRIBUTES else (held,)
        self.entries.append(("class", value, type(value), *attributes))
        for name in definitions.slots_of(type(value)):
            part = slot_of(value, name)
            self.entries.append(("slot", value, name, *(() if part is UNSET else (part,))))
            if part is not UNSET and parts is None and not self._value(part):
                return False
        if parts is not None:
            self.entries += [("dict", names, tuple(names), tuple(names.values())) for names in attributes]
            return all(self._value(part) for part in parts)
        return self._value(type(value)) and all(self._dict(names) for names in attributes)

    def _logger(self, logger: logging.Logger) -> bool:
        """Whether it takes messages of a level; what else it and its handlers hold changes nothing."""
        self._item(vars(logger.manager), "_disable")
        for each in captures.loggers_from(logger):
            for name in captures.OF_LOGGERS:
                self._item(vars(each), name)
        return True

    def _by_key(self, value: Any) -> bool:
        """What the core cannot compare by itself: it asks for the key of the value at each call."""
        asked = functools.partial(captures.value_key, value)
        known = asked()
        self.entries.append(("call", asked, known))
        return bool(asked() == known)  # not of what is equal to nothing

    def _description(self, value: Any) -> bool:
        """All of an array or tensor but its contents."""
        if is_numpy_array(value):
            return self._numpy(value, None)
        if _is_plain_tensor(value):
            self.entries.append(("array", value, None, None))
            return True
        known = described(value)
        kept_as = functools.partial(operator.attrgetter("shape", "dtype"), value)
        self.entries += [("call", each, each()) for each in (kept_as, value.stride) if known.strides is not None]
        return known.strides is not None

    def _numpy(self, value: Any, held: bytes | None) -> bool:
        """What describes an array, and what tells what it holds, where that counts; a number of numpy never changes."""
        if isinstance(value, sys.modules["numpy"].ndarray):
            self.entries.append(("array", value, value.dtype, held))
        return True

    def _array(self, value: Any) -> bool:
        """An array with its contents; of a tensor of torch these count where they were read: see `watch_contents`."""
        if is_torch_tensor(value):
            return self._description(value) and self._dict(vars(value))
        is_plain = type(value).__module__ == "numpy" and value.dtype.kind in "biufcSVU"
        if not is_plain or not value.flags.c_contiguous:
            return self._by_key(value)
        return self._numpy(value, None if is_fixed(value) else fingerprint_of(value))

    def watch_contents(self, reads: Reads) -> None:
        """What was read of tensors of torch: their bytes, or the version that torch counts of those of a device."""
        for tensor, held in reads:
            bits, requires_grad, is_leaf, gradient = held
            if _is_plain_tensor(tensor) and tensor.is_contiguous() and gradient is None:
                third = None if is_leaf else False  # no gradient, and none is kept
                self.entries.append(("array", tensor, (requires_grad, is_leaf, third), bits))
            else:
                self.entries.append(("call", functools.partial(state_of_tensor, tensor), held))

    def _dict(self, value: dict[Any, Any]) -> bool:
        if len(value) > _MAX_GUARDS:
            return False
        items = dict.items(value)
        keys, values = tuple(key for key, _ in items), tuple(held for _, held in items)
        self.entries.append(("dict", value, keys, values))
        return all(self._value(part) for part in (*keys, *values))

    def _function(self, function: types.FunctionType) -> bool:
        if captures.is_installed(function):
            return all(self._value(each) for each in reading.wrapped_by(function))
        named, defaults = function.__kwdefaults__, function.__defaults__
        if not self._value(defaults) or not (named is None or self._dict(named)):
            return False
        more = (named, function.__name__, function.__qualname__, function.__doc__, function.__module__, vars(function))
        self.entries.append(("function", function, function.__code__, defaults, more))
        self._annotations(function.__annotations__)
        return self.watch(function) and self._dict(vars(function))
