"""trace(): where the [STRACE] timing marks of dispatches go."""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pypto import _core


@contextmanager
def trace(target: str | os.PathLike[str] | Callable[[str], object]) -> Iterator[None]:
    """Timing marks inside the block go to `stderr`, to `plog`, to a file or to a callback; off behind it.

    The switch is the process's. A record is one line: `[STRACE] v=1 pid=… tid=… inv=… hid=<hex> depth=… name=<dotted>
    ts=<ns> dur=<ns>`; ts is the monotonic clock. A callback runs on the dispatching thread.
    """
    if callable(target):
        _core.set_trace_callback(target)
    else:
        _core.set_trace(os.fspath(target))
    try:
        yield
    finally:
        if callable(target):
            _core.set_trace_callback(None)
        else:
            _core.set_trace("off")


atexit.register(_core.set_trace_callback, None)
