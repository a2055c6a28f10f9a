"""Updates in place of tensors with one dynamic dim, wherever it is."""

import pytest
import torch
from frontend_samples import refuse

import pypto

FP32, INT32 = pypto.DT_FP32, pypto.DT_INT32
T, N = pypto.Tensor, pypto.DYN


def ints(*values):
    return torch.tensor(values, dtype=torch.int32)


@pytest.mark.parametrize("dynamic", [0, 1, 2])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_index_add(axis, dynamic):
    shape = [3, 4, 5]
    declared = [N if dim == dynamic else extent for dim, extent in enumerate(shape)]
    part = [2 if dim == axis else extent for dim, extent in enumerate(shape)]

    @pypto.frontend.jit
    def kernel(x: T(declared, FP32), index: T([2], INT32), source: T(part, FP32)):
        pypto.index_add_(x, axis, index, source, alpha=2)

    if dynamic != axis:  # a slice of the source is as large as that of x, whose extent is not known
        refuse(kernel, "pypto.index_add_", "the source must have shape", kind=ValueError)
        return
    x, source = torch.randn(shape), torch.randn(part)
    expected = x.clone().index_add_(axis, torch.tensor([1, 1]), source, alpha=2)
    kernel(x, ints(1, 1), source)
    torch.testing.assert_close(x, expected)


@pytest.mark.parametrize("dynamic", [0, 1])
@pytest.mark.parametrize("axis", [0, 1])
def test_scatter(axis, dynamic):
    shape = [6, 5]
    declared = [N if dim == dynamic else extent for dim, extent in enumerate(shape)]

    @pypto.frontend.jit
    def kernel(x: T(declared, FP32), index: T([3, 2], INT32), source: T([3, 2], FP32)):
        x.scatter_(axis, index, source)

    x, source, index = torch.randn(shape), torch.randn(3, 2), torch.tensor([[0, 1], [2, 0], [1, 3]])
    expected = x.clone().scatter_(axis, index, source)
    kernel(x, index.to(torch.int32), source)
    assert torch.equal(x, expected)


def test_index_put_and_a_second_dynamic_dim():
    @pypto.frontend.jit
    def kernel(x: T([6, N], FP32), rows: T([2], INT32), columns: T([2], INT32), values: T([2], FP32)):
        pypto.index_put_(x, (rows, columns), values, accumulate=True)

    @pypto.frontend.jit
    def two(x: T([N, N], FP32), rows: T([2], INT32), columns: T([2], INT32), values: T([2], FP32)):
        pypto.index_put_(x, (rows, columns), values)

    x = torch.zeros(6, 5)
    kernel(x, ints(1, 4), ints(2, 4), torch.tensor([5.0, 6.0]))
    expected = torch.zeros(6, 5)
    expected[1, 2], expected[4, 4] = 5, 6
    assert torch.equal(x, expected)
    text = "Dynamic shape tensors are not allowed as operation operands: x has shape [?, ?]"
    refuse(two, "pypto.index_put_", "index_put(): " + text, kind=TypeError)
