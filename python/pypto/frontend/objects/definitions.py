"""Classes, modules and functions of the user as containers: what they hold besides code."""

from __future__ import annotations

import enum
import sys
import types
from typing import Any

NATIVE_PACKAGES = frozenset(sys.stdlib_module_names - {"__main__"}) | {"pypto", "numpy", "torch"}
LIBRARY_TYPES: set[type] = set()  # classes that were found to be of these
_MAX_TYPES = 4096
_CODE = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, str, bytes)


def package_of(kind: type) -> str:
    """The package that defines a class."""
    module: Any = kind.__module__
    return module.partition(".")[0] if isinstance(module, str) else "builtins"  # compiled classes hide it


def is_library_name(module: Any) -> bool:
    """Whether a module is of the standard library, pypto, numpy or torch."""
    return isinstance(module, str) and module.partition(".")[0] in NATIVE_PACKAGES


def is_of_library(kind: type) -> bool:
    """Whether a class is of these."""
    if kind in LIBRARY_TYPES:
        return True
    if package_of(kind) not in NATIVE_PACKAGES:
        return False
    if len(LIBRARY_TYPES) < _MAX_TYPES:
        LIBRARY_TYPES.add(kind)
    return True


def attributes_of(value: Any) -> list[tuple[str, Any]] | None:
    """Attributes of a class or module of the user that are no code, and those of a function; None for other objects."""
    if isinstance(value, types.FunctionType):
        return list(vars(value).items())
    if isinstance(value, type):
        if is_of_library(value) or isinstance(value, enum.EnumMeta):
            return None
        held = [(name, each) for name, each in vars(value).items() if not hasattr(type(each), "__get__")]
    elif isinstance(value, types.ModuleType) and not is_library_name(value.__name__):
        held = [(name, each) for name, each in vars(value).items() if not is_code(each)]
    else:
        return None
    return [(name, each) for name, each in held if not (name.startswith("__") and name.endswith("__"))]


def is_code(value: Any) -> bool:
    """Whether a global is a class, module, function or text, or an array, as modules hold them."""
    return isinstance(value, _CODE) or _is_array(value)


def _is_array(value: Any) -> bool:
    """Constants of a module, of any size."""
    return package_of(type(value)) in {"numpy", "torch"}


def slots_of(kind: type) -> list[str]:
    """Names of the slots that classes declare."""
    names: list[str] = []
    for base in kind.__mro__:
        declared = vars(base).get("__slots__", ())
        for name in (declared,) if isinstance(declared, str) else tuple(declared):
            is_private = name.startswith("__") and not name.endswith("__")
            names.append(f"_{base.__name__.lstrip('_')}{name}" if is_private else name)
    return [name for name in names if name not in ("__dict__", "__weakref__")]


def put_attribute(holder: Any, name: str, value: Any) -> None:
    """Sets one, by no code of the user."""
    if isinstance(holder, type):
        type.__setattr__(holder, name, value)
    else:
        object.__setattr__(holder, name, value)
