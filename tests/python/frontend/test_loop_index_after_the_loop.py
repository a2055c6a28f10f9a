"""The index of a loop behind it is that of its last iteration, as in Python; a kernel fault where there was none."""

import linecache

import pytest
import torch

import pypto

INT32, T = pypto.DT_INT32, pypto.Tensor

PROGRAMS = {
    "read behind": """
    for i in pypto.loop(n[0]):
        o[0] = i
    o[1] = i
""",
    "bound before": """
    i = 7
    for i in pypto.loop(n[0]):
        o[0] = i
    o[1] = i
""",
    "bound anew in the body": """
    for i in pypto.loop(n[0]):
        i = i * 2
    o[1] = i
""",
    "bound anew in a branch": """
    for i in pypto.loop(4):
        if n[0] > 2:
            i = i + 10
    o[1] = i
""",
    "of two loops": """
    for i in pypto.loop(1, n[0], 2):
        for j in pypto.loop(i):
            o[0] = j
        o[2] = j + i
    o[1] = i
""",
    "of loop_unroll": """
    for i, k in pypto.loop_unroll(0, n[0], 1, unroll_list=[2, 4]):
        o[0] = i
    o[1] = i
    o[2] = k
""",
    "a bound of the next loop": """
    for i in pypto.loop(4):
        o[0] = i
    for i in pypto.loop(i, n[0] + i):
        o[2] = i
    o[1] = i
""",
    "of a loop in a branch": """
    if n[0] > 1:
        for i in pypto.loop(n[0]):
            o[0] = i
    else:
        i = 9
    o[1] = i
""",
    "a static count": """
    for i in pypto.loop(3):
        o[0] = i
    o[1] = i
""",
    "a repeated body": """
    for i in pypto.loop(n[0], unroll_list=[2]):
        o[0] = i
    o[1] = i
""",
    "a negative step": """
    for i in pypto.loop(n[0], 0, -2):
        o[0] = i
    o[1] = i
""",
    "in a helper": """
    def last(count):
        for i in pypto.loop(count):
            o[0] = i
        return i

    o[1] = last(n[0])
""",
}


def _loop_unroll(start, stop, step, unroll_list):
    at = start
    for factor in sorted({*unroll_list, 1}, reverse=True):
        while stop - at >= factor * step:
            yield at, factor * step
            at += factor * step


class _Eager:
    loop = staticmethod(lambda *bounds, **_: range(*bounds))
    loop_unroll = staticmethod(_loop_unroll)


def _made(program, head, names):
    text = f"{head}{program}"
    filename = f"<index of {abs(hash(text))}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    exec(compile(text, filename, "exec"), names)
    return names["kernel"]


def _eager(program, count):
    out = [0, 0, 0]
    try:
        _made(program, "def kernel(n, o):", {"pypto": _Eager})([count], out)
    except UnboundLocalError:
        return None
    return out


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_python(name):
    program = PROGRAMS[name]
    kernel = _made(program, "@pypto.jit\ndef kernel(n: T([1], INT32), o: T([3], INT32)):", dict(globals()))
    for count in (1, 2, 3, 6, 0):
        out = torch.zeros(3, dtype=torch.int32)
        expected = _eager(program, count)
        if expected is None:
            with pytest.raises(
                pypto.PyptoError, match=r"'[ij]' is used at line \d+ and was never bound: it is bound only"
            ):
                kernel(torch.tensor([count], dtype=torch.int32), out)
        else:
            kernel(torch.tensor([count], dtype=torch.int32), out)
            assert out.tolist() == expected, count


def test_a_loop_that_never_runs():
    program = """
    for i in pypto.loop(0):
        o[0] = i
    o[1] = i
"""
    kernel = _made(program, "@pypto.jit\ndef kernel(n: T([1], INT32), o: T([3], INT32)):", dict(globals()))
    with pytest.raises(NameError, match="i"):
        kernel(torch.ones(1, dtype=torch.int32), torch.zeros(3, dtype=torch.int32))
