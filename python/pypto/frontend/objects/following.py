"""What is set in a container is set in the others that may be the same one, where they are."""

from __future__ import annotations

import functools
import types
from collections.abc import Iterable
from typing import Any, NamedTuple

from pypto.frontend.objects.containers import get, put, same_element
from pypto.frontend.objects.kin import UNKNOWN, Parts, refusal
from pypto.frontend.rewriting.changes import CHANGERS
from pypto.frontend.rewriting.code_objects import RUNTIME
from pypto.frontend.symbolic import static_int
from pypto.frontend.tracing.choices import choose_value
from pypto.frontend.tracing.helpers import is_users, is_users_code
from pypto.frontend.tracing.reach import Names, reachable
from pypto.frontend.tracing.tracer import Trace

_OF_THE_FRAME = (dir, vars, eval, exec, globals, locals, super)  # look at the frame that calls them
_HARMLESS = (  # change nothing themselves
    len, range, isinstance, type, int, float, bool, str, list, tuple, dict, set, frozenset, zip, enumerate, reversed,
    iter, sum, abs, round, all, any, print, repr, id, hasattr, getattr, divmod, slice, callable, issubclass,
)  # fmt: skip
_PLAIN_SETTERS = (object.__setattr__, object.__delattr__)
_ONLY_SET = frozenset({"append", "insert", "pop", "popitem", "clear", "reverse", "setdefault", "__setitem__"})


_COMPARE = frozenset({"count", "index", "remove"})  # methods of lists that compare elements


class _Put(NamedTuple):
    """An element of another container that takes a value under a condition."""

    container: Any
    key: Any
    value: Any
    same: Any


def settle(
    trace: Trace, live: Iterable[str] | None, function: types.FunctionType | None, *, follows: bool = True
) -> None:
    """Behind a statement that may have changed containers; `live` are names that can be read later.

    Without `follows` the statement may have read a container after it has changed another one.
    """
    changes = [each for each in trace.kin.changes() if trace.kin.related(each[0])]
    if not changes:
        return
    names = reachable(live, function)
    puts = [put for change in changes for put in _puts(trace, change, changes, names, follows)]
    for container, key, value, same in puts:
        old = get(container, key)
        trace.note_replaced(container, key, old)
        known = static_int(same)
        put(container, key, value if known else choose_value(trace, same, value, old, _name(container, key)))
    trace.kin.refresh()


def watched(trace: Trace, function: Any, *, calls_traced: bool = False) -> Any:
    """What is called instead of a function that runs as ordinary Python, and may change containers on its way.

    With `calls_traced` it calls functions that it is given as the kernel does.
    """
    kind = type(function)
    plain = function.__func__ if kind is types.MethodType else function
    is_own = kind is not functools.partial and is_users_code(plain)
    if is_own and isinstance(plain, types.FunctionType) and RUNTIME in plain.__code__.co_freevars:
        return function
    owner: Any = function.__self__ if isinstance(function, types.BuiltinMethodType) else None
    is_method = type(owner) in (list, dict)
    only_compares = is_method and function.__name__ in _COMPARE
    is_plain = is_method and function.__name__ not in CHANGERS and not only_compares
    if is_plain or any(function is each for each in _OF_THE_FRAME):
        return function
    if not is_own and (getattr(function, "__module__", None) or "").partition(".")[0] == "pypto":
        return function
    is_harmless = any(function is each for each in _HARMLESS)
    only_sets = any(function is each for each in _PLAIN_SETTERS) or (is_method and function.__name__ in _ONLY_SET)

    def call(*arguments: Any, **keywords: Any) -> Any:
        result = function(*arguments, **keywords)
        given = (*arguments, *keywords.values())
        if only_compares and not any(map(is_users, (*given, *(owner or ())))):
            return result
        calls_back = not only_sets and (is_own or only_compares or any(_may_call(each, calls_traced) for each in given))
        if calls_back or not is_harmless:
            settle(trace, None, None, follows=not calls_back)
        return result

    return call


def _may_call(value: Any, calls_traced: bool) -> bool:
    """Whether a function of a library that is given a value may run code of the user by itself."""
    if callable(value):
        return not calls_traced
    return hasattr(type(value), "__next__") or is_users(value)


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


def _name(container: Any, key: Any) -> str:
    return f"[{key!r}]" if isinstance(container, list | dict) else f".{key}"
