"""Tensor objects that are one and the same under a condition of the running kernel.

`t = a if c else b` gives t a variable of its own, which starts with the contents of a or b. As Python has one object
there, a write through any of the three is made again on the others, in branches on the conditions under which they are
the one that was written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from pypto.frontend.places import trace_error
from pypto.frontend.symbolic import SymbolicScalar, to_expr
from pypto.frontend.tracer import Retrace, Scope, Trace

if TYPE_CHECKING:
    from pypto.frontend.tensor import Tensor

Condition = tuple[int, bool]  # an expression, and whether it holds
Conditions = tuple[Condition, ...]

_MOST_PATHS = 64  # of one write to other objects


class Linked:
    """What a tensor knows of other objects that it may be."""

    __slots__ = ()
    _trace: Trace
    _scope: Scope
    _frozen: str
    _thaw: tuple[int, str] | None
    _may_be: tuple[Tensor, ...]
    _links: tuple[tuple[Tensor, Conditions], ...]
    _base: Tensor | None
    _derived: tuple[Tensor, ...]
    _id: int

    def link(self, other: Tensor, conditions: Conditions) -> None:
        """Notes that this is one object with `other` where the conditions hold."""
        if other is not self:
            self._links = (*self._links, (other, conditions))  # type: ignore[misc]
            other._links = (*other._links, (self, conditions))  # type: ignore[arg-type]

    def may_be(self, other: Tensor, reason: str) -> None:
        """Notes that Python might have `other` here; writing into this one would have to be seen there."""
        self._may_be = (*self._may_be, other)  # type: ignore[misc]
        self.forbid_writes(reason)

    def forbid_writes(self, reason: str) -> None:
        """Makes writes into the object an error, because they could not be seen through another object."""
        self._frozen = self._frozen or reason  # type: ignore[misc]

    @property
    def is_linked(self) -> bool:
        """Whether it is another object under some condition."""
        return bool(self._links)

    @property
    def is_uncertain(self) -> bool:
        """Whether it may be another object under a condition that nobody knows."""
        return any(each._may_be for each in self.identities().values())

    @property
    def is_own(self) -> bool:
        """Whether it was made in the block that is open now, and is no memory of the caller or of another tensor."""
        return self.is_own_of(self._trace.scope)

    def is_own_of(self, scope: Scope) -> bool:
        """Whether it was made in that block, and is no memory of the caller or of another tensor."""
        if self._links:
            return False
        parameters = {parameter.id for parameter in self._trace.parameters.values()}
        return self._scope is scope and self._base is None and self._id not in parameters

    def identities(self) -> dict[int, Tensor]:
        """This object and all that it may be, by id."""
        found: dict[int, Tensor] = {}
        open_ends: list[Any] = [self]
        while open_ends:
            each = open_ends.pop()
            if id(each) not in found:
                found[id(each)] = each
                open_ends += [*each._may_be, *(other for other, _ in each._links)]
        return found

    def paths(self, inner: Scope | None = None, before: Conditions = (), seen: tuple[Any, ...] = ()) -> Iterator[Any]:
        """Objects that this one may be, with the conditions; of each way there that can be, one.

        With the scope `inner` the ways lead through objects that were made there only.
        """
        seen = (*seen, self)
        if inner is not None and self._scope is not inner:
            return
        for other, added in self._links:
            conditions = (*before, *(each for each in added if each not in before))
            opposite = any((expr, not holds) in conditions for expr, holds in added)
            if opposite or any(other is each for each in seen) or not self._trace.is_open(other._scope):
                continue
            yield other, conditions
            yield from other.paths(inner, conditions, seen)

    def write(self, primitive: Callable[[Any], None]) -> None:
        """Writes into the object, and into others where they are this one."""
        if not self._links:
            primitive(self)
            return
        if self._thaw is not None and not self._frozen:
            self._trace.facts.written.add(self._thaw)
            raise Retrace
        others = list(self.paths())
        if len(others) > _MOST_PATHS:
            raise self.refusal(f"the tensor may be any of {len(others)} others, depending on conditions, and")
        primitive(self)
        for other, conditions in others:
            _under(self._trace, conditions, lambda other=other: primitive(other))  # type: ignore[misc]

    def check_family(self) -> None:
        """Refuses to write cells that are seen through a reshape in place whose object may be another one."""
        if self._base is None and not self._derived:
            return
        root: Any = self
        while root._base is not None:
            root = root._base
        family = [root]
        for each in family:
            family += each._derived
        if any(each._links and each is not self for each in family):
            raise self.refusal(
                "the tensor shares its cells (reshape in place) with one that may be another tensor, depending on a "
                "condition, and"
            )

    @staticmethod
    def refusal(reason: str) -> Exception:
        """The error for a write that another object would have to see."""
        return trace_error(
            ValueError,
            f"{reason} cannot be written into as well. Instead: write into a copy (pypto.clone), or keep to "
            "x[:] = value for the tensor and do not bind its name anew",
        )


def _under(trace: Trace, conditions: Conditions, body: Callable[[], None]) -> None:
    """Traces the body in branches on all of the conditions."""
    for expr, holds in conditions:
        condition = SymbolicScalar._wrap(trace, expr)
        trace.build("begin_if", to_expr(trace, condition if holds else ~condition, "if"))
        trace.push("then")
    body()
    for _ in conditions:
        trace.pop()
        trace.build("end_if")
