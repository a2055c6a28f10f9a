"""Names that loops carry and branches merge: the variables they live in, and values that cannot be used."""
# ruff: noqa: D105, D107

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from pypto.frontend.objects.containers import same_element
from pypto.frontend.places import Place, caller_place, trace_error
from pypto.frontend.rewriting.rewrite import FlowMeta
from pypto.frontend.symbolic import SymbolicScalar
from pypto.frontend.tensor import Tensor
from pypto.frontend.tracing.links import Condition
from pypto.frontend.tracing.maybe import Maybe
from pypto.frontend.tracing.tracer import NoValue, Scope, TensorFact, Trace, current

if TYPE_CHECKING:
    from pypto.frontend.tracing.flow import FunctionRuntime

UNBOUND = object()


class Unusable(NoValue):
    """Stands for a name that has no value here; using it is an error that says why."""

    __slots__ = ("_instead", "_loaded", "_name", "reason")
    _instead: str
    _name: str
    _loaded: Place | None  # where it was last named
    reason: str

    def __init__(self, name: str, reason: str, instead: str = "bind it before") -> None:
        object.__setattr__(self, "_instead", instead)
        object.__setattr__(self, "_name", name)
        object.__setattr__(self, "_loaded", None)
        object.__setattr__(self, "reason", reason)

    def loaded(self) -> Unusable:
        """Itself, named at the line that runs."""
        object.__setattr__(self, "_loaded", caller_place())
        return self

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        place, used = self._loaded, caller_place()
        if place is None or used is None or place[:2] != used[:2]:
            place = used
        raise trace_error(NameError, f"'{self._name}' {self.reason}. Instead: {self._instead}", place)

    __getattr__ = __setattr__ = __call__ = __getitem__ = __setitem__ = __iter__ = __len__ = _refuse
    __bool__ = __int__ = __float__ = __index__ = __neg__ = __invert__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __matmul__ = __rmatmul__ = _refuse
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = __and__ = __or__ = _refuse
    __format__ = __hash__ = __reduce_ex__ = __contains__ = __enter__ = __exit__ = _refuse

    def __repr__(self) -> str:
        if current() is not None:
            self._refuse()
        return f"<no value: '{self._name}' {self.reason}>"


def loaded(value: Any) -> Any:
    """What rewritten code reads as the value of a name."""
    kind = type(value)
    if kind is Maybe:
        trace = current()
        if value.reason.block is None or trace is None or trace.block() != value.reason.block:
            return value.resolve()
        asks = f"ask `if {value.name} is not None:`, or bind it before"
        instead = asks if value.name.isidentifier() else "name it and ask whether the name `is not None`"
        return Unusable(value.name, value.reason.conflict, instead).loaded()
    return value.loaded() if kind is Unusable else value


def given(value: Any) -> Any:
    """The same for an argument of a call, which a helper may ask whether it is None."""
    return value if type(value) is Maybe and value.reason.is_none else loaded(value)


def kinds_of(a: Any, b: Any) -> tuple[str, str]:
    """Two values in words that tell them apart."""
    one, other = kind_of(a), kind_of(b)
    return one, other.replace("a ", "another ", 1) if one == other and one.startswith("a ") else other


def kind_of(value: Any) -> str:
    """A value in words, for errors."""
    from pypto.frontend.objects.structures import holds_itself

    if isinstance(value, Unusable):
        return f"what {value.reason}"
    if value is UNBOUND:
        return "unbound"
    if isinstance(value, Tensor):
        return f"a tensor {value.describe()}"
    if isinstance(value, SymbolicScalar):
        return f"the symbolic integer {value}"
    if isinstance(value, bool | int | float | str) or value is None:
        return repr(value)
    what = f"a {type(value).__name__}"
    if isinstance(value, list | tuple | dict):
        what += f" of {len(value)}"
    return f"{what} that holds itself" if holds_itself(value) else what


def instead_of_conflict(name: str, a: Any, b: Any) -> str:
    """What to write where a name is one value in one branch and another one in the other."""
    if not isinstance(a, type) and callable(a) and callable(b):
        return "call it in either branch and bind what it gives"
    if not name.isidentifier():
        return "give values of one kind in either branch"
    kinds = [isinstance(each, Tensor) for each in (a, b)]
    return "bind tensors of one shape and dtype, or use it in either branch" if all(kinds) else "bind it before"


def same_value(a: Any, b: Any) -> bool:
    """Whether two values of a name are one and the same while the kernel runs."""
    if a is b:
        return True
    if isinstance(a, SymbolicScalar) and isinstance(b, SymbolicScalar):
        return bool(a._expr == b._expr)
    return isinstance(a, bool | int | float | str) and same_element(a, b)


def target_names(node: ast.AST) -> set[str]:
    """Names that the target of a `for` binds."""
    if not isinstance(node, ast.For):
        return set()
    names = (each for each in ast.walk(node.target) if isinstance(each, ast.Name))
    return {name.id for name in names if isinstance(name.ctx, ast.Store)}


def target_text(node: ast.AST) -> str:
    """The target of a `for`, as the name of its loop."""
    return ast.unparse(node.target).strip("()") if isinstance(node, ast.For) else ""


def declare(trace: Trace, ordinal: int, name: str, fact: TensorFact) -> Tensor:
    """A variable with undefined contents, for a name of a loop or branch."""
    shape = [trace.constant(extent) for extent in fact.shape]
    return Tensor.make(
        trace, trace.build("declare", name, int(fact.dtype), shape), variable=True, of=(ordinal, name, 0)
    )


def variable_for(trace: Trace, ordinal: int, name: str, value: Tensor, *, is_output: bool) -> Tensor:
    """The variable in which a carried name lives: a new one that starts with the value.

    A parameter that nobody has read or written yet, and that the kernel's own loop binds anew without reading it
    (`is_output`), is its own variable: so the last value of the name reaches the caller's memory.
    """
    if trace.parameters.get(name) is value and value.is_untouched and is_output:
        made: Tensor = value.succeed(name, (ordinal, name, 0))
        return made
    variable_id = trace.build("declare", name, int(value.dtype), value.shape_exprs())
    trace.build("move", variable_id, value.use())
    made = Tensor.make(trace, variable_id, variable=True, of=(ordinal, name, 0))
    made.set_valid(value.valid_exprs())
    return made


def check_same(runtime: FunctionRuntime, meta: FlowMeta, name: str, before: Tensor, after: Tensor) -> None:
    """A carried tensor keeps shape and dtype."""
    if before.dtype == after.dtype and before.shape_exprs() == after.shape_exprs():
        return
    raise runtime.error(
        ValueError,
        f"'{name}' is {before.describe()} before the pypto.loop and {after.describe()} at the end of its body; a "
        "carried tensor keeps shape and dtype",
        meta,
        name,
    )


def note_bound(trace: Trace, ordinal: int, name: str, value: Tensor) -> Tensor | None:
    """Notes that a name needs a variable ahead of its loop or branch.

    If it has none the trace starts over when it has seen everything else; a stand-in serves till then.
    """
    fact = TensorFact(value.static_shape(f"'{name}'"), value.dtype)
    if trace.facts.bound.get((ordinal, name)) == fact:
        return None
    trace.facts.bound[(ordinal, name)] = fact
    trace.starts_over = True
    return declare(trace, ordinal, name, fact)


def note_aliases(values: dict[str, Tensor], results: dict[str, Tensor]) -> None:
    """Names that stand for one object at the end of a body or branch, and live in variables of their own after it.

    Reading them is right; writing into one would not be seen through the other, so it is refused.
    """
    names = [name for name in values if name in results]
    keys = {name: values[name].uncertain_keys() for name in names}
    for position, a in enumerate(names):
        for b in names[position + 1 :]:
            if values[a].may_be_one_with(values[b]):
                results[a].may_be(results[b], f"'{a}' may be the same tensor as '{b}', and")
                results[b].may_be(results[a], f"'{b}' may be the same tensor as '{a}', and")
                results[a].thaws(*keys[a], *keys[b])
                results[b].thaws(*keys[a], *keys[b])


def link_aliases(values: dict[str, Tensor], results: dict[str, Tensor], condition: Condition, scope: Scope) -> None:
    """The same at the end of a branch, whose condition tells when they are one object."""
    uncertain = {name: value for name, value in values.items() if value.is_uncertain}
    note_aliases(uncertain, results)
    values = {name: value for name, value in values.items() if name not in uncertain}
    names = [name for name, value in values.items() if value.scope is scope]
    for a in names:
        paths = values[a].paths(scope)
        for b in names[names.index(a) + 1 :]:
            for way in [()] if values[a] is values[b] else [way for each, way in paths if each is values[b]]:
                results[a].link(results[b], (condition, *way))


@dataclass(frozen=True)
class CarriedMove:
    """A value that a variable takes, and where the name was bound to it."""

    variable: Tensor
    value: Tensor
    place: Place | None


def move_all(trace: Trace, moves: list[CarriedMove]) -> None:
    """Moves values into variables as if at once: a value that another move overwrites is copied first."""
    destinations = {move.variable.variable_id() for move in moves}
    sources = []
    for move in moves:
        trace.forced_place = move.place
        source = move.value.use()
        if source in destinations:
            source = trace.build("op", "clone", [("tensor", source)], {})
        sources.append(source)
    for move, source in zip(moves, sources, strict=True):
        trace.forced_place = move.place
        trace.build("move", move.variable.variable_id(), source)
    trace.forced_place = None
