"""What front-end tests share: stand-ins for tensor arguments, listings, and refusals with their place."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest

import pypto
from pypto import ir


@dataclass(frozen=True)
class Sample:
    shape: tuple[int, ...]
    dtype: str = "float32"


def line_of(function, text: str) -> int:
    """The absolute line of the first source line of a kernel that holds `text`."""
    code = getattr(function, "function", function).__code__
    with open(code.co_filename, encoding="utf-8") as file:
        lines = file.read().splitlines()
    for number in range(code.co_firstlineno, len(lines) + 1):
        if text in lines[number - 1]:
            return number
    raise AssertionError(f"{text!r} is not in the kernel")


def refuse(kernel, at: str, *texts: str, kind: type = ValueError) -> pypto.CompileError:
    """Compiling fails with these texts, of this kind, at the first place in the kernel that reads `at`.

    With « in it that is where the error points.
    """
    with pytest.raises(pypto.CompileError) as caught:
        ir.compile(kernel)
    error = caught.value
    assert isinstance(error, kind)
    for text in texts:
        assert text in str(error)
    is_at(error, getattr(kernel, "function", kernel).__code__.co_filename, line_of(kernel, at.replace("«", "")), at)
    return error


def is_at(error: pypto.CompileError, filename: str, line: int, at: str) -> None:
    """An error names a line, and the column where it reads `at`, and shows both with a mark below."""
    with open(filename, encoding="utf-8") as file:
        source = file.read().splitlines()[line - 1]
    column = source.index(at.replace("«", "")) + max(0, at.find("«"))
    assert (error.filename, error.lineno) == (filename, line)
    assert error.column == column, f"it points at {source[error.column or 0 :]!r}"
    where, shown, mark = str(error).splitlines()[-3:]
    assert where.startswith(f'  File "{filename}", line {line}, column {column + 1}, in ')
    assert shown == "    " + source.strip()
    assert mark == " " * (shown.index(source.strip()) + column - len(source) + len(source.lstrip())) + "^"


def statements(kernel) -> list[str]:
    """The listing without places, blank lines and dtypes."""
    lines = [re.sub(r"\s+(# line \d+|name=\w+).*", "", line) for line in kernel.to_text().splitlines()[1:]]
    return [re.sub(r" : FP32\[.*?\]( valid .*)?$", "", line) for line in lines if line.strip()]
