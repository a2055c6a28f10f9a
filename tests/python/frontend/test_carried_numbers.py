"""Numbers that loops carry and branches merge, and names that only some paths bind."""

import pytest
import torch
from frontend_samples import refuse

import pypto
from pypto import ir
from pypto.runtime import ChipWorker, RunConfig

FP32, INT32 = pypto.DT_FP32, pypto.DT_INT32
T = pypto.Tensor


def ints(*values: int) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.int32)


def fault(kernel, *tensors) -> str:
    """The text of the fault that running the kernel ends in."""
    with ChipWorker(config=RunConfig(platform="a2a3sim")) as worker:
        handle = worker.register(ir.compile(kernel, platform="a2a3sim"))
        with pytest.raises(pypto.PyptoError) as caught:
            handle(*tensors)
    return str(caught.value)


def test_carried_integers_are_symbolic():
    @pypto.frontend.jit
    def kernel(x: T([8], INT32), out: T([16], INT32)):
        a, b = 0, 1
        for i in pypto.loop(6):
            out[a : a + 1] = x[i : i + 1] * b
            a, b = b, a + b
        out[15:16] = pypto.full([1], a * 100 + b, INT32)

    x, out = torch.arange(1, 9, dtype=torch.int32), torch.zeros(16, dtype=torch.int32)
    kernel(x, out)
    expected, a, b = [0] * 16, 0, 1
    for i in range(6):
        expected[a] = (i + 1) * b
        a, b = b, a + b
    expected[15] = a * 100 + b
    assert out.tolist() == expected


def test_carried_floats_are_fp64():
    @pypto.frontend.jit
    def kernel(x: T([4], FP32), out: T([4], FP32)):
        scale = 1
        for i in pypto.loop(40):
            scale = scale / 3 + 0.25 - (-scale) * 0.125
        out[:] = x * scale

    x, out = torch.tensor([1.0, 2.0, -3.0, 0.5]), torch.zeros(4)
    kernel(x, out)
    scale = 1.0
    for i in range(40):
        scale = scale / 3 + 0.25 - (-scale) * 0.125
    assert torch.equal(out, x * torch.tensor(scale, dtype=torch.float64).float())


def test_a_float_and_an_integer_that_depend_on_each_other():
    @pypto.frontend.jit
    def kernel(x: T([8], FP32), n: T([1], INT32), out: T([8], FP32)):
        count, scale = 0, 2.0
        for i in pypto.loop(n[0]):
            if count % 2 == 0:
                out[i : i + 1] = x[i : i + 1] * scale
            count = count + 1
            scale = scale * 0.5 + count

    x = torch.arange(1.0, 9.0)
    for n in (0, 1, 7):
        out = torch.zeros(8)
        kernel(x, ints(n), out)
        expected, scale = [0.0] * 8, 2.0
        for i in range(n):
            expected[i] = float(x[i]) * scale if i % 2 == 0 else 0.0
            scale = scale * 0.5 + i + 1
        assert torch.equal(out, torch.tensor(expected))


def test_floats_of_parameters_take_part():
    @pypto.frontend.jit
    def kernel(x: T([4], FP32), out: T([4], FP32), a: float):
        for _ in pypto.loop(3):
            a = (a + 1) * 2
        out[:] = x * (1 / a)

    program = ir.compile(kernel, platform="a2a3sim")
    with ChipWorker(config=RunConfig(platform="a2a3sim")) as worker:
        x, out = torch.ones(4), torch.zeros(4)
        worker.register(program)(x, out, 0.5)
    assert torch.equal(out, torch.full((4,), 1 / 18))


def test_floats_are_no_conditions():
    @pypto.frontend.jit
    def kernel(x: T([4], FP32)):
        s = 1.0
        for _ in pypto.loop(3):
            s = s * 0.5
            if s > 0.2:
                x[:] = x * s

    refuse(kernel, "s > 0.2", "'s' is a floating number of each launch", kind=TypeError)


def test_repeated_bodies_carry_numbers_without_more_roots():
    @pypto.frontend.jit
    def kernel(x: T([16], INT32), out: T([16], INT32)):
        total = 0
        for i in pypto.loop(13, unroll_list=[4]):
            total = total + 2
            out[i : i + 1] = x[i : i + 1] + total
        out[15:16] = pypto.full([1], total, INT32)

    x, out = torch.arange(16, dtype=torch.int32), torch.zeros(16, dtype=torch.int32)
    kernel(x, out)
    assert out.tolist() == [i + 2 * (i + 1) for i in range(13)] + [0, 0, 26]
    with ChipWorker(config=RunConfig(platform="a2a3sim")) as worker:
        handle = worker.register(ir.compile(kernel, platform="a2a3sim"))
        handle(x, out)
        assert handle.workspace_report().root_instances == 3 + 1 + 1


def test_branches_merge_numbers():
    @pypto.frontend.jit
    def kernel(x: T([4], FP32), out: T([4], FP32), n: T([2], INT32)):
        if n[0] > 2:
            width, scale, start = 1, 0.5, n[1]
        elif n[0] > 1:
            width, scale, start = 2, 4, 0
        else:
            width, scale, start = 2, 0.25, 1
        for i in pypto.loop(start, start + width):
            out[i : i + 1] = x[i : i + 1] * scale

    x = torch.arange(1.0, 5.0)
    for n, (width, scale, start) in {(3, 2): (1, 0.5, 2), (2, 3): (2, 4, 0), (0, 3): (2, 0.25, 1)}.items():
        out, expected = torch.zeros(4), torch.zeros(4)
        kernel(x, out, ints(*n))
        expected[start : start + width] = x[start : start + width] * scale
        assert torch.equal(out, expected)


def test_flags_and_first_iterations():
    @pypto.frontend.jit
    def kernel(x: T([8, 4], FP32), out: T([8, 4], FP32), n: T([1], INT32)):
        first = True
        for i in pypto.loop(n[0]):
            if first:
                best = x[i : i + 1] + 0
                first = False
            else:
                best = pypto.maximum(best, x[i : i + 1])
            out[i : i + 1] = best
        out[7:8] = best

    x = torch.randn(8, 4)
    for n in (1, 3, 7):
        out = torch.zeros(8, 4)
        kernel(x, out, ints(n))
        best = x[:n].cummax(0).values
        assert torch.equal(out[:n], best)
        assert torch.equal(out[7], best[-1])
    text = fault(kernel, x, torch.zeros(8, 4), ints(0))
    assert "'best' is used at line 10 and was never bound" in text
    assert "bound only in the loop at line 3" in text


def test_a_name_of_one_branch_used_where_it_was_bound():
    @pypto.frontend.jit
    def kernel(x: T([4], FP32), out: T([4], FP32), n: T([1], INT32)):
        if n[0] > 2:
            y = x + 1
            k = 3
        if n[0] > 3:
            out[:] = y * k

    x = torch.randn(4)
    for n in (0, 3, 4):
        out = torch.zeros(4)
        kernel(x, out, ints(n))
        assert torch.equal(out, (x + 1) * 3 if n > 3 else torch.zeros(4))


def test_a_name_of_one_branch_used_where_it_was_never_bound():
    @pypto.frontend.jit
    def kernel(x: T([4], FP32), out: T([4], FP32), n: T([1], INT32)):
        if n[0] > 2:
            y = x + 1
        out[:] = y * 2

    x, out = torch.randn(4), torch.zeros(4)
    kernel(x, out, ints(3))
    assert torch.equal(out, (x + 1) * 2)
    text = fault(kernel, x, torch.zeros(4), ints(2))
    assert "'y' is used at line 4 and was never bound: it is bound only in one branch of the if at line 2" in text


def test_a_concrete_condition_that_binds_nothing_is_an_error_of_the_trace():
    @pypto.frontend.jit
    def kernel(x: T([4], FP32)):
        if x.dim > 2:
            y = x + 1
        x[:] = y

    with pytest.raises(UnboundLocalError, match="'y'"):
        ir.compile(kernel)


def test_a_name_bound_in_some_iteration():
    @pypto.frontend.jit
    def kernel(x: T([8], INT32), out: T([2], INT32)):
        for i in pypto.loop(8):
            if x[i] > 5:
                where = i
                row = x[i : i + 1] * 10
        out[0:1] = row
        out[1:2] = pypto.full([1], where, INT32)

    out = torch.zeros(2, dtype=torch.int32)
    kernel(ints(1, 7, 3, 9, 0, 0, 0, 0), out)
    assert out.tolist() == [90, 3]
    assert "'row' is used" in fault(kernel, torch.zeros(8, dtype=torch.int32), out)


def test_valid_extents_are_carried():
    @pypto.frontend.jit
    def kernel(x: T([pypto.DYN, 4], FP32), out: T([16, 4], FP32)):
        last = pypto.zeros(16, 4)
        for i in pypto.loop(0, x.shape[0], 16):
            last = x[i : i + 16] * 2
        out[:] = pypto.full([16, 4], -1.0, FP32)
        out[0:16] = last

    for rows in (0, 5, 16, 40):
        x, out = torch.randn(rows, 4), torch.zeros(16, 4)
        kernel(x, out)
        expected = torch.full((16, 4), -1.0)
        tail = x[(rows - 1) // 16 * 16 :] * 2 if rows else torch.zeros(16, 4)
        expected[: len(tail)] = tail
        assert torch.equal(out, expected)


def test_kinds_of_carried_names_do_not_change():
    @pypto.frontend.jit
    def to_tensor(x: T([4], FP32)):
        n = 0
        for i in pypto.loop(3):
            if i > 1:
                x[:] = x * n
            n = i
            n = x + 1

    @pypto.frontend.jit
    def to_number(x: T([4], FP32)):
        y = x + 0
        for _ in pypto.loop(3):
            x[:] = y
            y = 3

    @pypto.frontend.jit
    def text(x: T([4], FP32)):
        mode = "a"
        for _ in pypto.loop(3):
            x[:] = x * (2 if mode == "a" else 3)
            mode = "b"

    refuse(to_tensor, "n = x + 1", "'n' changes in a pypto.loop from 0 to a tensor [4] DT_FP32")
    refuse(to_number, "y = 3", "'y' is a tensor before the pypto.loop and 3 at the end", kind=TypeError)
    refuse(text, 'mode = "b"', "'mode' changes in a pypto.loop from 'a' to 'b'")


@pytest.mark.parametrize("n", [0, 1, 13, 64])
def test_three_loops_deep_with_batches(n):
    @pypto.frontend.jit
    def kernel(x: T([4, 64], FP32), n: T([1], INT32), out: T([4, 64], FP32), steps: T([1], INT32)):
        count = 0
        for b in pypto.loop(2):
            for h in pypto.loop(2):
                row = b * 2 + h
                acc = pypto.zeros(1, 1)
                for i, k in pypto.loop_unroll(0, n[0], 1, unroll_list=[8, 4, 1]):
                    for j in range(k):
                        acc = acc + x[row : row + 1, i + j : i + j + 1]
                        out[row : row + 1, i + j : i + j + 1] = acc
                    count = count + k
        steps[:] = pypto.full([1], count, INT32)

    x, out, steps = torch.randint(0, 9, (4, 64)).float(), torch.zeros(4, 64), ints(0)
    kernel(x, ints(n), out, steps)
    expected = torch.zeros(4, 64)
    expected[:, :n] = x[:, :n].cumsum(1)
    assert torch.equal(out, expected)
    assert steps.item() == 4 * n


class State:
    def __init__(self, acc, count) -> None:
        self.acc, self.count = acc, count


def test_elements_and_attributes_are_carried():
    @pypto.frontend.jit
    def kernel(x: T([8, 4], FP32), n: T([1], INT32), out: T([8, 4], FP32)):
        state = State(pypto.zeros(1, 4), 0)
        rows = [x[0:1] + 0, x[1:2] + 0]
        table = {"last": x[0:1] * 0, "names": ["a"]}
        for i in pypto.loop(n[0]):
            state.acc = state.acc + x[i : i + 1]
            state.count += 1
            rows[0], rows[1] = rows[1], rows[0]
            if state.count % 2 == 0:
                table["last"] = x[i : i + 1] * 3
        out[0:1] = state.acc * state.count
        out[1:2] = rows[0]
        out[2:3] = rows[1]
        out[3:4] = table["last"]

    x = torch.randn(8, 4)
    for n in (0, 1, 5):
        out = torch.zeros(8, 4)
        kernel(x, ints(n), out)
        acc = torch.zeros(4)
        for i in range(n):
            acc = acc + x[i]
        expected = torch.zeros(8, 4)
        expected[0] = acc * n
        expected[1], expected[2] = (x[1], x[0]) if n % 2 else (x[0], x[1])
        expected[3] = x[n // 2 * 2 - 1] * 3 if n > 1 else 0
        assert torch.equal(out, expected)


def test_elements_are_merged_behind_branches():
    @pypto.frontend.jit
    def kernel(x: T([4], FP32), n: T([1], INT32), out: T([4], FP32)):
        parts, sizes = [x + 1, x + 2], {"k": 2}
        if n[0] > 3:
            parts[0] = parts[1] * 3
            sizes["k"] = 5
        else:
            parts[1] = parts[0] - 7
        out[:] = (parts[0] - parts[1]) * sizes["k"]

    x = torch.randn(4)
    for n in (3, 4):
        out = torch.zeros(4)
        kernel(x, ints(n), out)
        expected = ((x + 2) * 3 - (x + 2)) * 5 if n > 3 else ((x + 1) - (x + 1 - 7)) * 2
        assert torch.allclose(out, expected, atol=1e-5)


def test_containers_from_outside_are_given_back():
    held = {"n": 3}

    @pypto.frontend.jit
    def kernel(x: T([4], FP32)):
        for _ in pypto.loop(2):
            held["n"] = held["n"] + 1
            x[:] = x * held["n"]

    x = torch.ones(4)
    kernel(x)
    assert x.tolist() == [20.0] * 4
    assert held == {"n": 3}
