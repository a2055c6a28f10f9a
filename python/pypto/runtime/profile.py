"""profile(): where the time of one launch goes, by leaf and source line."""

from __future__ import annotations

from typing import Any

from pypto import _core
from pypto.runtime import current
from pypto.runtime.config import RunConfig
from pypto.runtime.worker import ChipWorker


def profile(handle: Any, args: Any) -> _core.LaunchProfile:
    """Dispatches once, with every leaf timed, and gives the times; `args` are those of the call, outputs included.

    `handle`: a registered or a compiled program; a compiled one runs on the current worker of its platform, with none
    on a worker of its own. Results are those of a plain call. Only the mock device times leaves: on hardware this
    raises `NotImplementedError`. The first launch with new shapes is also laid out: call the handle once before.
    """
    if isinstance(handle, _core.RegistrationHandle):
        return _core.profiled_call(handle, *args)
    platform = getattr(handle, "platform", None)
    if not isinstance(platform, str):
        raise TypeError(f"handle must be a registered or a compiled program, got {type(handle).__name__}")
    worker = current.find(platform, 0)
    own = ChipWorker(RunConfig(platform)) if worker is None else None
    try:
        with (own or worker).register(handle) as registered:  # type: ignore[union-attr]
            return _core.profiled_call(registered, *args)
    finally:
        if own is not None:
            own.close()
