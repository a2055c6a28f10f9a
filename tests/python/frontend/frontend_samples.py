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


def refuse(kernel, at: str, *texts: str, kind: type = ValueError) -> None:
    """Compiling fails with these texts, of this kind, at the line that holds `at`."""
    with pytest.raises(pypto.CompileError) as caught:
        ir.compile(kernel)
    assert isinstance(caught.value, kind)
    for text in texts:
        assert text in str(caught.value)
    assert caught.value.lineno == line_of(kernel, at)
    shown = str(caught.value).splitlines()
    mark = next(number for number, line in enumerate(shown) if line.strip() == "^")
    text, column = shown[mark - 1], shown[mark].index("^")
    assert text[column : column + 1].strip() and text.lstrip() in _source_line(caught.value)
    assert f"line {caught.value.lineno}, column {caught.value.column + 1}" in str(caught.value)


def _source_line(error: pypto.CompileError) -> str:
    with open(error.filename, encoding="utf-8") as file:
        return file.read().splitlines()[error.lineno - 1]


def statements(kernel) -> list[str]:
    """The listing without places, blank lines and dtypes."""
    lines = [re.sub(r"\s+(# line \d+|name=\w+).*", "", line) for line in kernel.to_text().splitlines()[1:]]
    return [re.sub(r" : FP32\[.*?\]( valid .*)?$", "", line) for line in lines if line.strip()]
