"""An `if` on a symbolic condition while it is traced: both branches, and the names that they leave behind."""
# ruff: noqa: D105, D107

from __future__ import annotations

import ast
import functools
from typing import TYPE_CHECKING, Any

from pypto.frontend.floats import FloatScalar, float_expr, is_float
from pypto.frontend.objects.containers import Change, Snapshot, put
from pypto.frontend.objects.elements import IN_A_BRANCH, Elements
from pypto.frontend.objects.structures import Structures, are_alike, elements_of, rebuild
from pypto.frontend.rewriting.rewrite import CHOSEN, FlowMeta
from pypto.frontend.symbolic import EXPRESSION_OPERATORS, SymbolicScalar, as_int, static_int, to_expr
from pypto.frontend.tensor import Tensor
from pypto.frontend.tracing import carry
from pypto.frontend.tracing.carry import UNBOUND, CarriedMove, Unusable
from pypto.frontend.tracing.links import Condition
from pypto.frontend.tracing.maybe import Maybe, Reason, choose, join, load, may_be_none, split
from pypto.frontend.tracing.reach import snapshot_around
from pypto.frontend.tracing.tracer import Retrace, TensorFact, require

if TYPE_CHECKING:
    from pypto.frontend.tracing.flow import FunctionRuntime
    from pypto.frontend.tracing.loopflow import LoopFlow


_PLAIN = (bool, int, float, str)


class ConcreteBranch:
    """An `if` whose condition is known while tracing: one branch runs, as in Python."""

    names: dict[str, Any] = {}  # noqa: RUF012  always empty

    def __init__(self, taken: bool) -> None:
        self._taken = taken

    def then(self) -> bool:
        """Whether the first branch runs."""
        return self._taken

    def otherwise(self) -> bool:
        """Whether the second branch runs."""
        return not self._taken

    def end_then(self, frame: dict[str, Any]) -> None:
        """Nothing to merge."""

    end_otherwise = end_then


TAKEN, SKIPPED = ConcreteBranch(True), ConcreteBranch(False)


class BranchFlow:
    """One execution of an `if` statement on a symbolic condition. Made by rewritten code."""

    def __init__(
        self,
        runtime: FunctionRuntime,
        meta: FlowMeta,
        condition: SymbolicScalar,
        frame: dict[str, Any],
        ordinal: int | None = None,
    ) -> None:
        self.runtime, self.meta, self.condition = runtime, meta, condition
        self.trace = require("if")
        self.ordinal = self.trace.next_flow((runtime.where, meta.number)) if ordinal is None else ordinal
        self.names: dict[str, Any] = {}
        runtime.refuse_escape(meta, "an if on a symbolic condition")
        around = functools.partial(snapshot_around, self.trace, frame, runtime.function)
        self._elements = Elements(self.trace, self.ordinal, around, IN_A_BRANCH)
        self._structures = Structures(self.trace, self.ordinal)
        self._entry = self._with_elements(frame)
        names = {*(meta.names.assigned & meta.names.live_after), *self._elements.paths}
        self._merged = sorted((names - self._structures.names) | self._structures.paths)
        self._then: dict[str, Any] = {}
        self._changes: list[dict[tuple[int, Any], Change]] = []  # by branch: of elements that nothing was known of
        self._bound: list[dict[str, Any]] = []  # whether names of containers are bound behind either branch
        self._variables: dict[str, Tensor] = {}
        self._given_up: dict[str, Tensor] = {}  # by name: what it was before the branches, if it may be that still
        nones = self.trace.facts.nones
        self._nones = {name for name in meta.names.assigned if (self.ordinal, name) in nones}  # None on one side only
        self._lent: set[str] = set()  # parameters whose own memory takes what a branch binds to their names
        for name in self._merged:
            fact = self.trace.facts.bound.get((self.ordinal, name))
            if fact is not None:
                self._variables[name] = self._variable(name, fact)
        self.trace.build("begin_if", to_expr(self.trace, condition, "if"))
        self._open("then")

    def _variable(self, name: str, fact: TensorFact) -> Tensor:
        """What a merged name lives in: the caller's memory for a parameter that is bound anew and used nowhere else."""
        value = self._entry.get(name)
        parameter = self.trace.parameters.get(name)
        facts = self.trace.facts
        if (
            not self.runtime.is_kernel
            or value is not parameter
            or parameter is None
            or not parameter.is_untouched
            or name in facts.read
            or (self.ordinal, name) not in facts.kept
            or (parameter.dtype, parameter.shape_exprs()) != (fact.dtype, [self.trace.constant(e) for e in fact.shape])
        ):
            return carry.declare(self.trace, self.ordinal, name, fact)
        self._lent.add(name)
        lent: Tensor = parameter.lend(name, (self.ordinal, name, 0))
        return lent

    def _open(self, kind: str) -> None:
        scope = self.trace.push(kind, self.runtime.source.place(self.meta.node))
        is_empty = kind == "else" and isinstance(self.meta.node, ast.If) and not self.meta.node.orelse
        around = Snapshot() if is_empty else snapshot_around(self.trace, self._entry, self.runtime.function)
        scope.watchers = around
        scope.watchers.owner = self.runtime
        scope.settled = functools.partial(self._elements.settled, scope.watchers)
        self.trace.sides.append((self.ordinal, kind))

    def _with_elements(self, frame: dict[str, Any]) -> dict[str, Any]:
        """A frame with the elements that are merged under names of their own."""
        frame = frame | self._elements.values()
        return frame | self._structures.values(frame)

    def then(self) -> bool:
        """The first branch is always traced, except by a trace that does without it."""
        if (self.ordinal, "then") in self.trace.facts.skipped:
            self.end_then(self._entry)
            return False
        return True

    def end_then(self, frame: dict[str, Any]) -> None:
        """The end of the first branch."""
        self._then = self._close(frame)

    def otherwise(self) -> bool:
        """The second branch is always traced, with the names as they were before the first."""
        self.trace.build("begin_else")
        self._elements.take({path: self._entry[path] for path in self._elements.paths})
        self._structures.refresh()
        self._open("else")
        for name in self.meta.names.assigned:
            value = self._entry.get(name, UNBOUND)
            if value is UNBOUND:
                known = self._first_bound(name)
                value = Maybe(name, UNBOUND, 0, self._reason()) if known is None else known
            self.names[name] = value
        if (self.ordinal, "else") in self.trace.facts.skipped:
            self.end_otherwise(self._entry)
            return False
        return True

    def _loop(self) -> LoopFlow | None:
        """The innermost open loop of the function."""
        return next((loop for loop in reversed(self.trace.loops) if loop.runtime is self.runtime), None)

    def _first_bound(self, name: str) -> Any:
        """What stands for an unbound name that the first branch has bound, where an earlier iteration may have."""
        loop = self._loop()
        return None if loop is None else loop.first_bound(name, self._then.get(name, UNBOUND))

    def end_otherwise(self, frame: dict[str, Any]) -> None:
        """The end of the statement: names that are read later get one value from both branches."""
        other = self._close(frame)
        self.trace.build("end_if")
        self.names = {name: self._merge(name, self._then[name], other[name]) for name in self._merged}
        self._structures.take(self.names)
        self._structures.relate(self.condition)
        self._elements.take(self.names)
        self._merge_changes()
        self._structures.refresh()
        for name in self._structures.names & self.names.keys():
            bound = choose(self.condition, *(side[name] for side in self._bound))
            is_none = name in self._nones or may_be_none(self._then.get(name)) or may_be_none(frame.get(name))
            sides = (UNBOUND if static_int(side[name]) == 0 else self.names[name] for side in self._bound)
            self.names[name] = join(
                name, self.names[name], bound, self._reason(is_none, self._conflict_of(name, *sides))
            )
        self._give_up()

    def _close(self, frame: dict[str, Any]) -> dict[str, Any]:
        self.runtime.settle_all()
        unbound = {name: UNBOUND for name in self._nones if frame.get(name, UNBOUND) is None}
        frame = self._with_elements(frame | unbound)
        self._structures.add_side(frame)
        self._bound.append({name: split(frame.get(name, UNBOUND), UNBOUND)[1] for name in self._structures.names})
        found = self._elements.check(self.trace.scope.watchers, functools.partial(self.runtime.error, meta=self.meta))
        self._changes.append({(id(change.container), change.key): change for change in found})
        values = {name: frame.get(name, UNBOUND) for name in self._merged}
        held = {name: split(value, UNBOUND)[0] for name, value in values.items()}
        tensors = {name: value for name, value in held.items() if isinstance(value, Tensor)}
        moves = []
        for name, variable in self._variables.items():
            value = tensors.get(name)
            if value is None or value.id == variable.id or (name in self._lent and value is self._entry[name]):
                continue
            moves.append(CarriedMove(variable, value, self.runtime.place_of(self.meta, name)))
            self._note_outside(name, variable, value)
        carry.link_aliases(tensors, {**tensors, **self._variables}, self._condition(), self.trace.scope)
        carry.move_all(self.trace, moves)
        self.trace.pop()
        self.trace.sides.pop()
        return values

    def _merge_changes(self) -> None:
        """What follows, in a trace that starts over, finds elements as the next trace will have them."""
        then, other = self._changes
        for key, (path, container, place, old, _) in (other | then).items():
            sides = [side[key].new if key in side else old for side in (then, other)]
            put(container, place, load(self._merge(path, *sides)))

    def _condition(self) -> Condition:
        """The condition of the branch that is open."""
        return to_expr(self.trace, self.condition, "if"), self.trace.scope.kind == "then"

    def _note_outside(self, name: str, variable: Tensor, value: Tensor) -> None:
        """A merged name may be a tensor of before the branch: what is written into one of them is seen in the other."""
        key, facts = (self.ordinal, name), self.trace.facts
        linked = {id(value)}
        others = [(value, ())] if value.scope is not self.trace.scope else value.paths(self.trace.scope)
        for each, conditions in others if name not in self._lent else ():
            linked.add(id(each))
            if each.scope is self.trace.scope:
                continue
            is_old = id(each) == id(self._entry.get(name)) and each.is_own_of(self.trace.scopes[-2])
            if is_old and key not in facts.linked:
                if key in facts.written:
                    self._given_up[name] = each
                    continue
                variable.thaws(key)
            variable.link(each, (self._condition(), *conditions))
        if name in self._lent:
            for each in value.identities().values():
                if each.scope is not self.trace.scope:
                    variable.may_both_be(each, f"'{name}'")
        else:
            outside = self.trace.scope
            variable.may_be_any_of(
                value, f"'{name}'", lambda each: each.scope is not outside and id(each) not in linked
            )

    def _give_up(self) -> None:
        """A tensor that a branch may have bound anew, and that is written into later, has no other name any more."""
        for name, old in self._given_up.items():
            if old.is_linked:  # by another name
                self.trace.facts.linked.add((self.ordinal, name))
                raise Retrace
            old.give_up((self.ordinal, name))

    def _merge(self, name: str, a: Any, b: Any) -> Any:
        if carry.same_value(a, b):
            return a
        returned = getattr(self.meta.node, "returned", "")
        if returned and name.isidentifier() and type(a) in _PLAIN and type(b) in _PLAIN:
            return b if returned == "then" else a  # nobody reads the other one
        for side in (a, b):
            if isinstance(side, Unusable):
                return side
        is_none = self._may_be_none(name, a, b)
        if is_none:
            a, b = (UNBOUND if side is None else side for side in (a, b))
        elif (a is None or b is None) and self._starts_as_none(name, b if a is None else a):
            return self._conflict(name, a, b)
        (a, bound_a), (b, bound_b) = split(a, UNBOUND), split(b, UNBOUND)
        value = self._merge_values(name, a, b)
        if isinstance(value, Unusable):
            return value
        conflict = self._conflict_of(name, a, b) if is_none else ""
        return join(name, value, choose(self.condition, bound_a, bound_b), self._reason(is_none, conflict))

    def _starts_as_none(self, name: str, other: Any) -> bool:
        """Notes that a name is None behind one branch, for the next trace; false where it cannot be one that may be."""
        if name not in self.meta.names.assigned or name == CHOSEN or other is UNBOUND or type(other) is Maybe:
            return False
        self.trace.facts.nones.add((self.ordinal, name))
        self.trace.starts_over = True
        return True

    def _conflict_of(self, name: str, *sides: Any) -> str:
        """Why a name that is None behind one branch cannot be used before that is asked."""
        if name not in self._nones:
            return ""
        reason: str = self._conflict(name, *(None if side is UNBOUND else side for side in sides)).reason
        return reason

    def _may_be_none(self, name: str, a: Any, b: Any) -> bool:
        """Whether a name holds None until it is bound, by the loop around or behind one branch, and a value says so."""
        if name in self._nones:
            return True
        if a is None or b is None:
            loop = self._loop()
            if loop is not None and name in loop._nones:
                return True
        return (type(a) is Maybe and a.reason.is_none) or (type(b) is Maybe and b.reason.is_none)

    def _reason(self, is_none: bool = False, conflict: str = "") -> Reason:
        place = self.runtime.source.place(self.meta.node)
        block = self.trace.block() if conflict else None
        return Reason("is bound only in one branch of the if at line {}", (place,), is_none, conflict, block)

    def _merge_values(self, name: str, a: Any, b: Any) -> Any:
        """One value for both branches; UNBOUND gives way."""
        if a is UNBOUND or b is UNBOUND:
            value = b if a is UNBOUND else a
            if any(self._is_over(each) for each in elements_of(name, value).values()):
                return self._merge_containers(name, value, value)
            return self._merge_tensors(name, value, value) if isinstance(value, Tensor) else value
        if carry.same_value(a, b):
            return a
        if isinstance(a, Tensor) and isinstance(b, Tensor):
            return self._merge_tensors(name, a, b)
        if are_alike(a, b):
            return self._merge_containers(name, a, b)
        if is_float(a) or is_float(b):
            sides = [float_expr(self.trace, side) for side in (a, b)]
            if None not in sides:
                code = EXPRESSION_OPERATORS["select"]
                expr = self.trace.build("make_expr", code, to_expr(self.trace, self.condition, "if"), *sides)
                return FloatScalar._wrap(self.trace, expr, name)
        if self._is_integer(a) and self._is_integer(b):
            return self.condition.tenary(a, b)
        return self._conflict(name, a, b)

    def _is_over(self, value: Any) -> bool:
        return isinstance(value, Tensor) and not self.trace.is_open(value.scope)

    def _merge_containers(self, name: str, a: Any, b: Any) -> Any:
        """The next trace merges the elements; what follows in this one finds all else with a container like that."""
        self._structures.note(name, a)
        elements = {}
        others = elements_of(name, b)
        for path, element in elements_of(name, a).items():
            sides = element, others[path]
            elements[path] = load(
                self._merge_tensors(path, *sides)
                if sides[0] is sides[1] and self._is_over(element)
                else self._merge(path, *sides)
            )
        made = rebuild(a, elements, name)
        self._structures.relate_one(made, a, b, self.condition)
        return made

    def _conflict(self, name: str, a: Any, b: Any) -> Unusable:
        one, other = carry.kinds_of(a, b)
        return Unusable(
            name,
            f"is {one} in one branch of the if at line {self.meta.node.lineno} and {other} in the other "
            f"(Conflicted var {name})",
            carry.instead_of_conflict(name, a, b),
        )

    def _merge_tensors(self, name: str, a: Tensor, b: Tensor) -> Any:
        if a.dtype != b.dtype or a.shape_exprs() != b.shape_exprs():
            return self._conflict(name, a, b)
        if any(self.trace.parameters.get(name) is each for each in (a, b)):
            self.trace.facts.kept.add((self.ordinal, name))
        stand_in = carry.note_bound(self.trace, self.ordinal, name, a)
        if stand_in is None and name not in self._variables:  # this trace starts over
            stand_in = carry.declare(self.trace, self.ordinal, name, self.trace.facts.bound[self.ordinal, name])
        merged = self._variables[name] if stand_in is None else stand_in
        merged.set_valid([self._choice(x, y) for x, y in zip(a.valid_exprs(), b.valid_exprs(), strict=True)])
        return merged

    def _choice(self, a: int, b: int) -> int:
        """The expression of the branch that is taken."""
        if a == b:
            return a
        sides = [SymbolicScalar._wrap(self.trace, expr) for expr in (a, b)]
        return int(self.condition.tenary(*sides)._expr)

    @staticmethod
    def _is_integer(value: Any) -> bool:
        return isinstance(value, SymbolicScalar) or as_int(value) is not None
