"""Casts between all dtypes, their modes and saturation; fills and copies of every dtype."""

import math

import numpy as np
import pytest
import torch
from catalogue_support import EPSILON, FLOATS, RANGES, TORCH, case_id, check, dtypes_of, run, values

import pypto

CASTS = [dtype for dtype, _ in dtypes_of("cast")]
PLATFORM = dict(dtypes_of("cast"))


def _platform(*dtypes):
    return "a5sim" if any(PLATFORM[dtype] == "a5sim" for dtype in dtypes) else "a2a3sim"


def _wrapped(value, dtype):
    """Python integers modulo the width of the dtype."""
    low, high = RANGES[dtype]
    if dtype == pypto.DT_BOOL:
        return value != 0
    return (value - low) % (high - low + 1) + low


@pytest.mark.parametrize("target", CASTS, ids=case_id)
@pytest.mark.parametrize("source", CASTS, ids=case_id)
def test_cast(source, target):
    x = values((5, 130), source)
    if source == pypto.DT_INT64:
        x = x >> torch.arange(5 * 130).reshape(5, 130) % 64
    got = run(
        lambda t: pypto.cast(t, target), [x], torch.empty(x.shape, dtype=TORCH[target]), _platform(source, target)
    )
    if target in FLOATS:
        exact = x.double() if source in FLOATS or source == pypto.DT_BOOL else x.to(torch.int64).float().double()
        check(got, exact.to(torch.float32).to(TORCH[target]).double())
        return
    items = x.double().reshape(-1).tolist() if source in FLOATS else x.to(torch.int64).reshape(-1).tolist()
    if target == pypto.DT_BOOL:
        expected = [int(item != 0) for item in items]
    else:
        expected = [_wrapped(int(item), target) if math.isfinite(item) else 0 for item in items]
    check(got, torch.tensor(expected).reshape(x.shape))


@pytest.mark.parametrize(
    "target", [dtype for dtype in CASTS if dtype in RANGES and dtype != pypto.DT_BOOL], ids=case_id
)
@pytest.mark.parametrize("source", [dtype for dtype in CASTS if dtype != pypto.DT_BOOL], ids=case_id)
def test_cast_saturates(source, target):
    x = values((5, 130), source, scale=1e5)
    saturated = lambda t: pypto.cast(t, target, satmode=pypto.SaturationMode.ON)  # noqa: E731
    got = run(saturated, [x], torch.empty(x.shape, dtype=TORCH[target]), _platform(source, target))
    low, high = RANGES[target]
    items = x.double().reshape(-1).tolist() if source in FLOATS else x.to(torch.int64).reshape(-1).tolist()
    expected = []
    for item in items:
        if isinstance(item, float) and not math.isfinite(item):
            expected.append(0 if math.isnan(item) else (high if item > 0 else low))
        else:
            expected.append(min(max(int(item), low), high))
    check(got, torch.tensor(expected).reshape(x.shape))


@pytest.mark.parametrize("mode", pypto.CastMode)
@pytest.mark.parametrize("target", [pypto.DT_FP16, pypto.DT_BF16], ids=case_id)
@pytest.mark.parametrize("source", [*FLOATS, pypto.DT_INT32, pypto.DT_INT64, pypto.DT_UINT16], ids=case_id)
def test_cast_saturates_to_half_dtypes(source, target, mode):
    """Too large values and infinities become the largest value, NaN and all others are what they are without."""
    x = values((5, 130), source, scale=1e5)
    empty, platform = torch.empty(x.shape, dtype=TORCH[target]), _platform(source, target)
    plain = run(lambda t: pypto.cast(t, target, mode), [x], empty.clone(), platform)
    got = run(lambda t: pypto.cast(t, target, mode, pypto.SaturationMode.ON), [x], empty.clone(), platform)
    limit = torch.finfo(TORCH[target]).max
    expected = plain if source == target else torch.clamp(plain, -limit, limit)
    assert torch.equal(got.nan_to_num(7), expected.nan_to_num(7))
    assert torch.equal(got.isnan(), plain.isnan())


ROUNDED = {
    pypto.CastMode.CAST_RINT: torch.round, pypto.CastMode.CAST_FLOOR: torch.floor,
    pypto.CastMode.CAST_CEIL: torch.ceil, pypto.CastMode.CAST_TRUNC: torch.trunc,
    pypto.CastMode.CAST_ROUND: lambda x: torch.sign(x) * torch.floor(x.abs() + 0.5),
    pypto.CastMode.CAST_NONE: torch.trunc,
}  # fmt: skip


@pytest.mark.parametrize("target", [pypto.DT_INT8, pypto.DT_INT16, pypto.DT_INT32, pypto.DT_INT64], ids=case_id)
@pytest.mark.parametrize("source", FLOATS, ids=case_id)
@pytest.mark.parametrize("mode", ROUNDED)
def test_modes_to_integers(mode, source, target):
    x = (torch.arange(-400, 400).double() / 4).to(TORCH[source])
    got = run(lambda t: pypto.cast(t, target, mode), [x], torch.empty(800, dtype=TORCH[target]))
    check(got, ROUNDED[mode](x.double()))


@pytest.mark.parametrize("mode", [mode for mode in ROUNDED if mode != pypto.CastMode.CAST_NONE])
@pytest.mark.parametrize("dtype", FLOATS, ids=case_id)
def test_modes_of_one_dtype_round_to_integers(dtype, mode):
    x = (torch.arange(-400, 400).double() / 4).to(TORCH[dtype])
    check(run(lambda t: pypto.cast(t, dtype, mode), [x], torch.empty_like(x)), ROUNDED[mode](x.double()))
    same = run(lambda t: pypto.cast(t, dtype), [x], torch.empty_like(x))
    assert torch.equal(same, x)


def _neighbours(x, dtype):
    """The values of the dtype just below and just above each x (equal where x is one)."""
    nearest = x.to(TORCH[dtype])
    wide = nearest.double()
    down = torch.where(wide > x.double(), torch.nextafter(nearest, torch.tensor(-math.inf).to(nearest)).double(), wide)
    up = torch.where(wide < x.double(), torch.nextafter(nearest, torch.tensor(math.inf).to(nearest)).double(), wide)
    return down, up


@pytest.mark.parametrize("dtype", [pypto.DT_FP16, pypto.DT_BF16], ids=case_id)
@pytest.mark.parametrize("mode", [mode for mode in pypto.CastMode if mode > 1])
def test_directed_modes_to_half_dtypes(dtype, mode):
    generator = torch.Generator().manual_seed(3)
    x = torch.randn(4000, generator=generator) * 10.0 ** torch.randint(-9, 6, (4000,), generator=generator)
    x[:4] = torch.tensor([0.0, -0.0, math.inf, -math.inf])
    got = run(lambda t: pypto.cast(t, dtype, mode), [x], torch.empty(4000, dtype=TORCH[dtype])).double()
    down, up = _neighbours(x, dtype)
    exact = x.double()
    inner, outer = torch.where(exact < 0, up, down), torch.where(exact < 0, down, up)
    if mode == pypto.CastMode.CAST_FLOOR:
        expected = down
    elif mode == pypto.CastMode.CAST_CEIL:
        expected = up
    elif mode == pypto.CastMode.CAST_TRUNC:
        expected = inner
    elif mode == pypto.CastMode.CAST_ODD:
        odd = inner.to(TORCH[dtype]).view(torch.int16) & 1
        expected = torch.where((odd == 1) | (inner == exact), inner, outer)
    else:
        away = (exact - inner).abs() >= (outer - exact).abs()
        expected = torch.where(away & outer.isfinite() & (inner != exact), outer, inner)
        usable = outer.isfinite()
        got, expected = got[usable], expected[usable]
    assert torch.equal(got, expected)


@pytest.mark.parametrize("dtype", TORCH, ids=case_id)
def test_every_dtype_is_stored_filled_and_moved(dtype):
    for shape in ((1,), (5, 33), (2, 3, 4, 5, 6)):
        x = values(shape, dtype)
        if dtype in FLOATS:
            x = x.nan_to_num(3)
        empty = torch.empty(shape, dtype=TORCH[dtype])
        assert torch.equal(run(pypto.clone, [x], empty.clone()), x)
        if len(shape) <= 4:
            full = run(lambda s=shape: pypto.full(list(s), 3, dtype), [], empty.clone())
            assert torch.equal(full, torch.full(shape, 3).to(TORCH[dtype]))
        order = [*range(len(shape))]
        order[0], order[-1] = order[-1], order[0]
        turned = run(lambda t, o=order: pypto.permute(t, o), [x], torch.empty(x.permute(order).shape, dtype=x.dtype))
        assert torch.equal(turned, x.transpose(0, -1).contiguous())
    low, high = RANGES.get(dtype, (-2, 2))
    if dtype in RANGES and dtype != pypto.DT_BOOL:
        wraps = run(lambda: pypto.full([3], min(high + 2, 2**63 - 1), dtype), [], torch.empty(3, dtype=TORCH[dtype]))
        assert wraps.to(torch.int64).tolist() == [_wrapped(high + 2, dtype) if high < 2**62 else high] * 3
    assert np.isfinite(list(EPSILON.values())).all()
    assert low < high
