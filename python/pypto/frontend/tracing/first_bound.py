"""Names that the body of a loop binds first, and that later iterations and what follows the loop can read."""
# ruff: noqa: D102

from __future__ import annotations

import enum
import types
from dataclasses import fields
from typing import TYPE_CHECKING, Any, NoReturn

from pypto.frontend.floats import FloatScalar, is_number
from pypto.frontend.objects.containers import snapshot_of
from pypto.frontend.objects.structures import Structures, are_alike, elements_of, is_container
from pypto.frontend.places import Place
from pypto.frontend.rewriting.rewrite import FlowMeta
from pypto.frontend.symbolic import SymbolicScalar, static_int
from pypto.frontend.tensor import Tensor
from pypto.frontend.tracing import carry
from pypto.frontend.tracing.carry import Unusable
from pypto.frontend.tracing.maybe import Maybe, Reason, may_be_none, split
from pypto.frontend.tracing.numbers_carried import CarriedNumbers
from pypto.frontend.tracing.tracer import Facts, Retrace, TensorFact, Trace

if TYPE_CHECKING:
    from pypto.frontend.tracing.flow import FunctionRuntime

_SAME_IN_EACH_TRACE = (str, bytes, type(None), type, types.ModuleType, types.BuiltinFunctionType, enum.Enum)


def _is_made_here(trace: Trace, value: Any) -> bool:
    """Whether an element has no value behind the block that is open."""
    return isinstance(value, SymbolicScalar | FloatScalar) or (isinstance(value, Tensor) and value.scope is trace.scope)


def _copied(value: Any, levels: int) -> Any:
    """A copy of a dict, list or set, and of those in it."""
    if type(value) is dict and levels:
        return {key: _copied(each, levels - 1) for key, each in value.items()}
    return type(value)(value) if type(value) in (dict, list, set) else value


def _exploring(facts: Facts) -> Facts:
    """Facts of a trace whose findings are not kept: it counts otherwise than the others."""
    if facts.before is not None:
        return facts
    made = Facts(**{each.name: _copied(getattr(facts, each.name), 2) for each in fields(facts)})
    made.before = facts
    return made


class FirstBound:
    """That part of a LoopFlow."""

    runtime: FunctionRuntime
    meta: FlowMeta
    trace: Trace
    ordinal: int
    names: dict[str, Any]
    _entry: dict[str, Any]
    _carried: set[str]
    _live_at_head: set[str]
    _live_after: set[str]
    _variables: dict[str, Tensor]
    _numbers: CarriedNumbers
    _structures: Structures
    _fixed: dict[str, Any]
    _constants: dict[str, Any]  # values of names that every iteration binds to one and the same, or leaves
    _stand_ins: dict[str, Tensor | None]
    _last: dict[str, Any]
    _nones: set[str]  # names that hold None until the body binds them

    def _reason(self, name: str) -> Reason:
        place, is_none = self._place(), name in self._nones
        return Reason("is bound only in the loop at line {}, which may not run at all", (place,), is_none)

    def _reason_at_head(self, name: str) -> Reason:
        """The same at the start of a body."""
        return Reason(
            "is bound only at line {}, which no iteration of the loop at line {} has reached",
            (self.runtime.place_of(self.meta, name), self._place()),
            name in self._nones,
        )

    def _unbound_reason(self, name: str) -> Reason:
        return Reason("is read before it is bound, in the loop at line {}", (self._place(),), name in self._nones)

    def _begin_nones(self, frame: dict[str, Any]) -> None:
        """Names that hold None when the loop begins, and that its body binds, are unbound till then."""
        for name in self.meta.names.assigned:
            value = frame.get(name, carry.UNBOUND)
            is_known = (self.ordinal, name) in self.trace.facts.nones
            if is_known and value is None:
                frame[name] = carry.UNBOUND
            if is_known or may_be_none(value):
                self._nones.add(name)

    def _end_nones(self, frame: dict[str, Any]) -> dict[str, Any]:
        """A frame in which names that hold None at the end of the body, and else something, are unbound."""
        others = {*self._variables, *self._numbers.names(), *self._structures.names, *self._constants}
        unbound = {}
        for name in sorted(self.meta.names.assigned & (self._live_at_head | self._live_after)):
            value = frame.get(name, carry.UNBOUND)
            is_none = value is None and name in others and self._constants.get(name, carry.UNBOUND) is not None
            if is_none:
                unbound[name] = carry.UNBOUND
            if (is_none or may_be_none(value)) and name not in self._nones:
                self._nones.add(name)
                self.trace.facts.nones.add((self.ordinal, name))
                self.trace.starts_over = True
        return frame | unbound

    def note_nones(self) -> bool:
        """Notes this for all names that hold None when the loop begins and are read in its body; false if for none."""
        names = self.meta.names.assigned & self._live_at_head
        return sum(self._starts_as_none(name, self._entry.get(name, carry.UNBOUND)) for name in sorted(names)) > 0

    def _starts_as_none(self, name: str, before: Any) -> bool:
        """Notes that a name is None until the body binds it; false where that was known."""
        key, nones = (self.ordinal, name), self.trace.facts.nones
        if before is not None or key in nones:
            return False
        nones.add(key)
        self.trace.starts_over = True
        return True

    def _place(self) -> Place:
        return self.runtime.source.place(self.meta.node)

    def _begin_constant(self, name: str) -> None:
        """What an earlier trace found an iteration to bind the name to: an object of before the loop, or a constant."""
        fact = self.trace.facts.constants.get((self.ordinal, name))
        if fact is None:
            return
        path, value = fact
        if path:
            value = snapshot_of(self._entry, self.runtime.function).find(path)
        if value is not None or not path:
            self._constants[name] = value
            self._numbers.begin_flag(name, 0)

    def _end_constant(self, name: str, before: Any, after: Any) -> None:
        after, bound = split(after, carry.UNBOUND)
        self._numbers.end_flag(name, bound)
        if isinstance(before, Unusable) or after is carry.UNBOUND or carry.same_value(before, after):
            return
        if isinstance(after, Unusable) and (self.ordinal, name) in self.trace.facts.constants:
            if not self.trace.starts_over:
                self.trace.facts.constants[self.ordinal, name] = ("", after)
                self.trace.starts_over = True
        elif is_number(before) and is_number(after):
            self._numbers.note(name, before, after)
        elif are_alike(before, after):
            self._note_structure(name, after)
        else:
            self._refuse_change(name, before, after)

    # Names that the body reads before it binds them, in a branch or loop that does not run in the first iteration.

    def _await_bindings(self) -> None:
        """Names that a later iteration may find bound, and nothing is known of yet."""
        known = {*self._variables, *self._numbers.names(), *self._fixed, *self._constants}
        for name in (self._carried & self._live_at_head) - known - carry.target_names(self.meta.node):
            value, _ = split(self._entry.get(name, carry.UNBOUND), carry.UNBOUND)
            if value is carry.UNBOUND:
                self.names[name] = Maybe(name, carry.UNBOUND, 0, self._unbound_reason(name), self)

    def explore(self, name: str, error: Exception) -> None:
        """A name is read before anything has bound it. Starts a trace without the branch or loop that does so, to
        find what the body binds it to; returns where the body itself reads it."""
        sides = self.trace.sides
        if (self.ordinal, "loop") not in sides or sides[-1] == (self.ordinal, "loop"):
            return
        facts = self.trace.facts = _exploring(self.trace.facts)
        facts.skipped.add(sides[-1])
        facts.sought.add((self.ordinal, name))
        facts.error = facts.error or error
        raise Retrace

    def _end_exploring(self, frame: dict[str, Any]) -> None:
        facts = self.trace.facts
        sought = [name for ordinal, name in facts.sought if ordinal == self.ordinal]
        if facts.before is None or not sought:
            return
        values = {name: split(frame.get(name, carry.UNBOUND), carry.UNBOUND)[0] for name in sorted(sought)}
        found = {name: value for name, value in values.items() if value is not carry.UNBOUND}
        if self.trace.starts_over and any(isinstance(value, Unusable) for value in found.values()):
            raise Retrace  # that may not be so in the next trace
        self.trace.facts = facts.before
        if not found and facts.error is not None:
            self.trace.starts_over = False
            raise facts.error
        for name, value in found.items():
            if isinstance(value, Tensor):
                carry.note_bound(self.trace, self.ordinal, name, value)
            elif is_number(value):
                self._numbers.note(name, value, value)
            else:
                self._note_other(name, value)
        raise Retrace

    def _leave_unbound(self, name: str) -> None:
        """A name that no iteration binds."""
        before = self._entry.get(name, carry.UNBOUND)
        if before is carry.UNBOUND:
            before = Maybe(name, carry.UNBOUND, 0, self._unbound_reason(name))
        self.names[name] = before

    def _refuse_change(self, name: str, before: Any, after: Any) -> NoReturn:
        what = f"from {carry.kind_of(before)} to {carry.kind_of(after)}"
        hint = "compute it from the loop index, or keep it in a tensor or a number"
        raise self.runtime.error(
            ValueError,
            f"'{name}' changes in a pypto.loop {what} and is read in a later iteration or after the loop; only "
            f"tensors, numbers and containers of one make are carried from one iteration to the next. Instead: {hint}",
            self.meta,
            name,
        )

    def first_bound(self, name: str, value: Any) -> Any:
        """What stands for a name that a branch reads before anything has bound it, and the other has bound: a later
        iteration may have a value. None where the loop does not carry it."""
        value = split(value, carry.UNBOUND)[0]
        if (
            name not in self._carried & self._live_at_head
            or name in self._variables
            or name in self._fixed
            or name in self._constants
            or value is carry.UNBOUND
        ):
            return None
        if isinstance(value, Tensor):
            return carry.note_bound(self.trace, self.ordinal, name, value)
        if is_number(value):
            if self._numbers.carries(name):
                return None
            self._numbers.note(name, value, value)
            return value
        self._note_other(name, value)
        raise Retrace

    def _note_first_bindings(self, frame: dict[str, Any]) -> None:
        targets = carry.target_names(self.meta.node) - self._live_after
        known = {*self._variables, *self._fixed, *self._numbers.names(), *self._constants}
        for name in sorted(self._carried - known):
            value, bound = split(frame.get(name, carry.UNBOUND), carry.UNBOUND)
            if isinstance(value, Tensor):
                self._stand_ins[name] = carry.note_bound(self.trace, self.ordinal, name, value)
            lasting = isinstance(value, SymbolicScalar | FloatScalar) or name in self._live_at_head
            if is_number(value):
                if name not in targets and (lasting or static_int(bound) != 1):
                    self._numbers.note(name, value, value)
            elif value is not carry.UNBOUND and not isinstance(value, Tensor) and self._must_last(name, value, bound):
                self._note_other(name, value)
            self._last[name] = value

    def _must_last(self, name: str, value: Any, bound: Any) -> bool:
        """Whether an iteration can find what an earlier one has bound, or the value would not outlive the body."""
        if name in self.meta.names.read_first or static_int(bound) != 1:
            return name in self._live_at_head
        return any(_is_made_here(self.trace, each) for each in elements_of(name, value).values())

    def _note_other(self, name: str, value: Any) -> None:
        """Notes what is neither tensor nor number; the trace starts over with it."""
        if isinstance(value, Unusable) and self.trace.starts_over:
            return  # it may not be that in the next trace
        path = self.trace.scope.watchers.path_of(value)
        is_constant = isinstance(value, (Unusable, *_SAME_IN_EACH_TRACE)) or (
            isinstance(value, types.FunctionType) and not value.__closure__
        )
        if path is None and is_container(value):
            self._note_structure(name, value)
        elif path is None and not is_constant:
            self._refuse_change(name, carry.UNBOUND, value)
        else:
            self.trace.facts.constants[self.ordinal, name] = (path or "", None if path else value)
            self.trace.starts_over = True

    def _note_structure(self, name: str, container: Any) -> None:
        self._structures.note(name, container)
        for element, value in elements_of(name, container).items():
            if isinstance(value, Tensor):
                fact = TensorFact(value.static_shape(f"'{element}'"), value.dtype)
                self.trace.facts.bound[self.ordinal, element] = fact
            elif isinstance(value, SymbolicScalar | FloatScalar):
                self._numbers.note(element, value, value)
