"""Operands of `and`, `or`, comparisons and conditional expressions that Python would not evaluate read nothing."""

import pytest
import torch
from frontend_samples import refuse

import pypto

FP32, INT32 = pypto.DT_FP32, pypto.DT_INT32
T = pypto.Tensor


def ints(*values):
    return torch.tensor(values, dtype=torch.int32)


TABLE = ints(1, 9, 2, 4)
FORMS = {
    "i < 4 and t[i] > 2": lambda i, t: i < 4 and t[i] > 2,
    "i >= 4 or t[i] > 2": lambda i, t: i >= 4 or t[i] > 2,
    "i < 4 and t[i] > 2 and t[t[i] - 4 if t[i] < 8 else 3] > 0": lambda i, t: (
        i < 4 and t[i] > 2 and t[t[i] - 4 if t[i] < 8 else 3] > 0
    ),
    "0 < 4 - i < t[i]": lambda i, t: 0 < 4 - i < t[i],
    "t[i] if i < 4 else -1": lambda i, t: t[i] if i < 4 else -1,
    "-1 if i >= 4 else t[i] if i > 1 else t[i] + 1": lambda i, t: -1 if i >= 4 else t[i] if i > 1 else t[i] + 1,
    "not (i < 4 and t[i] > 2)": lambda i, t: not (i < 4 and t[i] > 2),
    "n[0] > 5 and t[n[0] + 99] > 1": lambda i, t: 0,
}


@pytest.mark.parametrize("form", FORMS)
def test_reads_happen_where_python_evaluates(form, tmp_path):
    path = tmp_path / "kernel_of_the_form.py"
    path.write_text(f"""
@pypto.frontend.jit
def kernel(t: T([4], INT32), out: T([8], INT32), n: T([1], INT32)):
    for i in pypto.loop(n[0], 8):
        out[i] = {form}
""")
    names = dict(globals())
    exec(compile(path.read_text(), str(path), "exec"), names)
    out = ints(*[-7] * 8)
    names["kernel"](TABLE, out, ints(0))
    table = TABLE.tolist()
    assert out.tolist() == [int(FORMS[form](i, table)) for i in range(8)]


def test_conditions_of_statements():
    @pypto.frontend.jit
    def kernel(t: T([4], INT32), x: T([8], FP32), out: T([8], FP32)):
        total = 0.0
        for i in pypto.loop(8):
            if i < 4 and t[i] > 2:
                total = total + t[i]
            elif i > 5 or t[i] == 1:
                total = total + (0.25 if i < 4 else 0.5)
        out[:] = x + total

    x, out = torch.zeros(8), torch.zeros(8)
    worker = pypto.runtime.ChipWorker(config=pypto.runtime.RunConfig(platform="a2a3sim"))
    # As in Python, where t[4] is evaluated: 4 > 5 does not hold.
    with worker, pytest.raises(pypto.PyptoError, match=r"scalar read of 't' at index \[4\]"):
        kernel(ints(1, 9, 0, 4), x, out)


def test_floats_on_both_sides():
    @pypto.frontend.jit
    def kernel(n: T([1], INT32), out: T([8], FP32)):
        factor = 1.5 if n[0] > 3 else 2
        out[:] = pypto.full([8], factor if n[0] > 4 else factor * 2.0, FP32)

    for number, expected in ((3, 4.0), (4, 3.0), (5, 1.5)):
        out = torch.zeros(8)
        kernel(ints(number), out)
        assert out.tolist() == [expected] * 8


@pytest.mark.parametrize("number", [1, 5])
def test_tensors_on_both_sides(number):
    @pypto.frontend.jit
    def kernel(n: T([1], INT32), x: T([pypto.DYN, 4], FP32), out: T([8, 4], FP32), more: T([4], FP32)):
        y = x[0:4] + 1
        chosen = y if n[0] > 3 else x[4:8, :]
        out[0:4] = chosen * 2
        total = pypto.zeros(4)
        for i in pypto.loop(n[0]):
            total = total + (pypto.full([4], 1.0, FP32) if i > 2 else x[i, :])
        more[:] = total

    x, out, more = torch.randn(7, 4), torch.zeros(8, 4), torch.zeros(4)
    kernel(ints(number), x, out, more)
    expected = torch.zeros(8, 4)
    if number > 3:
        expected[:4] = (x[:4] + 1) * 2
    else:
        expected[:3] = x[4:7] * 2
    torch.testing.assert_close(out, expected)
    torch.testing.assert_close(more, x[: min(number, 3)].sum(0) + max(number - 3, 0))


def test_sides_that_do_not_fit():
    @pypto.frontend.jit
    def kernel(n: T([1], INT32), out: T([8], FP32)):
        out[:] = out if n[0] > 3 else 1.0

    @pypto.frontend.jit
    def shapes(n: T([1], INT32), out: T([8], FP32)):
        out[0:4] = out[0:4] if n[0] > 3 else out

    text = (
        "a conditional expression on a symbolic condition gives numbers or tensors of one shape and dtype, got a tensor"
    )
    refuse(kernel, "out if", text, "and 1.0; write an if statement", kind=TypeError)
    refuse(shapes, "out[0:4] if", text, kind=TypeError)
