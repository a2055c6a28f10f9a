"""What rewritten code calls: loops, branches, logic and calls of a kernel while it is traced."""
# ruff: noqa: D105, D107

from __future__ import annotations

import builtins
import types
from typing import Any

from pypto.errors import PyptoError
from pypto.frontend.objects import following, methods, operators
from pypto.frontend.objects.structures import owner
from pypto.frontend.places import Place, syntax_error, trace_error
from pypto.frontend.rewriting.rewrite import FlowMeta
from pypto.frontend.rewriting.source import Source
from pypto.frontend.symbolic import SymbolicScalar, static_int
from pypto.frontend.tracing import branches, calls, carry, logic, loopflow
from pypto.frontend.tracing.branches import BranchFlow, ConcreteBranch
from pypto.frontend.tracing.loops import Loop
from pypto.frontend.tracing.maybe import load, may_be_none
from pypto.frontend.tracing.plain_for import PlainFor
from pypto.frontend.tracing.reach import depth
from pypto.frontend.tracing.tracer import Scope, TensorLike, current, require

_ESCAPES = {  # what to write instead
    "continue": "put the statements behind it under `if not (condition):`",
    "break": "set done = 0 before the loop and done = 1 here, and put the rest of the body under `if done == 0:`",
    "return": "bind the result to a name before the loop, set it here, and return it behind the loop",
}


class FunctionRuntime:
    """The object that the code of one rewritten function calls. Shared by all traces of that function."""

    frame = staticmethod(builtins.locals)
    load, given = staticmethod(carry.loaded), staticmethod(carry.given)

    def __init__(
        self, source: Source, metas: list[FlowMeta], function: types.FunctionType, *, is_kernel: bool = False
    ) -> None:
        self.is_kernel = is_kernel
        self.source = source
        self.metas = metas
        self.function = function
        self.where = source.filename, source.first_line, source.tree.col_offset
        self.code: types.CodeType | None = None  # of the rewritten function
        self.scopes: tuple[Scope, ...] = ()  # that were open when it was called

    def refuse_escape(self, meta: FlowMeta, where: str) -> None:
        """SyntaxError for `return`, `break` or `continue` out of a traced loop or branch."""
        if meta.escapes:
            node = meta.escapes[0]
            word = type(node).__name__.lower()
            raise syntax_error(
                f"Unsupported syntax: {word} in {where}. Instead: {_ESCAPES[word]}.", self.source.place(node)
            )

    def place_of(self, meta: FlowMeta, name: str) -> Place:
        """The last assignment of `name` (also "state['acc']") in a loop or branch, or the statement itself."""
        stores, name = meta.names.stores, owner(name)
        if name and name not in stores:
            stores[name] = meta.paths.last_store(meta.node, name)
        return self.source.place(stores[name] if name else meta.node)

    def error(self, kind: type[BaseException], message: str, meta: FlowMeta, name: str = "") -> PyptoError:
        """An error at the last assignment of `name`, or at the statement itself."""
        return trace_error(kind, message, self.place_of(meta, name))

    # Statements.

    def settle(self, *live: str) -> None:
        """After a statement that may have changed a container; `live` are names that can be read later."""
        trace = current()
        if trace is None:
            return
        if trace.facts.changed and trace.scope.settled is not None:
            trace.scope.settled()
        if trace.kin is not None:
            trace.kin.let_go(depth())
            following.settle(trace, live, self.function)

    def settle_all(self) -> None:
        """The same where a loop or branch begins or ends."""
        trace = current()
        if trace is not None and trace.kin is not None:
            trace.kin.let_go(depth())
            following.settle(trace, None, self.function)

    @staticmethod
    def returned(value: Any) -> Any:
        """What a helper gives to the statement that calls it."""
        trace = current()
        value = calls.result(value)
        if trace is not None and trace.kin is not None:
            trace.kin.hold(value, depth() - 1)
        return value

    def for_(self, key: int, iterable: Any, frame: dict[str, Any]) -> Any:
        """The iteration of a `for` statement."""
        self.settle_all()
        if isinstance(iterable, Loop):
            require("pypto.loop()")
            return loopflow.LoopFlow(self, self.metas[key], iterable, frame)
        if isinstance(iterable, TensorLike):
            raise trace_error(TypeError, "Tensors are not iterable; use pypto.loop over x.shape[0] and slices of x")
        if isinstance(iterable, SymbolicScalar):
            raise trace_error(TypeError, "a symbolic integer is not iterable; use `for i in pypto.loop(n)`")
        return PlainFor(iterable, methods.each)

    def if_(self, key: int, condition: Any, frame: dict[str, Any]) -> BranchFlow | ConcreteBranch:
        """The two branches of an `if` statement."""
        self.settle_all()
        condition = operators.condition(condition)
        if isinstance(condition, SymbolicScalar) and not condition.is_concrete():
            return BranchFlow(self, self.metas[key], condition, frame)
        return branches.TAKEN if logic.truth(condition) else branches.SKIPPED

    def truth(self, word: str, condition: Any) -> bool:
        """The condition of a `while` or `assert`, which must be known while tracing."""
        condition = operators.condition(condition)
        if isinstance(condition, SymbolicScalar) and not condition.is_concrete():
            instead = (
                "use `for i in pypto.loop(...)` for repetitions and `if` for conditions of the running kernel"
                if word == "while"
                else "check it before the kernel is called, or bound the loop with pypto.loop"
            )
            raise trace_error(ValueError, f"{word} on a symbolic condition ({condition}); {instead}")
        return logic.truth(condition)

    # Expressions.

    @staticmethod
    def known(condition: Any) -> Any:
        """A condition that must be known while tracing, because what follows it binds a name."""
        if logic.is_symbolic(condition):
            raise trace_error(
                ValueError,
                f"an operand behind a symbolic condition ({condition}) binds a name (:=) in a comprehension, in a "
                "`while` or `assert`, or in a target; write an if statement",
            )
        return condition

    @staticmethod
    def is_known(value: Any) -> bool:
        """Whether a number is known to be another one than zero."""
        return bool(static_int(value))

    @staticmethod
    def is_none(value: Any, word: str) -> Any:
        """`name is None` or `name is not None`."""
        if not may_be_none(value):
            return logic.compare_two(word, load(value), None)
        is_bound = word == "IsNot"
        known = static_int(value.bound)
        if known is not None:
            return (known != 0) == is_bound
        return value.bound if is_bound else ~value.bound

    and_, or_, compare, select = logic.all_of, logic.any_of, logic.compare, logic.select
    and_left, or_left = logic.all_left, logic.any_left
    compare_two, quantified = staticmethod(logic.compare_two), logic.quantified
    call, call_given = staticmethod(calls.called), staticmethod(calls.called_with_names)
    call_kept = staticmethod(calls.called_for_none)
    binary, in_place = staticmethod(operators.binary), staticmethod(operators.in_place)
    user, each, managed = staticmethod(methods.user), staticmethod(methods.each), staticmethod(methods.managed)
    put_item, put_attribute = staticmethod(methods.put_item), staticmethod(methods.put_attribute)
    shown, holds = staticmethod(methods.shown), staticmethod(logic.holds)
    slice = builtins.slice

    def not_(self, value: Any) -> Any:
        """`not value`."""
        value = operators.condition(value)
        if isinstance(value, SymbolicScalar) and not value.is_concrete():
            return ~value
        return not logic.truth(value)
