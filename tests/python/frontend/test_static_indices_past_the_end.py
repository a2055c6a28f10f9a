"""Static indices at and past the end of a dim: slices and cells written are clipped, scalar reads are refused."""

import pytest
import torch
from frontend_samples import refuse

import pypto

FP32, INT32, T = pypto.DT_FP32, pypto.DT_INT32, pypto.Tensor


def test_reads_and_writes_are_clipped():
    @pypto.frontend.jit
    def kernel(x: T([4, 4], FP32), row: T([4], FP32), n: T([2, 2], INT32), out: T([4], FP32), part: T([2], FP32)):
        out[:] = x[7] + 0.0
        part[:] = x[0:2, 4] + 0.0
        x[4] = row
        x[0:4, 9] = row
        n[7, 0] = 3
        n[0, 2] = 3

    x, row, n = torch.randn(4, 4), torch.randn(4), torch.ones(2, 2, dtype=torch.int32)
    out, part, before = torch.full((4,), 7.0), torch.full((2,), 7.0), x.clone()
    kernel(x, row, n, out, part)
    assert torch.equal(x, before)
    assert torch.equal(n, torch.ones(2, 2, dtype=torch.int32))
    assert out.tolist() == [7.0] * 4  # nothing valid was moved there
    assert part.tolist() == [7.0] * 2


def test_a_scalar_read_is_refused():
    @pypto.frontend.jit
    def kernel(x: T([4], FP32), n: T([4, 4], INT32), out: T([4], FP32)):
        if n[0, 0] > 0:
            out[:] = x * n[0, 7]

    refuse(kernel, "n[0, 7]", "index 7 is out of range for dim 1 of [4, 4]", kind=IndexError)


def test_a_scalar_read_of_a_dynamic_dim_faults():
    @pypto.frontend.jit
    def kernel(x: T([4], FP32), n: T([pypto.DYN], INT32), out: T([4], FP32)):
        out[:] = x * n[7]

    x, out = torch.ones(4), torch.zeros(4)
    kernel(x, torch.arange(8, dtype=torch.int32), out)
    assert out.tolist() == [7.0] * 4
    with pytest.raises(pypto.PyptoError, match=r"scalar read of .n. at index \[7\]"):
        kernel(x, torch.arange(7, dtype=torch.int32), out)


def test_below_the_first_is_refused():
    @pypto.frontend.jit
    def kernel(x: T([4, 4], FP32), out: T([4], FP32)):
        out[:] = x[-5]

    refuse(kernel, "x[-5]", "index -5 is out of range for a dim of 4", kind=IndexError)
