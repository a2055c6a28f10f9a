"""Plain functions that a kernel calls: traced by the rules of kernels where their source allows it.

A helper that takes **kwargs, or whose source cannot be read, runs as ordinary Python. That is safe: there a pypto.loop
refuses to iterate and a symbolic condition refuses to become a bool. One that holds what kernels cannot hold (try,
yield) runs so as long as it sees nothing of the running kernel: it is refused where it is given a tensor or a symbolic
value, or calls an operation.
"""

from __future__ import annotations

import functools
import inspect
import sys
import threading
import types
from collections.abc import Iterable
from typing import Any

from pypto.errors import ERROR_CODES, CompileError, PyptoError
from pypto.frontend.objects.callees import callees_of, passed_by
from pypto.frontend.objects.definitions import is_library_name, is_of_library
from pypto.frontend.places import trace_error
from pypto.frontend.rewriting.checks import Finding, find_unsupported, finding_error
from pypto.frontend.rewriting.code_objects import RUNTIME, instantiate
from pypto.frontend.rewriting.liveness import EMPTY, Names
from pypto.frontend.rewriting.rewrite import FlowMeta, rewrite
from pypto.frontend.rewriting.source import NoSourceError, Source, read_lambda_source, read_source
from pypto.frontend.symbolic import SymbolicScalar
from pypto.frontend.tracing import tracer
from pypto.frontend.tracing.reach import KERNEL_FRAME

_MAX_CACHED = 512
_MAX_NESTED = 50  # calls of one method inside of each other, of several objects

_OF_TRACED_CODE = ("Not concrete value.", "pypto.loop runs only", "a tensor has no value")  # what its errors begin with
_GENERATOR_FLAGS = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR

_Rewritten = tuple[Source, types.CodeType, list[FlowMeta]]


class _Refused:
    """What a helper holds that kernels cannot hold, and its source."""

    def __init__(self, finding: Finding, source: Source) -> None:
        self.finding, self.source = finding, source

    def error(self) -> PyptoError:
        """The error at the line."""
        return finding_error(self.finding, self.source)


_lock = threading.Lock()
_cache: dict[tuple[types.CodeType, str], _Rewritten | _Refused | None] = {}


def is_library(value: Any) -> bool:
    """Whether something is defined in the standard library, pypto, numpy or torch."""
    return is_library_name(getattr(value, "__module__", None) or "")


def is_users(value: Any) -> bool:
    """Whether the class of an object is the user's own."""
    return not is_of_library(type(value))


def is_users_code(value: Any) -> bool:
    """Whether a function, class or object that can be called runs code of the user."""
    return not is_library(value) if isinstance(value, types.FunctionType | type) else is_users(value)


def runs_natively(function: types.FunctionType) -> bool:
    """Whether a function is left as it is: library code, helpers that take **kwargs."""
    return is_library(function) or bool(function.__code__.co_flags & inspect.CO_VARKEYWORDS)


def is_lambda(function: types.FunctionType) -> bool:
    """Whether a function was written as a lambda."""
    return function.__code__.co_name == "<lambda>"


def _rewritten(function: types.FunctionType) -> _Rewritten | _Refused | None:
    key = (function.__code__, function.__code__.co_filename)
    with _lock:
        if key in _cache:
            return _cache[key]
    made = _rewrite(function, EMPTY)
    with _lock:
        while len(_cache) >= _MAX_CACHED:
            _cache.pop(next(iter(_cache)))
        return _cache.setdefault(key, made)


def _rewrite(function: types.FunctionType, live_at_end: Names) -> _Rewritten | _Refused | None:
    try:
        source = read_lambda_source(function) if is_lambda(function) else read_source(function)
    except NoSourceError:
        return None
    finding = find_unsupported(source.tree, is_kernel=False)
    if finding is not None:
        return _Refused(finding, source)
    code, metas = rewrite(source, function, live_at_end)
    return source, code, metas


def convert(function: types.FunctionType, owner: Any = None, *, is_special: bool = False) -> types.FunctionType:
    """What is called instead of a plain function in a kernel, or instead of a method of its owner.

    A special method (of an operator, say) that holds what kernels cannot hold is left as it is.
    """
    if is_library(function):
        return function
    trace = tracer.current()
    if trace is not None:
        watch(trace, function)
    rewritten = None
    if RUNTIME not in function.__code__.co_freevars and not runs_natively(function):
        rewritten = _rewritten(function)
    if trace is not None and not isinstance(rewritten, tuple) and RUNTIME not in function.__code__.co_freevars:
        watch_callees(trace, [function] if owner is None else [function, owner])
    if isinstance(rewritten, _Refused):
        return function if is_special else _guarded(function, rewritten, trace)
    if trace is not None:
        _refuse_recursion(function, function.__code__ if rewritten is None else rewritten[1], owner)
    if rewritten is not None:
        return bind(function, rewritten, trace)
    without_source = trace is not None and RUNTIME not in function.__code__.co_freevars and not runs_natively(function)
    return _without_source(function) if without_source else function


def _is_traced(value: Any, around: tuple[int, ...] = ()) -> bool:
    """Whether a value is one of the running kernel, or a container that holds one."""
    if isinstance(value, list | tuple | set | frozenset | dict):
        if id(value) in around:
            return False
        elements = value.values() if isinstance(value, dict) else value
        return any(_is_traced(each, (*around, id(value))) for each in elements)
    return isinstance(value, tracer.TensorLike | tracer.FloatLike | tracer.NoValue | SymbolicScalar)


def _guarded(function: types.FunctionType, refused: _Refused, trace: tracer.Trace | None) -> types.FunctionType:
    """A helper that runs natively on plain values only."""

    @functools.wraps(function)
    def guarded(*arguments: Any, **keywords: Any) -> Any:
        if _is_traced(arguments) or _is_traced(keywords):
            raise refused.error()
        if trace is None or function.__code__.co_flags & _GENERATOR_FLAGS:
            return function(*arguments, **keywords)
        before, trace.refusal = trace.refusal, refused.error
        try:
            return function(*arguments, **keywords)
        finally:
            trace.refusal = before

    return guarded  # type: ignore[return-value]


def _without_source(function: types.FunctionType) -> types.FunctionType:
    """A helper that runs as plain Python because nobody has its source; errors of what kernels can do say so."""

    @functools.wraps(function)
    def native(*arguments: Any, **keywords: Any) -> Any:
        try:
            return function(*arguments, **keywords)
        except CompileError as error:
            kind = next((kind for kind, code in ERROR_CODES.items() if code == error.err_code), ValueError)
            text = error.msg.removeprefix(f"{kind.__name__}: ")
            if not text.startswith(_OF_TRACED_CODE):
                raise
            raise trace_error(
                kind,
                f"{text} '{function.__name__}' runs as plain Python, as its source cannot be read (it was made by exec "
                "or in an interpreter). Instead: define it in a file",
            ) from None

    return native  # type: ignore[return-value]


def _captures_alike(function: types.FunctionType, frame: types.FrameType) -> bool:
    """Whether a frame that runs the code of a function has captured the same values."""
    held = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            held[name] = cell.cell_contents
        except ValueError:  # not set yet
            continue
    return all(frame.f_locals.get(name, value) is value for name, value in held.items())


def _is_of(frame: types.FrameType, owner: Any) -> bool:
    """Whether a frame runs a method of an object."""
    own = frame.f_code.co_varnames[:1]
    return owner is None or not own or frame.f_locals.get(own[0], owner) is owner


def _refuse_recursion(function: types.FunctionType, code: types.CodeType, owner: Any) -> None:
    """An error when the code runs already for the same object, among the calls of the kernel that is traced."""
    frame: types.FrameType | None = sys._getframe(1)
    times = 0
    while frame is not None and frame.f_code.co_name != KERNEL_FRAME:
        times += frame.f_code is code
        if frame.f_code is code and _captures_alike(function, frame) and (_is_of(frame, owner) or times > _MAX_NESTED):
            raise trace_error(
                RecursionError,
                f"'{function.__name__}' calls itself: helpers of kernels are no recursive functions. Instead: "
                "write a Python loop (for or while over plain numbers, which is unrolled) or a pypto.loop",
            )
        frame = frame.f_back


def bind(
    function: types.FunctionType, rewritten: _Rewritten, trace: tracer.Trace | None, *, is_kernel: bool = False
) -> types.FunctionType:
    """The rewritten function, made known to the trace."""
    from pypto.frontend.tracing.flow import FunctionRuntime

    source, code, metas = rewritten
    if trace is not None:
        trace.add_source(source)
        if trace.outer is not None:
            for each in passed_by(function, source.passed, trace.outer.package):
                trace.outer.passed[each] = None
                watch(trace, each)
    runtime = FunctionRuntime(source, metas, function, is_kernel=is_kernel)
    runtime.code, runtime.scopes = code, () if trace is None else tuple(trace.scopes)
    return instantiate(code, function, runtime)


def watch(trace: tracer.Trace, function: types.FunctionType) -> None:
    """Adds what a helper can change to the snapshots of open loops and branches."""
    code = function.__code__
    cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
    runtime = cells[RUNTIME].cell_contents if RUNTIME in cells else None
    if runtime is None and trace.outer is not None:
        trace.outer.add_function(function)
        trace.facts.helpers[id(function)] = function
    is_inside = is_lambda(function) and trace.has_line(code.co_filename, code.co_firstlineno)
    for scope in trace.scopes:
        if scope.watchers is None:
            continue
        if runtime is None and not is_inside:
            scope.watchers.add_function(function)
        elif runtime is None or runtime is scope.watchers.owner or any(scope is each for each in runtime.scopes):
            scope.watchers.add_globals(function)  # it captures locals of the frame there, or of one that began there
        else:
            scope.watchers.add_function(function, frame_is_known=True)
    for snapshot in trace.operands:
        snapshot.add_function(function)


def watch_callees(trace: tracer.Trace, values: Iterable[Any]) -> None:
    """The same for all functions that ordinary Python may call when it is given values, or calls them."""
    for function in callees_of(values, "" if trace.outer is None else trace.outer.package):
        watch(trace, function)


def refuse_kernel(function: Any) -> None:
    """A kernel is no helper."""
    from pypto.frontend.kernels.kernel import JitKernel

    if isinstance(function, JitKernel):
        raise trace_error(
            TypeError,
            f"kernel '{function.__name__}' is called from a kernel; call kernels one after the other from host code, "
            "or share a plain function",
        )
