"""Names that a loop writes into and binds anew: which tensors of before the loop they still stand for.

`a[0:2] = v; a = a * 2` in a loop writes into the tensor of before the loop in the first iteration only. For each such
name and tensor a flag is carried; the tensor that the name has at the start of a body is linked to it by that flag.
"""
# ruff: noqa: D105, D107

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

from pypto.frontend.objects.containers import Snapshot
from pypto.frontend.symbolic import static_int, to_expr
from pypto.frontend.tensor import Tensor
from pypto.frontend.tracing.links import Conditions, any_of
from pypto.frontend.tracing.numbers_carried import CarriedNumbers
from pypto.frontend.tracing.tracer import Trace


class LoopLinks:
    """Those of one loop. Owned by its LoopFlow."""

    def __init__(self, trace: Trace, ordinal: int, numbers: CarriedNumbers, around: Callable[[], Snapshot]) -> None:
        """`around` looks at what the loop can reach."""
        self._trace, self._ordinal, self._numbers, self._around = trace, ordinal, numbers, around
        self._reached: dict[Any, Tensor] | None = None  # by ordinal: tensors in what the loop can reach
        self._outside: dict[str, dict[str, Tensor]] = {}  # by name: flags, and the tensors of before the loop
        self._known: dict[Any, Tensor] = {}
        self._entry: dict[str, Tensor | None] = {}
        self._pairs: dict[tuple[str, str], str] = {}  # names that may have one tensor made in the loop, and the flag

    def __contains__(self, name: object) -> bool:
        return name in self._outside

    def __bool__(self) -> bool:
        return bool(self._outside)

    def begin(self, name: str, value: Tensor | None, entry: dict[str, Any]) -> None:
        """The name starts the loop with a tensor that others may stand for, or unbound."""
        if self._reached is None:
            snapshot = self._around()
            functions = [each for _, each in snapshot.containers() if isinstance(each, types.FunctionType)]
            for function in (*functions, *self._trace.facts.helpers.values()):  # that the loop may call
                snapshot.add_function(function)
            held = [*entry.values(), *self._trace.parameters.values(), *snapshot.tensors]
            tensors = [each for each in held if isinstance(each, Tensor) and each.is_of(self._trace)]
            self._reached = {each.ordinal: each for each in tensors}
        self._known = dict(self._reached)
        wanted = self._trace.facts.outside.setdefault((self._ordinal, name), [])
        if value is not None:
            self._known[value.ordinal] = value
            if value.ordinal not in wanted:
                wanted.append(value.ordinal)
        self._entry[name] = value
        self._outside[name] = {
            f"{name} is {position}": self._known[each] for position, each in enumerate(wanted) if each in self._known
        }
        for flag, tensor in self._outside[name].items():
            self._numbers.begin_same(flag, 0 if value is None else self._same(value, tensor))

    def open_body(self, name: str, head: Tensor) -> None:
        """What the name holds at the start of a body."""
        for flag, tensor in self._outside.get(name, {}).items():
            self._link(head, tensor, self._numbers.same(flag))

    def leave(self, name: str, variable: Tensor) -> None:
        """What the name holds behind the loop."""
        for flag, tensor in self._outside.get(name, {}).items():
            self._link(variable, tensor, self._numbers.same_after(flag))

    def begin_pairs(self) -> None:
        """Names that were found to have one tensor at the end of a body; they may have one from the start."""
        for ordinal, a, b in sorted(self._trace.facts.pairs):
            if ordinal == self._ordinal and a in self and b in self:
                flag, one, other = f"{a} is {b}", self._entry[a], self._entry[b]
                self._pairs[a, b] = flag
                self._numbers.begin_same(flag, 0 if one is None or other is None else self._same(one, other))

    def open_pairs(self, heads: dict[str, Tensor]) -> None:
        """Those at the start of a body."""
        for (a, b), flag in self._pairs.items():
            if a in heads and b in heads:
                self._link(heads[a], heads[b], self._numbers.same(flag))

    def end_pairs(self, ends: dict[str, Tensor]) -> None:
        """Those at the end of a body."""
        scope = self._trace.scope
        paths = functools.cache(lambda name: ends[name].paths(scope))
        for (a, b), flag in self._pairs.items():
            same: Any = 0
            if a in ends and ends[a] is ends[b]:
                same = 1
            elif a in ends and b in ends and ends[a].scope is scope:
                same = any_of(self._trace, [way for each, way in paths(a) if each is ends[b]])
            self._numbers.end_same(flag, same)

    def end_pair(self, a: str, b: str) -> None:
        """Two names have one tensor at the end of the body; starts over when that should have been followed."""
        if (a, b) not in self._pairs and (b, a) not in self._pairs:
            self._trace.facts.pairs.add((self._ordinal, min(a, b), max(a, b)))
            self._trace.starts_over = True

    def leave_pairs(self, variables: dict[str, Tensor]) -> None:
        """Those behind the loop."""
        for (a, b), flag in self._pairs.items():
            self._link(variables[a], variables[b], self._numbers.same_after(flag))

    def _link(self, a: Tensor, b: Tensor, same: Any) -> None:
        known = static_int(same)
        if known is None:
            a.link(b, ((to_expr(self._trace, same, "a name"), True),))
        elif known:
            a.link(b, ())

    def end(self, name: str, value: Tensor) -> bool:
        """What the name holds at the end of the body; false where that cannot be followed."""
        found: dict[int, list[Conditions]] = {}
        scope = self._trace.scope
        for each, conditions in [(value, ())] if value.scope is not scope else value.paths(scope):
            if each.scope is scope:
                continue
            found.setdefault(id(each), []).append(conditions)
            if not any(each is tensor for tensor in self._outside[name].values()):
                wanted = self._trace.facts.outside[self._ordinal, name]
                if self._known.get(each.ordinal) is not each:
                    return False
                if each.ordinal not in wanted:
                    wanted.append(each.ordinal)
                self._trace.starts_over = True
        for flag, tensor in self._outside[name].items():
            self._numbers.end_same(flag, any_of(self._trace, found.get(id(tensor), [])))
        return not value.is_uncertain

    def _same(self, value: Tensor, tensor: Tensor) -> Any:
        if value is tensor:
            return 1
        return any_of(self._trace, [conditions for each, conditions in value.paths() if each is tensor])


def made_inside(trace: Trace, value: Tensor) -> set[int]:
    """Objects that were made in the open block and that a tensor may be, by id."""
    if value.scope is not trace.scope:
        return set()
    return {id(value), *(id(each) for each, _ in value.paths(trace.scope) if each.scope is trace.scope)}
