"""What a kernel calls instead of what it names: helpers, methods, constructors and objects that can be called."""

from __future__ import annotations

import builtins
import functools
import itertools
import types
from collections.abc import Collection
from typing import Any

from pypto.frontend.objects import following, looked_at
from pypto.frontend.rewriting.code_objects import RUNTIME
from pypto.frontend.tracing import helpers
from pypto.frontend.tracing.carry import loaded
from pypto.frontend.tracing.maybe import Maybe, load, may_be_none
from pypto.frontend.tracing.reach import depth
from pypto.frontend.tracing.tracer import current

_WITH_FUNCTIONS = (  # of the standard library: they call functions that they are given
    map, filter, sorted, functools.reduce, itertools.accumulate, itertools.starmap, itertools.takewhile,
    itertools.dropwhile, itertools.filterfalse, itertools.groupby,
)  # fmt: skip
_FUNCTION_FIRST = (
    map, filter, functools.reduce, itertools.starmap, itertools.takewhile, itertools.dropwhile, itertools.filterfalse,
)  # fmt: skip
BUILTINS: dict[Any, Any] = {}  # and what is called in their place


def called(function: Any, *, is_special: bool = False) -> Any:
    """What is called instead of a function: helpers are traced by the rules of kernels, others are watched."""
    trace, found = current(), _traced(function, is_special)
    if looked_at.is_of_container(function):
        watches = trace is not None and trace.kin is not None
        return looked_at.stands_for(function, _watched(trace, found) if watches else found)
    if trace is None or trace.kin is None:
        return found
    return _watched(trace, found)


def called_with_names(function: Any) -> Any:
    """The same where names are given that may hold None, depending on the running kernel."""

    def call(*arguments: Any, **keywords: Any) -> Any:
        run = called(function)
        if not any(may_be_none(value) for value in (*arguments, *keywords.values())):
            return run(*arguments, **keywords)
        positional, asked = _parameters_of(run)
        known = [
            value if at < len(positional) and positional[at] in asked else load(value)
            for at, value in enumerate(arguments)
        ]
        named = {name: value if name in asked else load(value) for name, value in keywords.items()}
        return run(*known, **named)

    return call


def called_for_none(function: Any) -> Any:
    """The same where the result is asked whether it is None, which may depend on the running kernel."""
    run = called_with_names(function)

    def call(*arguments: Any, **keywords: Any) -> Any:
        trace = current()
        if trace is None:
            return run(*arguments, **keywords)
        trace.keeping.append(depth() + 1)
        try:
            return run(*arguments, **keywords)
        finally:
            trace.keeping.pop()

    return call


def result(value: Any) -> Any:
    """What a helper gives to its caller."""
    trace = current()
    if type(value) is Maybe and (trace is None or depth() not in trace.keeping[-1:]):
        return loaded(value)
    return value


def _parameters_of(function: Any) -> tuple[tuple[str, ...], Collection[str]]:
    """The positional parameters of a traced helper, and those of all that it asks whether they are None."""
    plain = function.__func__ if isinstance(function, types.MethodType) else function
    if not isinstance(plain, types.FunctionType) or RUNTIME not in plain.__code__.co_freevars:
        return (), ()
    code = plain.__code__
    runtime = (plain.__closure__ or ())[code.co_freevars.index(RUNTIME)].cell_contents
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    positional = code.co_varnames[: code.co_argcount]
    return positional[plain is not function :], runtime.source.asked.get((code.co_name, names), ())


def _watched(trace: Any, found: Any) -> Any:
    calls_traced = type(found) is functools.partial and found.func is with_functions
    return following.watched(trace, found, calls_traced=calls_traced)


def held_by(kind: type, name: str, otherwise: Any = None) -> Any:
    """What a class or one of its bases holds by a name, as it is held there."""
    for each in kind.__mro__:
        if name in each.__dict__:
            return each.__dict__[name]
    return otherwise


def is_written(kind: type, name: str) -> bool:
    """Whether a special method of a class is written in Python."""
    held = held_by(kind, name)
    return isinstance(held.__func__ if isinstance(held, staticmethod | classmethod) else held, types.FunctionType)


def method(kind: type, name: str, value: Any) -> Any:
    """What is called for a special method of an object; None where the class of the user has none written in Python."""
    if not is_written(kind, name):
        return None
    held = held_by(kind, name)
    if isinstance(held, staticmethod):
        return called(held.__func__, is_special=True)
    function, owner = (held.__func__, kind) if isinstance(held, classmethod) else (held, value)
    return called(types.MethodType(function, owner), is_special=True)


def _traced(function: Any, is_special: bool = False) -> Any:
    kind = type(function)
    if kind is types.FunctionType:
        return helpers.convert(function, is_special=is_special)
    if kind is types.MethodType and isinstance(function.__func__, types.FunctionType):
        converted = helpers.convert(function.__func__, function.__self__, is_special=is_special)
        return function if converted is function.__func__ else types.MethodType(converted, function.__self__)
    if kind is type or (kind is types.BuiltinFunctionType and function.__self__ is builtins):
        known = BUILTINS.get(function)
        if known is not None:
            return known
    instead = None if looked_at.is_of_container(function) else looked_at.stands_for(function)
    if instead is not None:
        return instead
    if kind is functools.partial:
        return functools.partial(called(function.func), *function.args, **function.keywords)
    helpers.refuse_kernel(function)
    if isinstance(function, type) and not helpers.is_library(function):
        return _constructor(function)
    if any(function is each for each in _WITH_FUNCTIONS) or _is_sort(function):
        return functools.partial(with_functions, function)
    run = method(kind, "__call__", function) if helpers.is_users(function) else None
    return function if run is None else run


def _is_sort(function: Any) -> bool:
    is_method = isinstance(function, types.BuiltinMethodType) and function.__name__ == "sort"
    return is_method and isinstance(function.__self__, list)


def with_functions(function: Any, *arguments: Any, **keywords: Any) -> Any:
    """A call of the standard library, with functions among the arguments that are traced when they are called."""
    given = [each if _is_iterated(function, at, each) else _traced_later(each) for at, each in enumerate(arguments)]
    return function(*given, **{name: _traced_later(each) for name, each in keywords.items()})


def _is_iterated(function: Any, at: int, value: Any) -> bool:
    """Whether an argument is one to be gone through, although it can be called too."""
    takes_function_first = at == 0 and any(function is each for each in _FUNCTION_FIRST)
    return not takes_function_first and hasattr(type(value), "__iter__")


def _traced_later(value: Any) -> Any:
    if not isinstance(value, types.FunctionType | types.MethodType | functools.partial) and not (
        callable(value) and helpers.is_users(value)
    ):
        return value
    return functools.partial(_call, value)


def _call(function: Any, /, *arguments: Any, **keywords: Any) -> Any:
    return called(function)(*arguments, **keywords)


def _constructor(kind: Any) -> Any:
    """What makes an object of a class: its `__init__` or `__post_init__` is traced where it is written in Python."""
    is_plain = type(kind).__call__ is type.__call__ and kind.__new__ is object.__new__
    start = kind.__init__
    if not is_plain or not isinstance(start, types.FunctionType):
        return kind
    if not hasattr(kind, "__dataclass_fields__") or start.__code__.co_filename != "<string>":
        return functools.partial(_make, kind, start)
    later = getattr(kind, "__post_init__", None)
    if isinstance(later, types.FunctionType) and getattr(kind, "__dictoffset__", 0) != 0:
        return functools.partial(_make_dataclass, kind, later)
    return kind


def _make(kind: Any, start: types.FunctionType, /, *arguments: Any, **keywords: Any) -> Any:
    made = kind.__new__(kind)
    given = called(types.MethodType(start, made), is_special=True)(*arguments, **keywords)
    if given is not None:
        raise TypeError(f"__init__() should return None, not '{type(given).__name__}'")
    return made


def _make_dataclass(kind: Any, later: types.FunctionType, /, *arguments: Any, **keywords: Any) -> Any:
    """Its own `__init__` finds the traced `__post_init__` in the object, for once."""
    made = kind.__new__(kind)

    def post_init(*initial: Any) -> Any:
        del made.__dict__["__post_init__"]
        return called(types.MethodType(later, made), is_special=True)(*initial)

    made.__dict__["__post_init__"] = post_init
    try:
        kind.__init__(made, *arguments, **keywords)
    finally:
        made.__dict__.pop("__post_init__", None)
    return made
