"""Operands that Python may not evaluate: of `and`, `or`, chained comparisons and conditional expressions.

One that must not be evaluated must not read: a scalar read may lie outside of its tensor there. Where one reads, the
next trace puts it into a branch of the program. One that may write or change a container is what an `if` statement
makes of it: containers and tensors are merged behind it.
"""

from __future__ import annotations

import ast
import sys
import types
from typing import TYPE_CHECKING, Any

from pypto.frontend import symbolic
from pypto.frontend.floats import FloatScalar, float_expr, is_float, number_of
from pypto.frontend.objects.containers import Snapshot, holds_only_plain
from pypto.frontend.objects.parts import PLAIN
from pypto.frontend.places import is_ours
from pypto.frontend.rewriting.code_objects import MADE, RUNTIME
from pypto.frontend.rewriting.rewrite import CHOSEN, FlowMeta
from pypto.frontend.symbolic import SymbolicScalar, to_expr
from pypto.frontend.tensor import Tensor
from pypto.frontend.tracing.branches import BranchFlow
from pypto.frontend.tracing.reach import snapshot_around
from pypto.frontend.tracing.tracer import Trace, require

if TYPE_CHECKING:
    from pypto.frontend.tracing.flow import FunctionRuntime

Operand = types.FunctionType  # a lambda without arguments, made by the rewriter

_OPERAND = "operand"  # what operands are among the sides that are open
_PLAIN_VALUES = PLAIN | {SymbolicScalar, FloatScalar, Tensor}
_PLAIN_NODES = (
    ast.Name, ast.Constant, ast.Compare, ast.BoolOp, ast.BinOp, ast.UnaryOp, ast.Subscript, ast.expr_context,
    ast.boolop, ast.operator, ast.unaryop, ast.cmpop,
)  # fmt: skip
SKIPPED = object()  # an operand that this trace does without


def meta_of(runtime: FunctionRuntime, operand: Operand) -> FlowMeta:
    """What the runtime knows of an operand."""
    key: int = (operand.__kwdefaults__ or {})[MADE]
    return runtime.metas[key]


def when(runtime: FunctionRuntime, condition: SymbolicScalar, operand: Operand) -> Any:
    """What the operand gives where the condition holds; anything elsewhere, where it is not evaluated."""
    trace = require("a condition")
    meta = meta_of(runtime, operand)
    ordinal = trace.next_flow((runtime.where, meta.number))
    if writes(trace, ordinal, meta):
        return _when_it_writes(runtime, condition, operand, ordinal)
    return _when_it_reads(runtime, trace, condition, operand, ordinal, ordinal)


def writes(trace: Trace, ordinal: int, meta: FlowMeta) -> bool:
    """Whether an operand may write, as far as it is known."""
    return trace.facts.writes.get(ordinal, meta.writes)


def note_writes(trace: Trace, ordinal: int, found: bool) -> None:
    """Notes whether an operand needs a branch; where it needs none the trace starts over without."""
    if not trace.facts.writes.setdefault(ordinal, found):
        trace.starts_over = True


def is_number(value: Any) -> bool:
    """Whether an operand gives a number that a slot can hold."""
    return is_float(value) or isinstance(value, SymbolicScalar) or symbolic.as_int(value) is not None


def light(runtime: FunctionRuntime, condition: SymbolicScalar, operand: Operand, expression: int, side: str) -> Any:
    """The same for a side of a conditional expression, of this number, that writes nothing."""
    trace = require("a condition")
    ordinal = trace.next_flow((runtime.where, meta_of(runtime, operand).number, side))
    return _when_it_reads(runtime, trace, condition, operand, ordinal, expression)


def _is_load_of_object(node: ast.AST) -> bool:
    """Whether it is what the rewriter has put around a name: `_pypto_rt.user(name)`."""
    function = node.func if isinstance(node, ast.Call) else node
    if not isinstance(function, ast.Attribute) or not isinstance(function.value, ast.Name):
        return False
    return function.attr == "user" and function.value.id == RUNTIME


def _runs_no_code_of_the_user(meta: FlowMeta, operand: Operand) -> bool:
    """Whether an operand only compares and computes with numbers, and with elements of containers that hold them."""
    nodes = list(ast.walk(meta.node))
    if not all(isinstance(node, _PLAIN_NODES) or _is_load_of_object(node) for node in nodes):
        return False
    held = captured(operand)
    for name in {node.id for node in nodes if isinstance(node, ast.Name)} - {RUNTIME}:
        value = held.get(name, operand.__globals__.get(name))
        if type(value) not in _PLAIN_VALUES and not holds_only_plain(value):
            return False
    return True


def _evaluated(runtime: FunctionRuntime, trace: Trace, ordinal: int, noted: int, operand: Operand) -> Any:
    """What an operand gives that writes nothing, as far as it is known."""
    meta = meta_of(runtime, operand)
    if not meta.writes and _runs_no_code_of_the_user(meta, operand):
        trace.sides.append((ordinal, _OPERAND))
        value = operand()
        trace.sides.pop()
        return value
    snapshot = Snapshot()
    if meta.writes:
        snapshot = snapshot_around(trace, names_around(operand), runtime.function)
    for name, value in captured(operand).items():  # properties and operators of objects may change them
        snapshot.add(value, name)
    snapshot.add_globals(operand)
    before = trace.writes
    trace.sides.append((ordinal, _OPERAND))
    trace.operands.append(snapshot)
    value = operand()
    trace.operands.pop()
    trace.sides.pop()
    if trace.writes != before or any(snapshot.changes()):
        trace.facts.writes[noted] = trace.starts_over = True
    return value


def _when_it_reads(
    runtime: FunctionRuntime, trace: Trace, condition: SymbolicScalar, operand: Operand, ordinal: int, noted: int
) -> Any:
    floating = trace.facts.lazy.get(ordinal)
    if (ordinal, _OPERAND) in trace.facts.skipped:
        return SKIPPED
    if floating is None:
        before = trace.effects
        value = _evaluated(runtime, trace, ordinal, noted, operand)
        if trace.effects != before:
            trace.facts.lazy[ordinal] = is_float(value)
            trace.starts_over = True
        return value
    slot = _slot(trace, floating)
    trace.build("begin_if", to_expr(trace, condition, "a condition"))
    trace.push("then")
    value = _evaluated(runtime, trace, ordinal, noted, operand)
    if is_number(value):
        _set(trace, slot, value, floating)
    trace.pop()
    trace.build("end_if")
    return number_of(trace, slot, _OPERAND, floating=floating) if is_number(value) else value


def _slot(trace: Trace, floating: bool) -> int:
    """A number of the running kernel that is 0 where the operand is not evaluated."""
    slot = int(trace.builder.add_slot(_OPERAND, floating))
    _set(trace, slot, 0.0 if floating else 0, floating)
    return slot


def _set(trace: Trace, slot: int, value: Any, floating: bool) -> None:
    expr = float_expr(trace, value) if floating else to_expr(trace, value, "a condition")
    trace.build("set_slots", [(slot, expr)])


def names_around(operand: Operand) -> dict[str, Any]:
    """Names of the frame that evaluates an expression, and those that an operand of it captures."""
    frame = sys._getframe(1)
    while is_ours(frame) and frame.f_back is not None:
        frame = frame.f_back
    return {**frame.f_locals, **captured(operand)}


def captured(operand: Operand) -> dict[str, Any]:
    """Names that an operand captures."""
    names = {}
    for name, cell in zip(operand.__code__.co_freevars, operand.__closure__ or (), strict=True):
        try:
            names[name] = cell.cell_contents
        except ValueError:  # not set yet
            continue
    return names


def _when_it_writes(runtime: FunctionRuntime, condition: SymbolicScalar, operand: Operand, ordinal: int) -> Any:
    trace = require("a condition")
    floating = trace.facts.lazy.get(ordinal, False)
    runtime.settle_all()
    slot = _slot(trace, floating)
    frame = names_around(operand)
    flow = BranchFlow(runtime, meta_of(runtime, operand), condition, frame, ordinal)
    value, before = SKIPPED, trace.built
    if flow.then():
        value = operand()
        built = trace.built != before
        if is_number(value) and is_float(value) != floating:
            trace.facts.lazy[ordinal] = is_float(value)
            trace.starts_over = True
        elif is_number(value):
            _set(trace, slot, value, floating)
        flow.end_then(frame)
        note_writes(trace, ordinal, built or ordinal in trace.facts.elements or not is_number(value))
    if flow.otherwise():
        flow.end_otherwise(frame)
    return number_of(trace, slot, _OPERAND, floating=floating) if is_number(value) else value


def choose(runtime: FunctionRuntime, condition: SymbolicScalar, sides: tuple[Operand, Operand], ordinal: int) -> Any:
    """A conditional expression of sides that may write: the value that an `if` binds; with what each side gave."""
    trace = require("a conditional expression")
    runtime.settle_all()
    frame = {**names_around(sides[0]), **names_around(sides[1]), CHOSEN: None}
    flow = BranchFlow(runtime, meta_of(runtime, sides[0]), condition, frame, ordinal)
    values: list[Any] = [SKIPPED, SKIPPED]
    built = 0
    ends = (flow.then, flow.end_then), (flow.otherwise, flow.end_otherwise)
    for position, ((begin, end), side) in enumerate(zip(ends, sides, strict=True)):
        if begin():
            before = trace.built
            values[position] = side()
            built += trace.built - before
            end(frame | {CHOSEN: values[position]})
    found = bool(built) or ordinal in trace.facts.elements or not all(map(is_number, values))
    if not any(value is SKIPPED for value in values):
        note_writes(trace, ordinal, found)
    return flow.names.get(CHOSEN), values
