"""Operands that Python may not evaluate write only where it does: operators, kinds of writes, places, nested."""

import pytest
import torch
from eager_kernels import is_as_eager, module_of

import pypto

NUMBERS = [(0, 0), (1, 0), (0, 1), (2, 2)]

START = """
T, S = x * 1.0, x * 2.0
L, D, B = [0, x], {'k': 0}, Box(x, 0)
M = L if n[1] > 0 else [7, x]
y = 3
def w(k):
    WRITE
    return k
"""
END = """
out[0:4] = T + S * 10.0
out[4:8] = x * L[0] + L[1] * 100.0
out[8:12] = x * D['k'] + B.t * 10.0 + x * (B.u * 100)
out[12:16] = x * (M[0] * 10 + y) + x * q
"""

WRITES = {
    "region": "T[0:1] = T[1:2] * (k + 2.0)",
    "tensor": "T[:] = T + x * (k + 2.0)",
    "parameter": "x[0:1] = x[1:2] + k",
    "list": "L[0] = L[0] * 10 + k",
    "tensor in a list": "L[1] = L[1] + x * (k + 1.0)",
    "dict": "D['k'] = D['k'] * 10 + k",
    "attribute": "B.u = B.u * 10 + k",
    "tensor of an attribute": "B.t = B.t * (k + 2.0)",
    "list of one of two names": "M[0] = M[0] * 10 + k",
    "in a loop": "for i in pypto.loop(n[1]):\n        L[0] = L[0] + i + k\n        T[0:1] = T[0:1] + 1.0",
    "under a condition": "if n[1] > 1:\n        L[0] = k\n        T[1:2] = x[2:3]",
    "name": None,
}
FORMS = {
    "and": "n[0] > 0 and w(1)",
    "or": "n[0] > 0 or w(0)",
    "and, the last": "n[0] > 0 and n[1] > 0 and w(2)",
    "and, each": "n[0] > 0 and w(1) and n[1] > 0 and w(2)",
    "or, each": "n[0] > 0 or w(0) or n[1] > 0 or w(1)",
    "chain": "0 < n[0] < w(2)",
    "chain, each": "0 <= n[0] < w(2) < w(3)",
    "if": "w(1) if n[0] > 0 else 5",
    "else": "5 if n[0] > 0 else w(1)",
    "if and else": "w(1) if n[0] > 0 else w(2)",
    "not": "not (n[0] > 0 and w(1))",
    "and in or": "(n[0] > 0 and w(1)) or (n[1] > 0 and w(2))",
    "and in if": "w(3) if n[0] > 0 and w(1) else w(2)",
    "if in if": "w(1) if n[0] > 0 else w(2) if n[1] > 0 else w(3)",
    "if in a sum": "w(4) + (w(1) if n[0] > 0 else w(2)) * 10 + w(5)",
}
FRAMES = {
    "comprehension": "[w(k) if n[0] > k else 0 for k in range(2)][1]",
    "lambda": "(lambda c: c > 0 and w(1))(n[0])",
    "generator": "sum(w(k) if n[0] > k else 0 for k in range(2))",
}
STATEMENTS = {
    "and": "n[0] > 0 and put(L, 4)",
    "or": "n[0] > 0 or put(L, 4)",
    "if": "put(L, 4) if n[0] > 0 else None",
    "if and else": "put(L, 4) if n[0] > 0 else put(L, 5)",
    "a method": "n[0] > 0 and L.__setitem__(0, 6)",
    "update": "n[0] > 0 and D.update(k=6)",
    "setattr": "None if n[0] > 0 else setattr(B, 'u', 6)",
    "a name": "n[0] > 0 and (y := n[1] + 4)",
}


def check(tmp_path, body):
    module = module_of(tmp_path, body)
    kernel = pypto.frontend.jit(module.kernel)
    for numbers in NUMBERS:
        assert is_as_eager(module, kernel, numbers)


def of_names(form):
    """The form with names in place of calls."""
    for number in range(6):
        form = form.replace(f"w({number})", f"(y := y * 10 + {number})")
    return form


def start(write):
    return START.replace("WRITE", write or "pass")


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("form", FORMS)
def test_operands(form, write, tmp_path):
    text = FORMS[form] if WRITES[write] else of_names(FORMS[form])
    check(tmp_path, f"{start(WRITES[write])}q = {text}{END}")


@pytest.mark.parametrize("write", [write for write in WRITES if WRITES[write]])
@pytest.mark.parametrize("frame", FRAMES)
def test_operands_of_other_frames(frame, write, tmp_path):
    check(tmp_path, f"{start(WRITES[write])}q = {FRAMES[frame]}{END}")


@pytest.mark.parametrize("statement", STATEMENTS)
def test_statements_without_a_value(statement, tmp_path):
    put = "def put(container, value):\n    container[0] = value\nq = 0\n"
    check(tmp_path, f"{start(None)}{put}{STATEMENTS[statement]}{END}")


@pytest.mark.parametrize("write", ["region", "tensor", "list", "tensor of an attribute", "name"])
@pytest.mark.parametrize("form", ["and", "or, each", "chain", "if and else", "and in if"])
def test_operands_in_loops(form, write, tmp_path):
    text = FORMS[form] if WRITES[write] else of_names(FORMS[form])
    text = text.replace("n[0] > 0", "i > 0").replace("< n[0] <", "< i <")
    loop = f"q = 0\nfor i in pypto.loop(n[0] + 1):\n    q = q + (1 if ({text}) else 2)"
    check(tmp_path, f"{start(WRITES[write])}{loop}{END}")


@pytest.mark.parametrize("number", [0, 1])
def test_the_statement_itself(number, tmp_path):
    branch = f"if n[{number}] > 0 and w(1) and (y := n[0] + 5) > 5:\n    L[0] = L[0] + y\n"
    branch += "elif w(2) < (y := 9):\n    y = y + 1"
    check(tmp_path, f"{start(WRITES['list'])}q = 0\n{branch}{END}")


def half(value):
    return value // 2


def test_operands_that_only_compute_need_no_branch():
    @pypto.frontend.jit
    def kernel(n: pypto.Tensor([2], pypto.DT_INT32), out: pypto.Tensor([4], pypto.DT_FP32)):
        a, b = n[0], n[1]
        width = half(a) if a > 0 and half(b) > 0 else half(b) + 1
        out[:] = pypto.full([4], width, pypto.DT_FP32)

    assert " if " not in kernel.to_text()
    out = torch.zeros(4)
    for numbers, expected in (((8, 4), 4), ((8, 1), 1), ((0, 8), 5)):
        kernel(torch.tensor(numbers, dtype=torch.int32), out)
        assert out.tolist() == [expected] * 4
