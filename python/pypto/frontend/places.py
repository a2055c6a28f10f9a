"""Where in the user's source a traced call stands, and errors that point there."""

from __future__ import annotations

import functools
import linecache
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType, FrameType, TracebackType
from typing import NamedTuple

from pypto.errors import CompileError, FeError, PyptoError, RenderedParserError, typed

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


class Place(NamedTuple):
    """A position in a source file: absolute line from 1, column from 0 in bytes of UTF-8 (None when unknown)."""

    filename: str
    line: int
    column: int | None = None
    function: str = ""


@dataclass(frozen=True)
class SourceRange:
    """Lines of a traced function in its file, and the file entry of the program that stands for it."""

    filename: str
    first_line: int
    last_line: int
    def_line: int
    file_index: int
    label: str


_MAX_CODES = 256
_of_trace: list[Callable[[], Callable[[str, int], bool] | None]] = []  # tells lines of the kernel that is traced
_columns: dict[int, tuple[CodeType, list[int | None]]] = {}  # by id of a code object, which is held


def _columns_of(code: CodeType) -> list[int | None]:
    known = _columns.get(id(code))
    if known is not None:
        return known[1]
    if not hasattr(code, "co_positions"):  # before Python 3.11
        return []
    while len(_columns) >= _MAX_CODES:
        _columns.pop(next(iter(_columns)))
    columns = [column for _, _, column, _ in code.co_positions()]
    _columns[id(code)] = (code, columns)
    return columns


def _column(frame: FrameType, lasti: int) -> int | None:
    columns = _columns_of(frame.f_code)
    return columns[lasti // 2] if 0 <= lasti // 2 < len(columns) else None


@functools.lru_cache(maxsize=1024)
def _is_file_of_ours(filename: str) -> bool:
    return filename.startswith(_PACKAGE) or filename == "<string>"


def is_ours(frame: FrameType) -> bool:
    """Whether a frame runs code of this package, or methods that dataclasses have got."""
    return _is_file_of_ours(frame.f_code.co_filename)


def _place_of(frame: FrameType) -> Place:
    return Place(frame.f_code.co_filename, frame.f_lineno, _column(frame, frame.f_lasti), frame.f_code.co_name)


def caller_place(is_known: Callable[[str, int], bool] | None = None) -> Place | None:
    """The innermost frame outside this package; with `is_known` the innermost one in a known file and line, if any."""
    frame: FrameType | None = sys._getframe(1)
    first: FrameType | None = None
    while frame is not None:
        filename = frame.f_code.co_filename
        if not _is_file_of_ours(filename):
            first = first or frame
            if is_known is None or is_known(filename, frame.f_lineno):
                return _place_of(frame)
        frame = frame.f_back
    return None if first is None else _place_of(first)


def traceback_place(traceback: TracebackType | None, known: set[str]) -> Place | None:
    """The innermost entry of a traceback that lies in one of the `known` files."""
    found = None
    while traceback is not None:
        frame = traceback.tb_frame
        if frame.f_code.co_filename in known and not is_ours(frame):
            column = _column(frame, traceback.tb_lasti)
            found = Place(frame.f_code.co_filename, traceback.tb_lineno, column, frame.f_code.co_name)
        traceback = traceback.tb_next
    return found


def render(message: str, place: Place | None) -> str:
    """The message followed by file, line, column, and the source line with a mark under the column."""
    if place is None:
        return message
    where = f'  File "{place.filename}", line {place.line}'
    text = linecache.getline(place.filename, place.line).rstrip("\n")
    column = place.column
    if column is not None:
        column = len(text.encode()[:column].decode(errors="ignore")) if text else column  # Python counts bytes
        where += f", column {column + 1}"
    if place.function:
        where += f", in {place.function}"
    lines = [message, where]
    if text.strip():
        indent = len(text) - len(text.lstrip())
        lines.append("    " + text.strip())
        if column is not None and column >= indent:
            lines.append("    " + " " * (column - indent) + "^")
    return "\n".join(lines)


def _placed(error: PyptoError, place: Place | None) -> PyptoError:
    if isinstance(error, CompileError) and place is not None:
        error.filename, error.lineno, error.column = place.filename, place.line, place.column
    return error


def trace_error(kind: type[BaseException], message: str, place: Place | None = None) -> PyptoError:
    """A mistake found while tracing: a CompileError and FeError that is also a `kind`. Default place: in the kernel."""
    place = place or caller_place(_of_trace[0]() if _of_trace else None)
    return _placed(typed((CompileError, FeError), kind, render(message, place)), place)


def tell_lines(of_trace: Callable[[], Callable[[str, int], bool] | None]) -> None:
    """Errors without a place stand at the innermost of these lines: a library that a kernel calls is no place."""
    _of_trace[:] = [of_trace]


def syntax_error(message: str, place: Place | None) -> PyptoError:
    """A construct that kernels cannot hold: a RenderedParserError and CompileError that is also a SyntaxError."""
    return _placed(typed((RenderedParserError, CompileError), SyntaxError, render(message, place)), place)
