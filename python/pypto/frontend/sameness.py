"""`a is b` for objects that may be one, depending on the running kernel."""

from __future__ import annotations

from typing import Any

from pypto.frontend.carry import Unusable
from pypto.frontend.kin import UNKNOWN
from pypto.frontend.links import any_of
from pypto.frontend.places import trace_error
from pypto.frontend.symbolic import SymbolicScalar, static_int
from pypto.frontend.tensor import Tensor
from pypto.frontend.tracer import Trace, current


def is_same(a: Any, b: Any) -> Any:
    """Whether two objects are one: a bool, or a symbolic condition."""
    for each in (a, b):
        if isinstance(each, Unusable):
            each._refuse()
    trace = current()
    if a is b or trace is None:
        return a is b
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        return _truth(_are_one(trace, a, b))
    if trace.kin is None:
        return False
    same = trace.kin.same(a, b)
    if same is UNKNOWN:
        raise _unknown()
    return _truth(same)


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
    if a.is_uncertain and id(b) in a.identities():
        if not trace.follow(*a.uncertain_keys()):
            raise _unknown()
        return 0
    return any_of(trace, [conditions for each, conditions in a.paths() if each is b])


def _unknown() -> Exception:
    return trace_error(
        ValueError,
        "whether the two are one object depends on a condition or on a loop of the running kernel that is not known "
        "here. Instead: carry a number that tells which one the name holds",
    )
