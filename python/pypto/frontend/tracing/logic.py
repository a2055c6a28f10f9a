"""`and`, `or`, chained comparisons and conditional expressions on symbolic conditions, evaluated as Python does."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from pypto.frontend import symbolic
from pypto.frontend.floats import FloatScalar, float_expr, is_float
from pypto.frontend.objects.operators import binary
from pypto.frontend.objects.operators import condition as condition_of
from pypto.frontend.objects.sameness import is_not_same, is_same
from pypto.frontend.objects.structures import are_alike
from pypto.frontend.places import trace_error
from pypto.frontend.rewriting.rewrite import CHOSEN
from pypto.frontend.symbolic import EXPRESSION_OPERATORS, SymbolicScalar, to_expr
from pypto.frontend.tensor import Tensor
from pypto.frontend.tracing import carry
from pypto.frontend.tracing.choices import choose_value
from pypto.frontend.tracing.helpers import is_users
from pypto.frontend.tracing.operands import SKIPPED, Operand, choose, light, meta_of, when, writes
from pypto.frontend.tracing.reach import depth
from pypto.frontend.tracing.tracer import Retrace, TensorFact, TensorLike, Trace, require

if TYPE_CHECKING:
    from pypto.frontend.tracing.flow import FunctionRuntime


_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "Eq": functools.partial(binary, "Eq"),
    "NotEq": functools.partial(binary, "NotEq"),
    "Lt": functools.partial(binary, "Lt"),
    "LtE": functools.partial(binary, "LtE"),
    "Gt": functools.partial(binary, "Gt"),
    "GtE": functools.partial(binary, "GtE"),
    "Is": is_same,
    "IsNot": is_not_same,
    "In": functools.partial(binary, "In"),
    "NotIn": functools.partial(binary, "NotIn"),
}


def is_symbolic(value: Any) -> bool:
    """Whether a condition is known only when the kernel runs."""
    return isinstance(value, SymbolicScalar) and not value.is_concrete()


def truth(condition: Any) -> bool:
    """A condition that must be known while tracing."""
    if isinstance(condition, TensorLike | FloatScalar):
        condition.__bool__()  # type: ignore[union-attr]  # raises with the reason
    return bool(condition)


def holds(value: Any) -> Any:
    """Whether a value counts as true: known, or a condition of the running kernel."""
    found = condition_of(value)
    return found if is_symbolic(found) else truth(found)


class _Tested(NamedTuple):
    """An object that gives `and` or `or` its value, and whether it counts as true: that is asked once."""

    value: Any
    holds: bool


def _left(value: Any) -> Any:
    """Whether a left operand of `and` or `or` counts as true: it is the value of both where nothing follows it."""
    if type(value) is _Tested:
        return value.holds
    found = holds(value)
    if is_symbolic(found) and found is not value:
        raise trace_error(
            TypeError,
            f"whether a {type(value).__name__} counts as true is known only when the kernel runs, and `and` or `or` "
            "gives either it or another value; write an if statement",
        )
    return found


def _given(left: Any, held: bool) -> Any:
    return _Tested(left, held) if type(left) is not _Tested and is_users(left) else left


def all_left(runtime: FunctionRuntime, left: Any, *rest: Operand) -> Any:
    """`left and ...` as a left operand; symbolic operands give a symbolic result."""
    for other in rest:
        held = _left(left)
        if is_symbolic(left):
            left = left.tenary(_condition(when(runtime, left, other)), 0)
        elif not held:
            return _given(left, False)
        else:
            left = other()
    return left


def any_left(runtime: FunctionRuntime, left: Any, *rest: Operand) -> Any:
    """`left or ...` as a left operand; symbolic operands give a symbolic result."""
    for other in rest:
        held = _left(left)
        if is_symbolic(left):
            left = left.tenary(left, _condition(when(runtime, ~left, other)))
        elif held:
            return _given(left, True)
        else:
            left = other()
    return left


def all_of(runtime: FunctionRuntime, left: Any, *rest: Operand) -> Any:
    """`left and ...`."""
    found = all_left(runtime, left, *rest)
    return found.value if type(found) is _Tested else found


def any_of(runtime: FunctionRuntime, left: Any, *rest: Operand) -> Any:
    """`left or ...`."""
    found = any_left(runtime, left, *rest)
    return found.value if type(found) is _Tested else found


def compare(runtime: FunctionRuntime, operators: tuple[str, ...], left: Any, *rest: Operand) -> Any:
    """A chained comparison: each operand is evaluated once."""
    result: Any = True
    for name, other in zip(operators, rest, strict=True):
        right = when(runtime, result, other) if is_symbolic(result) else other()
        if right is SKIPPED:
            break
        step = _COMPARE[name](left, right)
        held = holds(step)
        if not is_symbolic(held) and not held:
            return step
        if is_symbolic(held):
            result = held if result is True else result & held
        left = right
    return result


def compare_two(name: str, left: Any, right: Any) -> Any:
    """A comparison of two values."""
    return _COMPARE[name](left, right)


def quantified(runtime: FunctionRuntime, function: Any, operands: Iterable[Operand]) -> Any:
    """`any(... for ...)` and `all(... for ...)`, which evaluate no more than Python does."""
    if function not in (any, all):
        return function(operand() for operand in operands)
    fold = any_of if function is any else all_of
    result: Any = function is all
    for operand in operands:
        if result is (function is any):
            break
        result = fold(runtime, result, operand)
    return result != 0 if is_symbolic(result) else result


def select(runtime: FunctionRuntime, condition: Any, if_true: Operand, if_false: Operand) -> Any:
    """A conditional expression; on a symbolic condition both sides are numbers, tensors or containers of one make."""
    condition = condition_of(condition)
    if not is_symbolic(condition):
        return if_true() if truth(condition) else if_false()
    trace = require("a conditional expression")
    meta = meta_of(runtime, if_true)
    ordinal = trace.next_flow((runtime.where, meta.number))
    if writes(trace, ordinal, meta):
        return _choose_by_branch(runtime, trace, ordinal, condition, (if_true, if_false))
    fact = trace.facts.bound.get((ordinal, CHOSEN))
    if fact is not None:
        return _choose_tensors(trace, ordinal, fact, condition, (if_true, if_false))
    sides = (
        light(runtime, condition, if_true, ordinal, "then"),
        light(runtime, ~condition, if_false, ordinal, "else"),
    )
    if any(side is SKIPPED for side in sides):
        known = [side for side in sides if side is not SKIPPED]
        return known[0] if known else _skip_around(trace)
    if all(isinstance(side, Tensor) for side in sides) and sides[0].describe() == sides[1].describe():
        return carry.note_bound(trace, ordinal, CHOSEN, sides[0])
    if are_alike(*sides):
        chosen = choose_value(trace, condition, *sides, CHOSEN)
        if trace.kin is not None:
            trace.kin.hold(chosen, depth())
        return chosen
    for side in sides:
        if not isinstance(side, SymbolicScalar) and symbolic.as_int(side) is None and not is_float(side):
            raise _no_one_kind(sides)
    if not any(is_float(side) for side in sides):
        return condition.tenary(*sides)
    exprs = [float_expr(trace, side) for side in sides]
    code = EXPRESSION_OPERATORS["select"]
    made = trace.build("make_expr", code, to_expr(trace, condition, "a conditional expression"), *exprs)
    return FloatScalar._wrap(trace, made, "a conditional expression")


def _no_one_kind(sides: Sequence[Any]) -> Exception:
    one, other = carry.kinds_of(*sides)
    return trace_error(
        TypeError,
        "a conditional expression on a symbolic condition gives numbers or tensors of one shape and dtype, got "
        f"{one} and {other}; write an if statement",
    )


def _choose_by_branch(
    runtime: FunctionRuntime, trace: Trace, ordinal: int, condition: SymbolicScalar, sides: tuple[Operand, Operand]
) -> Any:
    """A conditional expression whose sides may write."""
    chosen, values = choose(runtime, condition, sides, ordinal)
    known = [value for value in values if value is not SKIPPED]
    if not known:
        _skip_around(trace)
    if len(known) == 1:
        return known[0]
    if isinstance(chosen, carry.Unusable):
        raise _no_one_kind(values)
    if trace.kin is not None:
        trace.kin.hold(chosen, depth())
    return chosen


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
    trace: Trace, ordinal: int, fact: TensorFact, condition: SymbolicScalar, sides: tuple[Operand, ...]
) -> Tensor:
    """A conditional expression of tensors: each side in a branch of its own, moved into one variable."""
    chosen = carry.declare(trace, ordinal, CHOSEN, fact)
    values, extents, found = [], [], []
    expr = to_expr(trace, condition, "a conditional expression")
    trace.build("begin_if", expr)
    for kind, side in zip(("then", "else"), sides, strict=True):
        if kind == "else":
            trace.build("begin_else")
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
    if value is SKIPPED:
        return 0
    if type(value) is _Tested:
        return value.holds
    if isinstance(value, bool | SymbolicScalar) or symbolic.as_int(value) is not None:
        return value
    raise trace_error(
        TypeError,
        f"`and` and `or` on a symbolic condition combine conditions, not {type(value).__name__}; write an if statement",
    )
