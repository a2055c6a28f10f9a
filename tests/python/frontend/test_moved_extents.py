"""Moves in loops and branches that change which cells of a tensor are valid: reference/frontend.md §1.4 and §1.7."""

import pytest
import torch

import pypto

FP32, INT32 = pypto.DT_FP32, pypto.DT_INT32
T, N = pypto.Tensor, pypto.DYN
X = torch.arange(64.0).reshape(8, 8)


def ints(*values):
    return torch.tensor(values, dtype=torch.int32)


@pytest.mark.parametrize("rows", [1, 3, 4, 7, 8])
def test_every_alias_sees_the_tail_that_a_loop_moved_in(rows):
    @pypto.frontend.jit
    def kernel(x: T([N, 8], FP32), out: T([8, 8], FP32), total: T([1, 8], FP32)):
        part = pypto.zeros(4, 8)
        held = {"part": part}
        for i in pypto.loop(0, x.shape[0], 4):
            part.move(x[i : i + 4, :])
            out[i : i + 4] = held["part"] + 1
        total[:] = pypto.sum(held["part"], 0, True)

    out, total = torch.full((8, 8), -1.0), torch.zeros(1, 8)
    kernel(X[:rows], out, total)
    expected = torch.full((8, 8), -1.0)
    expected[:rows] = X[:rows] + 1
    assert torch.equal(out, expected)
    assert torch.equal(total[0], X[(rows - 1) // 4 * 4 : rows].sum(0))


@pytest.mark.parametrize("number", [1, 5])
def test_a_branch_moves_a_tail_in(number):
    @pypto.frontend.jit
    def kernel(x: T([N, 8], FP32), out: T([8, 8], FP32), n: T([1], INT32)):
        part = pypto.zeros(4, 8)
        if n[0] > 3:
            part[:] = x[4:8, :]
        out[0:4] = part

    out = torch.full((8, 8), -1.0)
    kernel(X[:7], out, ints(number))
    expected = torch.full((8, 8), -1.0)
    if number > 3:
        expected[:3] = X[4:7]
    else:
        expected[:4] = 0
    assert torch.equal(out, expected)


@pytest.mark.parametrize(("passes", "first"), [(0, 0), (1, 0), (2, 4), (2, 8), (1, 8)])
def test_moves_in_nested_loops_and_branches(passes, first):
    @pypto.frontend.jit
    def kernel(x: T([N, 8], FP32), out: T([8, 8], FP32), n: T([2], INT32)):
        part = pypto.zeros(4, 8)
        for _ in pypto.loop(n[0]):
            for i in pypto.loop(0, x.shape[0], 4):
                if i >= n[1]:
                    part.move(x[i : i + 4, :])
            out[0:4] = part * 2
            same = part
            value = part + 0
            part[:] = x[0:4]
            out[4:8] = value + same

    out = torch.full((8, 8), -1.0)
    kernel(X[:7], out, ints(passes, first))
    expected, part = torch.full((8, 8), -1.0), torch.zeros(4, 8)
    for _ in range(passes):
        for i in range(0, 7, 4):
            if i >= first:
                part = X[i : min(i + 4, 7)]
        expected[: len(part)] = part * 2
        value, part = part, X[0:4]
        expected[4 : 4 + len(value)] = value + part[: len(value)]
    assert torch.equal(out, expected)


def test_extents_and_views_are_those_of_their_place():
    @pypto.frontend.jit
    def kernel(x: T([N, 8], FP32), out: T([8, 8], FP32), extents: T([8], INT32)):
        part = pypto.zeros(4, 8)
        for i in pypto.loop(0, x.shape[0], 4):
            before = part.valid_shape[0]
            window = part[0:4]
            part[:] = x[i : i + 4, :]
            extents[i] = before
            extents[i + 1] = part.valid_shape[0]
            out[i : i + 4] = window

    out, extents = torch.full((8, 8), -1.0), ints(*[0] * 8)
    kernel(X[:7], out, extents)
    assert torch.equal(extents, ints(4, 4, 0, 0, 4, 3, 0, 0))
    assert torch.equal(out, torch.cat([torch.zeros(4, 8), X[:4]]))


def test_a_tensor_that_is_moved_into_and_bound_anew():
    @pypto.frontend.jit
    def kernel(x: T([N, 8], FP32), out: T([8, 8], FP32)):
        part = pypto.zeros(4, 8)
        for i in pypto.loop(0, x.shape[0], 4):
            out[i : i + 4] = part
            part[:] = x[i : i + 4, :]
            part = part + 1
        out[0:4] = part

    out = torch.full((8, 8), -1.0)
    kernel(X[:7], out)
    expected = torch.full((8, 8), -1.0)
    expected[:3], expected[3], expected[4:8] = X[4:7] + 1, 0, X[:4] + 1
    assert torch.equal(out, expected)
