"""Containers that may be one object in Python and are several while tracing.

A loop or branch that binds a name anew to a container makes a fresh one, which stands for the container of either side.
What is set in one of them is not seen in the others: a statement that does so is an error where another of them can
still be read. Kin is noted for each pair when a container is made, so that two that are known to differ stay apart.
"""
# ruff: noqa: D107

from __future__ import annotations

import gc
import sys
import types
from collections.abc import Callable, Iterable
from typing import Any

from pypto.frontend.containers import parts_of, same_element, variables_of
from pypto.frontend.places import is_ours, trace_error

KERNEL_FRAME = "_run_kernel"  # name of the function that calls the kernel's own


def _referents(value: Any) -> list[Any]:
    """What an object holds; nothing for classes, modules, tensors and other objects of this package."""
    if isinstance(value, types.FunctionType):
        return [value.__closure__, value.__defaults__, value.__kwdefaults__]
    if isinstance(value, type | types.ModuleType | types.CodeType | types.FrameType | str | bytes | int | float):
        return []
    is_opaque = type(value).__module__.startswith("pypto.") and not isinstance(value, tuple)
    return [] if is_opaque else gc.get_referents(value)


class Names:
    """What can be reached from names."""

    def __init__(self) -> None:
        self._seen: dict[int, Any] = {}

    def holds(self, container: Any) -> bool:
        """Whether a container is among it."""
        return id(container) in self._seen

    def add(self, values: Iterable[Any]) -> None:
        """Adds values and what they hold."""
        stack = list(values)
        while stack:
            value = stack.pop()
            if id(value) not in self._seen:
                self._seen[id(value)] = value
                stack += _referents(value)


def reachable(
    frame: types.FrameType | None, live: Iterable[str] | None, function: types.FunctionType | None = None
) -> Names:
    """What can be read: by the live names of the frame that runs, the function's outer ones, and those of callers."""
    found = Names()
    if function is not None:
        found.add(value for _, value in variables_of(function))
    while frame is not None and frame.f_code.co_name != KERNEL_FRAME:
        if not is_ours(frame):
            names = {name: value for name, value in frame.f_locals.items() if not name.startswith("_pypto_")}
            found.add(names.values() if live is None else [names[name] for name in live if name in names])
            live = None
        frame = frame.f_back
    return found


def user_frame() -> types.FrameType | None:
    """The innermost frame outside of this package."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and is_ours(frame):
        frame = frame.f_back
    return frame


_FEW = 64
_PROBE: dict[int, tuple[Any, list[Any]]] = {0: ([], [])}
_ALONE = [sys.getrefcount(_PROBE[key][0]) for key in _PROBE][0]  # references of a container that nobody else holds


class Kin:
    """Those of one trace. Containers are held, so that their ids stay theirs."""

    def __init__(self, loops: list[Any]) -> None:
        self._loops = loops  # that are open
        self._known: dict[int, tuple[Any, list[tuple[Any, Any]]]] = {}  # by id: the container and what it holds
        self._kin: dict[int, set[int]] = {}
        self._most = _FEW
        self.changed: list[Any] = []  # containers that statements of open loops have changed, in order

    def _add(self, container: Any) -> set[int]:
        if id(container) not in self._known:
            self._known[id(container)] = (container, parts_of(container) or [])
            self._kin[id(container)] = set()
        return self._kin[id(container)]

    def of(self, container: Any) -> list[Any]:
        """The container, and those that may be it."""
        return [container, *(self._known[each][0] for each in self._kin.get(id(container), ()))]

    def are(self, a: Any, b: Any) -> bool:
        """Whether two containers may be one."""
        return a is b or id(b) in self._kin.get(id(a), ())

    def pair(self, a: Any, b: Any) -> None:
        """Notes that two containers may be one."""
        if a is not b:
            self._add(a).add(id(b))
            self._add(b).add(id(a))

    def merge(self, made: list[tuple[Any, list[Any]]]) -> None:
        """Fresh containers of one loop or branch, each with the container that it stands for on either side."""
        self._prune()
        older = [
            [other for source in sources if source is not None for other in self.of(source)] for _, sources in made
        ]
        for (fresh, _), others in zip(made, older, strict=True):
            for other in others:
                self.pair(fresh, other)
        for position, (fresh, sources) in enumerate(made):
            for other, theirs in made[position + 1 :]:
                if any(a is not None and self.are(a, b) for a, b in zip(sources, theirs, strict=True)):
                    self.pair(fresh, other)

    def _prune(self) -> None:
        """Forgets containers that nobody else holds."""
        if len(self._known) < self._most:
            return
        if not self._loops:
            self.changed.clear()
        for key in [key for key in self._known if sys.getrefcount(self._known[key][0]) <= _ALONE]:
            for other in self._kin.pop(key):
                self._kin[other].discard(key)
            del self._known[key]
        self._most = _FEW + 2 * len(self._known)

    def ids(self) -> set[int]:
        """Ids of the containers that are known."""
        return set(self._known)

    def refresh(self) -> None:
        """The tracer itself has put values into containers."""
        for key, (container, _) in self._known.items():
            self._known[key] = (container, parts_of(container) or [])

    def settle(self, live: Iterable[str] | None, function: types.FunctionType) -> None:
        """Refuses a change of a container that another one should show, where that can still be read."""
        names = None
        for key, (container, before) in self._known.items():
            after = parts_of(container) or []
            if _same(before, after):
                continue
            self._known[key] = (container, after)
            if self._loops:
                self.changed.append(container)
            if not self._kin[key]:
                continue
            names = names or reachable(user_frame(), live, function)
            if any(names.holds(other) for other in self.of(container)[1:]):
                raise refusal(container)


def _same(before: list[tuple[Any, Any]], after: list[tuple[Any, Any]]) -> bool:
    return len(before) == len(after) and all(
        same_element(a, c) and same_element(b, d) for (a, b), (c, d) in zip(before, after, strict=True)
    )


_COPIES: dict[type, str] = {list: "name = list(name)", dict: "name = dict(name)"}


def refusal(container: Any, error: Callable[..., Exception] = trace_error, *more: Any) -> Exception:
    """The error for a change that another name of the container would have to see."""
    kind = type(container).__name__
    copy = _COPIES.get(type(container), "name = copy.copy(name)")
    return error(
        ValueError,
        f"a {kind} changes that may be the one of another name, depending on a condition or on a loop of the running "
        f"kernel; the other name would not see it. Instead: bind a new {kind} before ({copy}), or write into the "
        "tensor that it holds (x[:] = value)",
        *more,
    )
