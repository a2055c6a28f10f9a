"""Updates at indices run in tiles: dims that no index addresses are cut, and each tile writes all rows of its part."""

import re

import pytest
import torch

import pypto
from pypto import ir

FP32, INT32 = pypto.DT_FP32, pypto.DT_INT32
T = pypto.Tensor


def ints(*values):
    return torch.tensor(values, dtype=torch.int32)


def tiles_of(program):
    """Extents and tile of each leaf that is one whole operation."""
    found = re.findall(r"leaf \d+ whole \[([\d, ]*)\] tile \[([\d, ]*)\]", program._image.to_text())
    return [tuple([int(each) for each in part.split(",")] for part in leaf) for leaf in found]


def put(shape, count, indices, accumulate=False):
    """x[i0, ...] = values, `count` of them at `indices` leading dims."""
    behind = shape[indices:]
    if indices == 1:

        @pypto.frontend.jit
        def kernel(x: T(shape, FP32), i: T([count], INT32), values: T([count, *behind], FP32)):
            pypto.index_put_(x, (i,), values, accumulate=accumulate)
    else:

        @pypto.frontend.jit
        def kernel(x: T(shape, FP32), i: T([count], INT32), j: T([count], INT32), values: T([count, *behind], FP32)):
            pypto.index_put_(x, (i, j), values, accumulate=accumulate)

    return kernel


# shape, number of values, indices, and the tile of it
PUTS = [
    ([1000, 512], 300, 1, [1000, 512]),  # slices are written in runs of 2,048 elements at least
    ([100, 4096], 8, 1, [100, 2048]),
    ([1000, 2050], 200, 1, [1000, 2048]),  # the last tile has 2 columns
    ([50, 7, 300], 40, 1, [50, 6, 300]),
    ([50, 7, 3000], 40, 2, [50, 7, 2048]),
    ([30, 5], 9, 2, [30, 5]),  # indices address every dim
    ([6, 3, 5], 4, 1, [6, 3, 5]),
]


@pytest.mark.parametrize("accumulate", [False, True])
@pytest.mark.parametrize(("shape", "count", "indices", "tile"), PUTS)
def test_index_put(shape, count, indices, tile, accumulate):
    kernel = put(shape, count, indices, accumulate)
    assert tiles_of(ir.compile(kernel)) == [(shape, tile)]
    x, values = torch.randn(shape), torch.randn([count, *shape[indices:]])
    cells = torch.randperm(shape[0] * (shape[1] if indices == 2 else 1))[:count]
    where = (cells,) if indices == 1 else (cells // shape[1], cells % shape[1])
    expected = x.clone().index_put_(where, values, accumulate=accumulate)
    kernel(x, *(each.int() for each in where), values)
    assert torch.equal(x, expected)


def test_values_at_one_place_are_written_in_order():
    """The last one stays, and all of them add up, in every tile."""
    shape, where = [40, 5000], [3, 3, 39, 3, 0, 39]
    values = torch.randn(6, 5000)
    for accumulate in (False, True):
        kernel = put(shape, 6, 1, accumulate)
        assert tiles_of(ir.compile(kernel)) == [(shape, [40, 2048])]
        x = torch.randn(shape)
        expected = x.clone()
        for place, row in zip(where, values, strict=True):
            expected[place] = expected[place] + row if accumulate else row
        kernel(x, ints(*where), values)
        assert torch.equal(x, expected)


def test_scatter_update_of_pages():
    @pypto.frontend.jit
    def kernel(
        cache: T([20, 16, 1, 4608], FP32), index: T([3, 40], INT32), tokens: T([3, 40, 1, 4608], FP32),
    ):  # fmt: skip
        pypto.scatter_update(cache, -2, index, tokens)

    ((extents, tile),) = tiles_of(ir.compile(kernel))
    assert extents[-1] == 4608 and tile[-1] == 2048
    cache, tokens = torch.randn(20, 16, 1, 4608), torch.randn(3, 40, 1, 4608)
    index = torch.randperm(320)[:120]
    expected = cache.clone()
    expected.view(320, 4608)[index] = tokens.view(120, 4608)
    kernel(cache, index.int().view(3, 40), tokens)
    assert torch.equal(cache, expected)


@pytest.mark.parametrize("rows", [16, 17])
def test_valid_values_and_rows_of_a_dynamic_tensor(rows):
    """Of a partly valid block of values only valid cells are written, whatever the tile."""

    @pypto.frontend.jit
    def kernel(x: T([pypto.DYN, 5000], FP32), i: T([16], INT32), values: T([16, 5000], FP32), n: T([1], INT32)):
        pypto.index_put_(x, (i,), pypto.view(values, [16, 5000], [0, 0], valid_shape=[16, n[0]]))

    ((_, tile),) = tiles_of(ir.compile(kernel))
    assert tile[-1] < 5000
    for valid in (5000, 4999, 2049, 2048, 1):
        x, values = torch.randn(rows, 5000), torch.randn(16, 5000)
        where = torch.randperm(rows)[:16]
        expected = x.clone()
        expected[where, :valid] = values[:, :valid]
        kernel(x, where.int(), values, ints(valid))
        assert torch.equal(x, expected)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_index_add(axis):
    shape = [200, 9, 300]
    part = [60 if dim == axis else extent for dim, extent in enumerate(shape)]

    @pypto.frontend.jit
    def kernel(x: T(shape, FP32), i: T([60], INT32), values: T(part, FP32)):
        pypto.index_add_(x, axis, i, values)

    ((extents, tile),) = tiles_of(ir.compile(kernel))
    assert extents == shape and tile[axis] == shape[axis]
    assert any(cut < extent for cut, extent in zip(tile, shape, strict=True))
    x, values, where = torch.randn(shape), torch.randn(part), torch.randint(0, shape[axis], (60,))
    expected = x.clone().index_add_(axis, where, values)
    kernel(x, where.int(), values)
    torch.testing.assert_close(x, expected)


def test_rows_of_a_scatter_are_not_cut_to_a_few_cells():
    @pypto.frontend.jit
    def kernel(x: T([100_000, 256], FP32), i: T([8, 256], INT32), values: T([8, 256], FP32)):
        pypto.scatter_(x, 0, i, values)

    assert tiles_of(ir.compile(kernel)) == [([100_000, 256], [100_000, 64])]


def test_an_index_out_of_range_is_a_fault_of_the_whole_operation():
    kernel = put([40, 5000], 6, 1)
    with pytest.raises(pypto.PyptoError, match=r"index_put\(\): index 40 is out of range for dim 0 of x, which has 40"):
        kernel(torch.zeros(40, 5000), ints(0, 1, 2, 3, 40, 5), torch.ones(6, 5000))


@pytest.mark.parametrize("name", ["index_add", "scatter"])
def test_out_of_place_and_from_the_tensor_itself(name):
    @pypto.frontend.jit
    def kernel(x: T([90, 400], FP32), i: T([30], INT32), at: T([30, 400], INT32), out: T([90, 400], FP32)):
        if name == "scatter":
            out[:] = pypto.scatter(x, 0, at, x[10:40, :])
            x.scatter_(0, at, x[10:40, :])
        else:
            out[:] = pypto.index_add(x, 0, i, x[10:40, :])
            pypto.index_put_(x, (i,), x[10:40, :])

    x, index = torch.randn(90, 400), torch.randperm(90)[:30]
    at, out, before = index[:, None].expand(30, 400).contiguous(), torch.zeros(90, 400), x.clone()
    kernel(x, index.int(), at.int(), out)
    put = before.scatter(0, at, before[10:40])
    assert torch.equal(x, put)
    torch.testing.assert_close(out, put if name == "scatter" else before.index_add(0, index, before[10:40]))


@pytest.mark.parametrize(("dtype", "other"), [(FP32, pypto.DT_UINT8), (pypto.DT_INT8, FP32), (FP32, pypto.DT_INT64)])
@pytest.mark.parametrize("valid", [None, 3])
def test_bytes_are_read_in_tiles(dtype, other, valid):
    host, read = (getattr(torch, pypto.dtypes.torch_name(each)) for each in (dtype, other))
    x = torch.randint(-100, 100, (37, 1000), dtype=torch.int32).to(host)
    width = 1000 * x.element_size() // torch.empty(0, dtype=read).element_size()

    @pypto.frontend.jit
    def kernel(
        x: T([37, 1000], dtype), out: T([37, width], other), flat: T([37 * 1000 * x.element_size()], pypto.DT_UINT8)
    ):
        part = x if valid is None else pypto.view(x, [37, 1000], [0, 0], valid_shape=[valid, 1000])
        pypto.assemble(pypto.view(part, dtype=other), [0, 0], out)
        flat[:] = pypto.pack(part)

    for extents, tile in tiles_of(ir.compile(kernel, platform="a5sim")):
        assert tile[-1] == 8192 < extents[-1]
    expected = x.clone()
    expected[valid:] = 0
    expected = x if valid is None else expected
    out, flat = torch.zeros(37, width, dtype=read), torch.ones(x.numel() * x.element_size(), dtype=torch.uint8)
    kernel(x, out, flat)
    assert torch.equal(out.view(torch.uint8).flatten(), expected.view(torch.uint8).flatten())
    assert torch.equal(flat, expected.view(torch.uint8).flatten())
