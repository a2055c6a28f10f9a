"""Tuples that loops carry and branches merge, and names that a branch reads before an iteration has bound them."""

import collections

import pytest
import torch
from frontend_samples import refuse

import pypto

FP32, INT32 = pypto.DT_FP32, pypto.DT_INT32
T, N = pypto.Tensor, pypto.DYN
State = collections.namedtuple("State", ["largest", "total", "count"])


def ints(*values):
    return torch.tensor(values, dtype=torch.int32)


def updated(state, row):
    return State(pypto.maximum(state.largest, row), state.total + row, state.count + 1)


@pytest.mark.parametrize("rows", [0, 1, 5])
def test_tuples_are_carried(rows):
    @pypto.frontend.jit
    def kernel(x: T([N, 4], FP32), out: T([4, 4], FP32)):
        pair = (pypto.zeros(1, 4), 0, ("fixed", 1.0))
        state = State(pypto.zeros(1, 4), pypto.zeros(1, 4), 0)
        for i in pypto.loop(x.shape[0]):
            total, n, (word, factor) = pair
            assert word == "fixed"
            pair = (total + x[i : i + 1] * factor, n + 1, (word, factor * 2.0))
            state = updated(state, x[i : i + 1])
        out[0:1] = pair[0]
        out[1:2] = pypto.full([1, 4], pair[1] + pair[2][1], FP32)
        out[2:3] = state.largest
        out[3:4] = state.total * state.count

    x, out = torch.randn(rows, 4), torch.zeros(4, 4)
    kernel(x, out)
    total, largest = torch.zeros(4), torch.zeros(4)
    for i in range(rows):
        total, largest = total + x[i] * 2.0**i, torch.maximum(largest, x[i])
    torch.testing.assert_close(out[0], total)
    assert out[1].tolist() == [rows + 2.0**rows] * 4
    torch.testing.assert_close(out[2], largest)
    torch.testing.assert_close(out[3], x.sum(0) * rows, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("number", [1, 5])
def test_branches_merge_tuples(number):
    @pypto.frontend.jit
    def kernel(x: T([8], FP32), out: T([8], FP32), n: T([1], INT32)):
        pair = (x + 1, (1, 0.5))
        if n[0] > 3:
            pair = (x * 2, (n[0], 2.5))
        for _ in pypto.loop(2):
            if n[0] > 3:
                pair = (pair[0] + 1, pair[1])
        if n[0] > 4:
            other = (x, x * 3)
        else:
            other = (x * 4, x)
        out[:] = pair[0] * pair[1][0] + pair[1][1] + other[0] - other[1]

    x, out = torch.randn(8), torch.zeros(8)
    kernel(x, out, ints(number))
    large = number > 3
    expected = ((x * 2 + 2) * number + 2.5) if large else (x + 1 + 0.5)
    torch.testing.assert_close(out, expected + (x - x * 3 if large else x * 4 - x))


def test_tuples_keep_their_structure():
    @pypto.frontend.jit
    def longer(x: T([8], FP32), out: T([8], FP32)):
        pair = (x, 1)
        for _ in pypto.loop(3):
            pair = (pair[0], 1, 2)
        out[:] = pair[0]

    @pypto.frontend.jit
    def other_shape(x: T([8], FP32), out: T([8], FP32)):
        pair = (x, 1)
        for _ in pypto.loop(3):
            pair = (pair[0][0:4], 1)
        out[0:4] = pair[0]

    refuse(longer, "pair = (pair[0], 1, 2)", "'pair' changes in a pypto.loop from a tuple of 2 to a tuple of 3")
    refuse(
        other_shape, "pair = (pair[0][0:4], 1)", "'[0] of pair' is [8] DT_FP32 before the pypto.loop and [4] DT_FP32"
    )


@pytest.mark.parametrize("count", [1, 4])
def test_the_first_iteration_binds_what_later_ones_read(count):
    @pypto.frontend.jit
    def kernel(x: T([8, 4], FP32), out: T([2, 4], FP32), n: T([1], INT32)):
        for i in pypto.loop(n[0]):
            if pypto.is_loop_begin(i):
                total = x[i : i + 1] * 1.0
                steps = 1
            else:
                total = total * 0.5 + x[i : i + 1]
                steps = steps * 2 + i
        out[0:1] = total
        out[1:2] = pypto.full([1, 4], steps, FP32)

    x, out = torch.randn(8, 4), torch.zeros(2, 4)
    kernel(x, out, ints(count))
    total, steps = x[0], 1
    for i in range(1, count):
        total, steps = total * 0.5 + x[i], steps * 2 + i
    torch.testing.assert_close(out[0], total)
    assert out[1].tolist() == [float(steps)] * 4


def test_the_first_iteration_of_inner_loops():
    @pypto.frontend.jit
    def kernel(x: T([8, 4], FP32), out: T([2, 4], FP32)):
        for block in pypto.loop(2):
            for i in pypto.loop(4):
                if pypto.is_loop_begin(i):
                    total = x[block * 4 : block * 4 + 1] + 1.0
                else:
                    total = total + x[block * 4 + i : block * 4 + i + 1]
            out[block : block + 1] = total

    x, out = torch.randn(8, 4), torch.zeros(2, 4)
    kernel(x, out)
    torch.testing.assert_close(out, x.reshape(2, 4, 4).sum(1) + 1.0)


def test_a_read_that_nothing_has_bound_is_a_kernel_fault():
    @pypto.frontend.jit
    def kernel(x: T([8, 4], FP32), out: T([1, 4], FP32)):
        for i in pypto.loop(3):
            if i == 1:
                total = x[i : i + 1] * 1.0
            else:
                total = total + x[i : i + 1]
        out[0:1] = total

    worker = pypto.runtime.ChipWorker(config=pypto.runtime.RunConfig(platform="a2a3sim"))
    with worker, pytest.raises(pypto.PyptoError, match="'total' is used at line 6 and was never bound"):
        kernel(torch.zeros(8, 4), torch.zeros(1, 4))
