"""What objects hold, told by no code of the user."""

from __future__ import annotations

import collections
from typing import Any

from pypto.frontend.objects.hidden import UNSET

SEQUENCES = (list, tuple, bytearray, collections.deque)
_ITERATED: tuple[Any, ...] = (*SEQUENCES, set, frozenset)
NO_ATTRIBUTES: dict[str, Any] = {}  # of objects without a dict
_name_of: Any = vars(type)["__name__"]
_qualified_name_of: Any = vars(type)["__qualname__"]


def plainly(value: Any) -> Any:
    """A dict, or the elements of another container of Python."""
    if isinstance(value, dict):
        return dict.copy(value) if type(value) is not dict and not isinstance(value, collections.OrderedDict) else value
    kind = next((base for base in _ITERATED if isinstance(value, base)), None)
    return value if kind is None or type(value) is kind else kind.__iter__(value)


def attributes_in(value: Any) -> dict[str, Any]:
    """The attributes in an object's own dict; what its class answers for others does not count."""
    try:
        held = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return NO_ATTRIBUTES
    return held if isinstance(held, dict) else NO_ATTRIBUTES


def slot_of(value: Any, name: str) -> Any:
    """What a slot of an object holds; `UNSET` where there is nothing."""
    try:
        return object.__getattribute__(value, name)
    except AttributeError:
        return UNSET


def names_of_class(kind: type) -> tuple[str, str]:
    """Name and qualified name of a class."""
    return _name_of.__get__(kind), _qualified_name_of.__get__(kind)
