"""The current workers of a context, and the process's default workers."""

from __future__ import annotations

import atexit
import sys
import threading
from contextvars import ContextVar
from typing import TYPE_CHECKING

from pypto import _core
from pypto.runtime.config import RunConfig

if TYPE_CHECKING:
    from pypto.runtime.worker import ChipWorker

# Innermost last. Contexts of other threads and tasks have their own.
_entered: ContextVar[tuple[ChipWorker, ...]] = _core.entered_workers
_defaults: dict[str, ChipWorker] = {}
_lock = threading.Lock()


def enter(worker: ChipWorker) -> None:
    """Makes `worker` current; ValueError when one of the same binding already is."""
    entered = _entered.get()
    for other in entered:
        if other.config.binding == worker.config.binding:
            platform, device = worker.config.binding
            raise ValueError(
                f"a worker of platform {platform}, device {device} is already current: "
                "use it, or leave its with-block before entering another"
            )
    _entered.set((*entered, worker))


def leave(worker: ChipWorker) -> None:
    """Takes `worker` out of the current ones."""
    _entered.set(tuple(other for other in _entered.get() if other is not worker))


def find(platform: str, device_id: int | None = None) -> ChipWorker | None:
    """The innermost current worker of a platform (and device), or None."""
    for worker in reversed(_entered.get()):
        if worker.config.platform == platform and device_id in (None, worker.config.device_id):
            return worker
    return None


def default_worker(platform: str) -> ChipWorker:
    """The process's own worker of a platform: opened on first use, kept open, closed at exit."""
    worker = _defaults.get(platform)
    if worker is not None and worker.is_usable:
        return worker
    from pypto.runtime.worker import ChipWorker

    with _lock:
        worker = _defaults.get(platform)
        if worker is None or not worker.is_usable:
            if worker is not None:
                worker.close()
            worker = _defaults[platform] = ChipWorker(RunConfig(platform))
        return worker


def for_platform(platform: str) -> ChipWorker:
    """Where a compiled program of `platform` runs: the current worker, else the default one."""
    return find(platform) or default_worker(platform)


def close_defaults() -> None:
    """Closes the default workers; the next use opens new ones."""
    while _defaults:
        _defaults.popitem()[1].close()


@atexit.register
def _close_at_exit() -> None:
    """Closes them at the end of the process, unless a thread that still runs could be inside: it would get an error
    on stderr for what is no mistake of its own. The end of the process then gives the device back."""
    if len(sys._current_frames()) == 1:
        close_defaults()
