"""The scope of options in force: a node of the core, held per context; nested blocks, tasks and threads keep apart.

Values, checks and look-ups live in the core; its nodes never change. Setting an option puts another node in force.
"""

from __future__ import annotations

import contextlib
import contextvars
import copy
import functools
import inspect
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from pypto import _core
from pypto.errors import fe_error

OptionScope = _core.OptionScope
Function = TypeVar("Function", bound=Callable[..., Any])
Result = TypeVar("Result")

PACKAGED_DEFAULTS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tile_fwk_config.json")

_GLOBAL_DEPTH = 1
_MAX_VECTOR_DIMS = 5
_root_lock = threading.Lock()
_global_scope: OptionScope | None = None
_current: contextvars.ContextVar[OptionScope | None] = _core.option_scope
_in_kernel: contextvars.ContextVar[bool] = contextvars.ContextVar("pypto_options_in_kernel", default=False)


def checked(call: Callable[..., Result], *arguments: Any) -> Result:
    """Calls the core; its errors become FeErrors of the same Python kind."""
    try:
        return call(*arguments)
    except (KeyError, TypeError, ValueError, RuntimeError, OSError) as error:
        raise fe_error(type(error), str(error.args[0])) from None


def ensure_defaults() -> OptionScope:
    """The scope "global", where every context starts; the defaults file is read once, when first needed."""
    global _global_scope
    if _global_scope is None:
        with _root_lock:
            if _global_scope is None:
                _global_scope = checked(_core.load_option_root, PACKAGED_DEFAULTS).child("global")
    return _global_scope


def current() -> OptionScope:
    """The node in force in this context."""
    return _current.get() or ensure_defaults()


def put_in_force(node: OptionScope) -> None:
    """Makes a node the one in force in this context."""
    _current.set(node)


def enter_child(name: str) -> OptionScope:
    """Opens an innermost scope; gives the node to put back in force afterwards."""
    before = current()
    _current.set(before.child(name))
    return before


def refuse_in_kernel(key: str) -> None:
    """Raises RuntimeError (FeError) for a key that cannot be set while a kernel is traced, if one is."""
    if _in_kernel.get():
        checked(_core.check_option_in_kernel, key)


def is_in_kernel() -> bool:
    """Whether this context traces a kernel."""
    return _in_kernel.get()


@contextlib.contextmanager
def kernel_scope(node: OptionScope) -> Iterator[None]:
    """Traces a kernel in `node`; what it sets ends with the block, also when the trace is given up half-way."""
    scope_token, kernel_token = _current.set(node), _in_kernel.set(True)
    try:
        yield
    finally:
        _in_kernel.reset(kernel_token)
        _current.reset(scope_token)


def tile_value(key: str, value: Any) -> Any:
    """The value of a tile key as the core takes it; an empty list stands for unset."""
    if key == "vec_tile_shapes" and isinstance(value, list | tuple):
        if len(value) > _MAX_VECTOR_DIMS:
            raise fe_error(ValueError, f"Option '{key}': expected 1 to 5 extents, got {len(value)}")
        return list(value) or None
    return value


def full_keys(group: str, values: Any) -> dict[str, Any]:
    """{"run_mode": 1} of the group runtime as {"runtime.run_mode": 1}."""
    if not isinstance(values, Mapping):
        raise fe_error(TypeError, f"{group}_options: expected a dict, got {type(values).__name__}")
    for key in values:
        if not isinstance(key, str):
            raise fe_error(TypeError, f"{group}_options: keys are strings, got {type(key).__name__}")
    return {f"{group}.{key}": value for key, value in values.items()}


def change(updates: Mapping[str, Any]) -> None:
    """Sets full keys in the innermost scope: all of them, or none when one is wrong."""
    if not updates:
        return
    for key in updates:
        refuse_in_kernel(key)
    _current.set(checked(current().with_values, dict(updates)))


class ScopeBlock:
    """A child scope with given values: a context manager that may be entered repeatedly, and a decorator.

    As a decorator it opens the scope anew for each call; of a coroutine function, while the coroutine runs. Any thread.
    """

    def __init__(self, name: str, updates: Mapping[str, Any]) -> None:
        """Checks the values; they are copied, so that later changes of a dict have no effect."""
        self._name = name
        self._updates = copy.deepcopy(dict(updates))
        self._node()

    def _node(self) -> OptionScope:
        for key in self._updates:
            refuse_in_kernel(key)
        child = current().child(self._name)
        return checked(child.with_values, self._updates) if self._updates else child

    def __enter__(self) -> None:
        """Opens the scope."""
        _current.set(self._node())

    def __exit__(self, *exception: object) -> None:
        """Closes the innermost scope, whatever was set in it."""
        node = current()
        if node.depth > _GLOBAL_DEPTH:
            _current.set(node.parent)

    def __call__(self, function: Function) -> Function:
        """The function, run inside the scope."""
        if not callable(function):
            raise fe_error(TypeError, f"options() decorates a function, got {type(function).__name__}")
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def run_coroutine(*arguments: Any, **keywords: Any) -> Any:
                with self:
                    return await function(*arguments, **keywords)

            return run_coroutine  # type: ignore[return-value]

        @functools.wraps(function)
        def run(*arguments: Any, **keywords: Any) -> Any:
            with self:
                return function(*arguments, **keywords)

        return run  # type: ignore[return-value]
