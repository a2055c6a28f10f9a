"""`pypto.symbolic_scalar` by name, symbolic values outside of kernels, and loops with symbolic steps."""

import pytest
import torch
from frontend_samples import refuse

import pypto
from pypto import ir

FP32, INT32 = pypto.DT_FP32, pypto.DT_INT32
T = pypto.Tensor


def test_text_forms_and_checks_of_free_symbols():
    x, y = pypto.symbolic_scalar("x"), pypto.SymbolicScalar("y")
    assert [str(each) for each in (x + 8, x.min(5), y & 20)] == ["(x+8)", "RUNTIME_Min(x, 5)", "(y&&20)"]
    assert x.is_symbol() and (x + 1).is_expression() and not x.is_concrete()
    assert pypto.symbolic_scalar("x").check([x == x, x - x + 1]) == pypto.SatStatus.SAT
    assert pypto.SymbolicScalar.check([x < x]) == pypto.SatStatus.UNSAT
    assert pypto.SymbolicScalar.check([x > 3]) == pypto.SatStatus.UNKNOWN
    seven = pypto.symbolic_scalar(-7)
    assert (seven // 2).concrete() == -3 and (seven % 3).concrete() == -1
    with pytest.raises(ValueError, match="Not concrete value"):
        int(x)
    with pytest.raises(TypeError, match="Invalid type"):
        x + 1.5
    with pytest.raises(ValueError, match="division by zero"):
        x // 0
    with pytest.raises(TypeError, match="expected an int or a name, got float"):
        pypto.symbolic_scalar(1.5)


def test_names_of_dims_and_parameters_in_a_kernel():
    batch = pypto.frontend.dynamic("batch")

    @pypto.frontend.jit
    def kernel(x: T([batch, 4], FP32), out: T([2], INT32), n: int):
        out[0] = pypto.symbolic_scalar("batch") * 2
        out[1] = pypto.symbolic_scalar("n") + 1

    out = torch.zeros(2, dtype=torch.int32)
    ir.compile(kernel)(torch.zeros(5, 4), out, 7)
    assert out.tolist() == [10, 8]

    @pypto.frontend.jit
    def unknown(x: T([batch, 4], FP32)):
        x[0:1] = x[0:1] * pypto.symbolic_scalar("rows")

    text = "symbolic_scalar(): the kernel has no dim or int parameter 'rows' (it has: batch)"
    refuse(unknown, "pypto.symbolic_scalar", text, kind=NameError)


def test_values_of_another_trace_are_refused_as_numbers_too():
    free = pypto.symbolic_scalar("x")

    @pypto.frontend.jit
    def cell(out: T([4], INT32)):
        out[0] = free

    @pypto.frontend.jit
    def operand(out: T([4], FP32)):
        out[:] = out * free

    for kernel, at in ((cell, "out[0] = free"), (operand, "out * free")):
        refuse(kernel, at, "a symbolic value of another trace is used", kind=RuntimeError)


@pytest.mark.parametrize("bounds", [(0, 13, 1), (20, 3, -2), (0, 0, 1), (0, 13, 3), (5, 0, 1), (0, 5, -1), (-3, 8, 2)])
def test_batches_with_a_step_read_from_a_tensor(bounds):
    @pypto.frontend.jit
    def kernel(given: T([3], INT32), rows: T([32, 4], INT32), count: T([1], INT32)):
        n = 0
        for i, k in pypto.loop_unroll(given[0], given[1], given[2], unroll_list=[4, 2]):
            rows[n, 0] = i
            rows[n, 1] = k
            rows[n, 2] = pypto.is_loop_begin(i)
            rows[n, 3] = pypto.is_loop_end(i)
            n += 1
        count[0] = n

    start, stop, step = bounds
    expected, index, left = [], start, len(range(start, stop, step))
    for factor in (4, 2, 1):
        while left >= factor:
            ends = index + step >= stop if step > 0 else index + step <= stop
            expected.append([index, factor * step, int(index == start), int(ends)])
            index, left = index + factor * step, left - factor
    rows, count = torch.full((32, 4), -99, dtype=torch.int32), torch.zeros(1, dtype=torch.int32)
    kernel(torch.tensor(bounds, dtype=torch.int32), rows, count)
    assert rows[: count[0]].tolist() == expected


def test_a_step_of_zero_that_is_read_is_a_kernel_fault():
    @pypto.frontend.jit
    def kernel(given: T([3], INT32), out: T([4], FP32)):
        for i, _ in pypto.loop_unroll(given[0], given[1], given[2], unroll_list=[2]):
            out[:] = out + i

    worker = pypto.runtime.ChipWorker(config=pypto.runtime.RunConfig(platform="a2a3sim"))
    with worker, pytest.raises(pypto.PyptoError, match="divides by zero"):
        kernel(torch.tensor([0, 4, 0], dtype=torch.int32), torch.zeros(4))


@pytest.mark.parametrize("numbers", [(3, -1, 2), (-5, -4, 9), (0, 0, 0)])
def test_extrema_of_many_and_magnitudes(numbers):
    @pypto.frontend.jit
    def kernel(given: T([3], INT32), out: T([6], INT32)):
        a, b, c = given[0], given[1], given[2]
        out[0] = min(a, b, c, 1)
        out[1] = max([a, 2, c])
        out[2] = pypto.max(1, b, a)
        out[3] = abs(a - b)
        out[4] = min(4, 3, 2) + a
        out[5] = max((a,))

    out = torch.zeros(6, dtype=torch.int32)
    kernel(torch.tensor(numbers, dtype=torch.int32), out)
    a, b, c = numbers
    assert out.tolist() == [min(a, b, c, 1), max(a, 2, c), max(1, b, a), abs(a - b), 2 + a, a]


def test_dtypes_that_the_platform_lacks_name_the_parameter():
    @pypto.frontend.jit
    def kernel(
        x: T([4], FP32),
        small: T([4], pypto.DT_FP8E4M3),
    ):
        x[:] = pypto.cast(small, FP32)

    refuse(kernel, "small: T", "parameter 'small': DT_FP8E4M3 is not available on platform a2a3sim", "a5 and a5sim")
