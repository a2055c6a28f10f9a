"""Names that a branch on a symbolic condition binds anew: parameters, and tensors that are written into later."""

import pytest
import torch

import pypto
from pypto import ir

FP32, INT32 = pypto.DT_FP32, pypto.DT_INT32
T = pypto.Tensor


def run(kernel, number: int, before: float = -5.0) -> torch.Tensor:
    """What a kernel of x = 0 .. 7, out and one number leaves in out."""
    out = torch.full((8,), before)
    kernel(torch.arange(8.0), out, torch.tensor([number], dtype=torch.int32))
    return out


X = torch.arange(8.0)


@pytest.mark.parametrize("number", [0, 1, 2, 3])
def test_parameters_bound_anew_in_branches_reach_the_caller(number):
    @pypto.frontend.jit
    def one(x: T([8], FP32), out: T([8], FP32), n: T([1], INT32)):
        if n[0] > 1:
            out = x + 1

    @pypto.frontend.jit
    def nested(x: T([8], FP32), out: T([8], FP32), n: T([1], INT32)):
        if n[0] > 1:
            if n[0] > 2:
                out = x + 1
        else:
            out = x + 2
            out = out * 2

    @pypto.frontend.jit
    def in_a_loop(x: T([8], FP32), out: T([8], FP32), n: T([1], INT32)):
        for i in pypto.loop(n[0]):
            if i > 1:
                out = x + i

    @pypto.frontend.jit
    def twice(x: T([8], FP32), out: T([8], FP32), n: T([1], INT32)):
        if n[0] > 1:
            out = x + 1
        if n[0] > 2:
            out = x + 2

    old = torch.full((8,), -5.0)
    assert torch.equal(run(one, number), X + 1 if number > 1 else old)
    expected = {2: old, 3: X + 1}.get(number, (X + 2) * 2)
    assert torch.equal(run(nested, number), expected)
    assert torch.equal(run(in_a_loop, number), X + 2 if number > 2 else old)
    assert torch.equal(run(twice, number), {2: X + 1, 3: X + 2}.get(number, old))
    assert ir.compile(one).parameters[1].direction == "inout"


@pytest.mark.parametrize("number", [0, 3])
def test_parameters_that_are_used_otherwise_are_bound_locally(number):
    @pypto.frontend.jit
    def read_before(x: T([8], FP32), out: T([8], FP32), n: T([1], INT32)):
        y = out + 1
        if n[0] > 1:
            out = x + y
        x[:] = out

    @pypto.frontend.jit
    def read_in_the_other_branch(x: T([8], FP32), out: T([8], FP32), n: T([1], INT32)):
        if n[0] > 1:
            out = x + 1
        else:
            x[:] = out + 2

    @pypto.frontend.jit
    def other_name(x: T([8], FP32), out: T([8], FP32), n: T([1], INT32)):
        alias = out
        if n[0] > 1:
            out = x + 1
        x[:] = out
        x[0:1] = alias[0:1]

    for kernel in (read_before, read_in_the_other_branch, other_name):
        assert torch.equal(run(kernel, number), torch.full((8,), -5.0))


@pytest.mark.parametrize("number", [0, 3])
def test_what_a_branch_bound_anew_is_written_into(number):
    @pypto.frontend.jit
    def behind(x: T([8], FP32), out: T([8], FP32), n: T([1], INT32)):
        y = x + 0
        if n[0] > 1:
            y = x * 2
        y[0:1] = x[3:4]
        out[:] = y

    @pypto.frontend.jit
    def both(x: T([8], FP32), out: T([8], FP32), n: T([1], INT32)):
        if n[0] > 1:
            y = x * 2
        else:
            y = x * 3
        y[0:1] = x[3:4]
        out[:] = y

    @pypto.frontend.jit
    def in_a_loop(x: T([8], FP32), out: T([8], FP32), n: T([1], INT32)):
        for i in pypto.loop(3):
            y = x + i
            if n[0] > i:
                y = y * 2
            y[0:1] = x[3:4]
            out[:] = y

    large = number > 1
    for kernel, expected in (
        (behind, X * 2 if large else X.clone()),
        (both, X * 2 if large else X * 3),
        (in_a_loop, (X + 2) * 2 if large else X + 2),
    ):
        expected[0] = 3
        assert torch.equal(run(kernel, number), expected)


def test_writing_where_another_name_has_to_see_it():
    @pypto.frontend.jit
    def old_name(x: T([8], FP32), out: T([8], FP32), n: T([1], INT32)):
        y = x + 0
        alias = y
        if n[0] > 1:
            y = x * 2
        y[0:1] = x[3:4]
        out[:] = y + alias

    @pypto.frontend.jit
    def other_tensor(x: T([8], FP32), out: T([8], FP32), n: T([1], INT32)):
        y, z = x + 0, x + 7
        if n[0] > 1:
            y = z
        y[0:1] = x[3:4]
        out[:] = y - z

    for number in (0, 2):
        y, z = X.clone(), X + 7
        alias = y
        y = X * 2 if number > 1 else y
        y[0] = X[3]
        assert torch.equal(run(old_name, number), y + alias)
        y = z if number > 1 else X.clone()
        y[0] = X[3]
        assert torch.equal(run(other_tensor, number), y - z)
