"""Containers that may be one object in Python and are several while tracing.

A loop or branch that binds a name anew to a container makes a fresh one, which stands for the container of either side.
For each two of them that may be one it is known under which condition they are: what is set in one of them is set in
the other where that holds (following.py).
"""
# ruff: noqa: D107

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

from pypto.frontend.objects.containers import same_element
from pypto.frontend.objects.parts import parts_of
from pypto.frontend.places import trace_error
from pypto.frontend.symbolic import SymbolicScalar, static_int
from pypto.frontend.tracing.tracer import NoValue, Scope, TensorLike, Trace

UNKNOWN = object()  # in place of a condition: two containers may be one, and nobody knows when

_FEW = 8
_PROBE: dict[int, tuple[Any, list[Any]]] = {0: ([], [])}
_ALONE = [sys.getrefcount(_PROBE[key][0]) for key in _PROBE][0]  # references of a container that nobody else holds

Parts = list[tuple[Any, Any]]


def are_equal(a: Any, b: Any) -> bool:
    """Whether two conditions are written alike."""
    if isinstance(a, SymbolicScalar) and isinstance(b, SymbolicScalar):
        return a._expr == b._expr
    return a is b or (static_int(a) is not None and static_int(a) == static_int(b))


def either(condition: SymbolicScalar, a: Any, b: Any) -> Any:
    """The condition that is `a` where the first one holds, else `b`: 0, 1, a symbolic one or UNKNOWN."""
    if a is UNKNOWN or b is UNKNOWN:
        return UNKNOWN
    holds, fails = condition & 1, ~condition
    a = 1 if are_equal(a, holds) else 0 if are_equal(a, fails) else a
    b = 0 if are_equal(b, holds) else 1 if are_equal(b, fails) else b
    if are_equal(a, b):
        return a
    if static_int(a) is not None and static_int(b) is not None:
        return holds if static_int(a) else fails
    if static_int(a) is not None:
        return holds | b if static_int(a) else fails & b
    if static_int(b) is not None:
        return fails | a if static_int(b) else holds & a
    return (holds & a) | (fails & b)


class Kin:
    """Those of one trace. Containers are held, so that their ids stay theirs."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._known: dict[int, tuple[Any, Parts]] = {}  # by id: the container and what it holds
        self._same: dict[int, dict[int, Any]] = {}
        self._made: set[int] = set()  # those made by the tracer, by id
        self._loop: dict[int, Scope | None] = {}  # of those made by the tracer: the loop whose numbers conditions use
        self._held: list[tuple[int, Any]] = []  # results of calls, with the depth of the statement that uses them
        self._most = _FEW

    def _add(self, container: Any) -> dict[int, Any]:
        if id(container) not in self._known:
            self._known[id(container)] = (container, parts_of(container) or [])
            self._same[id(container)] = {}
        return self._same[id(container)]

    def hold(self, value: Any, level: int) -> None:
        """A statement at this depth of calls has got a value that no name holds yet."""
        if not isinstance(value, NoValue | TensorLike | SymbolicScalar | int | float | str):
            self._held.append((level, value))

    def held(self) -> list[Any]:
        """Values that statements have got and not used up yet."""
        return [value for _, value in self._held]

    def let_go(self, level: int) -> None:
        """A statement at this depth ends."""
        self._held = [each for each in self._held if each[0] < level]

    def knows(self, container: Any) -> bool:
        """Whether a container may be another one."""
        return id(container) in self._known

    def is_made(self, container: Any) -> bool:
        """Whether the tracer has made it, so that nothing outside of the trace holds it."""
        return id(container) in self._made

    def same(self, a: Any, b: Any) -> Any:
        """When two containers are one: 0, 1, a symbolic condition or UNKNOWN."""
        if a is b:
            return 1
        found = self._same.get(id(a), {}).get(id(b), 0)
        is_over = isinstance(found, SymbolicScalar) and any(
            loop is not None and not self._trace.is_open(loop) for loop in map(self._loop.get, (id(a), id(b)))
        )
        return UNKNOWN if is_over else found

    def related(self, container: Any) -> list[tuple[Any, Any]]:
        """Other containers that may be this one, and when they are."""
        others = [self._known[each][0] for each in self._same.get(id(container), ())]
        return [(other, self.same(container, other)) for other in others]

    def made(self, container: Any) -> None:
        """A container that the tracer makes here."""
        self._add(container)
        self._made.add(id(container))
        loop = self._trace.innermost_loop()
        if loop is not None:
            self._loop[id(container)] = loop

    def pair(self, a: Any, b: Any, same: Any) -> None:
        """Notes when two containers are one."""
        if a is not b and static_int(same) != 0:
            self._add(a)[id(b)] = same
            self._add(b)[id(a)] = same

    def merge(self, made: list[tuple[Any, Any, Any]], condition: SymbolicScalar) -> None:
        """Fresh containers, each with those that it stands for where the condition holds and where not."""
        self.prune()
        found = []
        for fresh, *sides in made:
            others = {id(each): each for side in sides if side is not None for each in self._with_kin(side)}
            for other in others.values():
                found.append((fresh, other, self._merged(sides, (other, other), condition)))
        for position, (fresh, *sides) in enumerate(made):
            for other, *theirs in made[position + 1 :]:
                found.append((fresh, other, self._merged(sides, theirs, condition)))
        for fresh, *_ in made:
            self.made(fresh)
        for one, other, same in found:
            self.pair(one, other, same)

    def _with_kin(self, container: Any) -> list[Any]:
        return [container, *(other for other, _ in self.related(container))]

    def _merged(self, a: Any, b: Any, condition: SymbolicScalar) -> Any:
        then, otherwise = (0 if None in (x, y) else self.same(x, y) for x, y in zip(a, b, strict=True))
        return either(condition, then, otherwise)

    def prune(self) -> None:
        """Forgets containers that nobody else holds."""
        if len(self._known) < self._most:
            return
        for key in [key for key in self._known if sys.getrefcount(self._known[key][0]) <= _ALONE]:
            for other in self._same.pop(key):
                self._same[other].pop(key, None)
            self._loop.pop(key, None)
            self._made.discard(key)
            del self._known[key]
        self._most = _FEW + len(self._known) * 3 // 2

    def refresh(self) -> None:
        """The tracer itself has put values into containers."""
        for key, (container, _) in self._known.items():
            self._known[key] = (container, parts_of(container) or [])

    def changes(self) -> Iterator[tuple[Any, Parts, Parts]]:
        """Containers that are not what they were, with what they held and hold; they are known as they are then."""
        for key, (container, before) in list(self._known.items()):
            after = parts_of(container) or []
            if not _are_same(before, after):
                self._known[key] = (container, after)
                yield container, before, after


def _are_same(before: Parts, after: Parts) -> bool:
    return len(before) == len(after) and all(
        same_element(a, c) and same_element(b, d) for (a, b), (c, d) in zip(before, after, strict=True)
    )


_COPIES: dict[type, str] = {list: "name = list(name)", dict: "name = dict(name)"}


def refusal(container: Any, why: str, error: Callable[..., Exception] = trace_error, *more: Any) -> Exception:
    """The error for a change that another name of the container would have to see, and why it cannot."""
    kind = type(container).__name__
    copy = _COPIES.get(type(container), "name = copy.copy(name)")
    return error(
        ValueError,
        f"a {kind} changes that may be the one of another name, depending on a condition or on a loop of the running "
        f"kernel, and {why}. Instead: bind a new {kind} before ({copy}), or write into the tensor that it holds "
        "(x[:] = value)",
        *more,
    )
