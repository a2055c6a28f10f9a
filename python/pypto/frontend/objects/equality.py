"""`==` and `in` on containers whose elements are known only when the kernel runs: conditions, as for numbers."""

from __future__ import annotations

import collections
import dataclasses
import types
from collections.abc import Iterable
from typing import Any

from pypto.frontend.floats import FloatScalar
from pypto.frontend.objects.containers import Snapshot
from pypto.frontend.objects.sameness import is_same
from pypto.frontend.places import trace_error
from pypto.frontend.symbolic import SymbolicScalar, as_int
from pypto.frontend.tensor import Tensor
from pypto.frontend.tracing.helpers import is_users
from pypto.frontend.tracing.tracer import current

_OF_DICTS: Any = dict.__eq__
_SEQUENCES: tuple[Any, ...] = (list.__eq__, tuple.__eq__, collections.deque.__eq__)
_LISTED = (list, tuple, collections.deque)
_KEYED: tuple[type, ...] = (dict, set, frozenset, type({}.keys()))


def is_generated(kind: type) -> bool:
    """Whether dataclass has made the `==` of a class."""
    code = getattr(kind.__eq__, "__code__", None)
    return dataclasses.is_dataclass(kind) and code is not None and code.co_filename == "<string>"


def equal(a: Any, b: Any) -> Any:
    """`a == b`."""
    if a is b and isinstance(a, list | tuple | dict):
        return True
    rule: Any = type(a).__eq__
    other: Any = type(b).__eq__
    if rule is object.__eq__:
        return is_same(a, b) if other is rule else a == b
    if rule in _SEQUENCES and other is rule:
        return len(a) == len(b) and _all(zip(a, b, strict=True))
    if rule is _OF_DICTS and other is rule:
        return a.keys() == b.keys() and _all((value, b[key]) for key, value in a.items())
    if type(a) is type(b) and is_generated(type(a)):
        names = [field.name for field in dataclasses.fields(a) if field.compare]
        return _all((getattr(a, name), getattr(b, name)) for name in names)
    return a == b


def unequal(a: Any, b: Any) -> Any:
    """`a != b`."""
    rule: Any = type(a).__ne__
    if rule is not object.__ne__ and not isinstance(a, list | tuple | dict | collections.deque):
        return a != b
    same = equal(a, b)
    return ~same if isinstance(same, SymbolicScalar) else not same


def contains(item: Any, container: Any) -> Any:
    """`item in container`."""
    if isinstance(container, range) and isinstance(item, SymbolicScalar):
        if not container:
            return False
        low, high = min(container[0], container[-1]), max(container[0], container[-1])
        return (item >= low) & (item <= high) & ((item - low) % abs(container.step) == 0)
    kind = type(container)
    is_listed = isinstance(container, _LISTED) and any(kind.__contains__ is each.__contains__ for each in _LISTED)
    if is_listed or (isinstance(container, _KEYED) and _is_key_of_the_kernel(item)):
        return _any(((each, item) for each in container), is_key=not is_listed)
    return item in container


def contains_not(item: Any, container: Any) -> Any:
    """`item not in container`."""
    found = contains(item, container)
    return ~found if isinstance(found, SymbolicScalar) else not found


def _is_key_of_the_kernel(item: Any) -> bool:
    trace = current()
    if isinstance(item, tuple):
        return any(map(_is_key_of_the_kernel, item))
    return isinstance(item, SymbolicScalar | Tensor) or (
        trace is not None and trace.kin is not None and trace.kin.knows(item)
    )


def _same_or_equal(a: Any, b: Any, *, is_key: bool = False) -> Any:
    """What containers ask of two elements."""
    if a is b:
        return True
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        same = is_same(a, b)
        return same if is_key or same is True else bool(a == b)
    for one, other in ((a, b), (b, a)):
        if isinstance(one, SymbolicScalar) and _is_no_number(other):
            return False
    if not (is_users(a) or is_users(b)):
        found = equal(a, b)
        return found if isinstance(found, SymbolicScalar) else bool(found)
    from pypto.frontend.objects.operators import binary, condition

    found = condition(binary("Eq", a, b))
    return found if isinstance(found, SymbolicScalar) else bool(found)


def _is_no_number(value: Any) -> bool:
    return as_int(value) is None and not isinstance(value, SymbolicScalar | FloatScalar | float | Tensor)


def _unevaluated(a: Any, b: Any, *, is_key: bool) -> Any:
    """The same where Python compares them under a condition of the running kernel only: it must change nothing."""
    trace = current()
    kinds = [type(value) for value in (a, b) if is_users(value) and isinstance(type(value).__eq__, types.FunctionType)]
    if trace is None or not kinds:
        return _same_or_equal(a, b, is_key=is_key)
    snapshot, before = Snapshot(), trace.writes
    for value in (a, b):
        snapshot.add(value, "operand")
    for kind in kinds:
        snapshot.add_function(kind.__eq__)  # type: ignore[arg-type]
    found = _same_or_equal(a, b, is_key=is_key)
    if trace.writes != before or any(snapshot.changes()):
        raise trace_error(
            ValueError,
            f"== of {kinds[0].__name__} changes what it compares, and whether elements are compared depends on those "
            "before them, which only the running kernel knows. Instead: compare them one by one, in if statements",
        )
    return found


def _all(pairs: Iterable[tuple[Any, Any]]) -> Any:
    result: Any = True
    for a, b in pairs:
        found = _same_or_equal(a, b) if result is True else _unevaluated(a, b, is_key=False)
        if found is False:
            return False
        if found is not True:
            result = found if result is True else result & found
    return result


def _any(pairs: Iterable[tuple[Any, Any]], *, is_key: bool) -> Any:
    result: Any = False
    for a, b in pairs:
        found = (_same_or_equal if result is False else _unevaluated)(a, b, is_key=is_key)
        if found is True:
            return True
        if found is not False:
            result = found if result is False else result | found
    return result
