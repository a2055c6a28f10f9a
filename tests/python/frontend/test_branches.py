"""`if`, `and`, `or`, `not`, comparisons and conditional expressions on symbolic conditions."""

import re

import pytest
import torch
from frontend_samples import refuse

import pypto
from pypto import ir

FP32 = pypto.DT_FP32
T = pypto.Tensor


def plain(kernel) -> list[str]:
    lines = [re.sub(r"\s+(# line \d+|name=\w+).*", "", line) for line in kernel.to_text().splitlines()[1:]]
    return [re.sub(r" : FP32\[.*?\]$", "", line) for line in lines if line.strip()]


def test_both_branches_are_traced_and_merged():
    @pypto.frontend.jit
    def kernel(x: T([8, 4], FP32), out: T([1, 4], FP32), n: int):
        if n > 3:
            y = x[0:1] + 1
        else:
            y = x[1:2] * 2
        out[:] = y

    assert plain(kernel) == [
        "  declare %2:y",
        "  if (3<n)",
        "    %3 = view(%0:x, offsets=[0, 0])",
        "    %4 = add(%3, 1)",
        "    %2:y[:] = %4",
        "  else",
        "    %5 = view(%0:x, offsets=[1, 0])",
        "    %6 = mul(%5, 2)",
        "    %2:y[:] = %6",
        "  %1:out[:] = %2:y",
    ]


def test_valid_extents_are_those_of_the_branch_taken():
    @pypto.frontend.jit
    def kernel(x: T([pypto.DYN, 4], FP32), out: T([2, 4], FP32)):
        if x.shape[0] > 3:
            y = x[0:2] + 1
        else:
            y = pypto.zeros(2, 4)
        out[:] = y

    assert "valid [((3<x_0)?RUNTIME_Min(x_0, 2):2), 4]" in kernel.to_text()


def test_concrete_conditions_run_one_branch():
    @pypto.frontend.jit
    def kernel(x: T([4], FP32), flag: bool):
        if flag and x.shape[0] == 4:
            x[:] = x + 1
        elif not flag:
            x[:] = x + 2
        else:
            undefined()  # noqa: F821

    assert "add(%0:x, 1)" in kernel.to_text(None, True)
    assert "add(%0:x, 2)" in kernel.to_text(None, False)


def test_else_less_branch_keeps_the_value_of_before():
    @pypto.frontend.jit
    def kernel(x: T([4], FP32), n: int):
        y = x + 1
        if n > 3:
            y = x + 2
        x[:] = y

    text = kernel.to_text()
    then, other = text.split("else")
    assert re.search(r"add\(%0:x, 2\)", then)
    first = re.search(r"(%\d+) = add\(%0:x, 1\)", text).group(1)
    assert re.search(rf"y\[:\] = {first}\b", other)


def test_integers_merge_into_a_choice():
    @pypto.frontend.jit
    def kernel(x: T([16, 4], FP32), n: int):
        if n > 3:
            k = 1
            same = 7
        else:
            k = n
            same = 7
        assert same == 7
        x[k : k + 1] = x[0:1] + same

    assert re.search(r"\[\(\(3<n\)\?1:n\), 0\]", kernel.to_text())


def test_kinds_that_do_not_mix():
    @pypto.frontend.jit
    def conflict(x: T([4], FP32), n: int):
        if n > 3:
            y = x + 1
        else:
            y = 3
        x[:] = y

    @pypto.frontend.jit
    def shapes(x: T([4], FP32), n: int):
        if n > 3:
            y = x + 1
        else:
            y = x[0:2]
        x[0:2] = y

    @pypto.frontend.jit
    def unused(x: T([4], FP32), n: int):
        if n > 3:
            y = x + 1
        else:
            y = "text"
        x[:] = x + 1
        del y

    refuse(conflict, "x[:] = «y", "Conflicted var y", "a tensor [4] DT_FP32 in one branch", kind=NameError)
    refuse(shapes, "x[0:2] = «y", "Conflicted var y", kind=NameError)
    assert "add(%0:x, 1)" in unused.to_text()


def test_name_of_the_other_branch():
    @pypto.frontend.jit
    def kernel(x: T([4], FP32), n: int):
        if n > 3:
            y = x + 1
            x[:] = y
        else:
            x[:] = y  # noqa: F821

    with pytest.raises(NameError, match="'y' is bound only in one branch"):
        ir.compile(kernel)


def test_writes_in_branches_go_into_variables():
    @pypto.frontend.jit
    def kernel(x: T([4], FP32), n: int):
        acc = x + 1
        alias = acc
        if n > 3:
            acc[:] = x + 2
        elif n > 2:
            alias[0:2] = x[0:2]
        x[:] = alias

    text = kernel.to_text()
    variable = re.search(r"declare (%\d+:\w+)", text).group(1)
    assert text.count(f"{variable}[:] = ") == 2
    assert re.search(rf"assemble\(%\d+\S*, \[0\], {variable}\)", text)
    assert f"%0:x[:] = {variable}" in text


def test_writes_through_a_merged_name():
    @pypto.frontend.jit
    def kernel(x: T([4], FP32), out: T([4], FP32), n: int):
        a = x + 1
        b = x + 2
        c = a
        if n > 3:
            c = b
        c[0:1] = x[0:1]
        out[:] = a + b

    for n in (3, 4):
        x, out = torch.randn(4), torch.zeros(4)
        a, b = x + 1, x + 2
        (b if n > 3 else a)[0] = x[0]
        kernel(x, out, n)
        assert torch.equal(out, a + b)


def test_containers_in_branches():
    @pypto.frontend.jit
    def kernel(x: T([4], FP32), n: int):
        parts = [x + 1]
        if n > 3:
            parts.append(x + 2)
        x[:] = parts[0]

    refuse(kernel, "parts.append", "parts (its length went from 1 to 2) changes in a branch on a symbolic condition")


def conditions(kernel) -> list[str]:
    return re.findall(r"if (.*?)  #", kernel.to_text())


def test_logic_is_rewritten():
    @pypto.frontend.jit
    def kernel(x: T([4], FP32), n: int, m: int):
        if n > 3 and m > 4:
            x[:] = x + 1
        if n > 3 or m > 4:
            x[:] = x + 2
        if not n:
            x[:] = x + 3
        if 1 < n <= m < 9:
            x[:] = x + 4
        if (n > 3) & (m > 4) | ~(n == m):
            x[:] = x + 5
        if pypto.cond(n != 3):
            x[:] = x + 6
        if n > 3 and True:
            x[:] = x + 7
        if n > 3 and False:
            x[:] = x + 8
        if False and n > 3:
            x[:] = x + 9
        if n or True:
            x[:] = x + 10

    assert conditions(kernel) == [
        "((3<n)?(4<m):0)",
        "((3<n)?(3<n):(4<m))",
        "(!n)",
        "(((1<n)&&(n<=m))&&(m<9))",
        "(((3<n)&&(4<m))||(n!=m))",
        "(n!=3)",
        "((3<n)?1:0)",
        "(n?n:1)",
    ]


def test_operands_are_evaluated_once_and_lazily():
    calls = []

    def note(value):
        calls.append(value)
        return value

    @pypto.frontend.jit
    def kernel(x: T([4], FP32)):
        if note(0) and note(1):
            x[:] = x + 1
        if note(2) or note(3):
            x[:] = x + 2
        if note(4) < note(5) < note(1) < note(6):
            x[:] = x + 3
        k = note(7) if note(8) else note(9)
        x[:] = x + k

    kernel.to_text()
    assert calls == [0, 2, 4, 5, 1, 8, 7]


def test_values_of_logic_are_those_of_python():
    @pypto.frontend.jit
    def kernel(x: T([16, 4], FP32), n: int):
        a = [] or [5]
        b = 0 and 7
        assert a == [5]
        assert b == 0
        assert ("" or None) is None
        k = n and 5
        x[k : k + 1] = x[0:1]

    assert "[(n?5:0), 0]" in kernel.to_text()


def test_conditional_expressions():
    @pypto.frontend.jit
    def kernel(x: T([16, 4], FP32), n: int):
        k = n if n < 5 else 5
        x[k : k + 1] = x[0:1]

    @pypto.frontend.jit
    def tensors(x: T([16, 4], FP32), n: int):
        x[:] = (x + 1) if n < 5 else x[0:4]

    assert "((n<5)?n:5)" in kernel.to_text()
    refuse(tensors, "(x + 1) if", "write an if statement", kind=TypeError)


def test_if_inside_a_helper():
    def bigger(value, n):
        if n > 3:
            value = value + 1
        else:
            value = value * 2
        return value

    @pypto.frontend.jit
    def kernel(x: T([4], FP32), n: int):
        x[:] = bigger(x, n)

    assert conditions(kernel) == ["(3<n)"]
