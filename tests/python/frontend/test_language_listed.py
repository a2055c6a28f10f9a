"""Kernels in the style of users, one per part of the language: loops three deep, helpers, shadowing, tails."""

import dataclasses

import kernel_helpers
import pytest
import torch
from kernel_helpers import Tiles, row_total

import pypto

FP32, INT32, FP16 = pypto.DT_FP32, pypto.DT_INT32, pypto.DT_FP16
T = pypto.Tensor
N = pypto.DYN


@pytest.mark.parametrize("n", [0, 1, 13, 64])
def test_three_loops_deep_carry_scalars_tensors_and_lists(n):
    @pypto.frontend.jit
    def kernel(x: T([N, 8], FP32), out: T([4, 8], FP32), counts: T([4], INT32)):
        batches = 0
        covered = 0
        state = [pypto.zeros(1, 8), pypto.zeros(1, 8)]
        latest = pypto.zeros(1, 8)
        for a in pypto.loop(2):
            for b in pypto.loop(2):
                for i, k in pypto.loop_unroll(0, x.shape[0], 1, unroll_list=[8, 4, 1]):
                    for j in range(k):
                        row = x[i + j : i + j + 1, :]
                        state[0] = state[0] + row * (a + 1)
                        latest = row + b
                    state[1] = pypto.maximum(state[1], latest)
                    batches = batches + 1
                    covered += k
        out[0:1, :] = state[0]
        out[1:2, :] = state[1]
        out[2:3, :] = latest
        counts[0] = batches
        counts[1] = covered

    x, out, counts = torch.randn(n, 8), torch.zeros(4, 8), torch.zeros(4, dtype=torch.int32)
    if n == 0:
        x = torch.zeros(0, 8)
    kernel(x, out, counts)
    per_pass, rows, ends = 0, 0, []
    for factor in (8, 4, 1):
        while n - rows >= factor:
            rows, per_pass = rows + factor, per_pass + 1
            ends.append(rows - 1)
    total, best, latest = torch.zeros(8), torch.zeros(8), torch.zeros(8)
    for a in range(2):
        for b in range(2):
            for end in ends:
                latest = x[end] + b
                best = torch.maximum(best, latest)
            total = total + x.sum(0) * (a + 1)
    torch.testing.assert_close(out[0], total, rtol=1e-4, atol=1e-4)
    assert torch.equal(out[1], best) and torch.equal(out[2], latest)
    assert counts[:2].tolist() == [4 * per_pass, 4 * n]


def test_names_are_shadowed_by_parameters_targets_and_inner_functions():
    scale = 5

    @pypto.frontend.jit
    def kernel(x: T([4, 8], FP32), out: T([4, 8], FP32)):
        scale = 2  # not the one outside

        def scaled(x, scale=scale):
            out = x * scale  # not the parameters of the kernel
            return out

        i = 3
        for i in pypto.loop(4):
            row = x[i : i + 1, :]
            x_row = [scaled(row) for row in (row, row + 1)]  # the comprehension has a row of its own
            out[i : i + 1, :] = x_row[0] + x_row[1] + row
        for i in range(2):  # a loop of Python after one of the device
            out[i : i + 1, :] = out[i : i + 1, :] + i
        pick = lambda scale: scale + 1  # noqa: E731
        out[:] = out * pick(1)

    x, out = torch.randn(4, 8), torch.zeros(4, 8)
    kernel(x, out)
    expected = x * 2 + (x + 1) * 2 + x
    expected[1] += 1
    torch.testing.assert_close(out, expected * 2)
    assert scale == 5


def test_helpers_of_another_module():
    @pypto.frontend.jit
    def kernel(x: T([N, 8], FP32), out: T([3, 8], FP32)):
        total, steps = row_total(x, x.shape[0])
        out[0:1, :] = total
        out[1:2, :] = total * 0 + steps
        parts = kernel_helpers.swap([total, total + 1])
        out[2:3, :] = parts[0] - parts[1] * kernel_helpers.STEP

    for n in (1, 5):
        x, out = torch.randn(n, 8), torch.zeros(3, 8)
        kernel(x, out)
        total = x.sum(0) + x[0]
        torch.testing.assert_close(out, torch.stack([total, torch.full((8,), 4.0 * n), total + 1 - total * 4]))
    assert kernel.cache_info().misses == 1


def test_tile_configurations_are_dataclasses():
    @dataclasses.dataclass
    class Choice:
        name: str
        tiles: Tiles

    table = {name: Choice(name, Tiles(rows)) for name, rows in (("small", 2), ("large", 8))}

    @pypto.frontend.jit
    def kernel(x: T([16, 32], FP32), out: T([16, 32], FP32), name="small"):
        choice = table[name]
        assert choice.tiles.wide == 32, f"{choice.name} is {choice.tiles}"
        choice.tiles.apply()
        rows = choice.tiles.rows
        bounds = [(start, start + rows) for start in range(0, 16, rows)]
        scale = {start: (lambda value, factor=start: value * factor) for start, _ in bounds}
        for start, end in bounds:
            out[start:end, :] = scale[start](x[start:end, :])

    x = torch.randn(16, 32)
    texts = []
    for name, rows in (("small", 2), ("large", 8)):
        out = torch.zeros(16, 32)
        kernel(x, out, name)
        factors = torch.tensor([row // rows * rows for row in range(16)]).unsqueeze(1)
        torch.testing.assert_close(out, x * factors)
        texts.append(kernel.to_text(x, out, name=name))
    assert texts[0] != texts[1]
    table["small"].tiles = Tiles(4)
    kernel(x, torch.zeros(16, 32), "small")
    assert kernel.cache_info().misses == 3


@pytest.mark.parametrize("n", [1, 2, 7])
def test_begin_and_end_in_the_middle_of_other_loops(n):
    @pypto.frontend.jit
    def kernel(x: T([N, 8], FP32), out: T([3, 8], FP32)):
        for outer in pypto.loop(3):
            total = pypto.zeros(1, 8)
            for i in pypto.loop(x.shape[0]):
                if pypto.is_loop_begin(i):
                    total = x[i : i + 1, :] * 10
                else:
                    total = total + x[i : i + 1, :]
                if pypto.is_loop_end(i):
                    out[outer : outer + 1, :] = total * (outer + 1)

    x, out = torch.randn(n, 8), torch.zeros(3, 8)
    kernel(x, out)
    total = x.sum(0) + 9 * x[0]
    torch.testing.assert_close(out, torch.stack([total, total * 2, total * 3]), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("m", "k"), [(1, 1), (5, 7), (16, 16), (17, 33), (31, 40)])
def test_products_of_partly_valid_tails(m, k):
    @pypto.frontend.jit
    def kernel(a: T([N, N], FP32), b: T([N, 8], FP32), out: T([N, 8], FP32)):
        for i in pypto.loop(0, a.shape[0], 16):
            total = pypto.zeros(16, 8)
            for j in pypto.loop(0, a.shape[1], 16):
                left = pypto.view(a, [16, 16], [i, j])
                right = pypto.view(b, [16, 8], [j, 0])
                product = pypto.matmul(left, right, FP32)
                total = total + pypto.fillpad(product, value=0)
            pypto.assemble(
                pypto.view(total, [16, 8], [0, 0], valid_shape=[pypto.min(16, a.shape[0] - i), 8]), [i, 0], out
            )

    a, b = torch.randn(m, k), torch.randn(k, 8)
    out = torch.full((m, 8), torch.nan)
    kernel(a, b, out)
    torch.testing.assert_close(out.double(), a.double() @ b.double(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("m", "n"), [(1, 1), (4, 3), (8, 8), (0, 5)])
def test_concatenation_of_partly_valid_tails(m, n):
    @pypto.frontend.jit
    def kernel(
        x: T([8, 4], FP32), y: T([8, 4], FP32), sizes: T([2], INT32), out: T([16, 4], FP32), total: T([4], FP32)
    ):
        first = pypto.view(x, [8, 4], [0, 0], valid_shape=[sizes[0], 4])
        second = pypto.view(y, [8, 4], [0, 0], valid_shape=[sizes[1], 4])
        joined = pypto.concat([first, second], 0)
        total[:] = joined.sum(0)
        out[:] = pypto.fillpad(joined, value=-1)

    x, y, out, total = torch.randn(8, 4), torch.randn(8, 4), torch.zeros(16, 4), torch.zeros(4)
    kernel(x, y, torch.tensor([m, n], dtype=torch.int32), out, total)
    joined = torch.cat([x[:m], y[:n]])
    torch.testing.assert_close(total, joined.sum(0))
    assert torch.equal(out, torch.cat([joined, torch.full((16 - m - n, 4), -1.0)]))


def test_both_ways_in_loops_of_their_own():
    @pypto.frontend.jit
    def kernel(x: T([4, 8], FP32), out: T([4, 8], FP32)):
        acc = pypto.zeros(4, 8)
        for i in pypto.loop(4):
            acc[i : i + 1, :] = x[i : i + 1, :]
        for _ in pypto.loop(3):
            acc = acc + 1
        out[:] = acc

    x, out = torch.randn(4, 8), torch.zeros(4, 8)
    kernel(x, out)
    torch.testing.assert_close(out, x + 3)
