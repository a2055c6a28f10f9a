"""`and`, `or`, chained comparisons and conditional expressions on symbolic conditions, evaluated as Python does.

An operand that Python would not evaluate must not read: a scalar read may lie outside of its tensor there. Where one
reads, the next trace puts it into a branch of its own.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NoReturn

from pypto.frontend import carry, symbolic
from pypto.frontend.choices import choose_value
from pypto.frontend.floats import FloatScalar, float_expr, is_float, number_of
from pypto.frontend.places import trace_error
from pypto.frontend.reach import depth
from pypto.frontend.sameness import is_not_same, is_same
from pypto.frontend.structures import are_alike
from pypto.frontend.symbolic import EXPRESSION_OPERATORS, SymbolicScalar, to_expr
from pypto.frontend.tensor import Tensor
from pypto.frontend.tracer import Retrace, TensorFact, TensorLike, Trace, require

_OPERAND = "operand"  # what operands are among the sides that are open
_SKIPPED = object()  # an operand that this trace does without
_CHOSEN = "chosen"  # names what a conditional expression of tensors gives

_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "Eq": operator.eq,
    "NotEq": operator.ne,
    "Lt": operator.lt,
    "LtE": operator.le,
    "Gt": operator.gt,
    "GtE": operator.ge,
    "Is": is_same,
    "IsNot": is_not_same,
    "In": lambda a, b: a in b,
    "NotIn": lambda a, b: a not in b,
}


def is_symbolic(value: Any) -> bool:
    """Whether a condition is known only when the kernel runs."""
    return isinstance(value, SymbolicScalar) and not value.is_concrete()


def truth(condition: Any) -> bool:
    """A condition that must be known while tracing."""
    if isinstance(condition, TensorLike | FloatScalar):
        condition.__bool__()  # type: ignore[union-attr]  # raises with the reason
    return bool(condition)


def when(condition: SymbolicScalar, operand: Callable[[], Any]) -> Any:
    """What the operand gives where the condition holds; anything elsewhere, where it is not evaluated."""
    trace = require("a condition")
    ordinal = trace.next_flow()
    floating = trace.facts.lazy.get(ordinal)
    if (ordinal, _OPERAND) in trace.facts.skipped:
        return _SKIPPED
    if floating is None:
        before = trace.effects
        trace.sides.append((ordinal, _OPERAND))
        value = operand()
        trace.sides.pop()
        if trace.effects != before:
            trace.facts.lazy[ordinal] = is_float(value)
            trace.starts_over = True
        return value
    slot = int(trace.builder.add_slot("operand", floating))
    nothing = float_expr(trace, 0.0) if floating else trace.constant(0)
    trace.build("set_slots", [(slot, nothing)])
    trace.build("begin_if", to_expr(trace, condition, "a condition"))
    trace.push("then")
    trace.sides.append((ordinal, _OPERAND))
    value = operand()
    trace.sides.pop()
    is_number = is_float(value) or isinstance(value, SymbolicScalar) or symbolic.as_int(value) is not None
    if is_number:
        expr = float_expr(trace, value) if floating else to_expr(trace, value, "a condition")
        trace.build("set_slots", [(slot, expr)])
    trace.pop()
    trace.build("end_if")
    return number_of(trace, slot, "operand", floating=floating) if is_number else value


def all_of(left: Any, *rest: Callable[[], Any]) -> Any:
    """`left and ...`; symbolic operands give a symbolic result."""
    for other in rest:
        if is_symbolic(left):
            left = left.tenary(_condition(when(left, other)), 0)
        elif not truth(left):
            return left
        else:
            left = other()
    return left


def any_of(left: Any, *rest: Callable[[], Any]) -> Any:
    """`left or ...`; symbolic operands give a symbolic result."""
    for other in rest:
        if is_symbolic(left):
            left = left.tenary(left, _condition(when(~left, other)))
        elif truth(left):
            return left
        else:
            left = other()
    return left


def compare(operators: tuple[str, ...], left: Any, *rest: Callable[[], Any]) -> Any:
    """A chained comparison: each operand is evaluated once."""
    result: Any = True
    for name, other in zip(operators, rest, strict=True):
        right = when(result, other) if is_symbolic(result) else other()
        if right is _SKIPPED:
            break
        step = _COMPARE[name](left, right)
        if not is_symbolic(step) and not truth(step):
            return step
        if is_symbolic(step):
            result = step if result is True else result & step
        left = right
    return result


def select(condition: Any, if_true: Callable[[], Any], if_false: Callable[[], Any]) -> Any:
    """A conditional expression; on a symbolic condition both sides are numbers, tensors or containers of one make."""
    if not is_symbolic(condition):
        return if_true() if truth(condition) else if_false()
    trace = require("a conditional expression")
    ordinal = trace.next_flow()
    fact = trace.facts.bound.get((ordinal, _CHOSEN))
    if fact is not None:
        return _choose_tensors(trace, ordinal, fact, condition, (if_true, if_false))
    sides = when(condition, if_true), when(~condition, if_false)
    if any(side is _SKIPPED for side in sides):
        known = [side for side in sides if side is not _SKIPPED]
        return known[0] if known else _skip_around(trace)
    if all(isinstance(side, Tensor) for side in sides) and sides[0].describe() == sides[1].describe():
        return carry.note_bound(trace, ordinal, _CHOSEN, sides[0])
    if are_alike(*sides):
        chosen = choose_value(trace, condition, *sides, _CHOSEN)
        if trace.kin is not None:
            trace.kin.hold(chosen, depth())
        return chosen
    for side in sides:
        if not isinstance(side, SymbolicScalar) and symbolic.as_int(side) is None and not is_float(side):
            raise trace_error(
                TypeError,
                f"a conditional expression on a symbolic condition gives numbers or tensors of one shape and dtype, "
                f"got {carry.kind_of(sides[0])} and {carry.kind_of(sides[1])}; write an if statement",
            )
    if not any(is_float(side) for side in sides):
        return condition.tenary(*sides)
    exprs = [float_expr(trace, side) for side in sides]
    code = EXPRESSION_OPERATORS["select"]
    made = trace.build("make_expr", code, to_expr(trace, condition, "a conditional expression"), *exprs)
    return FloatScalar._wrap(trace, made, "a conditional expression")


def _skip_around(trace: Trace) -> NoReturn:
    """Both operands read a name before it is bound: so does the block around them."""
    facts = trace.facts
    loops = {(ordinal, "loop") for ordinal, _ in facts.sought}
    if (not trace.sides or trace.sides[-1] in loops) and facts.error is not None:
        trace.starts_over = False
        raise facts.error
    facts.skipped.add(trace.sides[-1])
    raise Retrace


def _choose_tensors(
    trace: Trace, ordinal: int, fact: TensorFact, condition: SymbolicScalar, sides: tuple[Callable[[], Any], ...]
) -> Tensor:
    """A conditional expression of tensors: each side in a branch of its own, moved into one variable."""
    chosen = carry.declare(trace, ordinal, _CHOSEN, fact)
    values, extents, found = [], [], []
    expr = to_expr(trace, condition, "a conditional expression")
    trace.build("begin_if", expr)
    for kind, side in zip(("then", "else"), sides, strict=True):
        if kind == "else":
            trace.build("begin_else")
        trace.next_flow()  # as `when` counts them
        trace.push(kind)
        value = side()
        others = [(value, ())] if value.scope is not trace.scope else value.paths(trace.scope)
        found += [(each, ((expr, kind == "then"), *way)) for each, way in others if each.scope is not trace.scope]
        values.append(value)
        extents.append([SymbolicScalar._wrap(trace, expr) for expr in value.valid_exprs()])
        trace.build("move", chosen.variable_id(), value.use())
        trace.pop()
    trace.build("end_if")
    chosen.set_valid(
        [a._expr if a._expr == b._expr else int(condition.tenary(a, b)._expr) for a, b in zip(*extents, strict=True)]
    )
    for each, conditions in found:
        chosen.link(each, conditions)
    known = {id(each) for each, _ in found}
    for value in values:
        chosen.may_be_any_of(
            value,
            "what a conditional expression gave",
            lambda each: trace.is_open(each.scope) and id(each) not in known,
        )
    return chosen


def _condition(value: Any) -> Any:
    """A right operand of `and` or `or` behind a symbolic one."""
    if value is _SKIPPED:
        return 0
    if isinstance(value, bool | SymbolicScalar) or symbolic.as_int(value) is not None:
        return value
    raise trace_error(
        TypeError,
        f"`and` and `or` on a symbolic condition combine conditions, not {type(value).__name__}; write an if statement",
    )
