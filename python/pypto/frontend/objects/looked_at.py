"""Functions of Python that look at what an object is: errors for names of two kinds, and for one of several objects."""

from __future__ import annotations

import builtins
import types
from collections.abc import Callable
from typing import Any

from pypto.frontend.objects.sameness import refuse_several
from pypto.frontend.tracing.carry import Unusable

_KINDS = frozenset(
    {
        builtins.ascii, builtins.callable, builtins.delattr, builtins.format, builtins.getattr, builtins.hasattr,
        builtins.isinstance, builtins.issubclass, builtins.repr, builtins.setattr, builtins.str, builtins.type,
    }
)  # fmt: skip
_IDENTITIES = {builtins.id: "id()", builtins.hash: "hash()"}
_METHODS = frozenset({"add", "count", "discard", "get", "index", "pop", "remove", "setdefault"})
_CONTAINERS = (list, dict, set, frozenset, tuple)


def is_of_container(function: Any) -> bool:
    """Whether a function is a method of a container."""
    return type(function) is types.BuiltinFunctionType and isinstance(function.__self__, _CONTAINERS)


def stands_for(function: Any, run: Any = None) -> Callable[..., Any] | None:
    """What is called instead of a function of Python; None for itself. A method of a container is run by `run`."""
    if type(function) is types.BuiltinFunctionType:
        if isinstance(function.__self__, _CONTAINERS):
            run = run or function
            return _of_objects(run, f"{function.__name__}()") if function.__name__ in _METHODS else run
        if function in _IDENTITIES:
            return _of_objects(function, _IDENTITIES[function])
    elif type(function) is not type:
        return None
    return _of_kinds(function) if function in _KINDS else None


def _of_kinds(function: Callable[..., Any]) -> Callable[..., Any]:
    def looks(*arguments: Any, **keywords: Any) -> Any:
        for value in (*arguments, *keywords.values()):
            if isinstance(value, Unusable):
                value._refuse()
        return function(*arguments, **keywords)

    return looks


def _of_objects(function: Callable[..., Any], what: str) -> Callable[..., Any]:
    def looks(*arguments: Any, **keywords: Any) -> Any:
        for value in arguments[:1]:
            refuse_several(value, what)
        return function(*arguments, **keywords)

    return looks
