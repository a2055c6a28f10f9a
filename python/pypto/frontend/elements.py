"""List and dict elements and attributes that a loop carries or branches merge: names like "state['acc']" to the tracer.

The tracer puts values of its own into such containers; all of them are put back when the trace ends.
"""
# ruff: noqa: D105, D107

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from pypto.frontend.containers import Snapshot
from pypto.frontend.floats import is_number
from pypto.frontend.maybe import load
from pypto.frontend.structures import are_alike
from pypto.frontend.tensor import Tensor
from pypto.frontend.tracer import Trace


def _put(container: Any, key: Any, value: Any) -> None:
    if isinstance(container, list | dict):
        container[key] = value
    else:
        object.__setattr__(container, key, value)


def _can_put(container: Any, key: Any) -> bool:
    is_slot = isinstance(getattr(type(container), str(key), None), types.MemberDescriptorType)
    return (
        isinstance(container, list | dict)
        or isinstance(getattr(container, "__dict__", None), dict)
        or (is_slot and type(container).__module__ != "builtins")
    )


def _is_carried(value: Any) -> bool:
    return isinstance(value, Tensor) or is_number(value)


def _can_carry(old: Any, new: Any) -> bool:
    """Whether an element may change so: containers are carried element by element."""
    return (_is_carried(old) and _is_carried(new)) or are_alike(old, new)


def undo(trace: Trace) -> None:
    """Gives all containers back what they held before the trace."""
    while trace.replaced:
        _put(*trace.replaced.pop())


class Elements:
    """Those of one loop or branch. Made from the containers that can be reached when it begins."""

    def __init__(self, trace: Trace, ordinal: int, snapshot: Callable[[], Snapshot]) -> None:
        self._trace, self._ordinal = trace, ordinal
        wanted = trace.facts.elements.get(ordinal, ())
        places = snapshot().places() if wanted else {}
        self._places = {path: place for path, place in places.items() if path in wanted}
        held = self.values()
        trace.replaced += [(container, key, held[path]) for path, (container, key) in self._places.items()]

    @property
    def paths(self) -> list[str]:
        """Their names."""
        return list(self._places)

    def values(self) -> dict[str, Any]:
        """What they hold now, by name."""
        held = {}
        for path, (container, key) in self._places.items():
            held[path] = container[key] if isinstance(container, list | dict) else getattr(container, key)
        return held

    def take(self, names: dict[str, Any]) -> None:
        """Puts values into the containers and takes them out of the table of names."""
        for path, (container, key) in self._places.items():
            if path in names:
                _put(container, key, load(names.pop(path)))

    def check(self, snapshot: Snapshot) -> str | None:
        """The path of a change that cannot be followed; those that were not known and can be are in the next trace."""
        known = {(id(container), key) for container, key in self._places.values()}
        found = []
        for change in snapshot.changes():
            if (id(change.container), change.key) in known:
                continue
            is_known_kind = change.key is not None and _can_carry(change.old, change.new)
            if not is_known_kind or not _can_put(change.container, change.key):
                return change.path
            found.append(change)
        if not found:
            return None
        for change in found:
            self._trace.replaced.append((change.container, change.key, change.old))
            _put(change.container, change.key, change.old)
        wanted = self._trace.facts.elements.setdefault(self._ordinal, set())
        wanted |= {change.path for change in found}
        self._trace.starts_over = True
        return None
