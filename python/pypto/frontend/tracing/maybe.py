"""Names that only some paths bind: a value, and whether the running kernel has bound the name."""
# ruff: noqa: D105, D107

from __future__ import annotations

from typing import Any, NamedTuple

from pypto.frontend.places import Place, trace_error
from pypto.frontend.symbolic import SymbolicScalar, static_int, to_expr
from pypto.frontend.tracing.tracer import Trace, require


class Reason(NamedTuple):
    """Why a name may be unbound: "is bound only at line {}" and the places, by lines of the file or of the kernel."""

    text: str
    places: tuple[Place, ...]
    is_none: bool = False  # the name holds None instead where it is not bound
    conflict: str = ""  # why it cannot be used in the block that says so, where nothing has asked whether it is None
    block: Any = None

    def in_file(self) -> str:
        """For an error that shows the source."""
        return self.text.format(*(place.line for place in self.places))

    def in_kernel(self, trace: Trace) -> str:
        """For a fault, which counts lines from the `def`."""
        return self.text.format(*(trace.line_in_kernel(place) or place.line for place in self.places))


class Maybe(NamedTuple):
    """What a name holds where its binding depends on the running kernel. Rewritten code loads it with `resolve`."""

    name: str
    value: Any
    bound: Any  # 1 where the name is bound: an int or a symbolic integer
    reason: Reason
    loop: Any = None  # whose later iterations may find the name bound

    def resolve(self) -> Any:
        """The value; the kernel faults here when the name was never bound."""
        known = static_int(self.bound)
        if known == 0:
            error = trace_error(NameError, f"'{self.name}' {self.reason.in_file()}. Instead: bind it before")
            if self.loop is not None:
                self.loop.explore(self.name, error)
            if self.reason.is_none:
                return None
            raise error
        if known is None:
            trace = require("a name")
            expr = to_expr(trace, self.bound, self.name)
            if not any((self.name, expr) in scope.checked for scope in trace.scopes):
                trace.scope.checked.add((self.name, expr))
                line = trace.line_in_kernel()
                used = "" if line is None else f" at line {line}"
                reason = self.reason.in_kernel(trace)
                state = "is None" if self.reason.is_none else "was never bound"
                trace.build("check", expr, f"'{self.name}' is used{used} and {state}: it {reason}")
        return self.value


def may_be_none(value: Any) -> bool:
    """Whether a name may hold None, depending on the running kernel."""
    return isinstance(value, Maybe) and value.reason.is_none


def load(value: Any) -> Any:
    """The value of a name that may be a Maybe."""
    return value.resolve() if isinstance(value, Maybe) else value


def split(value: Any, unbound: object) -> tuple[Any, Any]:
    """The value of a name and whether it is bound: 0, 1 or a symbolic integer."""
    if isinstance(value, Maybe):
        return value.value, value.bound
    return value, 0 if value is unbound else 1


def join(name: str, value: Any, bound: Any, reason: Reason) -> Any:
    """The opposite of split."""
    known = static_int(bound)
    return value if known is not None and known != 0 else Maybe(name, value, bound, reason)


def choose(condition: SymbolicScalar, a: Any, b: Any) -> Any:
    """`a` where the condition is not 0, else `b`."""
    same = static_int(a) is not None and static_int(a) == static_int(b)
    return a if same else condition.tenary(a, b)
