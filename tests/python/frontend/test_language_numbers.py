"""Kernels that exercise the language run on the mock and give what the same statements give in torch."""

import pytest
import torch

import pypto

FP32, INT32 = pypto.DT_FP32, pypto.DT_INT32
T = pypto.Tensor


def run(kernel, *tensors, **scalars) -> None:
    """Calls the kernel; every tensor is changed in place."""
    kernel(*tensors, **scalars)


def rows(n: int, columns: int = 4) -> torch.Tensor:
    return torch.arange(n * columns, dtype=torch.float32).reshape(n, columns) * 0.25 + 1


def test_carried_pair():
    @pypto.frontend.jit
    def fibonacci(x: T([3, 4], FP32), out: T([3, 4], FP32)):
        a, b = x + 0, x + 1
        for _ in pypto.loop(7):
            a, b = b, a + b
        out[:] = a

    x, out = rows(3), torch.zeros(3, 4)
    run(fibonacci, x, out)
    a, b = x, x + 1
    for _ in range(7):
        a, b = b, a + b
    assert torch.equal(out, a)


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_carried_through_a_loop_that_may_not_run(n):
    @pypto.frontend.jit
    def kernel(x: T([pypto.DYN, 4], FP32), out: T([1, 4], FP32)):
        acc = pypto.zeros(1, 4)
        last = pypto.full([1, 4], -1.0, FP32)
        for i in pypto.loop(x.shape[0]):
            acc = acc + x[i : i + 1]
            last = x[i : i + 1] * 2
        out[:] = acc + last

    x, out = rows(n), torch.zeros(1, 4)
    run(kernel, x, out)
    expected = x.sum(0, keepdim=True) + (x[-1:] * 2 if n else -1.0)
    assert torch.equal(out, expected)


@pytest.mark.parametrize("n", [1, 15, 16, 17, 40])
def test_accumulation_over_inner_loops_with_a_tail(n):
    @pypto.frontend.jit
    def kernel(x: T([pypto.DYN, 4], FP32), out: T([pypto.DYN, 4], FP32)):
        for i in pypto.loop(0, x.shape[0], 16):
            part = x[i : i + 16]
            acc = pypto.full([16, 4], 1.0, FP32, valid_shape=part.valid_shape)
            for j in pypto.loop(3):
                acc = acc * 2 + part * j
            out[i : i + 16] = acc

    x, out = rows(n), torch.full((n, 4), 9.0)
    run(kernel, x, out)
    acc = torch.ones(n, 4)
    for j in range(3):
        acc = acc * 2 + x * j
    assert torch.equal(out, acc)


def test_begin_and_end_of_loops():
    @pypto.frontend.jit
    def kernel(x: T([12, 4], FP32), out: T([3, 4], FP32)):
        acc = pypto.tensor([3, 4], FP32)
        for i in pypto.loop(0, 12, 3):
            if pypto.is_loop_begin(i):
                acc[:] = x[i : i + 3]
            else:
                acc[:] = acc + x[i : i + 3]
            if pypto.is_loop_end(i):
                out[:] = acc * 2

    x, out = rows(12), torch.zeros(3, 4)
    run(kernel, x, out)
    assert torch.equal(out, x.reshape(4, 3, 4).sum(0) * 2)


@pytest.mark.parametrize("n", [0, 1, 3, 4, 12, 13, 29])
def test_unrolled_batches(n):
    @pypto.frontend.jit
    def kernel(x: T([pypto.DYN, 4], FP32), out: T([pypto.DYN, 4], FP32)):
        for i, k in pypto.loop_unroll(0, x.shape[0], 1, unroll_list=[8, 4]):
            out[i : i + k] = x[i : i + k] * k

    x, out = rows(n), torch.zeros(n, 4)
    run(kernel, x, out)
    expected, index = x.clone(), 0
    for factor in (8, 4, 1):
        while n - index >= factor:
            expected[index : index + factor] *= factor
            index += factor
    assert torch.equal(out, expected)


@pytest.mark.parametrize("unroll_list", [None, [2], [4, 3]])
def test_repeated_bodies_change_nothing(unroll_list):
    @pypto.frontend.jit
    def kernel(x: T([11, 4], FP32), out: T([1, 4], FP32)):
        acc = pypto.zeros(1, 4)
        for i in pypto.loop(0, 11, 1, unroll_list=unroll_list):
            acc = acc * 0.5 + x[i : i + 1]
        out[:] = acc

    x, out = rows(11), torch.zeros(1, 4)
    run(kernel, x, out)
    acc = torch.zeros(1, 4)
    for i in range(11):
        acc = acc * 0.5 + x[i : i + 1]
    assert torch.equal(out, acc)


def test_loops_that_count_down():
    @pypto.frontend.jit
    def kernel(x: T([10, 4], FP32), out: T([1, 4], FP32)):
        acc = pypto.zeros(1, 4)
        for i in pypto.loop(9, -1, -3):
            acc = acc * 0.5 + x[i : i + 1]
        out[:] = acc

    x, out = rows(10), torch.zeros(1, 4)
    run(kernel, x, out)
    acc = torch.zeros(1, 4)
    for i in range(9, -1, -3):
        acc = acc * 0.5 + x[i : i + 1]
    assert torch.equal(out, acc)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 9])
def test_branches(n):
    @pypto.frontend.jit
    def kernel(x: T([pypto.DYN, 4], FP32), out: T([pypto.DYN, 4], FP32)):
        total = x.shape[0]
        for i in pypto.loop(total):
            row = x[i : i + 1]
            shift = 1
            if i == 0:
                row = row * 2
            elif 1 < i < total - 1 and not i % 2:
                row = row + 1
                shift = 2
            elif i == 1 or i == 3:
                row = row - row
            out[i : i + 1] = row * shift

    x, out = rows(n), torch.zeros(n, 4)
    run(kernel, x, out)
    expected = torch.zeros(n, 4)
    for i in range(n):
        row, shift = x[i : i + 1], 1
        if i == 0:
            row = row * 2
        elif 1 < i < n - 1 and not i % 2:
            row, shift = row + 1, 2
        elif i in (1, 3):
            row = row - row
        expected[i : i + 1] = row * shift
    assert torch.equal(out, expected)


@pytest.mark.parametrize("n", [1, 3, 4, 6])
def test_branch_values_of_different_tails(n):
    @pypto.frontend.jit
    def kernel(x: T([pypto.DYN, 4], FP32), out: T([1, 4], FP32)):
        if x.shape[0] > 3:
            y = x[0:6] + 1
        else:
            y = pypto.full([6, 4], 2.0, FP32)
        out[:] = pypto.sum(y, 0, keepdim=True)

    x, out = rows(n), torch.zeros(1, 4)
    run(kernel, x, out)
    expected = (x + 1).sum(0, keepdim=True) if n > 3 else torch.full((1, 4), 12.0)
    assert torch.equal(out, expected)


def test_views_are_values_at_their_place():
    @pypto.frontend.jit
    def kernel(x: T([4, 4], FP32), out: T([4, 4], FP32)):
        acc = x + 0
        before = acc[0:2]
        acc[0:2] = acc[2:4] * 10
        window = acc[1:3]
        window[0:1] = x[0:1] * 100
        out[0:2] = before
        out[2:4] = acc[0:2] + window

    x, out = rows(4), torch.zeros(4, 4)
    run(kernel, x, out)
    acc = x.clone()
    acc[0:2] = x[2:4] * 10
    window = acc[1:3].clone()
    window[0:1] = x[0:1] * 100
    assert torch.equal(out, torch.cat([x[0:2], acc[0:2] + window]))


def test_aliases_see_writes_and_copies_do_not():
    def bump(target, i):
        target[i : i + 1] = target[i : i + 1] + 100

    @pypto.frontend.jit
    def kernel(x: T([4, 4], FP32), out: T([8, 4], FP32)):
        a = x * 1
        alias = a
        copy = pypto.tensor([4, 4], FP32)
        copy[:] = a
        for i in pypto.loop(1, 3):
            bump(alias, i)
        a[:] = a + copy
        copy[0:1] = x[3:4]
        out[0:4] = alias
        out[4:8] = copy

    x, out = rows(4), torch.zeros(8, 4)
    run(kernel, x, out)
    a = x.clone()
    a[1:3] += 100
    copy = x.clone()
    copy[0:1] = x[3:4]
    assert torch.equal(out, torch.cat([a + x, copy]))


def test_python_data_at_trace_time():
    class Part:
        def __init__(self, value, weight):
            self.value, self.weight = value, weight

        def weighted(self):
            return self.value * self.weight

    @pypto.frontend.jit
    def kernel(x: T([6, 4], FP32), out: T([2, 4], FP32), weights):
        parts = [Part(x[k * 2 : k * 2 + 2], w) for k, w in enumerate(weights) if w]
        table = {f"part{k}": part for k, part in enumerate(parts)}
        total = None
        for name in sorted(table, reverse=True):
            if name == "part9":
                break
            term = table[name].weighted()
            total = term if total is None else total + term
        while len(parts) > 1:
            parts.pop()
        out[:] = total * len(parts)

    x, out = rows(6), torch.zeros(2, 4)
    run(kernel, x, out, weights=(2.0, 0, 4.0))
    assert torch.equal(out, x[0:2] * 2 + x[4:6] * 4)


@pytest.mark.parametrize("n", [1, 7, 20])
def test_bounds_and_offsets_from_expressions(n):
    @pypto.frontend.jit
    def kernel(x: T([pypto.DYN, 4], FP32), out: T([pypto.DYN, 4], FP32)):
        half = pypto.max(x.shape[0] // 2, 1)
        for i in pypto.loop(min(half, 5)):
            k = i if i < 3 else i - 1
            out[k : k + 1] = x[half - 1 : half] * pypto.ceildiv(i + 1, 2)

    x, out = rows(n), torch.full((n, 4), -1.0)
    run(kernel, x, out)
    expected = torch.full((n, 4), -1.0)
    half = max(n // 2, 1)
    for i in range(min(half, 5)):
        k = i if i < 3 else i - 1
        expected[k : k + 1] = x[half - 1 : half] * ((i + 2) // 2)
    assert torch.equal(out, expected)


def test_parameters_that_are_bound_anew():
    @pypto.frontend.jit
    def kernel(x: T([3, 4], FP32), out: T([3, 4], FP32), other: T([3, 4], FP32)):
        out = x + 1
        for i in pypto.loop(4):
            other = out * i

    x, out, other = rows(3), torch.zeros(3, 4), torch.zeros(3, 4)
    run(kernel, x, out, other)
    assert torch.equal(out, x + 1)
    assert torch.equal(other, (x + 1) * 3)


def test_index_forms():
    @pypto.frontend.jit
    def kernel(x: T([3, 4, 5], FP32), out: T([3, 4, 5], FP32)):
        out[...] = 7
        out[0] = x[1] * 2
        out[1, :, 2] = x[0, :, -1]
        out[:2, 3, :1] = x[1:3, 3, 0:1]
        out[-1, 1:3] = x[2, 0:2]
        for i in pypto.loop(2):
            out[2, 3, i] = x[i, i, 0:1]
            out[2, i, 4] = i + 5

    x = torch.randn(3, 4, 5)
    out = torch.zeros(3, 4, 5)
    run(kernel, x, out)
    expected = torch.full((3, 4, 5), 7.0)
    expected[0] = x[1] * 2
    expected[1, :, 2] = x[0, :, -1]
    expected[:2, 3, :1] = x[1:3, 3, 0:1]
    expected[-1, 1:3] = x[2, 0:2]
    for i in range(2):
        expected[2, 3, i] = x[i, i, 0]
        expected[2, i, 4] = i + 5
    assert torch.equal(out, expected)


@pytest.mark.parametrize("a", [1.5, -2.0])
def test_run_time_scalars(a):
    @pypto.frontend.jit
    def kernel(x: T([8, 4], FP32), out: T([8, 4], FP32), a: float, n: int):
        out[:] = x * a
        for i in pypto.loop(n):
            out[i : i + 1] = (a - x[i : i + 1]) / 2 + n

    compiled = kernel.compile()
    for n in (0, 3, 8):
        x, out = rows(8), torch.zeros(8, 4)
        compiled(x, out, a, n)
        expected = x * a
        expected[:n] = (a - x[:n]) / 2 + n
        torch.testing.assert_close(out, expected)


def test_numbers_on_either_side():
    @pypto.frontend.jit
    def kernel(x: T([3, 4], FP32), out: T([7, 3, 4], FP32)):
        for k, value in enumerate([2 + x, 2 - x, 2 * x, 2 / x, x / 4, -x, pypto.relu(x - 2)]):
            out[k] = value

    x, out = rows(3), torch.zeros(7, 3, 4)
    run(kernel, x, out)
    expected = torch.stack([2 + x, 2 - x, 2 * x, 2 / x, x / 4, -x, torch.relu(x - 2)])
    torch.testing.assert_close(out, expected)


def test_integer_tensors():
    @pypto.frontend.jit
    def kernel(x: T([3, 4], INT32), out: T([3, 4], INT32), quotient: T([3, 4], FP32)):
        out[:] = 5 - x * 3
        quotient[:] = x / 2

    x, out, quotient = torch.arange(12, dtype=torch.int32).reshape(3, 4), torch.zeros(3, 4, dtype=torch.int32), None
    quotient = torch.zeros(3, 4)
    run(kernel, x, out, quotient)
    assert torch.equal(out, 5 - x * 3)
    assert torch.equal(quotient, x / 2)


def test_composites():
    @pypto.frontend.jit
    def kernel(x: T([3, 5], FP32), out: T([2, 3, 5], FP32)):
        out[0] = pypto.softmax(x, -1)
        out[1] = x.sigmoid()

    x, out = torch.randn(3, 5), torch.zeros(2, 3, 5)
    run(kernel, x, out)
    torch.testing.assert_close(out, torch.stack([torch.softmax(x, -1), torch.sigmoid(x)]))


@pytest.mark.parametrize("rows", [0, 1, 4, 6])
def test_concat_of_tail_blocks(rows):
    @pypto.frontend.jit
    def kernel(
        x: pypto.Tensor([pypto.DYN, 8], pypto.DT_FP32),
        y: pypto.Tensor([pypto.DYN, 8], pypto.DT_FP32),
        out: pypto.Tensor([pypto.DYN, 16], pypto.DT_FP32),
    ):
        for i in pypto.loop(0, x.shape[0], 4):
            out[i : i + 4] = pypto.concat([x[i : i + 4], y[i : i + 4]], 1)

    x, y, out = torch.randn(rows, 8), torch.randn(rows, 8), torch.zeros(rows, 16)
    kernel(x, y, out)
    assert torch.equal(out, torch.cat([x, y], 1))
