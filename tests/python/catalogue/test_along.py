"""Reductions, running sums, order and norms, by dtype and shape, against torch in FP64 or exact integers."""

import math

import pytest
import torch
from catalogue_support import EPSILON, FLOATS, HALF_ULPS, SHAPES, TORCH, case_id, check, dtypes_of, run, values

import pypto

ORDERED = [
    (dtype, platform) for dtype, platform in dtypes_of("_sorted") if dtype not in (pypto.DT_UINT16, pypto.DT_UINT32)
]


def _cases(*names):
    return [(name, dtype, platform) for name in names for dtype, platform in dtypes_of(name)]


def _plain(shape, dtype, seed=0):
    """Values without NaN and infinities, small enough to sum."""
    generator = torch.Generator().manual_seed(seed)
    if dtype in FLOATS:
        return torch.randn(shape, generator=generator, dtype=torch.float64).to(TORCH[dtype])
    return torch.randint(-50 if dtype != pypto.DT_UINT8 else 0, 50, shape, generator=generator).to(TORCH[dtype])


@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize(("name", "dtype", "platform"), _cases("sum", "amax", "amin", "prod"), ids=case_id)
def test_reduction(name, dtype, platform, keepdim):
    for shape in SHAPES:
        x = values(shape, dtype) if name in ("amax", "amin") else _plain(shape, dtype)
        wide = x.double() if dtype in FLOATS else x.to(torch.int64)
        for dim in range(-1, len(shape) - 1):
            expected = getattr(torch, name)(wide, dim, keepdim=keepdim)
            expected = expected.reshape(1) if expected.dim() == 0 else expected
            out = torch.empty(expected.shape, dtype=TORCH[dtype])
            got = run(lambda t, d=dim: getattr(pypto, name)(t, d, keepdim), [x], out, platform)
            if dtype not in FLOATS:
                check(got, expected.to(torch.int64).to(TORCH[dtype]))
            elif name == "prod":
                check(got, expected, 300.0)
            else:
                allowed = float(wide.abs().nan_to_num(0, 0, 0).sum()) * 2.0**-22 if name == "sum" else 0.0
                check(got, expected, HALF_ULPS if name == "sum" else 0.0, allowed)


@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("dtype", FLOATS, ids=case_id)
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_first_extreme(name, dtype, keepdim):
    for shape in SHAPES:
        x = (values(shape, dtype) * 4).round()
        for dim in range(-1, len(shape) - 1):
            expected = getattr(torch, name)(x.float(), dim, keepdim=keepdim).to(torch.int32)
            expected = expected.reshape(1) if expected.dim() == 0 else expected
            got = run(lambda t, d=dim: getattr(pypto, name)(t, d, keepdim), [x], torch.empty_like(expected))
            check(got, expected)


@pytest.mark.parametrize("dtype", FLOATS, ids=case_id)
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_first_extreme_of_long_lines(name, dtype):
    """Equal extremes and NaN lie in different chunks of a line, and columns take more than one chunk."""
    for shape in ((2, 1700), (1700, 3), (9, 1100)):
        for numbers in ((), (5, 1500), (1500,)):
            x = torch.randint(-3, 4, shape, generator=torch.Generator().manual_seed(3)).to(TORCH[dtype])
            for place in numbers:
                x.view(-1)[place] = math.nan
            for dim in (-1, 0):
                expected = getattr(torch, name)(x.float(), dim).to(torch.int32)
                got = run(lambda t, d=dim: getattr(pypto, name)(t, d), [x], torch.empty_like(expected))
                check(got, expected)


@pytest.mark.parametrize(("name", "dtype", "platform"), _cases("_cumsum", "_cumprod"), ids=case_id)
def test_running(name, dtype, platform):
    name = name.removeprefix("_")
    for shape in SHAPES:
        x = _plain(shape, dtype)
        wide = x.double() if dtype in FLOATS else x.to(torch.int64)
        out_dtype = TORCH[dtype] if dtype in FLOATS else torch.int64
        for dim in range(-1, len(shape) - 1):
            got = run(lambda t, d=dim: getattr(pypto, name)(t, d), [x], torch.empty(shape, dtype=out_dtype), platform)
            check(got, getattr(torch, name)(wide, dim), HALF_ULPS, 1e-12)


@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize(("dtype", "platform"), ORDERED, ids=case_id)
def test_topk(dtype, platform, largest):
    for shape, k in (((1,), 1), ((300,), 7), ((3, 33), 33), ((2, 3, 19), 4)):
        x = (values(shape, dtype) * 2).round() if dtype in FLOATS else values(shape, dtype)
        order = torch.sort(x.double(), dim=-1, descending=largest, stable=True)
        empty = torch.empty((*shape[:-1], k), dtype=TORCH[dtype])
        got = run(lambda t, n=k: pypto.topk(t, n, largest=largest)[0], [x], empty, platform)
        check(got, order.values[..., :k].to(TORCH[dtype]))
        where = run(lambda t, n=k: pypto.topk(t, n, -1, largest)[1], [x], empty.to(torch.int32), platform)
        check(where, order.indices[..., :k])


@pytest.mark.parametrize("largest", [False, True])
def test_topk_of_long_lines(largest):
    """Distinct values, many equal ones, NaN and infinities; as many as the bound of a line lets through, and more."""
    lines = torch.randn(8, 700)
    lines[1] = 3.0
    lines[2, ::2] = 1.5
    lines[3, 5::90] = float("nan")
    lines[4, :400] = float("-inf")
    lines[5, 300:] = float("inf")
    lines[6] = lines[6].sort().values
    lines[7] = lines[7].sort(descending=True).values
    for width in (700, 256, 31):
        x = lines[:, :width].contiguous()
        order = torch.sort(x, dim=-1, descending=largest, stable=True)
        for k in (1, 8, 16, 31, 64, 65):
            if k > width:
                continue
            got = run(lambda t, n=k: pypto.topk(t, n, largest=largest)[0], [x], torch.empty(8, k))
            assert torch.equal(got.nan_to_num(7e9), order.values[:, :k].nan_to_num(7e9)), (width, k)
            where = run(lambda t, n=k: pypto.topk(t, n, -1, largest)[1], [x], torch.empty(8, k, dtype=torch.int32))
            assert torch.equal(where, order.indices[:, :k].int()), (width, k)


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", [pypto.DT_FP32, pypto.DT_FP16], ids=case_id)
def test_argsort(dtype, descending):
    for shape in SHAPES:
        x = (values(shape, dtype) * 2).round()
        for dim in range(0 if len(shape) < 4 else 1, len(shape)):
            expected = torch.argsort(x, dim=dim, descending=descending, stable=True).to(torch.int32)
            got = run(lambda t, d=dim: pypto.argsort(t, d, descending), [x], torch.empty_like(expected))
            check(got, expected)


@pytest.mark.parametrize("dtype", FLOATS, ids=case_id)
def test_var(dtype):
    x = _plain((4, 33, 20), dtype)
    for dim in (None, 0, -1, [0, 2], [1, -1]):
        for correction in (1, 0, 5):
            dims = list(range(3)) if dim is None else dim
            expected = torch.var(x.double(), dim=dims, correction=correction)
            shape = expected.shape or (1,)
            got = run(lambda t, d=dim, c=correction: pypto.var(t, d, correction=c), [x],
                      torch.empty(shape, dtype=TORCH[dtype]))  # fmt: skip
            check(got, expected.reshape(shape), HALF_ULPS, 1e-5)
    one = run(lambda t: pypto.var(t, 0, keepdim=True), [x[:1]], torch.empty(1, 33, 20, dtype=TORCH[dtype]))
    assert bool(one.isnan().all())


def test_softmax_and_rms_norm():
    x = torch.randn(9, 70)
    for dim in (0, 1):
        got = run(lambda t, d=dim: pypto.softmax(t, d), [x], torch.empty(9, 70))
        check(got, torch.softmax(x.double(), dim), 8.0)
    gamma = torch.randn(70)
    for dtype in FLOATS:
        given, scale = x.to(TORCH[dtype]), gamma.to(TORCH[dtype])
        wide = given.double()
        expected = wide * torch.rsqrt((wide * wide).mean(-1, keepdim=True) + 1e-6)
        check(run(pypto.rms_norm, [given], torch.empty_like(given)), expected, 8.0 if dtype == pypto.DT_FP32 else 0.51)
        got = run(lambda t, g: pypto.rms_norm(t, g, 1e-6), [given, scale], torch.empty_like(given))
        check(got, expected * scale.double(), 8.0 if dtype == pypto.DT_FP32 else 0.51)


def test_tails_are_not_part_of_a_reduction():
    """A tail of 3 rows and 5 columns in a window of 8 x 16."""

    @pypto.frontend.jit
    def kernel(
        x: pypto.Tensor([3, 5], pypto.DT_FP32),
        sums: pypto.Tensor([8], pypto.DT_FP32), products: pypto.Tensor([1, 16], pypto.DT_FP32),
        first: pypto.Tensor([8], pypto.DT_INT32), running: pypto.Tensor([8, 16], pypto.DT_FP32),
        best: pypto.Tensor([8, 16], pypto.DT_FP32), spread: pypto.Tensor([8], pypto.DT_FP32),
    ):  # fmt: skip
        window = pypto.view(x, [8, 16], [0, 0])
        pypto.assemble(pypto.sum(window, 1), [0], sums)
        pypto.assemble(pypto.prod(window, 0, True), [0, 0], products)
        pypto.assemble(pypto.argmin(window, 1), [0], first)
        pypto.assemble(pypto.cumsum(window, 0), [0, 0], running)
        pypto.assemble(pypto.topk(window, 16)[0], [0, 0], best)
        pypto.assemble(pypto.var(window, 1), [0], spread)

    x = torch.randn(3, 5)
    out = [torch.full(shape, -7.0) for shape in ((8,), (1, 16), (8,), (8, 16), (8, 16), (8,))]
    out[2] = out[2].to(torch.int32)
    kernel(x, *out)
    for got, expected in zip(
        out, (x.sum(1), x.prod(0, True), x.argmin(1), x.cumsum(0), x.sort(1, True).values, x.var(1)), strict=True
    ):
        want = torch.full(got.shape, -7.0).to(got.dtype)
        want[tuple(slice(0, extent) for extent in expected.shape)] = expected.to(got.dtype)
        torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-6)


def test_empty_reductions():
    """Nothing of the axis is valid: the neutral value, argmax 0."""
    n = pypto.frontend.dynamic("n")

    @pypto.frontend.jit
    def kernel(
        x: pypto.Tensor([n, 4], pypto.DT_FP32), sums: pypto.Tensor([4], pypto.DT_FP32),
        products: pypto.Tensor([4], pypto.DT_FP32), largest: pypto.Tensor([4], pypto.DT_FP32),
        where: pypto.Tensor([4], pypto.DT_INT32),
    ):  # fmt: skip
        window = pypto.view(x, [8, 4], [3, 0])
        sums[:] = pypto.sum(window, 0)
        products[:] = pypto.prod(window, 0)
        largest[:] = pypto.amax(window, 0)
        where[:] = pypto.argmax(window, 0)

    out = [torch.full((4,), -7.0) for _ in range(3)] + [torch.full((4,), -7, dtype=torch.int32)]
    kernel(torch.randn(2, 4), *out)
    assert out[0].tolist() == [0.0] * 4
    assert out[1].tolist() == [1.0] * 4
    assert out[2].tolist() == [-torch.finfo(torch.float32).max] * 4
    assert out[3].tolist() == [0] * 4
    assert math.isfinite(EPSILON[pypto.DT_FP32])
