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

    x = torch.zeros(6, 5)
    kernel(x, ints(1, 4), ints(2, 4), torch.tensor([5.0, 6.0]))
    expected = torch.zeros(6, 5)
    expected[1, 2], expected[4, 4] = 5, 6
    assert torch.equal(x, expected)


def test_several_dynamic_dims():
    @pypto.frontend.jit
    def kernel(
        put: T([N, N], FP32), paged: T([N, N, 1, N], FP32), added: T([N, N, 3], FP32), placed: T([N, N], FP32),
        rows: T([2], INT32), columns: T([2], INT32), values: T([2], FP32), index: T([1, 2], INT32),
        tokens: T([1, 2, 1, 5], FP32), slices: T([2, 4, 3], FP32), where: T([2, 3], INT32), source: T([2, 3], FP32),
    ):  # fmt: skip
        pypto.index_put_(put, (rows, columns), values)
        pypto.scatter_update(paged, -2, index, tokens)
        pypto.index_add_(added, 0, rows, slices)
        pypto.scatter_(placed, 0, where, source)

    put, paged, added, placed = torch.randn(6, 5), torch.randn(3, 4, 1, 5), torch.randn(5, 4, 3), torch.randn(7, 6)
    values, tokens, slices, source = torch.randn(2), torch.randn(1, 2, 1, 5), torch.randn(2, 4, 3), torch.randn(2, 3)
    rows, columns = torch.tensor([1, 4]), torch.tensor([2, 0])
    where = torch.tensor([[6, 1, 2], [0, 3, 5]])
    expected = [put.clone(), paged.clone(), added.index_add(0, rows, slices), placed.scatter(0, where, source)]
    expected[0][rows, columns] = values
    expected[1].view(12, 5)[[11, 4]] = tokens.view(2, 5)
    tensors = (put, paged, added, placed)
    kernel(*tensors, rows.int(), columns.int(), values, ints(11, 4).view(1, 2), tokens, slices, where.int(), source)
    for got, wanted in zip(tensors, expected, strict=True):
        torch.testing.assert_close(got, wanted)


def faults(kernel, *arguments):
    with pytest.raises(pypto.PyptoError) as caught:
        kernel(*arguments)
    return str(caught.value)


def test_extents_that_do_not_fit_are_faults():
    @pypto.frontend.jit
    def put(x: T([N, N], FP32), rows: T([2], INT32), columns: T([2], INT32), values: T([2], FP32)):
        pypto.index_put_(x, (rows, columns), values)

    @pypto.frontend.jit
    def added(x: T([N, N], FP32), rows: T([2], INT32), source: T([2, 4], FP32)):
        pypto.index_add_(x, 0, rows, source)

    @pypto.frontend.jit
    def placed(x: T([N, N], FP32), index: T([2, 4], INT32), source: T([2, 4], FP32)):
        pypto.scatter_(x, 0, index, source)

    x = torch.zeros(3, 3)
    assert "index_put(): index 3 is out of range for dim 1 of x, which has 3" in faults(
        put, x, ints(1, 2), ints(0, 3), torch.ones(2)
    )
    assert "index_add_(): expected a tensor with 4, as the values, in dim 1" in faults(
        added, x, ints(1, 2), torch.ones(2, 4)
    )
    assert "scatter_(): expected a tensor with at least 4, as the index, in dim 1" in faults(
        placed, x, ints(*[0] * 8).view(2, 4), torch.ones(2, 4)
    )
    assert not x.any()


def test_ranks_of_tensors_with_dynamic_dims():
    @pypto.frontend.jit
    def kernel(x: T([N, 3], FP32), rows: T([2], INT32), source: T([2], FP32)):
        pypto.index_add_(x, 0, rows, source)

    refuse(kernel, "pypto.index_add_", "index_add_(): 1 dims for [", "; ranks are equal")


def test_index_put_broadcasts_its_values():
    @pypto.frontend.jit
    def kernel(
        x: T([4, 5], FP32), i: T([3], INT32), one: T([1], FP32), row: T([5], FP32), column: T([3, 1], FP32),
        y: T([4, 5], FP32),
    ):  # fmt: skip
        pypto.index_put_(x, (i, i), one)
        pypto.index_put_(y, [i], row)
        pypto.index_put_(y, [i], column, accumulate=True)

    @pypto.frontend.jit
    def wide(x: T([4, 5], FP32), i: T([3], INT32), row: T([2, 5], FP32)):
        pypto.index_put_(x, (i,), row)

    @pypto.frontend.jit
    def bare(x: T([4, 5], FP32), i: T([3], INT32), row: T([3, 5], FP32)):
        pypto.index_put_(x, i, row)

    @pypto.frontend.jit
    def many(x: T([4, 5], FP32), i: T([3], INT32), row: T([3], FP32)):
        pypto.index_put_(x, (i, i, i), row)

    x, y, index = torch.randn(4, 5), torch.randn(4, 5), torch.tensor([0, 3, 1])
    one, row, column = torch.randn(1), torch.randn(5), torch.randn(3, 1)
    expected = [x.clone(), y.clone()]
    expected[0].index_put_((index, index), one)
    expected[1].index_put_((index,), row)
    expected[1].index_put_((index,), column, accumulate=True)
    kernel(x, index.int(), one, row, column, y)
    torch.testing.assert_close([x, y], expected)
    refuse(wide, "pypto.index_put_", "index_put_(): values must have shape [3, 5], got [2, 5]")
    refuse(bare, "pypto.index_put_", "indices are a tuple or list of tensors", kind=TypeError)
    refuse(many, "pypto.index_put_", "index_put_(): expected 1 to 2 index tensors for [4, 5] DT_FP32, got 3")
