"""One value out of two by a condition of the running kernel: what an `if` that binds a name gives, without the `if`."""

from __future__ import annotations

import functools
from typing import Any

from pypto.frontend.floats import FloatScalar, float_expr, is_float
from pypto.frontend.objects.kin import Kin
from pypto.frontend.objects.structures import are_alike, containers_in, make_like, parts_of
from pypto.frontend.symbolic import EXPRESSION_OPERATORS, SymbolicScalar, as_int, to_expr
from pypto.frontend.tensor import Tensor
from pypto.frontend.tracing.carry import Unusable, kinds_of, same_value
from pypto.frontend.tracing.maybe import load
from pypto.frontend.tracing.tracer import Trace


def choose_value(trace: Trace, condition: SymbolicScalar, a: Any, b: Any, name: str) -> Any:
    """`a` where the condition holds, else `b`; what stands for both if they do not go together is an error to use."""
    a, b = load(a), load(b)
    if same_value(a, b):
        return a
    for side in (a, b):
        if isinstance(side, Unusable):
            return side
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        if a.dtype == b.dtype and a.shape_exprs() == b.shape_exprs():
            return _choose_tensor(trace, condition, a, b, name)
    elif are_alike(a, b):
        return _choose_container(trace, condition, a, b, name)
    elif is_float(a) or is_float(b):
        sides = [float_expr(trace, side) for side in (a, b)]
        if None not in sides:
            made = trace.build("make_expr", EXPRESSION_OPERATORS["select"], to_expr(trace, condition, "if"), *sides)
            return FloatScalar._wrap(trace, made, name)
    elif all(isinstance(side, SymbolicScalar) or as_int(side) is not None for side in (a, b)):
        return condition.tenary(a, b)
    one, other = kinds_of(a, b)
    return Unusable(
        name,
        f"is {one} or {other}, depending on which container it was that line {trace.line_in_kernel()} "
        f"changed (Conflicted var {name})",
    )


def _choose_container(trace: Trace, condition: SymbolicScalar, a: Any, b: Any, name: str) -> Any:
    made = _make_container(trace, condition, a, b, name)
    trace.kin = trace.kin or Kin(trace)
    trace.kin.merge(list(zip(containers_in(made), containers_in(a), containers_in(b), strict=True)), condition)
    return made


def _make_container(trace: Trace, condition: SymbolicScalar, a: Any, b: Any, name: str) -> Any:
    parts = parts_of(a)
    if parts is None:
        return choose_value(trace, condition, a, b, name)
    pairs = zip(parts, parts_of(b) or [], strict=True)
    return make_like(a, [_make_container(trace, condition, x, y, name + step) for (step, x), (_, y) in pairs])


def _choose_tensor(trace: Trace, condition: SymbolicScalar, a: Tensor, b: Tensor, name: str) -> Tensor:
    """A variable that takes one of two tensors, and is one object with it."""
    shape, dtype = a.shape_exprs(), int(a.dtype)
    expr = to_expr(trace, condition, "if")
    made = Tensor.make(trace, trace.build("declare", name, dtype, shape), variable=True, of=trace.next_choice())
    trace.build("begin_if", expr)
    for kind, side in (("then", a), ("else", b)):
        if kind == "else":
            trace.build("begin_else")
        trace.push(kind)
        trace.build("move", made.variable_id(), side.use())
        trace.pop()
    trace.build("end_if")
    made.set_valid(
        [_choose_extent(trace, condition, x, y) for x, y in zip(a.valid_exprs(), b.valid_exprs(), strict=True)]
    )
    for side, holds in ((a, True), (b, False)):
        made.link(side, ((expr, holds),))
        made.may_be_any_of(side, f"'{name}'", functools.partial(_is_other, trace, side))
    return made


def _is_other(trace: Trace, side: Tensor, each: Tensor) -> bool:
    return each is not side and trace.is_open(each.scope)


def _choose_extent(trace: Trace, condition: SymbolicScalar, a: int, b: int) -> int:
    if a == b:
        return a
    return int(condition.tenary(*(SymbolicScalar._wrap(trace, expr) for expr in (a, b)))._expr)
