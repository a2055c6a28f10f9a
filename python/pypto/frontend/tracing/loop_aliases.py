"""Names of a loop that may stand for one tensor, or for one of before the loop, at the end of its body."""
# ruff: noqa: D102

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from pypto.frontend.rewriting.rewrite import FlowMeta
from pypto.frontend.tensor import Tensor
from pypto.frontend.tracing import carry
from pypto.frontend.tracing.loop_links import LoopLinks, made_inside
from pypto.frontend.tracing.maybe import split
from pypto.frontend.tracing.tracer import Trace

if TYPE_CHECKING:
    from pypto.frontend.tracing.flow import FunctionRuntime


class LoopAliases:
    """That part of a LoopFlow."""

    runtime: FunctionRuntime
    meta: FlowMeta
    trace: Trace
    ordinal: int
    _entry: dict[str, Any]
    _variables: dict[str, Tensor]
    _heads: dict[str, Tensor]
    _outside: dict[int, Tensor]
    _written: set[str]
    _writes: dict[str, int]
    _first_write: int
    _links: LoopLinks

    def _check_aliases(self, frame: dict[str, Any]) -> None:
        """Carried names that stand for one object, or may still stand for the one of before the loop."""
        lost = [
            name
            for name, writes in self._writes.items()
            if name not in self._links and split(self._entry[name], carry.UNBOUND)[0].writes != writes
        ]
        for name in () if self.trace.follow(*((self.ordinal, name) for name in lost)) else lost:
            raise self.runtime.error(
                ValueError,
                f"'{name}' is bound anew in the pypto.loop, and the tensor it held before is written in the loop "
                "through another name. Instead: keep one name for each tensor, or bind a pypto.clone",
                self.meta,
                name,
            )
        held = {name: split(frame.get(name), carry.UNBOUND)[0] for name in self._variables}
        ends = {name: value for name, value in held.items() if isinstance(value, Tensor)}
        for name, value in ends.items():
            for each in value.identities():
                if each in self._outside and name not in self._links:
                    self._may_be_outside(name, self._outside[each])
        self._check_written(ends)
        self._links.end_pairs(ends)
        for a, b in itertools.combinations(ends, 2):
            both = a in self._links and b in self._links
            if not both and ends[a].may_be_one_with(ends[b]):
                for name in (a, b):
                    self._variables[a].thaws((self.ordinal, name))
                    self._variables[b].thaws((self.ordinal, name))
                carry.note_aliases({a: ends[a], b: ends[b]}, self._variables)

    def _check_written(self, ends: dict[str, Tensor]) -> None:
        """A name that is written into has its tensor for itself at the end of the body."""
        identities = {name: value.identities().keys() for name, value in ends.items()}
        for name in self._written & ends.keys():
            for other, head in self._heads.items():
                shared = other in identities and identities[name] & identities[other]
                if other != name and (shared or id(head) in identities[name]):
                    self._refuse_shared(name, other)
        inside = {name: made_inside(self.trace, value) for name, value in ends.items()} if self._links else {}
        for name in ends:
            for other in ends if name in self._links else ():
                if other != name and inside[name] & inside[other]:
                    if other not in self._links:
                        self._refuse_shared(name, other)
                    self._links.end_pair(name, other)

    def _refuse_shared(self, name: str, other: str) -> None:
        """Two names have one object at the end of the body, and one of them is written into: both are followed."""
        if self.trace.follow((self.ordinal, name), (self.ordinal, other)):
            return
        raise self.runtime.error(
            ValueError,
            f"'{name}' is bound anew in the pypto.loop and written into as well, and may be the tensor of "
            f"'{other}' at the end of the body. Instead: bind a pypto.clone to one of them",
            self.meta,
            name,
        )

    def _may_be_outside(self, name: str, outside: Tensor) -> None:
        variable = self._variables[name]
        key = (self.ordinal, name)
        variable.thaws(key)
        outside.thaws(key)
        variable.may_be(outside, f"'{name}' may still be the tensor of before the pypto.loop, and")
        outside.may_be(variable, f"it may be '{name}', which a pypto.loop may leave as it was, and")

    def _new_value(self, name: str, variable: Tensor, value: Any) -> Tensor:
        if not isinstance(value, Tensor):
            raise self.runtime.error(
                TypeError,
                f"'{name}' is a tensor before the pypto.loop and {carry.kind_of(value)} at the end of its body",
                self.meta,
                name,
            )
        carry.check_same(self.runtime, self.meta, name, variable, value)
        if name in self._links:
            return self._linked_value(name, value)
        for each in value.identities().values():
            if each.scope is self.trace.scope:
                continue
            if each.was_written_since(self._first_write) or name in self._written:
                if self.trace.follow((self.ordinal, name)):
                    return value
                raise self.runtime.error(
                    ValueError,
                    f"'{name}' is bound to a tensor that exists outside of the pypto.loop, or may be, and the loop "
                    f"writes into it through either name. Instead: {name} = pypto.clone(value)",
                    self.meta,
                    name,
                )
            self._may_be_outside(name, each)
        return value

    def _linked_value(self, name: str, value: Tensor) -> Tensor:
        """The new value of a name that the loop writes into as well."""
        heads = [other for other, head in self._heads.items() if id(head) in value.identities()]
        lost = [other for other in heads if id(self._heads[other]) in self._outside]
        if self.trace.follow(*((self.ordinal, other) for other in lost)):  # their tensors are followed too
            return value
        is_followed = not lost and self._links.end(name, value)
        if not is_followed and not self.trace.follow(*value.uncertain_keys()):
            raise self.runtime.error(
                ValueError,
                f"'{name}' is bound anew in the pypto.loop and written into as well, and may be a tensor of before the "
                "loop that cannot be followed. Instead: bind that tensor to a name before the loop",
                self.meta,
                name,
            )
        return value
