"""Symbolic integers of a kernel: dynamic dims, loop indices, integer parameters, and what is computed from them."""
# ruff: noqa: D105, D107

from __future__ import annotations

import enum
import re
from typing import TYPE_CHECKING, Any

from pypto import _core
from pypto.frontend import foreign
from pypto.frontend.kernels.arrays import is_array, is_constant, kind_name
from pypto.frontend.places import trace_error
from pypto.frontend.refused import NOT_CONCRETE, NoIntegerOperators, invalid_type
from pypto.frontend.tracing import tracer

EXPRESSION_OPERATORS: dict[str, int] = dict(_core.EXPRESSION_OPERATORS)
INT64_MIN, INT64_MAX = -(1 << 63), (1 << 63) - 1
_OF_PROGRAM = re.compile(r"\b(?:slot|loop)\d+\b")


class SatStatus(enum.Enum):
    """What `SymbolicScalar.check` can say about a set of conditions."""

    SAT = "sat"
    UNSAT = "unsat"
    UNKNOWN = "unknown"


def as_int(value: Any) -> int | None:
    """A plain integer (also of numpy), or None; bool counts as an integer, a dtype or mode of pypto does not."""
    if type(value) is int:
        return value
    if isinstance(value, int):
        return None if is_constant(value) else int(value)
    if isinstance(value, SymbolicScalar | float | complex) or not hasattr(type(value), "__index__"):
        return None
    try:
        return int(value.__index__())
    except TypeError:
        if not is_array(value):  # of several elements
            raise
        return None


class SymbolicScalar(NoIntegerOperators):
    """An integer expression of a kernel that is being traced. Division truncates; comparisons give 0 or 1."""

    __slots__ = ("_expr", "_trace")
    _trace: tracer.Trace
    _expr: int

    def __init__(self, value: int | str | SymbolicScalar) -> None:
        """A constant that computes as symbolic values do, or the symbol of that name.

        In a kernel a name is that of a dim (`pypto.frontend.dynamic`) or of an int parameter of it; elsewhere any name
        is a symbol without a value, to be looked at (`str`, `check`).
        """
        number = as_int(value)
        if isinstance(value, SymbolicScalar):
            self._trace, self._expr = value._trace, value._expr
            return
        if number is None and not isinstance(value, str):
            raise trace_error(TypeError, f"symbolic_scalar(): expected an int or a name, got {type(value).__name__}")
        trace = tracer.current()
        self._trace = tracer.free_symbols() if trace is None else trace
        if number is not None:
            self._expr = self._trace.constant(number)
            return
        found = self._trace.symbols.get(str(value))
        if found is None and trace is None:
            found = self._trace.symbols[str(value)] = int(self._trace.builder.add_int_parameter(str(value)))
        if found is None:
            known = ", ".join(self._trace.symbols) or "none"
            raise trace_error(
                NameError,
                f"symbolic_scalar(): the kernel has no dim or int parameter '{value}' (it has: {known}); declare the "
                "dim with pypto.frontend.dynamic",
            )
        self._expr = found

    @classmethod
    def _wrap(cls, trace: tracer.Trace, expr: int) -> SymbolicScalar:
        made = cls.__new__(cls)
        made._trace, made._expr = trace, expr
        return made

    def __deepcopy__(self, _: Any) -> SymbolicScalar:
        return self

    # Conversions.

    def is_concrete(self) -> bool:
        """Whether the value is known while tracing."""
        return self._trace.builder.expr_value(self._expr) is not None

    def concrete(self) -> int:
        """The value, when it is known while tracing."""
        value = self._trace.builder.expr_value(self._expr)
        if value is None:
            raise trace_error(ValueError, "Not concrete value. " + NOT_CONCRETE)
        return int(value)

    is_immediate = is_concrete

    def is_symbol(self) -> bool:
        """Whether it is a dim, a parameter or a loop index and no expression of them."""
        return bool(self._trace.builder.expr_is_leaf(self._expr))

    def is_expression(self) -> bool:
        """Whether it is computed from something that is not known while tracing."""
        return not self.is_concrete() and not self.is_symbol()

    def simplify(self) -> SymbolicScalar:
        """Itself: expressions are always in simplified form."""
        return self

    def as_variable(self) -> SymbolicScalar:
        """Itself."""
        return self

    @property
    def real(self) -> SymbolicScalar:
        """Itself, as ints have it."""
        return self

    numerator, imag, denominator = real, 0, 1

    def conjugate(self) -> SymbolicScalar:
        """Itself, as ints have it."""
        return self

    item = conjugate

    def __int__(self) -> int:
        return self.concrete()

    __index__ = __int__

    def __bool__(self) -> bool:
        return self.concrete() != 0

    if not TYPE_CHECKING:  # for which there are no other attributes

        def __getattr__(self, name: str) -> Any:
            raise AttributeError(
                f"a symbolic integer has no attribute '{name}': it is known when the kernel runs. Instead: operators "
                "such as n // 2, and pypto.min, pypto.max and pypto.ceildiv"
            )

    def __str__(self) -> str:
        text, shown = str(self._trace.builder.expr_text(self._expr)), self._trace.shown
        return _OF_PROGRAM.sub(lambda found: shown.get(found[0], found[0]), text) if shown else text

    def __repr__(self) -> str:
        return f"SymbolicScalar({self})"

    # Arithmetic.

    def _linear(self, operation: str, other: Any, reflected: bool) -> Any:
        if isinstance(other, tracer.TensorLike | tracer.FloatLike):
            return NotImplemented
        right = to_symbolic(self._trace, other)
        a, b = (right, self) if reflected else (self, right)
        expr = self._trace.expression(operation, a._expr, b._expr)
        return SymbolicScalar._wrap(self._trace, expr)

    def _make(self, operation: str, *others: Any, reflected: bool = False) -> Any:
        if any(isinstance(other, tracer.TensorLike | tracer.FloatLike) for other in others):
            return NotImplemented
        operands = [self, *(to_symbolic(self._trace, other) for other in others)]
        if reflected:
            operands.reverse()
        expr = self._trace.expression(
            "make_expr", EXPRESSION_OPERATORS[operation], *(operand._expr for operand in operands)
        )
        return SymbolicScalar._wrap(self._trace, expr)

    def __add__(self, other: Any) -> Any:
        return self._linear("add", other, False)

    def __radd__(self, other: Any) -> Any:
        return self._linear("add", other, True)

    def __sub__(self, other: Any) -> Any:
        return self._linear("sub", other, False)

    def __rsub__(self, other: Any) -> Any:
        return self._linear("sub", other, True)

    def __mul__(self, other: Any) -> Any:
        return self._linear("mul", other, False)

    def __rmul__(self, other: Any) -> Any:
        return self._linear("mul", other, True)

    def __floordiv__(self, other: Any) -> Any:
        return self._make("div", other)

    def __rfloordiv__(self, other: Any) -> Any:
        return self._make("div", other, reflected=True)

    __truediv__ = __floordiv__
    __rtruediv__ = __rfloordiv__

    def __mod__(self, other: Any) -> Any:
        return self._make("mod", other)

    def __rmod__(self, other: Any) -> Any:
        return self._make("mod", other, reflected=True)

    def __neg__(self) -> Any:
        return self._linear("sub", 0, True)

    def __pos__(self) -> SymbolicScalar:
        return self

    def __abs__(self) -> Any:
        return self.max(-self)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __round__(self, digits: int | None = None) -> Any:
        if digits is not None and digits < 0:
            raise trace_error(TypeError, "round() of a symbolic integer to tens. Instead: (n + 5) // 10 * 10")
        return self

    def __trunc__(self) -> SymbolicScalar:
        return self

    __floor__ = __ceil__ = __trunc__

    def __array_ufunc__(self, function: Any, method: str, *inputs: Any, **keywords: Any) -> Any:
        return foreign.apply_ufunc(function, method, inputs, keywords)

    # Comparisons and logic.

    __hash__ = NoIntegerOperators.__hash__

    def __eq__(self, other: object) -> Any:
        return self._make("eq", other)

    def __ne__(self, other: object) -> Any:
        return self._make("ne", other)

    def __lt__(self, other: Any) -> Any:
        return self._make("lt", other)

    def __le__(self, other: Any) -> Any:
        return self._make("le", other)

    def __gt__(self, other: Any) -> Any:
        return self._make("lt", other, reflected=True)

    def __ge__(self, other: Any) -> Any:
        return self._make("le", other, reflected=True)

    def __and__(self, other: Any) -> Any:
        return self._make("and", other)

    def __or__(self, other: Any) -> Any:
        return self._make("or", other)

    __rand__ = __and__
    __ror__ = __or__

    def __invert__(self) -> Any:
        return self._make("not")

    # Named forms.

    def min(self, other: Any) -> Any:
        """The smaller of the two."""
        return self._make("min", other)

    def max(self, other: Any) -> Any:
        """The larger of the two."""
        return self._make("max", other)

    def tenary(self, if_true: Any, if_false: Any) -> Any:
        """`if_true` where this is not 0, else `if_false`."""
        return self._make("select", if_true, if_false)

    @staticmethod
    def check(conditions: list[Any]) -> SatStatus:
        """Whether all conditions can hold at once, as far as their ranges tell."""
        status = SatStatus.SAT
        for condition in conditions:
            if isinstance(condition, SymbolicScalar):
                low, high = condition._trace.builder.expr_range(condition._expr)
            else:
                low = high = int(condition)
            if low == high == 0:
                return SatStatus.UNSAT
            if low <= 0 <= high:
                status = SatStatus.UNKNOWN
        return status


def check_trace(trace: tracer.Trace, value: Any) -> None:
    """Refuses a number of another trace."""
    if value._trace is not trace:
        raise trace_error(RuntimeError, "a symbolic value of another trace is used: it was kept outside the kernel")


def to_symbolic(trace: tracer.Trace, value: Any) -> SymbolicScalar:
    """An int or symbolic integer of this trace as a SymbolicScalar; TypeError "Invalid type." for anything else."""
    if isinstance(value, SymbolicScalar):
        check_trace(trace, value)
        return value
    number = as_int(value)
    if number is None:
        raise invalid_type(value)
    return SymbolicScalar._wrap(trace, trace.constant(number))


def static_int(value: Any) -> int | None:
    """The number an int or symbolic integer is known to be, else None."""
    if isinstance(value, SymbolicScalar):
        known = value._trace.builder.expr_value(value._expr)
        return None if known is None else int(known)
    return as_int(value)


def from_expr(trace: tracer.Trace, expr: int) -> int | SymbolicScalar:
    """An expression of the core as a plain int when it is constant, else as a SymbolicScalar."""
    known = trace.builder.expr_value(expr)
    return SymbolicScalar._wrap(trace, expr) if known is None else int(known)


def to_expr(trace: tracer.Trace, value: Any, what: str) -> int:
    """The expression of an int or a symbolic integer, checked to be usable at this point of the kernel."""
    if not isinstance(value, SymbolicScalar) and as_int(value) is None:
        raise trace_error(TypeError, f"{what}: expected an int or a symbolic integer, got {kind_name(value)}")
    symbolic = to_symbolic(trace, value)
    trace.check_loops(symbolic._expr)
    return int(symbolic._expr)


def _extremum(operation: str, builtin: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    values = list(arguments[0]) if len(arguments) == 1 and isinstance(arguments[0], list | tuple) else list(arguments)
    first = next((value for value in values if isinstance(value, SymbolicScalar)), None)
    if first is None or keywords:
        return builtin(*arguments, **keywords)
    result = to_symbolic(first._trace, values[0])
    for value in values[1:]:
        result = getattr(result, operation)(value)
    return result


def minimum(*arguments: Any, **keywords: Any) -> Any:
    """`min` that gives a symbolic minimum when one of the arguments is symbolic."""
    return _extremum("min", min, arguments, keywords)


def maximum(*arguments: Any, **keywords: Any) -> Any:
    """`max` that gives a symbolic maximum when one of the arguments is symbolic."""
    return _extremum("max", max, arguments, keywords)


def ceildiv(a: Any, b: Any) -> Any:
    """`(a + b - 1) // b`."""
    return (a + b - 1) // b


def symbolic_scalar(value: int | str | SymbolicScalar) -> SymbolicScalar:
    """A constant that computes as symbolic values do (its divisions truncate), or the symbol of that name."""
    return SymbolicScalar(value)
