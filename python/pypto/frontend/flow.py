"""What rewritten code calls: loops, branches, logic and calls of a kernel while it is traced."""
# ruff: noqa: D105, D107

from __future__ import annotations

import builtins
import operator
import types
from collections.abc import Callable, Iterator
from typing import Any

from pypto.errors import PyptoError
from pypto.frontend import branches, helpers, loopflow, symbolic
from pypto.frontend.branches import BranchFlow, ConcreteBranch
from pypto.frontend.floats import FloatScalar
from pypto.frontend.loops import Loop
from pypto.frontend.maybe import load
from pypto.frontend.places import Place, syntax_error, trace_error
from pypto.frontend.rewrite import FlowMeta
from pypto.frontend.source import Source
from pypto.frontend.symbolic import SymbolicScalar
from pypto.frontend.tracer import TensorLike, require

_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "Eq": operator.eq,
    "NotEq": operator.ne,
    "Lt": operator.lt,
    "LtE": operator.le,
    "Gt": operator.gt,
    "GtE": operator.ge,
    "Is": operator.is_,
    "IsNot": operator.is_not,
    "In": lambda a, b: a in b,
    "NotIn": lambda a, b: a not in b,
}


class PlainFor:
    """A `for` over an ordinary iterable: unrolled as Python runs it."""

    names: dict[str, Any] = {}  # noqa: RUF012  always empty

    def __init__(self, iterable: Any) -> None:
        self._iterable = iterable

    def __iter__(self) -> Iterator[Any]:
        return iter(self._iterable)

    def end(self, frame: dict[str, Any]) -> None:
        """Nothing to carry."""


class FunctionRuntime:
    """The object that the code of one rewritten function calls. Shared by all traces of that function."""

    frame = staticmethod(builtins.locals)
    load = staticmethod(load)

    def __init__(self, source: Source, metas: list[FlowMeta], function: types.FunctionType) -> None:
        self.source = source
        self.metas = metas
        self.function = function

    def refuse_escape(self, meta: FlowMeta, where: str) -> None:
        """SyntaxError for `return`, `break` or `continue` out of a traced loop or branch."""
        if meta.escapes:
            node = meta.escapes[0]
            word = type(node).__name__.lower()
            raise syntax_error(
                f"Unsupported syntax: {word} in {where}. Instead: make the statements that follow conditional.",
                self.source.place(node),
            )

    def place_of(self, meta: FlowMeta, name: str) -> Place:
        """The last assignment of `name` in a loop or branch, or the statement itself."""
        return self.source.place(meta.names.stores.get(name, meta.node))

    def error(self, kind: type[BaseException], message: str, meta: FlowMeta, name: str = "") -> PyptoError:
        """An error at the last assignment of `name`, or at the statement itself."""
        return trace_error(kind, message, self.place_of(meta, name))

    # Statements.

    def for_(self, key: int, iterable: Any, frame: dict[str, Any]) -> Any:
        """The iteration of a `for` statement."""
        if isinstance(iterable, Loop):
            require("pypto.loop()")
            return loopflow.LoopFlow(self, self.metas[key], iterable, frame)
        if isinstance(iterable, TensorLike):
            raise trace_error(TypeError, "Tensors are not iterable; use pypto.loop over x.shape[0] and slices of x")
        return PlainFor(iterable)

    def if_(self, key: int, condition: Any, frame: dict[str, Any]) -> BranchFlow | ConcreteBranch:
        """The two branches of an `if` statement."""
        if isinstance(condition, SymbolicScalar) and not condition.is_concrete():
            return BranchFlow(self, self.metas[key], condition, frame)
        return branches.TAKEN if self._truth(condition) else branches.SKIPPED

    def truth(self, word: str, condition: Any) -> bool:
        """The condition of a `while` or `assert`, which must be known while tracing."""
        if isinstance(condition, SymbolicScalar) and not condition.is_concrete():
            instead = (
                "use `for i in pypto.loop(...)` for repetitions and `if` for conditions of the running kernel"
                if word == "while"
                else "check it before the kernel is called, or bound the loop with pypto.loop"
            )
            raise trace_error(ValueError, f"{word} on a symbolic condition ({condition}); {instead}")
        return self._truth(condition)

    @staticmethod
    def _truth(condition: Any) -> bool:
        if isinstance(condition, TensorLike | FloatScalar):
            condition.__bool__()  # type: ignore[union-attr]  # raises with the reason
        return bool(condition)

    # Expressions.

    def and_(self, left: Any, *rest: Callable[[], Any]) -> Any:
        """`left and …`; symbolic operands give a symbolic result."""
        for other in rest:
            if isinstance(left, SymbolicScalar) and not left.is_concrete():
                left = left.tenary(_condition(other()), 0)
            elif not self._truth(left):
                return left
            else:
                left = other()
        return left

    def or_(self, left: Any, *rest: Callable[[], Any]) -> Any:
        """`left or …`; symbolic operands give a symbolic result."""
        for other in rest:
            if isinstance(left, SymbolicScalar) and not left.is_concrete():
                left = left.tenary(left, _condition(other()))
            elif self._truth(left):
                return left
            else:
                left = other()
        return left

    def not_(self, value: Any) -> Any:
        """`not value`."""
        if isinstance(value, SymbolicScalar) and not value.is_concrete():
            return ~value
        return not self._truth(value)

    def compare(self, operators: tuple[str, ...], left: Any, *rest: Callable[[], Any]) -> Any:
        """A chained comparison: each operand is evaluated once."""
        result: Any = True
        for name, other in zip(operators, rest, strict=True):
            right = other()
            step = _COMPARE[name](left, right)
            symbolic_step = isinstance(step, SymbolicScalar) and not step.is_concrete()
            if not symbolic_step and not self._truth(step):
                return step
            if symbolic_step:
                result = step if result is True else result & step
            left = right
        return result

    def select(self, condition: Any, if_true: Callable[[], Any], if_false: Callable[[], Any]) -> Any:
        """A conditional expression; on a symbolic condition both sides are integers."""
        if not isinstance(condition, SymbolicScalar) or condition.is_concrete():
            return if_true() if self._truth(condition) else if_false()
        a, b = if_true(), if_false()
        for side in (a, b):
            if not isinstance(side, SymbolicScalar) and symbolic.as_int(side) is None:
                raise trace_error(
                    TypeError,
                    f"a conditional expression on a symbolic condition gives integers, not {type(side).__name__}; "
                    "write an if statement that assigns in both branches",
                )
        return condition.tenary(a, b)

    def call(self, function: Any) -> Any:
        """What is called instead of a function: helpers are traced by the same rules."""
        if isinstance(function, types.FunctionType):
            return helpers.convert(function)
        if function is builtins.min:
            return symbolic.minimum
        if function is builtins.max:
            return symbolic.maximum
        if isinstance(function, types.MethodType) and isinstance(function.__func__, types.FunctionType):
            converted = helpers.convert(function.__func__)
            return function if converted is function.__func__ else types.MethodType(converted, function.__self__)
        helpers.refuse_kernel(function)
        return function


def _condition(value: Any) -> Any:
    """A right operand of `and` or `or` behind a symbolic one."""
    if isinstance(value, bool | SymbolicScalar) or symbolic.as_int(value) is not None:
        return value
    raise trace_error(
        TypeError,
        f"`and` and `or` on a symbolic condition combine conditions, not {type(value).__name__}; write an if statement",
    )
