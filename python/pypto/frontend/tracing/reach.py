"""What can be read at a point of the kernel: by the function that runs and by those that have called it."""
# ruff: noqa: D107

from __future__ import annotations

import gc
import sys
import types
from collections.abc import Iterable, Iterator
from typing import Any

from pypto.frontend.objects.callees import variables_of
from pypto.frontend.objects.containers import Snapshot, snapshot_of
from pypto.frontend.objects.definitions import attributes_of
from pypto.frontend.places import is_ours
from pypto.frontend.rewriting.code_objects import RUNTIME
from pypto.frontend.tracing.plain_for import PlainFor
from pypto.frontend.tracing.tracer import Trace, current

KERNEL_FRAME = "_run_kernel"  # name of the function that calls the kernel's own


def _referents(value: Any) -> list[Any]:
    """What an object holds; nothing for classes, modules, tensors and other objects of this package."""
    if isinstance(value, types.FunctionType):
        return [value.__closure__, value.__defaults__, value.__kwdefaults__, *vars(value).values()]
    if isinstance(value, type | types.ModuleType):
        return [each for _, each in attributes_of(value) or () if not isinstance(each, int | float | str)]
    if isinstance(value, type | types.ModuleType | types.CodeType | types.FrameType | str | bytes | int | float):
        return []
    is_opaque = type(value).__module__.startswith("pypto.") and not isinstance(value, tuple)
    return [] if is_opaque else gc.get_referents(value)


class Names:
    """What can be reached from names."""

    def __init__(self) -> None:
        self._seen: dict[int, Any] = {}

    def holds(self, container: Any) -> bool:
        """Whether a container is among it."""
        return id(container) in self._seen

    def add(self, values: Iterable[Any]) -> None:
        """Adds values and what they hold."""
        stack = list(values)
        while stack:
            value = stack.pop()
            if id(value) not in self._seen:
                self._seen[id(value)] = value
                stack += _referents(value)


def _names_of(frame: types.FrameType) -> dict[str, Any]:
    return {name: value for name, value in frame.f_locals.items() if not name.startswith("_pypto_")}


def _iterated_by(frame: types.FrameType) -> list[Any]:
    """What the Python loops of a frame run over: nothing else may hold it."""
    values = [value for name, value in frame.f_locals.items() if name.startswith("_pypto_")]
    return [value.iterable for value in values if isinstance(value, PlainFor)]


def _globals_of(frame: types.FrameType) -> dict[str, Any]:
    """The globals that the code of a frame names."""
    return {name: frame.f_globals[name] for name in frame.f_code.co_names if name in frame.f_globals}


def _users(frame: types.FrameType | None) -> Iterator[types.FrameType]:
    """The frames of the user, from the innermost one to the kernel's own."""
    while frame is not None and frame.f_code.co_name != KERNEL_FRAME:
        if not is_ours(frame):
            yield frame
        frame = frame.f_back


def _live_in(frame: types.FrameType) -> Iterable[str] | None:
    """Names that can be read when a call of the frame comes back; None where nothing tells."""
    runtime = frame.f_locals.get(RUNTIME)
    if runtime is None or runtime.code is not frame.f_code:
        return None
    live: Iterable[str] | None = runtime.source.live.get(frame.f_lineno)
    return live


def depth() -> int:
    """How many functions of the user run inside of each other."""
    return sum(1 for _ in _users(sys._getframe(1)))


def reachable(live: Iterable[str] | None, function: types.FunctionType | None = None) -> Names:
    """What can be read: by the live names of the frame that runs, the function's outer ones, and those of callers.

    And results of calls that a statement has not used yet. Without live names they are those of the line that runs.
    """
    found = Names()
    trace = current()
    if trace is not None and trace.kin is not None:
        found.add(trace.kin.held())
    if function is not None:
        found.add(value for _, value in variables_of(function))
    for depth, frame in enumerate(_users(sys._getframe(1))):
        names = _names_of(frame)
        read = _live_in(frame) if depth or live is None else live
        found.add(names.values() if read is None else [names[name] for name in read if name in names])
        found.add(_globals_of(frame).values())
        found.add(_iterated_by(frame))
    return found


def snapshot_around(trace: Trace, frame: dict[str, Any], function: types.FunctionType) -> Snapshot:
    """Containers that a frame and its function can reach, and those of callers that may be one of them."""
    snapshot = snapshot_of(frame, function)
    for each in () if trace.outer is None else trace.outer.passed:
        snapshot.add_function(each)
    if trace.kin is not None:
        callers = Snapshot()
        for depth, caller in enumerate(list(_users(sys._getframe(1)))[1:]):
            for name, value in (_globals_of(caller) | _names_of(caller)).items():
                callers.add(value, f"{name} in call {depth}")
        for path, container in callers.containers():
            if trace.kin.knows(container):
                snapshot.add(container, path)
        for position, value in enumerate(trace.kin.held()):
            snapshot.add(value, f"result {position}")
    return snapshot
