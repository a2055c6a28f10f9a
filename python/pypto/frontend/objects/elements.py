"""List and dict elements and attributes that a loop carries or branches merge: names like "state['acc']" to the tracer.

The tracer puts values of its own into such containers; all of them are put back when the trace ends.
"""
# ruff: noqa: D105, D107

from __future__ import annotations

import types
from collections.abc import Callable, Collection, Iterator
from typing import Any

from pypto.frontend.floats import is_number
from pypto.frontend.objects.containers import Change, Snapshot, get, put
from pypto.frontend.objects.parts import SlotBeside
from pypto.frontend.objects.structures import are_alike
from pypto.frontend.places import trace_error
from pypto.frontend.tensor import Tensor
from pypto.frontend.tracing.maybe import load
from pypto.frontend.tracing.tracer import Retrace, Trace


def _can_put(container: Any, key: Any) -> bool:
    if isinstance(key, SlotBeside):
        return False
    is_slot = isinstance(getattr(type(container), str(key), None), types.MemberDescriptorType)
    return (
        isinstance(container, list | dict)
        or isinstance(getattr(container, "__dict__", None), dict)
        or isinstance(container, type)
        or (is_slot and type(container).__module__ != "builtins")
    )


def _is_carried(value: Any) -> bool:
    return isinstance(value, Tensor) or is_number(value)


def _can_carry(old: Any, new: Any) -> bool:
    """Whether an element may change so: containers are carried element by element."""
    return (_is_carried(old) and _is_carried(new)) or are_alike(old, new)


def _root(path: str) -> str:
    """A path without what its change is."""
    return path.partition(" (its length")[0]


def undo(trace: Trace) -> None:
    """Gives all containers back what they held before the trace."""
    while trace.replaced:
        put(*trace.replaced.pop())


_FIXED = "Python containers and objects are fixed while the kernel runs. Write into the tensor instead (x[:] = value)"
IN_A_LOOP = f"changes in a pypto.loop; {_FIXED}, or bind the value to a name of its own"
IN_A_BRANCH = f"changes in a branch on a symbolic condition; {_FIXED}, or bind the value to a name"


class Elements:
    """Those of one loop or branch. Made from the containers that can be reached when it begins."""

    def __init__(self, trace: Trace, ordinal: int, snapshot: Callable[[], Snapshot], text: str) -> None:
        self._trace, self._ordinal, self._text = trace, ordinal, text
        wanted = trace.facts.elements.get(ordinal, ())
        places = self._find(snapshot(), wanted) if wanted else {}
        self._places = {path: place for path, place in places.items() if path in wanted}
        held = self.values()
        if held:
            self._places = {path: place for path, place in self._places.items() if not self._is_over(held[path])}
        for path, (container, key) in self._places.items():
            trace.note_replaced(container, key, held[path])

    def _find(self, snapshot: Snapshot, wanted: Collection[str]) -> dict[str, tuple[Any, Any]]:
        """Container and key of the elements by path; helpers that the block calls may be all that reaches one."""
        places = snapshot.places()
        if any(path not in places for path in wanted):
            for function in list(self._trace.facts.helpers.values()):
                snapshot.add_function(function)
            places = snapshot.places()
        return places

    def _is_over(self, value: Any) -> bool:
        """Whether an element is a tensor that cannot be used any more: nothing reads its container."""
        return isinstance(value, Tensor) and not self._trace.is_open(value.scope)

    @property
    def paths(self) -> list[str]:
        """Their names."""
        return list(self._places)

    def values(self) -> dict[str, Any]:
        """What they hold now, by name."""
        held = {}
        for path, (container, key) in self._places.items():
            held[path] = get(container, key)
        return held

    def take(self, names: dict[str, Any]) -> None:
        """Puts values into the containers and takes them out of the table of names."""
        for path, (container, key) in self._places.items():
            if path in names:
                put(container, key, load(names.pop(path)))

    def _new_changes(self, snapshot: Snapshot) -> Iterator[Change]:
        known = {(id(container), key) for container, key in self._places.values()}
        for change in snapshot.changes():
            if (id(change.container), change.key) not in known:
                yield change

    def refused(self, snapshot: Snapshot) -> str | None:
        """The path of a change that cannot be followed."""
        for change in self._new_changes(snapshot):
            if change.key is None or not (
                _can_put(change.container, change.key) and _can_carry(change.old, change.new)
            ):
                return change.path
        return None

    def settled(self, snapshot: Snapshot) -> None:
        """Behind a statement: refuses the change there that an earlier trace found at the end of the block."""
        changed = self.refused(snapshot)
        if changed is not None and _root(changed) == self._trace.facts.changed:
            raise trace_error(ValueError, f"{changed} {self._text}")

    def check(self, snapshot: Snapshot, error: Callable[[type[ValueError], str], Exception]) -> list[Change]:
        """Refuses changes that cannot be followed; gives those that can be and are not yet: the next trace does."""
        changed = self.refused(snapshot)
        if changed is not None:
            if self._trace.facts.changed != _root(changed):
                self._trace.facts.changed = _root(changed)  # to find the statement
                raise Retrace
            raise error(ValueError, f"{changed} {self._text}")
        found = list(self._new_changes(snapshot))
        for change in found:
            self._trace.note_replaced(change.container, change.key, change.old)
            put(change.container, change.key, change.old)
        wanted = {change.path for change in found if not self._is_over(change.old)} if found else set()
        if wanted:
            self._trace.facts.elements.setdefault(self._ordinal, set()).update(wanted)
            self._trace.starts_over = True
        return found
