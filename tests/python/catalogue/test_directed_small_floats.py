"""Casts to floats of eight and four bits in every rounding mode, against the grid of their values in FP64."""

import pytest
import torch
from catalogue_support import TORCH, case_id

import pypto
from pypto import CastMode, ir

FP32 = pypto.DT_FP32
E4M3, E5M2, E8M0, HF8 = pypto.DT_FP8E4M3, pypto.DT_FP8E5M2, pypto.DT_FP8E8M0, pypto.DT_HF8
E2M1, E1M2 = pypto.DT_FP4_E2M1X2, pypto.DT_FP4_E1M2X2
MODES = [mode for mode in CastMode if mode != CastMode.CAST_NONE]
DIRECTED = [mode for mode in MODES if mode > CastMode.CAST_RINT]


def magnitudes(dtype):
    """Finite magnitudes of a dtype, ascending."""
    if dtype == E2M1:
        return torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6], dtype=torch.float64)
    if dtype == E1M2:
        return torch.arange(8, dtype=torch.float64) / 4
    kind = torch.float8_e4m3fn if dtype == E4M3 else torch.float8_e5m2
    values = torch.arange(128, dtype=torch.int16).to(torch.uint8).view(kind).double()
    return values[values.isfinite()]


def expected(x, grid, mode):
    """What x becomes between the lowest and the highest value."""
    x = x.double()
    size = x.abs()
    below = (torch.searchsorted(grid, size, right=True) - 1).clamp(min=0)
    above = torch.searchsorted(grid, size).clamp(max=len(grid) - 1)
    low, high = grid[below], grid[above]
    if mode == CastMode.CAST_TRUNC:
        chosen = low
    elif mode == CastMode.CAST_FLOOR:
        chosen = torch.where(x < 0, high, low)
    elif mode == CastMode.CAST_CEIL:
        chosen = torch.where(x < 0, low, high)
    elif mode == CastMode.CAST_ODD:
        chosen = torch.where((below % 2 == 1) | (low == high), low, high)
    else:
        tie = below % 2 == 1 if mode == CastMode.CAST_RINT else torch.ones_like(below, dtype=torch.bool)
        up = (high - size < size - low) | ((high - size == size - low) & tie)
        chosen = torch.where(up, high, low)
    return torch.where(x < 0, -chosen, chosen)


def samples(grid):
    """Values of the dtype, places around every midpoint, small ones, and random ones."""
    middle = (grid[1:] + grid[:-1]) / 2
    near = [middle * (1 + step * 2.0**-20) for step in (-1, 0, 1)]
    x = torch.cat([grid, *near, grid[1:2] * 2.0**-20, torch.rand(2000, dtype=torch.float64) * grid[-1] / 16])
    x = torch.cat([x, -x]).float()
    return x[: x.numel() // 2 * 2]


def cast_back(x, dtype, mode, platform="a5sim", **options):
    """x as the dtype and back to FP32."""

    @pypto.frontend.jit
    def kernel(x: pypto.Tensor([x.numel()], pypto.from_torch(x).dtype), out: pypto.Tensor([x.numel()], FP32)):
        pypto.set_vec_tile_shapes(512)
        out[:] = pypto.cast(pypto.cast(x, dtype, mode, **options), FP32)

    out = torch.empty(x.numel())
    ir.compile(kernel, platform=platform)(x, out)
    return out


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
@pytest.mark.parametrize("dtype", [E4M3, E5M2, E2M1, E1M2], ids=case_id)
def test_every_mode(dtype, mode):
    grid = magnitudes(dtype)
    x = samples(grid)
    got = cast_back(x, dtype, mode).double()
    wanted = expected(x, grid, mode)
    assert torch.equal(got, wanted)
    if dtype in (E4M3, E5M2):
        assert torch.equal(got.signbit(), x.signbit())


@pytest.mark.parametrize("source", [pypto.DT_FP16, pypto.DT_BF16], ids=case_id)
@pytest.mark.parametrize("dtype", [E4M3, E2M1], ids=case_id)
def test_from_halves(dtype, source):
    grid = magnitudes(dtype)
    x = samples(grid).to(TORCH[source])
    for mode in DIRECTED:
        inside = x.abs() <= grid[-1]
        assert torch.equal(cast_back(x, dtype, mode).double()[inside], expected(x, grid, mode)[inside])


def test_beyond_the_largest_value():
    x = torch.tensor([449.0, 463.0, 1e9, torch.inf, -470.0, -torch.inf, torch.nan, 60000.0])
    for mode in DIRECTED:
        got = cast_back(x, E4M3, mode)
        assert torch.equal(got[:6], torch.tensor([448.0, 448, 448, 448, -448, -448]))
        assert got[6].isnan()
    top, inf = 57344.0, torch.inf
    x = torch.tensor([61439.0, 61440.0, 1e9, -61441.0, inf, -inf])
    for mode, wanted in (
        (CastMode.CAST_ROUND, [top, inf, inf, -inf, inf, -inf]),
        (CastMode.CAST_FLOOR, [top, top, top, -inf, inf, -inf]),
        (CastMode.CAST_CEIL, [inf, inf, inf, -top, inf, -inf]),
        (CastMode.CAST_TRUNC, [top, top, top, -top, inf, -inf]),
        (CastMode.CAST_ODD, [top, top, top, -top, inf, -inf]),
    ):
        assert torch.equal(cast_back(x, E5M2, mode), torch.tensor(wanted))
        clamped = cast_back(x, E5M2, mode, satmode=pypto.SaturationMode.ON)
        assert torch.equal(clamped, torch.tensor([top, top, top, -top, top, -top]))


def test_scales():
    """E8M0 has no sign: modes go by the magnitude, and odd is the default."""
    x = torch.tensor([1.0, 1.25, 1.5, -3.0, 0.0, 2.0**-127, 1.5 * 2.0**127, torch.inf])
    for mode, wanted in (
        (CastMode.CAST_FLOOR, [1.0, 1, 1, 2]), (CastMode.CAST_TRUNC, [1.0, 1, 1, 2]),
        (CastMode.CAST_CEIL, [1.0, 2, 2, 4]), (CastMode.CAST_ROUND, [1.0, 1, 2, 4]),
        (CastMode.CAST_ODD, [1.0, 1, 2, 4]),
    ):  # fmt: skip
        got = cast_back(x, E8M0, mode)
        assert torch.equal(got[:6], torch.tensor([*wanted, 2.0**-127, 2.0**-127]))
        fits = mode in (CastMode.CAST_FLOOR, CastMode.CAST_TRUNC)
        assert got[6] == 2.0**127 if fits else got[6].isnan()
        assert got[7].isnan()
    assert cast_back(x, E8M0, CastMode.CAST_CEIL, satmode=pypto.SaturationMode.ON)[6] == 2.0**127


def test_hf8_rounds_half_away_in_every_mode():
    x = torch.cat([torch.randn(1000) * 4, torch.tensor([1.0625, -1.0625, 1e9])])
    wanted = cast_back(x, HF8, CastMode.CAST_ROUND)
    for mode in MODES:
        assert torch.equal(cast_back(x, HF8, mode), wanted)


def test_halves_overflow_as_they_do_in_other_modes():
    x = torch.tensor([65519.0, 65520.0, 1e9, -65520.0, -65519.0])
    got = cast_back(x, pypto.DT_FP16, CastMode.CAST_ROUND, "a2a3sim")
    assert torch.equal(got, torch.tensor([65504.0, torch.inf, torch.inf, -torch.inf, -65504.0]))
    got = cast_back(x, pypto.DT_FP16, CastMode.CAST_CEIL, "a2a3sim")
    assert torch.equal(got, torch.tensor([torch.inf, torch.inf, torch.inf, -65504.0, -65504.0]))


def test_between_other_operations():
    @pypto.frontend.jit
    def kernel(x: pypto.Tensor([64], FP32), out: pypto.Tensor([64], FP32)):
        low = pypto.cast(x * 3.0, E4M3, CastMode.CAST_FLOOR)
        high = pypto.cast(x * 3.0, E4M3, CastMode.CAST_CEIL)
        out[:] = pypto.cast(high, FP32) - pypto.cast(low, FP32) + x

    x, out = torch.randn(64), torch.empty(64)
    ir.compile(kernel, platform="a5sim")(x, out)
    grid = magnitudes(E4M3)
    low, high = (expected(x * 3.0, grid, mode).float() for mode in (CastMode.CAST_FLOOR, CastMode.CAST_CEIL))
    assert torch.equal(out, high - low + x)
