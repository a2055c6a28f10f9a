"""What of a kernel's surroundings takes part in its cache key: sources, captured variables, globals it reads."""
# ruff: noqa: D105, D107

from __future__ import annotations

import ast
import builtins
import collections
import contextvars
import enum
import importlib.util
import sys
import types
import weakref
from typing import Any

from pypto.frontend.kernels.arrays import contents, is_torch_tensor
from pypto.frontend.objects.definitions import is_library_name, slots_of
from pypto.frontend.objects.parts import VIEWS
from pypto.frontend.rewriting.code_objects import global_names
from pypto.frontend.rewriting.source import NoSourceError, read_source
from pypto.frontend.tracing import helpers

_PLAIN = (int, float, complex, str, bytes, bool, type(None))
_SEQUENCES = (list, tuple, bytearray, collections.deque)
_MAX_OBJECTS = 100000
_MAX_SOURCES = 1024
# What a class holds besides what its author wrote: nothing in it changes what a kernel reads.
CLASS_BOOKKEEPING = frozenset(
    {
        "__dict__",
        "__weakref__",
        "__doc__",
        "__module__",
        "__qualname__",
        "__annotations__",
        "__dataclass_fields__",
        "__dataclass_params__",
        "__abstractmethods__",
        "_abc_impl",
        "__parameters__",
        "__orig_bases__",
        "__firstlineno__",
        "__static_attributes__",
    }
)

# Text of a function (or its code object without one), the dotted names it reads, and what it imports: the name it
# binds, the module, the attribute of the module or None.
_Import = tuple[str, str, str | None]
_Reading = tuple[Any, tuple[tuple[str, ...], ...], tuple[_Import, ...]]
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
        if type(value) in _PLAIN:
            # 1, 1.0 and True are equal in Python and trace differently; 0.0 and -0.0 too.
            return (type(value), repr(value) if isinstance(value, float | complex) else value)
        if isinstance(value, types.ModuleType) or _is_plain_builtin(value):
            return SameObject(value)
        known = self._known.get(id(value))
        if known is not None:
            return known[1]
        if len(self._known) > _MAX_OBJECTS:
            return SameObject(object())  # too much to look at: equal to nothing
        self._known[id(value)] = (value, SameObject(value))  # what a cycle sees
        key = self._content(value)
        self._known[id(value)] = (value, key)
        return key

    def _content(self, value: Any) -> Any:
        if isinstance(value, type):
            return self._class(value)
        if isinstance(value, types.FunctionType):
            return self._function(value)
        if isinstance(value, enum.Enum):
            return (self.of(type(value)), value.name, self._attributes(value))
        parts = stands_for(value)
        if parts is not None:
            return (type(value), tuple(self.of(part) for part in parts))
        if _is_opaque(value):
            return (SameObject(value), contents(value) if is_torch_tensor(value) else None)
        return (self.of(type(value)), self._elements(value), self._attributes(value))

    def _elements(self, value: Any) -> Any:
        """What a container or an array holds, or what a plain value is."""
        if isinstance(value, _PLAIN):
            plain: Any = next(kind for kind in reversed(type(value).__mro__) if kind in _PLAIN)
            return repr(plain(value))
        if isinstance(value, _SEQUENCES):
            return tuple(self.of(element) for element in value)
        if isinstance(value, dict):
            items = tuple((self.of(key), self.of(held)) for key, held in value.items())
            return (items, self.of(getattr(value, "default_factory", None)))
        if isinstance(value, set | frozenset):
            return frozenset(self.of(element) for element in value)
        if hasattr(value, "tobytes") and hasattr(value, "dtype"):
            held = self.of(value.tolist()) if value.dtype.hasobject else contents(value)
            return (str(value.dtype), value.shape, held)
        return None

    def _attributes(self, value: Any) -> Any:
        """Attributes and slots of an object; of one that shows none what it would be pickled as."""
        held = dict(vars(value)) if hasattr(value, "__dict__") else {}
        slots = [(name, self.of(getattr(value, name, None))) for name in slots_of(type(value))]
        found = tuple(sorted(((name, self.of(part)) for name, part in held.items()), key=lambda pair: str(pair[0])))
        if isinstance(value, BaseException):
            return (found, tuple(slots), self.of(value.args))
        if found or slots or isinstance(value, (*_PLAIN, *_SEQUENCES, dict, set, frozenset, enum.Enum)):
            return (found, tuple(slots))
        if is_user_class(type(value)):
            return None
        try:
            made, *state = value.__reduce_ex__(2)
            return (self.of(made), tuple(self.of(part) for part in state))
        except Exception:
            return SameObject(value)  # shows nothing of itself

    def _class(self, value: type) -> Any:
        """A class of the user: what it and its bases and its metaclass define."""
        if not is_user_class(value):
            return SameObject(value)
        bases = [base for base in value.__mro__ if is_user_class(base)]
        held = tuple(
            (name, self.of(part))
            for base in bases
            for name, part in vars(base).items()
            if name not in CLASS_BOOKKEEPING
        )
        return (SameObject(value), held, self.of(type(value)))

    def _function(self, function: types.FunctionType) -> Any:
        if is_installed(function):
            return SameObject(function)
        captured = tuple((name, self.of(value)) for name, value in captured_values(function))
        defaults = self.of((function.__defaults__, function.__kwdefaults__))
        return (
            "function",
            _reading(function)[0],
            defaults,
            captured,
            self.of(vars(function)) if vars(function) else None,
        )


def stands_for(value: Any) -> tuple[Any, ...] | None:
    """The objects that one of the interpreter's own stands for; None for any other."""
    if isinstance(value, types.MethodType):
        return (value.__func__, value.__self__)
    if isinstance(value, staticmethod | classmethod):
        return (value.__func__,)
    if isinstance(value, property):
        return (value.fget, value.fset, value.fdel)
    if isinstance(value, types.BuiltinFunctionType):
        return (value.__name__, value.__self__)
    if isinstance(value, (types.MappingProxyType, *VIEWS)):
        mapping: Any = getattr(value, "mapping", value)
        return (dict(mapping),)
    if isinstance(value, memoryview):
        return (value.format, value.shape, value.tobytes())
    if isinstance(value, weakref.ref):
        return (value(),)
    if isinstance(value, contextvars.ContextVar):
        return (value.get(None),)
    return None


def _is_plain_builtin(value: Any) -> bool:
    """Whether it is a built-in function that is no method of an object."""
    is_one = type(value) is types.BuiltinFunctionType
    return is_one and isinstance(value.__self__, types.ModuleType | type | type(None))


def _is_opaque(value: Any) -> bool:
    package = type(value).__module__.partition(".")[0]
    if package == "torch":
        return hasattr(value, "data_ptr") or not hasattr(value, "__dict__")
    plain = isinstance(value, (*_SEQUENCES, dict, set, frozenset, BaseException))
    return package in ("builtins", "pypto") and not plain


def is_user_class(value: type) -> bool:
    """Whether a class is the user's own: those of installed packages do not change while the process runs."""
    if helpers.is_library(value):
        return False
    return "-packages" not in (getattr(sys.modules.get(value.__module__), "__file__", None) or "")


def _is_plain_enum(value: type) -> bool:
    """Whether a class is an enumeration that defines no functions."""
    if not issubclass(value, enum.Enum):
        return False
    bases = [base for base in value.__mro__ if is_user_class(base)]
    parts = [getattr(part, "fget", part) for base in bases for part in vars(base).values()]
    parts = [getattr(part, "__func__", part) for part in parts]
    return not any(isinstance(part, types.FunctionType) and not helpers.is_library(part) for part in parts)


def is_member(part: Any) -> bool:
    """Whether what a class holds is the descriptor of one of its slots."""
    return isinstance(part, types.MemberDescriptorType | types.GetSetDescriptorType)


def is_user_object(value: Any) -> bool:
    """Whether a value is an object of a class of the user that is no container and no plain value."""
    plain = (*_PLAIN, *_SEQUENCES, dict, set, frozenset, type, types.FunctionType, types.ModuleType)
    return is_user_class(type(value)) and not isinstance(value, plain) and stands_for(value) is None


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
        made: _Reading = (function.__code__, tuple((name,) for name in sorted(global_names(function.__code__))), ())
    else:
        paths = {
            path
            for statement in source.tree.body
            for node in ast.walk(statement)
            if isinstance(node, ast.Name | ast.Attribute) and (path := _dotted(node)) is not None
        }
        nodes = [node for statement in source.tree.body for node in ast.walk(statement)]
        imports = [item for node in nodes for item in _imports(node, function.__globals__.get("__package__"))]
        made = (source.text, tuple(sorted(paths)), tuple(imports))
    _readings[key] = made
    return made


def _imports(node: ast.AST, package: str | None) -> list[_Import]:
    if isinstance(node, ast.Import):
        return [
            (
                alias.asname or alias.name.partition(".")[0],
                alias.name if alias.asname else alias.name.partition(".")[0],
                None,
            )
            for alias in node.names
        ]
    if isinstance(node, ast.ImportFrom):
        module = "." * node.level + (node.module or "")
        module = importlib.util.resolve_name(module, package or "") if node.level else module
        return [(alias.asname or alias.name, module, alias.name) for alias in node.names]
    return []


def user_imports(function: types.FunctionType) -> list[_Import]:
    """What a function imports from modules of the user."""
    return [item for item in _reading(function)[2] if not is_library_name(item[1])]


def _imported_values(function: types.FunctionType) -> list[tuple[str, Any]]:
    values: list[tuple[str, Any]] = []
    for name, module, attribute in user_imports(function):
        value = sys.modules.get(module)
        if attribute is not None:
            value = getattr(value, attribute, sys.modules.get(f"{module}.{attribute}"))
        values.append((name, value))
        paths = [path for path in _reading(function)[1] if path[0] == name and is_user_module(value)]
        values.extend(_follow(path, value) for path in paths)
    return values


def _follow(path: tuple[str, ...], value: Any) -> tuple[str, Any]:
    """What a dotted name gives whose first part is `value`, as far as it goes through modules of the user."""
    depth = 1
    while depth < len(path) and is_user_module(value):
        value = vars(value).get(path[depth])
        depth += 1
    return ".".join(path[:depth]), value


def captured_values(function: types.FunctionType) -> list[tuple[str, Any]]:
    """Captured variables, the globals that the source names, and what it names inside modules of the user."""
    values: list[tuple[str, Any]] = []
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            values.append((name, cell.cell_contents))
        except ValueError:  # not set yet
            continue
    for path in global_paths(function):
        names = function.__globals__ if path[0] in function.__globals__ else vars(builtins)
        if path[0] in names:
            values.append(_follow(path, names[path[0]]))
    return values + _imported_values(function)


def global_paths(function: types.FunctionType) -> list[tuple[str, ...]]:
    """The dotted names in a function that may begin with a global: not with a parameter, a local or a captured name."""
    code = function.__code__
    own = {*code.co_freevars, *code.co_varnames, *code.co_cellvars}
    return [path for path in _reading(function)[1] if path[0] not in own]


def is_user_module(value: Any) -> bool:
    """Whether it is a module whose variables count among the globals that a kernel reads."""
    return isinstance(value, types.ModuleType) and not is_library_name(value.__name__)


def is_compared_by_identity(value: Any) -> bool:
    """Whether the key of a value, which is not frozen, holds nothing but the object itself."""
    if isinstance(value, type | types.FunctionType | BaseException) or stands_for(value) is not None:
        return False
    return _is_opaque(value) and not hasattr(value, "_version")


def is_frozen(value: Any) -> bool:
    """Whether a value cannot change while it is the same object."""
    if type(value) is tuple:
        return all(is_frozen(element) for element in value)
    if isinstance(value, type):
        return not is_user_class(value) or _is_plain_enum(value)
    if isinstance(value, enum.Enum):
        return _is_plain_enum(type(value))
    return (
        type(value) in _PLAIN
        or isinstance(value, types.ModuleType)
        or _is_plain_builtin(value)
        or (isinstance(value, types.FunctionType) and helpers.is_library(value))
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
