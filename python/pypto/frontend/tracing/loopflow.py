"""A `pypto.loop` while its body is traced: the loop of the program, carried names, and what may not change in it."""
# ruff: noqa: D105, D107

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pypto.config import scopes
from pypto.frontend.floats import FloatScalar, is_number
from pypto.frontend.objects.elements import IN_A_LOOP, Elements
from pypto.frontend.objects.structures import Structures, are_alike
from pypto.frontend.places import syntax_error
from pypto.frontend.rewriting.rewrite import FlowMeta
from pypto.frontend.symbolic import SymbolicScalar, static_int, to_expr
from pypto.frontend.tensor import Tensor
from pypto.frontend.tracing import carry
from pypto.frontend.tracing.carry import CarriedMove, Unusable
from pypto.frontend.tracing.first_bound import FirstBound
from pypto.frontend.tracing.loop_aliases import LoopAliases
from pypto.frontend.tracing.loop_kin import LoopKin
from pypto.frontend.tracing.loop_links import LoopLinks
from pypto.frontend.tracing.loops import Loop, Section
from pypto.frontend.tracing.maybe import join, split
from pypto.frontend.tracing.numbers_carried import CarriedNumbers
from pypto.frontend.tracing.reach import Names, reachable, snapshot_around
from pypto.frontend.tracing.tracer import Scope, Trace, require

if TYPE_CHECKING:
    from pypto.frontend.tracing.flow import FunctionRuntime


class LoopFlow(LoopAliases, FirstBound):
    """One execution of a `for` statement over a pypto.loop. Made by rewritten code."""

    def __init__(self, runtime: FunctionRuntime, meta: FlowMeta, loop: Loop, frame: dict[str, Any]) -> None:
        self.runtime, self.meta, self.loop = runtime, meta, loop
        self.trace: Trace = require("pypto.loop()")
        self.ordinal = self.trace.next_flow((runtime.where, meta.number))
        self.names: dict[str, Any] = {}
        self._check_statement()
        self._entry = frame = dict(frame)  # locals() gives one dict per frame, updated in place
        self._nones = set()
        self._begin_nones(frame)
        names = meta.names
        around = functools.partial(snapshot_around, self.trace, frame, runtime.function)
        self._elements = Elements(self.trace, self.ordinal, around, IN_A_LOOP)
        self._structures = Structures(self.trace, self.ordinal)
        self._structures.start_from(frame | self._elements.values())
        paths = set(self._elements.paths)
        self._live_at_head = self._structures.with_elements(names.live_at_head | paths)
        self._live_after = self._structures.with_elements(names.live_after | paths)
        self._entry = frame = self._with_elements(frame)
        carried = names.assigned & (names.live_at_head | names.live_after)
        self._leaves = self._structures.paths
        self._carried = self._structures.with_elements(carried | paths) - self._structures.names
        self._variables: dict[str, Tensor] = {}  # declared tensors that carried names live in
        self._first: set[str] = set()  # those of them that the body binds first
        self._numbers = CarriedNumbers(self.trace, self.ordinal)
        self._links = LoopLinks(self.trace, self.ordinal, self._numbers, around)
        self._kin = LoopKin(self.trace, self.ordinal, self._numbers)
        self._kin.begin(self._structures.held(frame), around)
        self._fixed: dict[str, Any] = {}  # values that an iteration must leave as they are
        self._constants: dict[str, Any] = {}
        self._last: dict[str, Any] = {}  # values of names that the body binds first
        self._heads: dict[str, Tensor] = {}
        self._held: list[Tensor] = []  # so that their ids stay theirs
        self._outside: dict[int, Tensor] = {}  # by id of a head: the tensor that the name held before the loop
        self._written: set[str] = set()  # names that the body writes into as well
        self._writes: dict[str, int] = {}  # of those tensors, when the loop began
        self._first_write = self.trace.writes
        self._stand_ins: dict[str, Tensor | None] = {}  # for tensors that are found to be bound first in the body
        self._bodies = 0
        self._ran = False
        self._is_last_body = True
        self._prepare(frame)

    def _check_statement(self) -> None:
        target = self.meta.node.target  # type: ignore[union-attr]
        self.runtime.refuse_escape(self.meta, "a pypto.loop")
        is_pair = hasattr(target, "elts") and len(target.elts) == 2
        if self.loop.pairs and not is_pair:
            raise syntax_error(
                "The target of pypto.loop_unroll must be a pair: `for idx, k in pypto.loop_unroll(...)`.",
                self.runtime.source.place(target),
            )
        if not self.loop.pairs and hasattr(target, "elts"):
            raise syntax_error(
                "The target of pypto.loop must be one name: `for i in pypto.loop(...)`.",
                self.runtime.source.place(target),
            )

    def _prepare(self, frame: dict[str, Any]) -> None:
        targets, names = carry.target_names(self.meta.node) - self._live_after, self.meta.names
        written = self.trace.facts.written  # first, so that other names of their tensors are refused
        for name in sorted(self._carried - targets, key=lambda name: ((self.ordinal, name) not in written, name)):
            value, bound = split(frame.get(name, carry.UNBOUND), carry.UNBOUND)
            if isinstance(value, float | FloatScalar) and name in self._live_at_head:
                self.trace.facts.numbers[(self.ordinal, name)] = True
            if self._numbers.carries(name) and (static_int(bound) == 0 or is_number(value)):
                self._numbers.begin(name, value if is_number(value) else 0)
                self._begin_flag(name, bound)
            elif isinstance(value, Tensor):
                self._begin_flag(name, bound)
                is_output = self.runtime.is_kernel and name not in names.read_first
                self._variables[name] = carry.variable_for(self.trace, self.ordinal, name, value, is_output=is_output)
                self._begin_valid(name, value.valid_exprs())
                self._begin_written(name, value)
                self._writes[name] = value.writes
            elif value is carry.UNBOUND or isinstance(value, Unusable):
                fact = self.trace.facts.bound.get((self.ordinal, name))
                if fact is not None:
                    self._variables[name] = carry.declare(self.trace, self.ordinal, name, fact)
                    if (self.ordinal, name) in self.trace.facts.written:
                        self._links.begin(name, None, self._entry)
                    self._begin_valid(name, self._variables[name].shape_exprs())
                    self._first.add(name)
                    self._begin_flag(name, 0)
                elif name in self._leaves:
                    self._fixed[name] = self._structures.element(name)
                else:
                    self._begin_constant(name)
            elif static_int(bound) != 1:
                self._constants[name] = value
                self._begin_flag(name, bound)
            else:
                self._fixed[name] = value
        for name in sorted(self._structures.names):
            self._begin_flag(name, self._bound(name))
        self._links.begin_pairs()
        self._numbers.store_entry()

    def _begin_written(self, name: str, value: Tensor) -> None:
        """A tensor that the body writes into, and binds anew: links follow it, or it has no other name from here on."""
        key, facts = (self.ordinal, name), self.trace.facts
        if key not in facts.written or static_int(self._bound(name)) != 1:
            return
        if not value.is_own or key in facts.linked:
            self._links.begin(name, value, self._entry)
        else:
            value.give_up(key)
            self._written.add(name)

    def _bound(self, name: str) -> Any:
        return split(self._entry.get(name, carry.UNBOUND), carry.UNBOUND)[1]

    def _alias(self, scope: Scope, name: str, variable: Tensor) -> Tensor:
        """The tensor of a carried name in the body; writing into it is found out by starting over."""
        key = (self.ordinal, name)
        of = (self.ordinal, name, self._bodies)
        if name in self._written or name in self._links:
            return variable.alias(scope, "", None, of)
        reason = f"'{name}' is bound anew in the loop and"
        return variable.alias(scope, reason, None if key in self.trace.facts.written else key, of)

    def _begin_valid(self, name: str, valid: list[int]) -> None:
        variable = self._variables[name]
        variable.set_valid(self._numbers.begin_valid(name, valid, variable.static_shape(f"'{name}'")))

    def _end_valid(self, name: str, variable: Tensor, value: Tensor) -> None:
        before, after = variable.valid_exprs(), value.valid_exprs()
        if len(before) != len(after):
            return  # refused with the new value
        if name in self._first:  # what lasts may be taken as it is
            before = [old if self._varies(new) else new for old, new in zip(before, after, strict=True)]
            variable.set_valid(before)
        for dim, (old, new) in enumerate(zip(before, after, strict=True)):
            self._numbers.end_valid(name, dim, new, old)

    def _varies(self, expr: int) -> bool:
        builder = self.trace.builder
        return self.trace.scope.loop in builder.expr_loops(expr) or bool(builder.expr_slots(expr))

    def _begin_flag(self, name: str, bound: Any) -> None:
        """Follows whether the name is bound, where that depends on the running kernel."""
        if name in self._leaves:
            return  # as its container
        read_unbound = static_int(bound) == 0 and name in self._live_at_head
        if static_int(bound) is None or read_unbound or (self.ordinal, name) in self.trace.facts.flags:
            self._numbers.begin_flag(name, bound)

    # Iteration.

    def __iter__(self) -> Iterator[Any]:
        certain = False
        for number, section in enumerate(self.loop.sections()):
            count = section.trip_count()
            if count == 0 or (self.ordinal, "loop") in self.trace.facts.skipped:
                continue
            certain = certain or (count or 0) > 0
            yield from self._section(number, section)
        self._leave(certain)

    def _section(self, number: int, section: Section) -> Iterator[Any]:
        trace = self.trace
        bounds = [to_expr(trace, value, "pypto.loop") for value in (section.start, section.stop, section.stride)]
        submit = self.loop.submit_before and number == 0
        name = self.loop.name or carry.target_text(self.meta.node)
        expr = trace.build("begin_loop", name, *bounds, self.loop.parallel, submit)
        scope = trace.push("loop", self.runtime.source.place(self.meta.node))
        scope.loop = trace.builder.expr_loops(expr)[0]
        trace.shown[f"loop{scope.loop}"] = carry.target_text(self.meta.node).partition(",")[0].strip("(")
        scope.bounds = (self.loop.start, self.loop.stop, self.loop.step)
        index = SymbolicScalar._wrap(trace, expr)
        scope.watchers = snapshot_around(trace, self._entry, self.runtime.function)
        scope.watchers.owner = self.runtime
        scope.settled = functools.partial(self._elements.settled, scope.watchers)
        trace.loops.append(self)
        trace.sides.append((self.ordinal, "loop"))
        self._numbers.open_section()
        for body in range(section.repeat):
            if body and scope.options_before is not None:  # each body starts with the options of before the loop
                scopes.put_in_force(scope.options_before)
                scopes.enter_child("loop")
            self._is_last_body = body + 1 == section.repeat
            self._open_body(scope)
            position = index + body * section.step if body else index
            yield (position, section.extent) if self.loop.pairs else position
        trace.pop()
        trace.loops.pop()
        trace.sides.pop()
        trace.build("end_loop")
        self._ran = True

    def _open_body(self, scope: Scope) -> None:
        self.names = {}
        self._heads = {}
        self._bodies += 1
        for each in scope.linked:  # of the body before this one
            each.unlink()
        scope.linked.clear()
        for name, variable in self._variables.items():
            if name not in self._first or self._numbers.has_flag(name) or name in self._leaves:
                head = self._alias(scope, name, variable)
                head.set_valid(self._numbers.valid(name, variable.valid_exprs()))
                if name not in self._first and name not in self._written and name not in self._links:
                    self._outside[id(head)] = split(self._entry[name], carry.UNBOUND)[0]
                    self._held.append(head)
                self._links.open_body(name, head)
                self._heads[name] = head
                self.names[name] = self._numbers.flagged(name, head, self._reason_at_head(name))
        for name in self._numbers.names():
            self.names[name] = self._numbers.flagged(name, self._numbers.value(name), self._reason_at_head(name))
        for name, value in self._constants.items():
            flagged = self._numbers.flagged(name, value, self._reason_at_head(name))
            self.names[name] = value if isinstance(value, Unusable) else flagged
        if self._bodies == 1:
            self._await_bindings()
        for name in carry.target_names(self.meta.node):
            self.names.pop(name, None)  # the iteration has bound it
        self._links.open_pairs(self._heads)
        self._take()
        self._kin.open_body(self._structures.made)
        for name in self._structures.names & self.names.keys():
            self.names[name] = self._numbers.flagged(name, self.names[name], self._reason_at_head(name))

    def _take(self) -> None:
        """Puts elements that are carried under names of their own back into their containers."""
        wanted = {name for name in self._structures.names & self._live_at_head if self._numbers.has_flag(name)}
        self._structures.take(self.names, wanted)
        self._elements.take(self.names)
        self._structures.refresh()

    def _with_elements(self, frame: dict[str, Any]) -> dict[str, Any]:
        """A frame with the elements that are carried under names of their own."""
        frame = frame | self._elements.values()
        return frame | self._structures.values(frame)

    def end(self, frame: dict[str, Any]) -> None:
        """The end of the body: carried tensors take their new values; everything else must be as it was."""
        self.runtime.settle_all()
        frame = self._with_elements(self._end_nones(frame))
        for name in self._structures.others(frame):
            self._refuse_change(name, self._structures[name], frame.get(name, carry.UNBOUND))
        for name in self._structures.names:
            self._numbers.end_flag(name, split(frame.get(name, carry.UNBOUND), carry.UNBOUND)[1])
        self._kin.end(self._structures.held(frame), functools.cache(self._read_later))
        self._elements.check(self.trace.scope.watchers, functools.partial(self.runtime.error, meta=self.meta))
        moves = list(self._end_variables(frame))
        self._end_numbers(frame)
        for name, value in self._fixed.items():
            if name not in self._leaves or name in frame:
                self._check_fixed(name, value, frame.get(name, carry.UNBOUND))
        for name, value in self._constants.items():
            self._end_constant(name, value, frame.get(name, carry.UNBOUND))
        self._end_exploring(frame)
        self._note_first_bindings(frame)
        self._check_aliases(frame)
        carry.move_all(self.trace, moves)
        if self._is_last_body:
            self._numbers.store()

    def _end_variables(self, frame: dict[str, Any]) -> Iterator[CarriedMove]:
        for name, variable in self._variables.items():
            value, bound = split(frame.get(name, carry.UNBOUND), carry.UNBOUND)
            if name in self._leaves:
                if value is carry.UNBOUND:  # as the container
                    continue
            else:
                self._numbers.end_flag(name, bound)
                if value is carry.UNBOUND and name in self._nones:
                    continue
            if isinstance(value, Tensor) and value is not variable:
                self._end_valid(name, variable, value)
            head = self._heads.get(name)
            if value is not variable and (head is None or value is not head or head.id != variable.id):
                place = self.runtime.place_of(self.meta, name)
                yield CarriedMove(variable, self._new_value(name, variable, value), place)

    def _end_numbers(self, frame: dict[str, Any]) -> None:
        for name in self._numbers.names():
            value, bound = split(frame.get(name, carry.UNBOUND), carry.UNBOUND)
            if name in self._leaves:
                if value is carry.UNBOUND:
                    continue
            else:
                self._numbers.end_flag(name, bound)
                if value is carry.UNBOUND and name in self._nones:
                    continue
            if not self._numbers.end(name, value):
                raise self.runtime.error(
                    TypeError,
                    f"'{name}' is a number before the pypto.loop and {carry.kind_of(value)} at the end of its body",
                    self.meta,
                    name,
                )

    def _read_later(self) -> Names:
        """What can be read in a later iteration or behind the loop, apart from the names that are carried."""
        return reachable(self._live_at_head - self._structures.names, self.runtime.function)

    def _check_fixed(self, name: str, before: Any, after: Any) -> None:
        if carry.same_value(before, after):
            return
        if is_number(before) and is_number(split(after, carry.UNBOUND)[0]):
            self._numbers.note(name, before, split(after, carry.UNBOUND)[0])
            return
        if are_alike(before, after):
            self._structures.note(name, before)
            return
        if self._starts_as_none(name, before):
            return
        self._refuse_change(name, before, after)

    # After the loop.

    def _leave(self, certain: bool) -> None:
        self.names = {}
        live = self._live_after
        line = self.meta.node.lineno
        for name, variable in self._variables.items():
            if name not in live:
                continue
            bound_before = name not in self._first
            if not self._ran and not bound_before:
                continue
            self._links.leave(name, variable)
            if bound_before and not certain and name not in self._written and name not in self._links:
                self._may_be_outside(name, split(self._entry[name], carry.UNBOUND)[0])
            self._leave_name(name, variable, certain or bound_before)
        for name in self._numbers.names():
            if name in live and self._ran:
                self._leave_name(name, self._numbers.carried(name), certain or self._numbers.bound_before(name))
        self._links.leave_pairs(self._variables)
        self._take()
        self._kin.leave(self._structures.made)
        for name in self._structures.names & self.names.keys():
            self._leave_name(name, self.names[name], certain or static_int(self._bound(name)) == 1)
        for name in self._constants if self._ran else ():
            if name in live:
                self._leave_name(name, self._constants[name], certain)
        for name, value in self._last.items():
            if name not in live or isinstance(value, Unusable):
                continue
            if value is carry.UNBOUND:
                self._leave_unbound(name)
            elif isinstance(value, SymbolicScalar):
                reason = f"is a symbolic value of the loop at line {line} and has no value after it"
                self.names[name] = Unusable(name, reason)
            else:
                stand_in = self._stand_ins.get(name)
                self._leave_name(name, value if stand_in is None else stand_in, certain)

    def _leave_name(self, name: str, value: Any, certain: bool) -> None:
        if self._numbers.has_flag(name):
            self.names[name] = self._numbers.left(name, value, self._reason(name))
        else:
            self.names[name] = join(name, value, 1 if certain else self.loop.runs_at_all(), self._reason(name))
