"""Names that only some paths bind: a value, and whether the running kernel has bound the name."""
# ruff: noqa: D105, D107

from __future__ import annotations

from typing import Any, NamedTuple

from pypto.frontend.places import trace_error
from pypto.frontend.symbolic import SymbolicScalar, static_int, to_expr
from pypto.frontend.tracer import require


class Maybe(NamedTuple):
    """What a name holds where its binding depends on the running kernel. Rewritten code loads it with `resolve`."""

    name: str
    value: Any
    bound: Any  # 1 where the name is bound: an int or a symbolic integer
    reason: str  # "is bound only in …"
    is_lost: bool = False  # an earlier iteration may have bound it, to a container, which the loop does not keep

    def resolve(self) -> Any:
        """The value; the kernel faults here when the name was never bound."""
        known = static_int(self.bound)
        if known == 0:
            raise trace_error(NameError, f"'{self.name}' {self.reason}. Instead: bind it before")
        if known is None and self.is_lost:
            raise trace_error(
                NameError,
                f"'{self.name}' {self.reason}, to a container that later iterations of the pypto.loop do not find in "
                "it. Instead: bind it before the loop",
            )
        if known is None:
            trace = require("a name")
            expr = to_expr(trace, self.bound, self.name)
            if not any((self.name, expr) in scope.checked for scope in trace.scopes):
                trace.scope.checked.add((self.name, expr))
                line = trace.line_in_kernel()
                used = "" if line is None else f" at line {line}"
                trace.build("check", expr, f"'{self.name}' is used{used} and was never bound: it {self.reason}")
        return self.value


def load(value: Any) -> Any:
    """The value of a name that may be a Maybe."""
    return value.resolve() if isinstance(value, Maybe) else value


def split(value: Any, unbound: object) -> tuple[Any, Any]:
    """The value of a name and whether it is bound: 0, 1 or a symbolic integer."""
    if isinstance(value, Maybe):
        return value.value, value.bound
    return value, 0 if value is unbound else 1


def join(name: str, value: Any, bound: Any, reason: str, *, is_lost: bool = False) -> Any:
    """The opposite of split."""
    known = static_int(bound)
    return value if known is not None and known != 0 else Maybe(name, value, bound, reason, is_lost)


def choose(condition: SymbolicScalar, a: Any, b: Any) -> Any:
    """`a` where the condition is not 0, else `b`."""
    same = static_int(a) is not None and static_int(a) == static_int(b)
    return a if same else condition.tenary(a, b)
