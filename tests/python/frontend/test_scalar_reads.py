"""Scalars read from tensors: `x[i, j]` in offsets, bounds, conditions and operands, at its place in program order."""

import pytest
import torch
from frontend_samples import line_of, refuse

import pypto
from pypto import ir
from pypto.runtime import ChipWorker, RunConfig

FP32, INT32 = pypto.DT_FP32, pypto.DT_INT32
T = pypto.Tensor


def test_block_table_and_lengths_read_from_tensors():
    @pypto.frontend.jit
    def gather_rows(table: T([4, 8], INT32), ends: T([5], INT32), x: T([64, 16], FP32), out: T([32, 16], FP32)):
        for b in pypto.loop(4):
            for i in pypto.loop(ends[b + 1] - ends[b]):
                page = table[b, i]
                out[b * 8 + i : b * 8 + i + 1, :] = x[page : page + 1, :] * (page + 1)

    table = torch.randint(0, 64, (4, 8), dtype=torch.int32)
    lengths = [3, 0, 8, 5]
    ends = torch.tensor([0, *torch.tensor(lengths).cumsum(0)], dtype=torch.int32)
    x, out = torch.randn(64, 16), torch.full((32, 16), -1.0)
    gather_rows(table, ends, x, out)
    expected = torch.full((32, 16), -1.0)
    for b, length in enumerate(lengths):
        for i in range(length):
            expected[b * 8 + i] = x[table[b, i]] * (table[b, i] + 1)
    assert torch.equal(out, expected)


def test_one_compilation_serves_all_values():
    @pypto.frontend.jit
    def kernel(n: T([1], INT32), x: T([8, 4], FP32), out: T([8, 4], FP32)):
        for i in pypto.loop(n[0]):
            out[i : i + 1] = x[i : i + 1]

    x = torch.randn(8, 4)
    for n in (0, 1, 5, 8):
        out = torch.zeros(8, 4)
        kernel(torch.tensor([n], dtype=torch.int32), x, out)
        assert torch.equal(out, torch.cat([x[:n], torch.zeros(8 - n, 4)]))
    assert kernel.cache_info().misses == 1


def test_a_read_takes_the_value_at_its_place():
    @pypto.frontend.jit
    def kernel(x: T([4], INT32), out: T([8], INT32)):
        before = x[1]
        x[1:2] = x[1:2] + 10
        between = x[1]
        x[:] = pypto.full([4], 7, INT32)
        out[0:1] = pypto.full([1], before, INT32)
        out[1:2] = pypto.full([1], between, INT32)
        out[2:3] = pypto.full([1], x[1], INT32)
        out[between : between + 1] = pypto.full([1], 1, INT32)

    x, out = torch.tensor([0, -6, 2, 3], dtype=torch.int32), torch.zeros(8, dtype=torch.int32)
    kernel(x, out)
    assert out.tolist() == [-6, 4, 7, 0, 1, 0, 0, 0]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_every_integer_dtype(dtype):
    @pypto.frontend.jit
    def kernel(x: T([3], getattr(pypto, "DT_" + dtype.upper())), out: T([4], FP32)):
        if x[2] == -x[0] + 1:
            out[x[1] : x[1] + 1] = pypto.full([1], x[0], FP32)

    least = 0 if dtype.startswith("u") else -5
    out = torch.zeros(4)
    kernel(torch.tensor([least, 3, 1 - least], dtype=getattr(torch, dtype)), out)
    assert out.tolist() == [0, 0, 0, least]


def test_condition_on_what_the_same_body_writes():
    @pypto.frontend.jit
    def kernel(x: T([16], INT32), out: T([16], INT32)):
        total = pypto.zeros(1, dtype=INT32)
        for i in pypto.loop(16):
            if total[0] < 20:
                total[:] = total + x[i : i + 1]
                more = total + 1
                if more[0] > 10:
                    out[i : i + 1] = more
                else:
                    out[i : i + 1] = total

    x, out = torch.randint(0, 5, (16,), dtype=torch.int32), torch.zeros(16, dtype=torch.int32)
    kernel(x, out)
    total, expected = 0, [0] * 16
    for i in range(16):
        if total < 20:
            total += int(x[i])
            expected[i] = total + 1 if total + 1 > 10 else total
    assert out.tolist() == expected


def test_two_hundred_iterations_of_a_loop_over_what_it_writes():
    @pypto.frontend.jit
    def collatz(start: T([1], INT32), out: T([2], INT32)):
        value = pypto.tensor([1], INT32)
        value[:] = start + 0
        steps = pypto.zeros(1, dtype=INT32)
        for _ in pypto.loop(200):
            n = value[0]
            if n != 1:
                steps[:] = steps + 1
                if n % 2 == 0:
                    value[:] = pypto.full([1], n // 2, INT32)
                else:
                    value[:] = value * 3 + 1
        out[0:1] = steps
        out[1:2] = value

    out = torch.zeros(2, dtype=torch.int32)
    collatz(torch.tensor([27], dtype=torch.int32), out)
    n, steps = 27, 0
    while n != 1:
        n, steps = (n // 2 if n % 2 == 0 else 3 * n + 1), steps + 1
    assert out.tolist() == [steps, 1]


def test_a_task_closes_only_for_the_tensor_that_is_read():
    def tasks(kernel, *tensors) -> int:
        with ChipWorker(config=RunConfig(platform="a2a3sim")) as worker:
            handle = worker.register(ir.compile(kernel, *tensors, platform="a2a3sim"))
            handle(*tensors)
            return int(handle.workspace_report().device_tasks)

    @pypto.frontend.jit
    def other(n: T([4], INT32), x: T([4, 4], FP32), out: T([4, 4], FP32)):
        for i in pypto.loop(4):
            out[i : i + 1] = x[n[i] : n[i] + 1]

    @pypto.frontend.jit
    def same(n: T([4], INT32), x: T([4, 4], FP32), out: T([4, 4], FP32)):
        for i in pypto.loop(4):
            out[i : i + 1] = x[n[i] : n[i] + 1]
            n[i : i + 1] = n[i : i + 1] + 1

    n, x, out = torch.zeros(4, dtype=torch.int32), torch.randn(4, 4), torch.zeros(4, 4)
    assert tasks(other, n, x, out) == 1
    assert tasks(same, n, x, out) == 4
    assert n.tolist() == [1, 1, 1, 1]


def test_one_cell_read_twice_is_one_value_until_it_is_written():
    @pypto.frontend.jit
    def kernel(x: T([4], INT32), out: T([4], INT32)):
        assert (x[0] - x[0]).is_concrete()
        before = x[0]
        x[1:2] = x[2:3]
        assert not (x[0] - before).is_concrete()
        for i in pypto.loop(3):
            out[i : i + 1] = pypto.full([1], x[0], INT32)
            x[0:1] = x[0:1] + 1
        out[3:4] = pypto.full([1], x[0], INT32)

    out = torch.zeros(4, dtype=torch.int32)
    kernel(torch.tensor([5, 6, 7, 8], dtype=torch.int32), out)
    assert out.tolist() == [5, 6, 7, 8]


def test_a_view_is_read_as_it_was_at_its_place():
    @pypto.frontend.jit
    def kernel(x: T([8], INT32), out: T([4], INT32)):
        window = x[2:6]
        x[:] = pypto.full([8], 3, INT32)
        for i in pypto.loop(4):
            out[i : i + 1] = pypto.full([1], window[i], INT32)

    x, out = torch.arange(8, dtype=torch.int32), torch.zeros(4, dtype=torch.int32)
    kernel(x, out)
    assert out.tolist() == [2, 3, 4, 5]


@pytest.mark.parametrize(("index", "text"), [(4, "[4]"), (-1, "[-1]"), (2**31 - 1, "[2147483647]")])
def test_a_read_outside_is_a_fault_that_names_line_tensor_and_index(index, text):
    @pypto.frontend.jit
    def kernel(where: T([1], INT32), x: T([4], INT32), out: T([4], INT32)):
        out[0:1] = pypto.full([1], x[where[0]], INT32)

    with ChipWorker(config=RunConfig(platform="a2a3sim")) as worker:
        where, x = torch.tensor([index], dtype=torch.int32), torch.zeros(4, dtype=torch.int32)
        handle = worker.register(ir.compile(kernel, platform="a2a3sim"))
        with pytest.raises(pypto.PyptoError) as caught:
            handle(where, x, torch.zeros(4, dtype=torch.int32))
    assert f"scalar read of 'x' at index {text}: its valid extents are [4]" in str(caught.value)
    assert f"line {line_of(kernel, 'where[0]') - line_of(kernel, 'def kernel') + 1}" in str(caught.value)


@pytest.mark.parametrize("write", [False, True])
def test_a_negative_dynamic_offset_is_a_fault_that_names_operation_line_and_tensor(write):
    @pypto.frontend.jit
    def reads(where: T([1], INT32), x: T([8], FP32), out: T([8], FP32)):
        n = where[0]
        out[0:2] = pypto.exp(x[n : n + 2])

    @pypto.frontend.jit
    def writes(where: T([1], INT32), x: T([8], FP32), out: T([8], FP32)):
        n = where[0]
        out[n : n + 2] = pypto.exp(x[0:2])

    kernel = writes if write else reads
    with ChipWorker(config=RunConfig(platform="a2a3sim")) as worker:
        handle = worker.register(ir.compile(kernel, platform="a2a3sim"))
        out = torch.full((8,), -1.0)
        with pytest.raises(pypto.PyptoError) as caught:
            handle(torch.tensor([-3], dtype=torch.int32), torch.zeros(8), out)
    what = "writes of 'out'" if write else "reads of 'x'"
    assert f"exp: what it {what} starts at offset -3, before its base" in str(caught.value)
    assert "line 3 " in str(caught.value) or "line 3)" in str(caught.value) or "line 4" in str(caught.value)


def test_a_read_in_a_branch_that_is_not_taken_reads_nothing():
    @pypto.frontend.jit
    def kernel(where: T([1], INT32), x: T([4], INT32), out: T([4], INT32)):
        if where[0] < 4:
            n = x[where[0]]
            out[n : n + 1] = pypto.full([1], 1, INT32)

    out = torch.zeros(4, dtype=torch.int32)
    kernel(torch.tensor([1000], dtype=torch.int32), torch.tensor([0, 1, 2, 3], dtype=torch.int32), out)
    kernel(torch.tensor([2], dtype=torch.int32), torch.tensor([0, 1, 3, 3], dtype=torch.int32), out)
    assert out.tolist() == [0, 0, 0, 1]


def test_a_data_dependent_trip_count_leaves_an_output_inout():
    @pypto.frontend.jit
    def kernel(n: T([1], INT32), x: T([4, 4], FP32), out: T([4, 4], FP32)):
        for i in pypto.loop(n[0]):
            out[i : i + 1] = x[i : i + 1]

    directions = [str(p.direction) for p in ir.compile(kernel).parameters]
    assert directions[2].lower().endswith("inout")


def test_sizes_do_not_depend_on_tensor_values():
    @pypto.frontend.jit
    def kernel(n: T([1], INT32), out: T([4], FP32)):
        t = pypto.tensor([n[0], 4], FP32)
        t[0:1, :] = pypto.zeros(1, 4)
        out[:] = t[0, :]

    refuse(kernel, "pypto.tensor([n[0], 4]", "known only while the kernel runs", "sizes may depend on dims")


def test_only_integer_tensors_give_scalars():
    @pypto.frontend.jit
    def kernel(x: T([4], FP32), out: T([4], FP32)):
        out[:] = x + x[0]

    refuse(kernel, "x[0]", "read a [1] slice instead", kind=TypeError)


def test_static_indices_lie_in_the_tensor():
    @pypto.frontend.jit
    def past(x: T([4], INT32), out: T([4], INT32)):
        out[:] = pypto.full([4], x[4], INT32)

    @pypto.frontend.jit
    def before(x: T([4], INT32), out: T([4], INT32)):
        out[:] = pypto.full([4], x[-5], INT32)

    refuse(past, "x[4]", "index 4 is out of range", kind=IndexError)
    refuse(before, "x[-5]", "index -5 is out of range for a dim of 4", kind=IndexError)


def test_one_cell_is_written():
    @pypto.frontend.jit
    def kernel(x: T([4, 4], INT32), y: T([1], INT32), z: T([2, 2], FP32)):
        x[1, 2] = 7
        for i in pypto.loop(4):
            x[i, 0] = i * 10
            x[i, 1] = x[i, 0] + 1
        x[3, 3] = y
        x[-1, 2] = y * 2
        z[0, 1] = 2.5
        z[1, 0] = x[2, 0]

    x, z = torch.full((4, 4), -1, dtype=torch.int32), torch.zeros(2, 2)
    kernel(x, torch.tensor([9], dtype=torch.int32), z)
    assert x.tolist() == [[0, 1, -1, -1], [10, 11, 7, -1], [20, 21, -1, -1], [30, 31, 18, 9]]
    assert z.tolist() == [[0, 2.5], [20, 0]]


def test_symbolic_scalars_are_operands_of_tensor_operations():
    @pypto.frontend.jit
    def kernel(n: T([2], INT32), x: T([4], FP32), out: T([4], FP32)):
        out[:] = (x * n[0] + pypto.min(n[1], 3)) / (n[0] + 1)

    x, out = torch.randn(4), torch.zeros(4)
    kernel(torch.tensor([4, 9], dtype=torch.int32), x, out)
    assert torch.allclose(out, (x * 4 + 3) / 5)
