"""A name of a loop that is written into (`x[a:b] = v`) and bound anew (`x = x + 1`), as eager torch has it."""

import pytest
import torch
from frontend_samples import refuse

import pypto

FP32 = pypto.DT_FP32
T = pypto.Tensor
N = pypto.DYN


def write_then_bind(x, acc, loop):
    for i in loop(4):
        acc[i : i + 1, :] = x[i : i + 1, :]
        acc = acc + x
    return acc


def bind_then_write(x, acc, loop):
    for i in loop(4):
        acc = acc * 0.5
        acc[i : i + 1, :] = x[i : i + 1, :] + acc[0:1, :]
    acc[0:1, :] = acc[1:2, :]
    return acc


def nested(x, acc, loop):
    for _ in loop(2):
        for j in loop(3):
            acc[j : j + 1, :] = acc[j : j + 1, :] + x[j : j + 1, :]
            acc = acc * 2
        acc[3:4, :] = acc[0:1, :]
    acc[2:3, :] = acc[3:4, :]
    return acc


def inner_writes_outer_binds(x, acc, loop):
    for _ in loop(3):
        for j in loop(4):
            acc[j : j + 1, :] = acc[j : j + 1, :] + x[j : j + 1, :]
        acc = acc * 0.5
    return acc


def branches(x, acc, loop):
    for i in loop(4):
        acc[3:4, :] = acc[3:4, :] + 1
        if i < 2:
            acc[i : i + 1, :] = x[i : i + 1, :]
        else:
            acc = acc + x
    return acc


def two_names(x, acc, loop):
    other = x * 2
    for i in loop(4):
        acc[i : i + 1, :] = other[0:1, :]
        other[i : i + 1, :] = x[i : i + 1, :]
        acc = acc + other
        other = other - 1
    return acc + other


def previous(x, acc, loop):
    before = x * 0
    for i in loop(4):
        acc[i : i + 1, :] = x[i : i + 1, :] + before[0:1, :]
        before = acc
        acc = acc + 1
    return acc + before


def as_value(view):
    """Views are values in a kernel, and other names of the same cells in torch."""
    return view.clone() if isinstance(view, torch.Tensor) else view


def views(x, acc, loop):
    total = x * 0
    for i in loop(4):
        old = as_value(acc[0:2, :])
        acc[0:2, :] = x[0:2, :] + 1
        acc = acc + x
        total[0:2, :] = total[0:2, :] + old
    return total + acc


def in_a_list(x, acc, loop):
    state = [acc, x + 1]
    for i in loop(3):
        state[0][i : i + 1, :] = state[1][i : i + 1, :]
        state[0] = state[0] + x
    return state[0] + state[1]


BODIES = [
    write_then_bind, bind_then_write, nested, inner_writes_outer_binds, branches, two_names, previous, views, in_a_list,
]  # fmt: skip


@pytest.mark.parametrize("body", BODIES, ids=lambda body: body.__name__)
@pytest.mark.parametrize("unroll_list", [None, [2]])
def test_as_in_eager_torch(body, unroll_list):
    def loop(*bounds):
        return pypto.loop(*bounds, unroll_list=unroll_list) if unroll_list else pypto.loop(*bounds)

    @pypto.frontend.jit
    def kernel(x: T([4, 8], FP32), out: T([4, 8], FP32)):
        acc = x + 3
        out[:] = body(x, acc, loop)

    x, out = torch.randn(4, 8), torch.zeros(4, 8)
    kernel(x, out)
    torch.testing.assert_close(out, body(x, x + 3, range))


@pytest.mark.parametrize("n", [0, 1, 4])
def test_a_loop_that_may_not_run(n):
    @pypto.frontend.jit
    def kernel(x: T([N, 8], FP32), out: T([4, 8], FP32)):
        acc = pypto.full([4, 8], 2.0, FP32)
        for i in pypto.loop(x.shape[0]):
            acc[i : i + 1, :] = x[i : i + 1, :]
            acc = acc + 1
        acc[3:4, :] = acc[0:1, :]
        out[:] = acc

    x, out = torch.randn(n, 8), torch.zeros(4, 8)
    kernel(x, out)
    expected = torch.full((4, 8), 2.0)
    for i in range(n):
        expected[i] = x[i]
        expected = expected + 1
    expected[3] = expected[0]
    torch.testing.assert_close(out, expected)


def test_other_names_of_the_tensor():
    @pypto.frontend.jit
    def alias(x: T([4], FP32), out: T([4], FP32)):
        acc = x + 1
        other = acc
        for _ in pypto.loop(3):
            acc[0:2] = x[0:2]
            acc = acc + x
        out[:] = acc + other

    @pypto.frontend.jit
    def inside(x: T([4], FP32), out: T([4], FP32)):
        acc = x + 1
        other = acc
        for _ in pypto.loop(3):
            out[:] = other
            acc[0:2] = x[0:2]
            acc = acc + x
        out[:] = acc

    @pypto.frontend.jit
    def from_outside(x: T([4], FP32), out: T([4], FP32)):
        base = x + 1
        for _ in pypto.loop(2):
            acc = base
            for _ in pypto.loop(3):
                acc[0:2] = x[0:2]
                acc = acc + x
            out[:] = acc

    @pypto.frontend.jit
    def parameter(x: T([4], FP32), out: T([4], FP32)):
        for _ in pypto.loop(3):
            out[0:2] = x[0:2]
            out = out + x
        x[:] = out

    @pypto.frontend.jit
    def both_carried(x: T([4], FP32), out: T([4], FP32)):
        acc = x + 1
        a_name = acc
        for _ in pypto.loop(3):
            acc[0:2] = a_name[2:4]
            a_name = a_name * 2
            acc = acc + x
        out[:] = acc + a_name

    text = "the tensor was 'acc', which the pypto.loop at line"
    refuse(alias, "out[:] = acc + other", text, "bind a pypto.clone before")
    refuse(both_carried, "for _ in pypto.loop(3):", text)
    refuse(inside, "out[:] = other", text)
    refuse(from_outside, "acc[0:2] = x[0:2]", "'acc' is bound anew in the loop and cannot be written into as well")
    refuse(parameter, "out[0:2] = x[0:2]", "'out' is bound anew in the loop and cannot be written into as well")


def test_two_names_that_end_as_one_tensor():
    @pypto.frontend.jit
    def kernel(x: T([4], FP32), out: T([4], FP32)):
        acc = x + 1
        before = x + 2
        for _ in pypto.loop(3):
            out[:] = before
            acc[0:2] = x[0:2]
            acc = acc + x
            before = acc
        out[:] = acc

    @pypto.frontend.jit
    def taken(x: T([4], FP32), out: T([4], FP32)):
        acc = x + 1
        other = x + 2
        for _ in pypto.loop(3):
            acc[0:2] = x[0:2]
            acc, other = other, acc + x
        out[:] = acc + other

    refuse(
        kernel, "acc = acc + x", "'acc' is bound anew in the pypto.loop and written into as well, and may be the tensor"
    )
    refuse(taken, "acc, other", "may be the tensor of 'other' at the end of the body")
