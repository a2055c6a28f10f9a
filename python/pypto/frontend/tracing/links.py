"""Tensor objects that are one and the same under a condition of the running kernel.

`t = a if c else b` gives t a variable of its own, which starts with the contents of a or b. As Python has one object
there, a write through any of the three is made again on the others, in branches on the conditions under which they are
the one that was written.
"""
# ruff: noqa: D107

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from pypto.frontend.places import trace_error
from pypto.frontend.symbolic import SymbolicScalar, to_expr
from pypto.frontend.tracing.tracer import Scope, Trace

if TYPE_CHECKING:
    from pypto.frontend.tensor import Tensor

Condition = tuple[int, bool]  # an expression, and whether it holds
Conditions = tuple[Condition, ...]

_MOST_PATHS = 64  # to other objects that are looked at one by one
_MOST_OBJECTS = 256  # that one write goes to


Key = tuple[int, str]
Paths = list[tuple["Tensor", Conditions]]


class Link(NamedTuple):
    """One end of a link."""

    other: Tensor
    conditions: Conditions
    to_older: bool


class Group:
    """Objects that may be one another, found once and kept while links are added."""

    __slots__ = ("is_current", "keys", "members", "plain", "uncertain")

    def __init__(self, members: dict[int, Tensor]) -> None:
        self.is_current = True
        self.members = members  # by id
        self.uncertain = {key: each for key, each in members.items() if each._may_be}
        self.plain = {key: each for key, each in members.items() if not each._may_be}  # the others
        self.keys: dict[Key, None] = {}  # what starts the trace over when one of these is written into
        for each in self.uncertain.values():
            self.keys.update(dict.fromkeys(each._thaw))

    def add(self, other: Group) -> None:
        """Takes the members of another group over."""
        self.members.update(other.members)
        self.uncertain.update(other.uncertain)
        self.plain.update(other.plain)
        self.keys.update(other.keys)
        for each in other.members.values():
            each._group = self


class Linked:
    """What a tensor knows of other objects that it may be."""

    __slots__ = ("_frozen", "_group", "_links", "_may_be", "_thaw")
    _trace: Trace
    _scope: Scope
    _frozen: str
    _thaw: tuple[Key, ...]
    _may_be: dict[int, Tensor] | None
    _links: tuple[Link, ...]
    _group: Group | None
    _base: Tensor | None
    _derived: tuple[Tensor, ...]
    _id: int

    def link(self, other: Tensor, conditions: Conditions) -> None:
        """Notes that this is one object with `other`, which was there before, where the conditions hold."""
        if other is self:
            return
        self._join(other)
        self._links = (*self._links, Link(other, conditions, to_older=True))
        self._trace.linked.clear()
        other._links = (*other._links, Link(cast("Tensor", self), conditions, to_older=False))
        self._scope.linked.append(self)

    def unlink(self) -> None:
        """Nothing stands for the object any more."""
        self._trace.linked.clear()
        if self._group is not None:
            self._group.is_current = False
        for link in self._links:
            link.other._links = tuple(each for each in link.other._links if each.other is not self)
        self._links = ()

    def may_be(self, other: Tensor, reason: str) -> None:
        """Notes that Python might have `other` here; writing into this one would have to be seen there."""
        group = self._join(other)
        if self._may_be is None:
            self._may_be = {}
            group.uncertain[id(self)] = cast("Tensor", self)
            group.plain.pop(id(self), None)
        self._may_be[id(other)] = other
        group.keys.update(dict.fromkeys((*self._thaw, *other._thaw)))
        self.forbid_writes(reason)

    def may_be_any_of(self, value: Tensor, name: str, is_meant: Callable[[Tensor], bool]) -> None:
        """Notes that this may be any object that the value may be, where nobody knows when; `name` is what holds it."""
        group = value._identified()
        if not group.uncertain:
            return
        for key, each in list(group.plain.items()):
            if not self._trace.is_open(each._scope):
                del group.plain[key]  # nothing can use it any more
            elif each is not self and is_meant(each):
                self.may_both_be(each, name)
        for each in group.uncertain.values():
            if each is not self and is_meant(each):
                self.may_both_be(each, name)
                break  # they are in one group, also when links go

    def may_both_be(self, other: Tensor, name: str) -> None:
        """Notes for both that Python might have the other one."""
        self.may_be(other, f"{name} may be another tensor, depending on a condition, and")
        other.may_be(cast("Tensor", self), f"it may also be {name}, depending on a condition, and")

    def forbid_writes(self, reason: str) -> None:
        """Makes writes into the object an error, because they could not be seen through another object."""
        self._frozen = self._frozen or reason

    @property
    def is_linked(self) -> bool:
        """Whether it is another object under some condition."""
        return bool(self._links)

    @property
    def is_uncertain(self) -> bool:
        """Whether it may be another object under a condition that nobody knows."""
        return bool(self._identified().uncertain)

    def uncertain_keys(self) -> list[Key]:
        """What starts the trace over so that those conditions are known."""
        return list(self._identified().keys)

    def thaws(self, *keys: Key) -> None:
        """Writing into the object, though it is frozen, starts the trace over with these known."""
        self._thaw = tuple(dict.fromkeys((*self._thaw, *keys)))
        if self._may_be:
            self._identified().keys.update(dict.fromkeys(keys))

    def thaw(self) -> bool:
        """Notes those; false where all are known already."""
        return self._trace.follow(*self._thaw, *(self._identified().keys if self._may_be else ()))

    def may_be_one_with(self, other: Tensor) -> bool:
        """Whether the two may be one object."""
        return self._identified() is other._identified()

    def unfollowed_keys(self) -> list[tuple[int, str]]:
        """The same where it is what a loop gives to a name, for which nothing tells which tensor that is."""
        return [key for each in self.identities().values() if each._frozen for key in each._thaw]

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
        return dict(self._identified().members)

    def _identified(self) -> Group:
        if self._group is None or not self._group.is_current:
            found: dict[int, Tensor] = {}
            open_ends: list[Any] = [self]
            while open_ends:
                each = open_ends.pop()
                if id(each) not in found:
                    found[id(each)] = each
                    open_ends += [link.other for link in each._links]
                    if each._may_be:
                        open_ends += [*each._may_be.values(), *each._group.uncertain.values()]
            group = Group(found)
            for each in group.uncertain.values():
                group.keys.update({} if each._group is None else each._group.keys)
            for each in found.values():
                each._group = group
            return group
        return self._group

    def _join(self, other: Tensor) -> Group:
        """The group of both, which are going to have a link."""
        small, large = sorted((self._identified(), other._identified()), key=lambda group: len(group.members))
        if small is not large:
            large.add(small)
        return large

    def paths(self, inner: Scope | None = None) -> Paths:
        """Objects that this one may be, with the conditions, once for each way that leads there, if these are few.

        No way leads through a newer object to another older one: whether those two are one was known before. With the
        scope `inner` the ways lead through objects that were made there only.
        """
        if not self._links:
            return []
        known, key = self._trace.linked, (id(self), inner, self._trace.scope)
        if key not in known:
            found = list(itertools.islice(self._ways(inner, (), (), True), _MOST_PATHS + 1))
            known[key] = self, found if len(found) <= _MOST_PATHS else self._reached(inner)
        paths: Paths = known[key][1]
        return paths

    def _reached(self, inner: Scope | None) -> Paths:
        """The same with one condition for each object, which holds where one of the ways leads there."""
        me: Any = self
        found: dict[int, tuple[Tensor, Any]] = {id(self): (me, 1)}
        for to_older in (True, False):
            for each in self._in_order([each for each, _ in found.values()], inner, to_older=to_older):
                for link in each._links:
                    if self._leads(link, to_older):
                        way = _both(found[id(each)][1], any_of(self._trace, [link.conditions]))
                        known = found.get(id(link.other), (link.other, 0))[1]
                        found[id(link.other)] = link.other, _one_of(known, way)
        if len(found) > _MOST_OBJECTS:
            raise self.refusal(
                f"the tensor may be one of more than {_MOST_OBJECTS} others, depending on conditions, and"
            )
        others = list(found.values())[1:]
        exprs = [(each, None if isinstance(when, int) else to_expr(self._trace, when, "if")) for each, when in others]
        return [(each, () if expr is None else ((expr, True),)) for each, expr in exprs]

    def _in_order(self, roots: list[Tensor], inner: Scope | None, *, to_older: bool) -> list[Tensor]:
        """Objects that links lead to from the roots, all to older ones or all to newer ones, each before what follows.

        With the scope `inner` only those that have been made there, whose links lead on.
        """
        done: list[Tensor] = []
        seen: set[int] = set()
        stack: list[tuple[Tensor, bool]] = [(each, False) for each in roots]
        while stack:
            each, is_left = stack.pop()
            if is_left:
                done.append(each)
            elif id(each) not in seen and (inner is None or each.scope is inner):
                seen.add(id(each))
                stack.append((each, True))
                stack += [(link.other, False) for link in each._links if self._leads(link, to_older)]
        return done[::-1]

    def _leads(self, link: Link, to_older: bool) -> bool:
        return link.to_older == to_older and self._trace.is_open(link.other._scope)

    def _ways(self, inner: Scope | None, before: Conditions, seen: tuple[Any, ...], up: bool) -> Iterator[Any]:
        seen = (*seen, self)
        if inner is not None and self._scope is not inner:
            return
        for other, added, to_older in self._links:
            if to_older and not up:
                continue
            conditions = (*before, *(each for each in added if each not in before))
            opposite = any((expr, not holds) in conditions for expr, holds in added)
            if opposite or any(other is each for each in seen) or not self._trace.is_open(other._scope):
                continue
            yield other, conditions
            yield from other._ways(inner, conditions, seen, to_older)

    def write(self, primitive: Callable[[Any], None]) -> None:
        """Writes into the object, and into others where they are this one."""
        if not self._links:
            primitive(self)
            return
        if not self._frozen and self._trace.follow(*self._thaw):
            primitive(self)
            return
        ways: dict[int, tuple[Tensor, list[Conditions]]] = {}
        for other, conditions in self.paths():
            ways.setdefault(id(other), (other, []))[1].append(conditions)
        conditional = [(other, any_of(self._trace, each)) for other, each in ways.values()]
        primitive(self)
        for other, condition in conditional:
            if isinstance(condition, int):
                primitive(other)
                continue
            self._trace.build("begin_if", to_expr(self._trace, condition, "if"))
            self._trace.push("then")
            primitive(other)
            self._trace.pop()
            self._trace.build("end_if")

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


def _both(a: Any, b: Any) -> Any:
    return b if isinstance(a, int) else a if isinstance(b, int) else a & b


def _one_of(a: Any, b: Any) -> Any:
    """Either of two conditions, which are 0, 1 or symbolic."""
    if isinstance(a, int):
        return a or b
    return b if isinstance(b, int) else a | b


def _all_of(trace: Trace, conditions: Conditions) -> Any:
    way: Any = 1
    for expr, holds in conditions:
        condition = SymbolicScalar._wrap(trace, expr)
        condition = condition if holds else ~condition
        way = condition if isinstance(way, int) else way & condition
    return way


def any_of(trace: Trace, ways: list[Conditions]) -> Any:
    """Whether all conditions of one of the ways hold: 0, 1 or a symbolic integer."""
    result: Any = 0
    for conditions in ways:
        if conditions not in trace.ways:
            trace.ways[conditions] = _all_of(trace, conditions)
        way = trace.ways[conditions]
        if isinstance(way, int):
            return 1
        result = way if isinstance(result, int) else result | way
    return result
