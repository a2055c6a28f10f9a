"""log(): level and place of the log, in place of the ASCEND_* variables."""

from __future__ import annotations

import os

from pypto import _core

LEVELS = {"debug": 0, "info": 1, "warning": 2, "error": 3, "null": 4}


def _number(level: int | str) -> int:
    number = LEVELS.get(level.lower()) if isinstance(level, str) else level
    if isinstance(number, bool) or not isinstance(number, int) or number not in LEVELS.values():
        raise ValueError(f"log level {level!r}: expected 0 to 4 or one of {', '.join(LEVELS)}, or 'environment'")
    return number


def log(
    level: int | str | None = None, *, path: str | os.PathLike[str] | None = None, stdout: bool | None = None
) -> None:
    """Sets what is given for the whole process; it wins over the environment.

    `level`: 0 to 4, or debug, info, warning, error, null; "environment" gives it back to the variables. At info every
    launch leaves its workspace records. `path`: root folder of the plog files. `stdout`: print in place of files.
    """
    number = None if level is None or level == "environment" else _number(level)
    if path is not None:
        _core.set_log_root(os.fspath(path))
    if stdout is not None:
        _core.set_log_to_stdout(bool(stdout))
    if level is not None:
        _core.set_log_level(number)
