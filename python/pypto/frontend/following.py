"""What is set in a container is set in the others that may be the same one, where they are."""

from __future__ import annotations

import functools
import types
from collections.abc import Iterable
from typing import Any, NamedTuple

from pypto.frontend.choices import choose_value
from pypto.frontend.code_objects import RUNTIME
from pypto.frontend.containers import put, same_element
from pypto.frontend.kin import UNKNOWN, Parts, refusal
from pypto.frontend.reach import Names, reachable
from pypto.frontend.symbolic import static_int
from pypto.frontend.tracer import Trace

_OF_THE_FRAME = (dir, vars, eval, exec, globals, locals, super)  # look at the frame that calls them


class _Put(NamedTuple):
    """An element of another container that takes a value under a condition."""

    container: Any
    key: Any
    value: Any
    same: Any


def settle(trace: Trace, live: Iterable[str] | None, function: types.FunctionType, *, follows: bool = True) -> None:
    """Behind a statement that may have changed containers; `live` are names that can be read later.

    Without `follows` the statement may have read a container after it has changed another one.
    """
    changes = [each for each in trace.kin.changes() if trace.kin.related(each[0])]
    if not changes:
        return
    names = reachable(live, function)
    puts = [put for change in changes for put in _puts(trace, change, changes, names, follows)]
    for container, key, value, same in puts:
        old = _get(container, key)
        trace.note_replaced(container, key, old)
        known = static_int(same)
        put(container, key, value if known else choose_value(trace, same, value, old, _name(container, key)))
    trace.kin.refresh()


def watched(trace: Trace, function: Any, caller: types.FunctionType) -> Any:
    """What is called instead of a function that runs as ordinary Python, and may change containers on its way."""
    plain = getattr(function, "__func__", function)
    is_traced = isinstance(plain, types.FunctionType) and RUNTIME in plain.__code__.co_freevars
    module = getattr(function, "__module__", None) or ""
    if function in _OF_THE_FRAME:
        return function
    if is_traced or module.partition(".")[0] == "pypto" or type(getattr(function, "__self__", None)) in (list, dict):
        return function
    is_own = isinstance(plain, types.FunctionType)

    @functools.wraps(function, updated=())
    def call(*arguments: Any, **keywords: Any) -> Any:
        result = function(*arguments, **keywords)
        given = (*arguments, *keywords.values())
        if is_own or any(callable(each) or hasattr(type(each), "__next__") for each in given):
            settle(trace, None, caller, follows=False)
        return result

    return call


def _puts(
    trace: Trace, change: tuple[Any, Parts, Parts], changes: list[tuple[Any, Parts, Parts]], names: Names, follows: bool
) -> list[_Put]:
    container, before, after = change
    others = [(other, same) for other, same in trace.kin.related(container) if names.holds(other)]
    if not others:
        return []
    if not follows:
        raise refusal(container, "the statement can read it again before the other name sees the change")
    if any(same is UNKNOWN for _, same in others):
        if trace.starts_over:  # the next trace may know
            return []
        raise refusal(container, "nothing tells whether it is that one behind the loop that bound it")
    if [key for key, _ in before] != [key for key, _ in after]:
        raise refusal(container, "the number or the keys of its elements change, which are fixed then")
    found = []
    for other, same in others:
        theirs = next((dict(_changed(*parts)) for each, *parts in changes if each is other), {})
        for key, new in _changed(before, after):
            if theirs.get(key, new) is not new:
                raise refusal(container, "one statement changes that element in both")
            if key not in theirs:
                found.append(_Put(other, key, new, same))
    return found


def _changed(before: Parts, after: Parts) -> Parts:
    """Keys and values of elements that are set."""
    return [(key, new) for (key, old), (_, new) in zip(before, after, strict=False) if not same_element(old, new)]


def _get(container: Any, key: Any) -> Any:
    return container[key] if isinstance(container, list | dict) else getattr(container, key)


def _name(container: Any, key: Any) -> str:
    return f"[{key!r}]" if isinstance(container, list | dict) else f".{key}"
