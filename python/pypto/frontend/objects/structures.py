"""Names that a loop or branch binds anew to a list, tuple, dict or dataclass of the same make.

Their elements are carried one by one, under names like "[0] of state"; the container is made anew where the name is
bound, so that whoever holds the container of before keeps it as it was.
"""
# ruff: noqa: D105, D107

from __future__ import annotations

import collections
import copy
import dataclasses
import itertools
from collections.abc import Collection
from typing import Any

from pypto.frontend.objects.containers import attributes_held
from pypto.frontend.objects.definitions import slots_of
from pypto.frontend.objects.kin import Kin
from pypto.frontend.objects.parts import dict_of
from pypto.frontend.objects.plainly import plainly
from pypto.frontend.symbolic import SymbolicScalar
from pypto.frontend.tracing.carry import UNBOUND, Unusable
from pypto.frontend.tracing.maybe import Maybe, split
from pypto.frontend.tracing.tracer import NoValue, Trace, current

_OF = " of "
_HEAP_TYPE = 1 << 9  # of classes that are made by a class statement


def owner(name: str) -> str:
    """The name in the kernel that an element belongs to; other names as they are."""
    return name.rpartition(_OF)[2] if name.startswith(("[", ".")) else name


def parts_of(value: Any) -> list[tuple[str, Any]] | None:
    """Steps to the elements of a container, and the elements; None for what is no container."""
    if isinstance(value, Maybe | NoValue):
        return None
    if type(value) is list or type(value) is tuple:
        return [(f"[{index}]", element) for index, element in enumerate(value)]
    if isinstance(value, tuple):
        return [(f"[{index}]", element) for index, element in enumerate(plainly(value))]
    if type(value) is dict:
        return [(f"[{key!r}]", element) for key, element in value.items()]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [(f".{field.name}", getattr(value, field.name)) for field in dataclasses.fields(value)]
    is_derived = isinstance(value, list | dict) and not isinstance(value, collections.defaultdict)
    return _parts_of_derived(value) if is_derived and not slots_of(type(value)) else None


def _parts_of_derived(value: list[Any] | dict[Any, Any]) -> list[tuple[str, Any]]:
    """Elements of an object of a class that is derived from list or dict, then its attributes."""
    if isinstance(value, list):
        parts = [(f"[{index}]", element) for index, element in enumerate(plainly(value))]
    else:
        parts = [(f"[{key!r}]", element) for key, element in dict_of(value).items(value)]
    return parts + [(f".{name}", each) for name, each in sorted(attributes_held(value).items())]


def _derived_like(template: Any, elements: list[Any]) -> Any:
    """The same with other elements and attributes, by no code of the user."""
    count = list.__len__(template) if isinstance(template, list) else dict.__len__(template)
    if isinstance(template, list):
        made: Any = list.__new__(type(template))
        list.extend(made, elements[:count])
    else:
        kind = dict_of(template)
        made = kind.__new__(type(template))
        for key, element in zip(kind.keys(template), elements[:count], strict=True):
            kind.__setitem__(made, key, element)
    attributes_held(made).update(zip(sorted(attributes_held(template)), elements[count:], strict=True))
    return made


def _copy_of(template: Any) -> Any:
    """As copy.copy does, which would leave a mark in the class."""
    kind = type(template)
    if isinstance(template, list | dict | tuple | set):
        return copy.copy(template)
    made = object.__new__(kind)
    for base in kind.__mro__:
        slots = base.__dict__.get("__slots__", ())
        for slot in (slots,) if isinstance(slots, str) else slots:
            is_private = slot.startswith("__") and not slot.endswith("__")
            name = f"_{base.__name__.lstrip('_')}{slot}" if is_private else slot
            if name not in ("__dict__", "__weakref__") and hasattr(template, name):
                object.__setattr__(made, name, getattr(template, name))
    getattr(made, "__dict__", {}).update(getattr(template, "__dict__", {}))
    return made


def _others_of(value: Any) -> list[tuple[str, Any]]:
    """Attributes of a dataclass object that are no fields, or of a tuple: numbers and texts, and which object others
    are."""
    if not dataclasses.is_dataclass(value) and not isinstance(value, tuple):
        return []
    fields = {field.name for field in dataclasses.fields(value)} if dataclasses.is_dataclass(value) else set()
    others = {name: each for name, each in getattr(value, "__dict__", {}).items() if name not in fields}
    plain = (int, float, str, bool, bytes, type(None))
    return [(name, each if isinstance(each, plain) else id(each)) for name, each in sorted(others.items())]


def _tuple_like(template: tuple[Any, ...], elements: list[Any]) -> tuple[Any, ...]:
    """A tuple of the same class, by no code of it."""
    kind = type(template)
    if kind is tuple or not kind.__flags__ & _HEAP_TYPE:
        return tuple(elements)
    made = tuple.__new__(kind, elements)
    getattr(made, "__dict__", {}).update(getattr(template, "__dict__", {}))
    return made


def make_like(template: Any, elements: list[Any]) -> Any:
    """A container like the template with other elements."""
    if type(template) is list:
        return elements
    if isinstance(template, tuple):
        made = _tuple_like(template, elements)
        trace = current()
        if trace is not None:
            trace.tuples[id(made)] = made
        return made
    if type(template) is dict:
        return dict(zip(template, elements, strict=True))
    if isinstance(template, list | dict) and not dataclasses.is_dataclass(template):
        return _derived_like(template, elements)
    made = _copy_of(template)
    for field, element in zip(dataclasses.fields(template), elements, strict=True):
        object.__setattr__(made, field.name, element)
    return made


def holds_itself(value: Any, around: tuple[int, ...] = ()) -> bool:
    """Whether a container is, or has in it, one that leads back to itself."""
    parts = parts_of(value)
    if not parts:
        return False
    return id(value) in around or any(holds_itself(element, (*around, id(value))) for _, element in parts)


def flatten(value: Any, path: str = "") -> dict[str, Any] | None:
    """Elements that are no containers, by path, outermost first; None for what is no container, or holds itself."""
    parts = parts_of(value)
    if parts is None or (not path and holds_itself(value)):
        return None
    found: dict[str, Any] = {}
    for step, element in parts:
        inner = flatten(element, path + step)
        found |= {path + step: element} if inner is None else inner
    return found


def _makes(value: Any) -> Any:
    """Types and steps of a container, without its elements, and what else dataclass objects hold."""
    parts = parts_of(value)
    if parts is None:
        return None
    return type(value), [(step, _makes(element)) for step, element in parts], _others_of(value)


def are_alike(a: Any, b: Any) -> bool:
    """Whether two values are containers of one make: types, lengths, keys. None that holds itself is."""
    if type(a) is not type(b) or parts_of(a) is None or holds_itself(a) or holds_itself(b):
        return False
    return bool(_makes(a) == _makes(b))


def is_container(value: Any) -> bool:
    """Whether a value is a container whose elements are carried one by one."""
    return parts_of(value) is not None and not holds_itself(value)


def elements_of(name: str, value: Any) -> dict[str, Any]:
    """Elements of what a name holds, by names such as "[0] of state"."""
    return {f"{path}{_OF}{name}": element for path, element in (flatten(value) or {}).items()}


def _rebuild(template: Any, elements: dict[str, Any], path: str = "") -> Any:
    parts = parts_of(template)
    if parts is None:
        return elements.get(path, template)
    return make_like(template, [_rebuild(element, elements, path + step) for step, element in parts])


def rebuild(template: Any, elements: dict[str, Any], name: str) -> Any:
    """A container like that of a name with other elements, by names such as "[0] of state"."""
    return _rebuild(template, {path.removesuffix(f"{_OF}{name}"): element for path, element in elements.items()})


def containers_in(value: Any, *, is_inner: bool = False) -> list[Any]:
    """A container and those in it, without tuples, outermost first; none where it holds itself."""
    parts = parts_of(value)
    if parts is None or (not is_inner and holds_itself(value)):
        return []
    inner = [each for _, element in parts for each in containers_in(element, is_inner=True)]
    return inner if isinstance(value, tuple) else [value, *inner]


def held(frame: dict[str, Any], name: str) -> Any:
    """The value of a name that may be bound on some paths only; UNBOUND where it is on none."""
    value = split(frame.get(name, UNBOUND), UNBOUND)[0]
    return UNBOUND if isinstance(value, Unusable) else value


class Structures:
    """Those of one loop or branch."""

    def __init__(self, trace: Trace, ordinal: int) -> None:
        self._trace, self._ordinal = trace, ordinal
        self._templates: dict[str, Any] = dict(trace.facts.structures.get(ordinal, {}))
        self._sides: list[dict[str, list[Any]]] = []  # containers that a name may stand for, by branch
        self.made: dict[str, Any] = {}  # by name: the container that stands for them

    def start_from(self, entry: dict[str, Any]) -> None:
        """Elements that nobody binds anew are those of `entry`; names that hold something else there are left out."""
        values = {name: held(entry, name) for name in self._templates}
        self._templates = {
            name: noted if values[name] is UNBOUND else values[name]
            for name, noted in self._templates.items()
            if (values[name] is UNBOUND and name.isidentifier()) or are_alike(noted, values[name])
        }

    def held(self, frame: dict[str, Any]) -> dict[str, Any]:
        """What the names hold."""
        return {name: frame.get(name) for name in self._templates}

    def add_side(self, frame: dict[str, Any]) -> None:
        """What the names hold at the end of a branch."""
        self._sides.append({name: containers_in(split(value, None)[0]) for name, value in self.held(frame).items()})

    @property
    def names(self) -> set[str]:
        """Names whose elements are carried in their place."""
        return set(self._templates)

    @property
    def paths(self) -> set[str]:
        """Names of the elements."""
        return set(self.values(self._templates))

    def with_elements(self, names: Collection[str]) -> set[str]:
        """The names, and those of the elements of the containers among them."""
        return {*names, *(path for path in self.paths if owner(path) in names)}

    def values(self, frame: dict[str, Any]) -> dict[str, Any]:
        """What the elements are now, by name; none of a name that holds a container of another make."""
        found: dict[str, Any] = {}
        for name, template in self._templates.items():
            value = held(frame, name)
            if are_alike(template, value):
                found |= elements_of(name, value)
        return found

    def others(self, frame: dict[str, Any]) -> list[str]:
        """Names that hold something of another make."""
        values = {name: held(frame, name) for name in self._templates}
        return [name for name, value in values.items() if value is not UNBOUND and not are_alike(self[name], value)]

    def __getitem__(self, name: str) -> Any:
        """A container of the make of a name, whose elements are those that nobody binds anew."""
        return self._templates[name]

    def element(self, path: str) -> Any:
        """An element of those containers."""
        return elements_of(owner(path), self[owner(path)])[path]

    def refresh(self) -> None:
        """The tracer has put values into containers."""
        if self._trace.kin is not None:
            self._trace.kin.refresh()

    def take(self, names: dict[str, Any], wanted: Collection[str] = ()) -> None:
        """Makes containers of the elements in a table of names; those that are wanted in any case."""
        for name, template in self._templates.items():
            elements = {path: f"{path}{_OF}{name}" for path in flatten(template) or {}}
            found = {path: split(names.pop(element), None)[0] for path, element in elements.items() if element in names}
            if found or not elements or name in wanted:
                names[name] = _rebuild(template, found)
                self.made[name] = names[name]

    def relate(self, condition: SymbolicScalar) -> None:
        """The containers made here are those of either side of a branch."""
        if not self.made:
            return
        kin = self._trace.kin = self._trace.kin or Kin(self._trace)
        then, otherwise = self._sides
        found = []
        for name, value in self.made.items():
            sides = itertools.zip_longest(containers_in(value), then[name], otherwise[name])
            found += [(fresh, one, other) for fresh, one, other in sides if fresh is not None]
        kin.merge(found, condition)

    def relate_one(self, made: Any, then: Any, otherwise: Any, condition: SymbolicScalar) -> None:
        """A container that stands for those of either side of a branch in a trace that starts over."""
        kin = self._trace.kin = self._trace.kin or Kin(self._trace)
        sides = [containers_in(each) for each in (made, then, otherwise)]
        kin.merge(list(zip(*sides, strict=True)), condition)

    def note(self, name: str, container: Any) -> None:
        """The elements of this name are to be carried in the next trace."""
        self._trace.facts.structures.setdefault(self._ordinal, {})[name] = _rebuild(container, {})  # it may change
        self._trace.starts_over = True
