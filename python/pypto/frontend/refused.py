"""What numbers of a running kernel cannot do, and what to write instead."""
# ruff: noqa: D105, D107

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from pypto.frontend.kernels.arrays import is_array, kind_name
from pypto.frontend.places import trace_error
from pypto.frontend.tracing import tracer

_POWERS = "choose among the powers with if statements, or read them from a tensor"
_NO_LOOKING = "compare with == or !=; for i in pypto.loop(n) repeats n times"
_NO_FORMAT = "leave out the format, f'{n}'; pypto.pass_verify_print(n) shows the number when the kernel runs"
_IN_A_TENSOR = "compute it in a tensor of one element, x[0:1] * f"
_COMPARED = "compare element by element, pypto.where(x < f, a, b), or decide by an integer"
_NEVER_OF_TENSORS = {"in", "@"}
_OF_INTEGERS = "bits are those of integers: keep an integer beside it"
NOT_CONCRETE = (
    "It is known only when the kernel runs; use it in `if`, `and`, `or`, `not`, comparisons, loop bounds and offsets "
    "of the kernel, not where Python needs a number. Instead: pypto.loop(n) for range(n), x[n : n + 1] of a tensor for "
    "an element of a list, n != 0 for bool(n), n itself for int(n)"
)


def _refusing(symbol: str, instead: str) -> Callable[..., Any]:
    """A special method that does not exist, except that a tensor as the other operand has one."""

    def refuse(self: Any, *others: Any) -> Any:
        if symbol not in _NEVER_OF_TENSORS and len(others) == 1 and isinstance(others[0], tracer.TensorLike):
            return NotImplemented
        return self._refuse(symbol, instead)

    return refuse


class NoIntegerOperators:
    """Operators that symbolic integers have not."""

    __slots__ = ()

    def _refuse(self, symbol: str, instead: str) -> NoReturn:
        raise trace_error(TypeError, f"`{symbol}` is no operation of symbolic integers. Instead: {instead}")

    __pow__ = _refusing("**", "write the product, such as n * n")
    __rpow__ = _refusing("**", _POWERS)
    __lshift__ = _refusing("<<", "multiply with a power of two, such as n * 2")
    __rlshift__ = _refusing("<<", _POWERS.replace("powers", "powers of two"))
    __rshift__ = _refusing(">>", "divide by a power of two, such as n // 2, which truncates")
    __rrshift__ = _refusing(">>", "divide by a power of two that if statements choose, or that is read from a tensor")
    __xor__ = __rxor__ = _refusing("^", "compare with !=, for conditions; & and | are logical, too")
    __matmul__ = __rmatmul__ = _refusing("@", "multiply with *")
    __contains__ = _refusing("in", _NO_LOOKING)

    def __format__(self, form: str) -> str:
        if form:
            self._refuse(f"f'{{n:{form}}}'", _NO_FORMAT)
        return str(self)

    def __complex__(self) -> NoReturn:
        self._refuse("complex()", "compute with integers, or put it into a tensor (pypto.full) and compute there")

    def __float__(self) -> NoReturn:
        raise trace_error(
            TypeError,
            f"Invalid type. A symbolic integer cannot become a float: {self} is known only when the kernel runs. "
            "Instead: compute with integers, or put it into a tensor (pypto.full) and compute there",
        )

    def __hash__(self) -> NoReturn:
        raise trace_error(
            TypeError,
            f"unhashable type: the symbolic integer {self} is known only when the kernel runs: it is no key of a dict "
            "and no element of a set. Instead: write if statements on its values",
        )


class NoFloatOperators:
    """Operators that floating numbers of a running kernel have not."""

    __slots__ = ()
    _name: str

    def _refuse(self, symbol: str, instead: str) -> NoReturn:
        raise trace_error(
            TypeError,
            f"'{self._name}' is a floating number of each launch, known only when the kernel runs: use it as a scalar "
            f"of tensor operations; `{symbol}` is none of its operations. Instead: {instead}",
        )

    __lt__ = _refusing("<", _COMPARED)
    __le__ = _refusing("<=", _COMPARED)
    __gt__ = _refusing(">", _COMPARED)
    __ge__ = _refusing(">=", _COMPARED)
    __eq__ = _refusing("==", _COMPARED)
    __ne__ = _refusing("!=", _COMPARED)
    __bool__ = _refusing("bool()", "keep an integer beside it, which conditions may look at")
    __int__ = __trunc__ = _refusing("int()", "keep an integer beside it; pypto.cast turns tensors into integers")
    __float__ = _refusing("float()", "the number itself")
    __complex__ = _refusing("complex()", "the number itself")
    __hash__ = _refusing("hash()", "keys of dicts and elements of sets are integers that are known")
    __abs__ = _refusing("abs()", "pypto.abs of a tensor of one element, pypto.abs(x[0:1] * f)")
    __round__ = _refusing("round()", "pypto.round of a tensor of one element")
    __floor__ = _refusing("math.floor()", "pypto.floor of a tensor of one element")
    __ceil__ = _refusing("math.ceil()", "pypto.ceil of a tensor of one element")
    __floordiv__ = __rfloordiv__ = _refusing("//", _IN_A_TENSOR)
    __mod__ = __rmod__ = _refusing("%", _IN_A_TENSOR)
    __divmod__ = __rdivmod__ = _refusing("divmod()", _IN_A_TENSOR)
    __pow__ = _refusing("**", "write the product, such as f * f")
    __rpow__ = _refusing("**", "compute it in a tensor of one element, pypto.pow(x[0:1], y[0:1] * f)")
    __matmul__ = __rmatmul__ = _refusing("@", "multiply with *")
    __lshift__ = __rlshift__ = _refusing("<<", _OF_INTEGERS)
    __rshift__ = __rrshift__ = _refusing(">>", _OF_INTEGERS)
    __and__ = __rand__ = _refusing("&", _OF_INTEGERS)
    __or__ = __ror__ = _refusing("|", _OF_INTEGERS)
    __xor__ = __rxor__ = _refusing("^", _OF_INTEGERS)
    __invert__ = _refusing("~", _OF_INTEGERS)
    __contains__ = _refusing("in", "compare element by element, pypto.where(x == f, a, b)")

    def __format__(self, form: str) -> str:
        if form:
            self._refuse(f"f'{{f:{form}}}'", _NO_FORMAT)
        return str(self)


def instead_of_operand(value: Any) -> str:
    """What to write instead of a symbolic integer and this value together."""
    if isinstance(value, float):
        return "compute with integers, n * 3 // 2 for n * 1.5, or in a tensor: pypto.full([1], n, pypto.DT_FP32) * 1.5"
    if isinstance(value, str | bytes):
        return "texts are made while the kernel is traced: f'{n}' shows the number as an expression"
    if isinstance(value, list | tuple | set | frozenset | dict | range):
        return (
            f"a {type(value).__name__} has its length and order while the kernel is traced: take one of its elements, "
            "write [*values, n] for a longer list, and repeat with pypto.loop(n)"
        )
    if value is None:
        return "`is None` tells whether there is a number; bind one before"
    if callable(value):
        return "call it"
    return "give an int"


def invalid_type(value: Any) -> Exception:
    """The error of something that does not mix with symbolic integers."""
    advice = "" if is_array(value) else f" Instead: {instead_of_operand(value)}"
    return trace_error(
        TypeError, f"Invalid type. Symbolic integers mix with ints only, got {kind_name(value)}.{advice}"
    )
