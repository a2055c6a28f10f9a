"""Control of the mock ACL library, for tests: faults, counters, what is alive."""

from __future__ import annotations

from functools import cache

from pypto import _core

__all__ = [
    "clear_faults",
    "counters",
    "fail_call",
    "fail_kernel",
    "give_back_calls",
    "guard_violations",
    "kernels_run",
    "leak_reports",
    "live_blocks",
    "live_bytes",
    "live_handles",
    "mock_library_path",
    "pending_faults",
    "reset",
    "set_delay",
    "shared_copies",
]


@cache
def _mock() -> _core.MockControl:
    return _core.MockControl(mock_library_path())


def mock_library_path() -> str:
    """The mock ACL library that ships in the package."""
    return _core.packaged_mock_path()


def fail_call(name: str | None, n: int = 0, code: int = 507899) -> None:
    """The n-th call from now (0: the next) of an ACL function, or of any with None, fails with `code`."""
    _mock().fail_call(name, n, code)


def fail_kernel(n: int = 0, code: int = 507015) -> None:
    """The n-th kernel from now ends with `code` in place of running."""
    _mock().fail_kernel(n, code)


def pending_faults() -> int:
    """How many planned faults have not struck."""
    return _mock().pending_faults()


def clear_faults() -> None:
    """Forgets all planned faults, hooks and delays."""
    _mock().clear_faults()
    _mock().clear_hooks()


def set_delay(name: str, nanoseconds: int) -> None:
    """Every call of an ACL function first sleeps that long; 0 takes it away."""
    _mock().set_delay(name, nanoseconds)


def counters() -> dict[str, int]:
    """Calls per ACL function since the library was loaded or reset."""
    return _mock().counters()


def live_bytes(device: int = -1) -> int:
    """Device memory allocated in the mock, in bytes; -1: all devices."""
    return _mock().live_bytes(device)


def live_blocks(device: int = -1) -> int:
    """Allocated blocks of device memory; -1: all devices."""
    return _mock().live_blocks(device)


def live_handles() -> dict[str, int]:
    """Live contexts, streams, events, binaries and functions."""
    return _mock().live_handles()


def guard_violations() -> int:
    """Blocks whose guard bytes were found overwritten when they were freed."""
    return _mock().guard_violations()


def kernels_run() -> int:
    """Kernels executed since load or reset."""
    return _mock().kernels_run()


def give_back_calls() -> int:
    """Calls of madvise and munmap that gave pages of freed blocks back to the system, since load or reset."""
    return _mock().give_back_calls()


def shared_copies() -> int:
    """Copies that were large enough for several threads, since load or reset."""
    return _mock().shared_copies()


def leak_reports() -> str:
    """ACL objects that were alive when their library was closed; empty without PYPTO_ACL_LAYERS=validation."""
    return _core.take_leak_reports()


def reset() -> None:
    """Everything as after load; no worker may be open."""
    _mock().reset()
