"""`a is b` for objects that may be one, depending on the running kernel."""

from __future__ import annotations

from typing import Any

from pypto.frontend.floats import FloatScalar
from pypto.frontend.objects.kin import UNKNOWN
from pypto.frontend.objects.structures import are_alike
from pypto.frontend.places import trace_error
from pypto.frontend.symbolic import SymbolicScalar, static_int
from pypto.frontend.tensor import Tensor
from pypto.frontend.tracing.carry import Unusable
from pypto.frontend.tracing.links import any_of
from pypto.frontend.tracing.tracer import Trace, current


def is_same(a: Any, b: Any) -> Any:
    """Whether two objects are one: a bool, or a symbolic condition."""
    for each in (a, b):
        if isinstance(each, Unusable):
            each._refuse()
    trace = current()
    if a is b or trace is None:
        return a is b
    _refuse_numbers(a, b)
    if isinstance(a, tuple) and isinstance(b, tuple):
        if (id(a) in trace.tuples or id(b) in trace.tuples) and are_alike(a, b):
            raise _unknown()
        return False
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        return _truth(_are_one(trace, a, b))
    if trace.kin is None:
        return False
    same = trace.kin.same(a, b)
    if same is UNKNOWN:
        raise _unknown()
    return _truth(same)


def _refuse_numbers(a: Any, b: Any) -> None:
    """Python has one object for some numbers and several for others."""
    for one, other in ((a, b), (b, a)):
        is_traced = isinstance(one, FloatScalar) or (isinstance(one, SymbolicScalar) and not one.is_concrete())
        if is_traced and isinstance(other, SymbolicScalar | FloatScalar | int | float):
            raise trace_error(
                ValueError,
                "`is` on a number of the running kernel: which numbers are one object is not known. Instead: compare "
                "with ==",
            )


def refuse_several(value: Any, what: str) -> None:
    """Refuses what depends on the identity of an object that may be another one."""
    trace = current()
    if isinstance(value, Unusable):
        value._refuse()
    if trace is None:
        return
    if isinstance(value, tuple):
        for each in value:
            refuse_several(each, what)
    several = isinstance(value, Tensor) and bool(value.is_linked or value.is_uncertain or value.unfollowed_keys())
    if isinstance(value, tuple) and id(value) in trace.tuples and what == "id()":
        several = True
    rule: Any = type(value).__eq__
    if trace.kin is not None and (what == "id()" or rule is object.__eq__):
        several = several or any(static_int(same) != 0 for _, same in trace.kin.related(value))
    if several:
        raise trace_error(
            ValueError,
            f"{what} is asked of an object that may be the one of another name, depending on a condition or on a loop "
            "of the running kernel. Instead: carry a number that tells which one the name holds",
        )


def is_not_same(a: Any, b: Any) -> Any:
    """The opposite."""
    same = is_same(a, b)
    return ~same if isinstance(same, SymbolicScalar) else not same


def _truth(condition: Any) -> Any:
    known = static_int(condition)
    return condition if known is None else bool(known)


def _are_one(trace: Trace, a: Tensor, b: Tensor) -> Any:
    for each in (a, b):
        each.check_kept()
    if (a.dtype, a.shape_exprs()) != (b.dtype, b.shape_exprs()):
        return 0
    unfollowed = {*a.unfollowed_keys(), *b.unfollowed_keys()}
    if unfollowed or (a.is_uncertain and id(b) in a.identities()):
        if not trace.follow(*sorted(unfollowed | {*a.uncertain_keys()})):
            raise _unknown()
        return 0
    return any_of(trace, [conditions for each, conditions in a.paths() if each is b])


def _unknown() -> Exception:
    return trace_error(
        ValueError,
        "whether the two are one object depends on a condition or on a loop of the running kernel that is not known "
        "here. Instead: carry a number that tells which one the name holds",
    )
