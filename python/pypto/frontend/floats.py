"""Floating numbers that are known only while a kernel runs: parameters of each launch, and what loops carry."""
# ruff: noqa: D105, D107

from __future__ import annotations

from typing import Any

from pypto.frontend import foreign
from pypto.frontend.kernels.arrays import is_array, kind_name
from pypto.frontend.places import trace_error
from pypto.frontend.refused import NoFloatOperators
from pypto.frontend.symbolic import EXPRESSION_OPERATORS, SymbolicScalar, as_int, check_trace
from pypto.frontend.tracing import tracer


class FloatScalar(NoFloatOperators, tracer.FloatLike):
    """An FP64 number of the running kernel: arithmetic with numbers, and a scalar of tensor operations."""

    __slots__ = ("_expr", "_index", "_name", "_trace")

    def __init__(self, trace: tracer.Trace, index: int, name: str) -> None:
        """A floating parameter."""
        self._trace, self._index, self._name = trace, index, name
        self._expr = int(trace.builder.float_scalar(index))

    @classmethod
    def _wrap(cls, trace: tracer.Trace, expr: int, name: str) -> FloatScalar:
        made = cls.__new__(cls)
        made._trace, made._expr, made._index, made._name = trace, expr, -1, name
        return made

    def __repr__(self) -> str:
        return f"FloatScalar({self._name})"

    def __deepcopy__(self, _: Any) -> FloatScalar:
        return self

    def operand(self) -> tuple[str, int]:
        """As an operand of the core."""
        return ("scalar", self._index) if self._index >= 0 else ("float_expr", self._expr)

    def _combine(self, operation: str, other: Any, reflected: bool) -> Any:
        if isinstance(other, tracer.TensorLike):
            return NotImplemented
        operand = float_expr(self._trace, other)
        if operand is None:
            advice = "" if is_array(other) else ". Instead: give a number or a tensor"
            raise trace_error(TypeError, f"'{self._name}' is a number and does not mix with {kind_name(other)}{advice}")
        a, b = (operand, self._expr) if reflected else (self._expr, operand)
        expr = self._trace.expression("make_expr", EXPRESSION_OPERATORS["float_" + operation], a, b)
        return FloatScalar._wrap(self._trace, expr, self._name)

    def __add__(self, other: Any) -> Any:
        return self._combine("add", other, False)

    def __radd__(self, other: Any) -> Any:
        return self._combine("add", other, True)

    def __sub__(self, other: Any) -> Any:
        return self._combine("sub", other, False)

    def __rsub__(self, other: Any) -> Any:
        return self._combine("sub", other, True)

    def __mul__(self, other: Any) -> Any:
        return self._combine("mul", other, False)

    def __rmul__(self, other: Any) -> Any:
        return self._combine("mul", other, True)

    def __truediv__(self, other: Any) -> Any:
        return self._combine("div", other, False)

    def __rtruediv__(self, other: Any) -> Any:
        return self._combine("div", other, True)

    def __array_ufunc__(self, function: Any, method: str, *inputs: Any, **keywords: Any) -> Any:
        return foreign.apply_ufunc(function, method, inputs, keywords)

    def __neg__(self) -> Any:
        return self._combine("sub", -0.0, True)

    def __pos__(self) -> FloatScalar:
        return self


def is_float(value: Any) -> bool:
    """Whether a value is a floating number, of Python or of the running kernel."""
    return isinstance(value, float | FloatScalar)


def is_number(value: Any) -> bool:
    """Whether a value is a number that loops can carry and branches can merge."""
    if isinstance(value, tracer.NoValue):
        return False
    return is_float(value) or isinstance(value, SymbolicScalar) or as_int(value) is not None


def float_expr(trace: tracer.Trace, value: Any) -> int | None:
    """The floating expression of a number; None for anything else."""
    if isinstance(value, FloatScalar | SymbolicScalar):
        check_trace(trace, value)
    if isinstance(value, FloatScalar):
        return value._expr
    if isinstance(value, SymbolicScalar):
        return trace.expression("make_expr", EXPRESSION_OPERATORS["to_float"], value._expr)
    number = as_int(value)
    if number is None and not isinstance(value, float):
        return None
    return int(trace.builder.float_const(float(value)))


def number_of(trace: tracer.Trace, slot: int, name: str, *, floating: bool) -> SymbolicScalar | FloatScalar:
    """The number that a slot holds."""
    expr = int(trace.builder.slot(slot))
    trace.shown.setdefault(f"slot{slot}", name)
    return FloatScalar._wrap(trace, expr, name) if floating else SymbolicScalar._wrap(trace, expr)
