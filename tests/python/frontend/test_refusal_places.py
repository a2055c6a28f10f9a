"""What a kernel must not hold: refusals.txt has the bodies of kernels, with « where the error points, and its text.

A number in braces in a text is a line of the body.
"""

import importlib.util
import re
import textwrap
from pathlib import Path

import pytest

import pypto
from pypto import ir

CASES = [case.strip("\n") for case in Path(__file__).with_name("refusals.txt").read_text().split("\n\n")]
HEAD = """from dataclasses import dataclass

import pypto

FP32, FP16, INT8, INT32 = pypto.DT_FP32, pypto.DT_FP16, pypto.DT_INT8, pypto.DT_INT32
T = pypto.Tensor


@dataclass
class Box:
    t: object


class Silent:
    def __add__(self, other):
        return NotImplemented

    def __lt__(self, other):
        return NotImplemented


class Giving:
    def __init__(self, t):
        return t


@pypto.frontend.jit
def kernel(
    x: T([4], FP32),
    w: T([4, 8], FP32),
    h: T([4], FP16),
    q: T([4], INT32),
    n: T([2], INT32),
    d: T([pypto.DYN, 8], FP32),
    out: T([4], FP32),
):
"""
FIRST = HEAD.count("\n")  # the line above the body


@pytest.mark.parametrize("case", CASES, ids=[case.partition("\n-> ")[0].replace("\n", " ")[:60] for case in CASES])
def test_text_line_and_column(case, tmp_path):
    body, _, text = case.partition("\n-> ")
    marked = next(number for number, line in enumerate(body.split("\n")) if "«" in line)
    column = body.split("\n")[marked].index("«") + 4
    path = tmp_path / "kernels.py"
    path.write_text(HEAD + textwrap.indent(body.replace("«", ""), "    ") + "\n")
    spec = importlib.util.spec_from_file_location("kernels", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    with pytest.raises(pypto.PyptoError) as caught:
        ir.compile(module.kernel)

    expected = re.sub(r"line \{(\d+)\}", lambda line: f"line {int(line[1]) + FIRST}", text)
    told, where, shown, mark = str(caught.value).split("\n")
    assert told == f"ErrCode: {expected}"
    assert where.startswith(f'  File "{path}", line {FIRST + marked + 1}, column {column + 1}, in ')
    source = path.read_text().split("\n")[FIRST + marked]
    assert shown == "    " + source.strip()
    assert mark == " " * (4 + column - len(source) + len(source.lstrip())) + "^"
    if isinstance(caught.value, pypto.CompileError):
        assert (caught.value.filename, caught.value.lineno) == (str(path), FIRST + marked + 1)
        assert caught.value.column == column
    else:
        assert "Failed to call JIT function 'kernel'." in told
