"""Containers that names of a loop hold at the start of its body: which of them are one, and which those of before.

`L, M = M, L` in a loop leaves in each name one of the two lists of before the loop. For each container that is carried,
and each other one that it may be, a flag is carried; the containers that stand for them in the body, and behind the
loop, are related by the flags. Which pairs need one is found out by starting over.
"""
# ruff: noqa: D107

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from pypto.frontend.objects.containers import Snapshot
from pypto.frontend.objects.kin import UNKNOWN, Kin, are_equal
from pypto.frontend.objects.structures import containers_in
from pypto.frontend.tracing.maybe import Maybe
from pypto.frontend.tracing.numbers_carried import CarriedNumbers
from pypto.frontend.tracing.reach import Names
from pypto.frontend.tracing.tracer import Trace


class LoopKin:
    """Those of one loop. Owned by its LoopFlow.

    A place is the container of a carried name, or one in it: "L 0" is that of L itself. Containers of before the loop
    are known by the path of names that leads to them.
    """

    def __init__(self, trace: Trace, ordinal: int, numbers: CarriedNumbers) -> None:
        self._trace, self._ordinal, self._numbers = trace, ordinal, numbers
        self._entry: dict[str, Any] = {}  # by place: the container when the loop begins
        self._paths: dict[int, str] = {}  # of containers of before the loop, by id
        self._outside: dict[str, Any] = {}
        self._base: dict[tuple[str, str], Any] = {}  # conditions when the loop begins, by place and place or path
        self._flags: dict[tuple[str, str], str] = {}  # where these change in the loop
        self._inside: list[tuple[str, Any]] = []  # places, and what they may be that the body has made

    @property
    def _kin(self) -> Kin:
        self._trace.kin = self._trace.kin or Kin(self._trace)
        kin: Kin = self._trace.kin
        return kin

    @staticmethod
    def _places(values: dict[str, Any]) -> dict[str, Any]:
        """Containers by place."""
        held = {name: value.value if isinstance(value, Maybe) else value for name, value in values.items()}
        return {f"{name} {at}": each for name, value in held.items() for at, each in enumerate(containers_in(value))}

    def begin(self, values: dict[str, Any], snapshot: Callable[[], Snapshot]) -> None:
        """The loop begins, with what the carried names hold."""
        if not values:
            return
        self._entry = self._places(values)
        for path, container in snapshot().containers():
            self._paths[id(container)] = f"outside {path}"
            self._outside[f"outside {path}"] = container
        for place, container in self._entry.items():
            for other, same in [(container, 1), *self._kin.related(container)]:
                if id(other) in self._paths:
                    self._base[place, self._paths[id(other)]] = same
        for one, other in itertools.combinations(sorted(self._entry), 2):
            self._base[one, other] = self._kin.same(self._entry[one], self._entry[other])
        for (ordinal, one, other), same in sorted(self._trace.facts.same.items(), key=lambda fact: fact[0]):
            if ordinal == self._ordinal:
                base = self._base.setdefault((one, other), 0)
                if base is UNKNOWN or same is UNKNOWN:
                    self._base[one, other] = UNKNOWN
                else:
                    self._flags[one, other] = f"{one} is {other}"
                    self._numbers.begin_same(f"{one} is {other}", base)

    def open_body(self, made: dict[str, Any]) -> None:
        """What stands for the names at the start of a body."""
        self._relate(self._places(made), self._numbers.same)

    def leave(self, made: dict[str, Any]) -> None:
        """What stands for the names behind the loop."""
        left = self._places(made)
        self._relate(left, self._numbers.same_after)
        for place, container in self._inside:
            if place in left:
                self._kin.pair(left[place], container, UNKNOWN)

    def _relate(self, made: dict[str, Any], flag: Callable[[str], Any]) -> None:
        if made:
            self._kin.prune()
        for container in made.values():
            self._kin.made(container)
        for (one, other), base in self._base.items():
            if one in made:
                cell = self._flags.get((one, other))
                same = base if cell is None else flag(cell)
                second = self._outside.get(other, made.get(other))
                if second is not None:
                    self._kin.pair(made[one], second, same)

    def end(self, values: dict[str, Any], names: Callable[[], Names]) -> None:
        """The body ends, with what the names hold then; `names` are those that can be read later."""
        if not values:
            return
        ends = self._places(values)
        for place, container in ends.items():
            related = [(container, 1), *self._kin.related(container)]
            found = {self._paths[id(other)]: same for other, same in related if id(other) in self._paths}
            followed = {other for one, other in self._base if one == place and other in self._outside}
            for path in sorted(followed | found.keys()):
                self._end(place, path, found.get(path, 0), names)
            self._inside += [(place, other) for other, _ in related if id(other) not in self._paths]
        for one, other in itertools.combinations(sorted(ends), 2):
            self._end(one, other, self._kin.same(ends[one], ends[other]))

    def _end(self, one: str, other: str, same: Any, names: Callable[[], Names] | None = None) -> None:
        """Whether two are one at the end of the body; starts over when that should have been followed."""
        base, cell = self._base.get((one, other), 0), self._flags.get((one, other))
        if base is UNKNOWN:
            return
        if cell is not None and same is not UNKNOWN:
            self._numbers.end_same(cell, same)
        elif are_equal(base, same) or (same is UNKNOWN and self._trace.starts_over):
            return
        elif names is None or names().holds(self._outside[other]):
            self._trace.facts.same[self._ordinal, one, other] = same if same is UNKNOWN else 1
            self._trace.starts_over = True
