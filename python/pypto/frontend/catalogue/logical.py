"""`&`, `|`, `^` and `~` of tensors: of bits, or of conditions (BOOL), where they are logical as those of numbers."""

from __future__ import annotations

from typing import Any

from pypto.dtypes import DataType
from pypto.frontend.symbolic import SymbolicScalar
from pypto.frontend.tracing.tracer import TensorLike


def _operations() -> Any:
    from pypto.frontend.catalogue import operations

    return operations


def _is_condition(value: Any) -> bool:
    return isinstance(value, TensorLike) and value.dtype == DataType.DT_BOOL  # type: ignore[attr-defined]


def _are_conditions(a: Any, b: Any) -> bool:
    known = [isinstance(each, bool | SymbolicScalar) or _is_condition(each) for each in (a, b)]
    return all(known) and (_is_condition(a) or _is_condition(b))


def _not(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    return ~value if isinstance(value, SymbolicScalar) else _operations().logical_not(value)


def _and(a: Any, b: Any) -> Any:
    return _operations().logical_and(a, b) if isinstance(a, TensorLike) else _operations().logical_and(b, a)


def both(a: Any, b: Any) -> Any:
    """`a & b`."""
    return _and(a, b) if _are_conditions(a, b) else _operations().bitwise_and(a, b)


def either(a: Any, b: Any) -> Any:
    """`a | b`."""
    return _not(_and(_not(a), _not(b))) if _are_conditions(a, b) else _operations().bitwise_or(a, b)


def one_of(a: Any, b: Any) -> Any:
    """`a ^ b`."""
    if not _are_conditions(a, b):
        return _operations().bitwise_xor(a, b)
    return _and(_not(_and(a, b)), _not(_and(_not(a), _not(b))))


def opposite(value: Any) -> Any:
    """`~value`."""
    return _not(value) if _is_condition(value) else _operations().bitwise_not(value)
