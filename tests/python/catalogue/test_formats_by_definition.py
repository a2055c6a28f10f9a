"""HF8 and E1M2 as their definitions say in exact arithmetic: every value of FP16 and BF16, and every code.

torch has neither. HF8 (HiFloat8, arXiv 2409.16626) has 3 bits of fraction where the power of two is between -3 and 3, 2
up to 7, 1 up to 15, and below that powers of two alone down to -22. E1M2 has a sign, one bit of exponent with bias 1
and two of fraction, with subnormals.
"""

import math
from fractions import Fraction

import pytest
import torch
from catalogue_support import TORCH, case_id

import pypto
from pypto import CastMode, ir

FP32, FP16, BF16 = pypto.DT_FP32, pypto.DT_FP16, pypto.DT_BF16
HF8, E1M2 = pypto.DT_HF8, pypto.DT_FP4_E1M2X2
ALL = torch.arange(-(2**15), 2**15).to(torch.int16)
CODES = torch.arange(256, dtype=torch.int32).to(torch.uint8)


def power_of(size):
    """The largest power of two that is not above a positive fraction."""
    power = size.numerator.bit_length() - size.denominator.bit_length()
    return power if Fraction(2) ** power <= size else power - 1


def fraction_bits(power):
    """Of HF8, for a power of two of its normal or subnormal values."""
    if abs(power) <= 3:
        return 3
    return 2 if abs(power) <= 7 else 1 if abs(power) <= 15 else 0


def half_away(quotient):
    return math.floor(quotient + Fraction(1, 2))


def hf8(x, saturate):
    """What x becomes: half away from zero, one zero, infinity past the largest value."""
    if math.isnan(x):
        return math.nan
    if math.isinf(x):
        return math.copysign(32768.0 if saturate else math.inf, x)
    size = abs(Fraction(x))
    if size < Fraction(1, 2**23):
        return 0.0
    power = max(power_of(size), -22)
    step = Fraction(2) ** (power - fraction_bits(power))
    rounded = half_away(size / step) * step
    if rounded > 32768:
        return math.copysign(32768.0 if saturate else math.inf, x)
    return math.copysign(float(rounded), x)


def e1m2(x, mode):
    """What x becomes: a multiple of a quarter, at most 1.75; NaN is 0."""
    if math.isnan(x):
        return 0.0
    if math.isinf(x):
        return math.copysign(1.75, x)
    quarters = abs(Fraction(x)) * 4
    low, inexact = math.floor(quarters), quarters != math.floor(quarters)
    whole = {
        CastMode.CAST_TRUNC: low,
        CastMode.CAST_FLOOR: low + (inexact and x < 0),
        CastMode.CAST_CEIL: low + (inexact and x > 0),
        CastMode.CAST_ODD: low + (inexact and low % 2 == 0),
        CastMode.CAST_ROUND: half_away(quarters),
    }.get(mode, round(quarters))
    return math.copysign(min(whole, 7) / 4, x)


def there_and_back(x, dtype, **options):
    """All of x as the dtype, and that as FP32."""

    @pypto.frontend.jit
    def kernel(x: pypto.Tensor([64, 1024], pypto.from_torch(x).dtype), out: pypto.Tensor([64, 1024], FP32)):
        pypto.set_vec_tile_shapes(16, 1024)
        out[:] = pypto.cast(pypto.cast(x, dtype, **options), FP32)

    out = torch.empty(64, 1024)
    ir.compile(kernel, platform="a5sim")(x.reshape(64, 1024), out)
    return out.flatten()


def same(got, expected):
    wanted = torch.tensor(expected)
    assert torch.equal(got.isnan(), wanted.isnan())
    differ = (got != wanted) & ~wanted.isnan()
    assert not bool(differ.any()), (got[differ][:5], wanted[differ][:5])
    assert torch.equal(got.signbit() & (got != 0), wanted.signbit() & (wanted != 0))


@pytest.mark.parametrize("source", [FP16, BF16], ids=case_id)
@pytest.mark.parametrize("saturate", [False, True])
def test_hf8_of_every_value(source, saturate):
    x = ALL.view(TORCH[source])
    got = there_and_back(x, HF8, satmode=pypto.SaturationMode(int(saturate)))
    same(got, [hf8(value, saturate) for value in x.tolist()])


def widened(dtype, count):
    @pypto.frontend.jit
    def kernel(codes: pypto.Tensor([count], dtype), out: pypto.Tensor([count], FP32)):
        pypto.set_vec_tile_shapes(64)
        out[:] = pypto.cast(codes, FP32)

    out = torch.empty(count)
    ir.compile(kernel, platform="a5sim")(CODES, out)
    return out


def test_codes_of_hf8_are_its_values():
    """Each value has one code, and no code another value."""
    got = widened(HF8, 256)
    powers = [Fraction(2) ** power for power in range(-22, -15)]
    normal = [
        Fraction(2) ** power * (1 + Fraction(part, 2 ** fraction_bits(power)))
        for power in range(-15, 16)
        for part in range(2 ** fraction_bits(power))
    ]
    values = [float(value) for value in powers + normal]
    assert values[-1] == 1.5 * 2**15 and len(values) == 127  # that place stands for infinity
    values[-1] = math.inf
    finite = got[~got.isnan()]
    assert got.isnan().nonzero().flatten().tolist() == [0x80] and got[0] == 0.0 and not got[0].signbit()
    assert sorted(finite.tolist()) == sorted([0.0, *values, *(-value for value in values)])
    assert torch.equal(got[129:], -got[1:128])


@pytest.mark.parametrize("source", [FP32, FP16, BF16], ids=case_id)
def test_every_code_of_hf8_comes_back(source):
    @pypto.frontend.jit
    def kernel(codes: pypto.Tensor([256], HF8), out: pypto.Tensor([256], HF8)):
        pypto.set_vec_tile_shapes(64)
        out[:] = pypto.cast(pypto.cast(codes, source), HF8)

    out = torch.zeros(256, dtype=torch.uint8)
    ir.compile(kernel, platform="a5sim")(CODES, out)
    assert torch.equal(out, CODES)


@pytest.mark.parametrize("source", [FP16, BF16], ids=case_id)
@pytest.mark.parametrize("mode", list(CastMode), ids=lambda mode: mode.name)
def test_e1m2_of_every_value(source, mode):
    x = ALL.view(TORCH[source])
    got = there_and_back(x, E1M2, mode=mode)
    same(got, [e1m2(value, mode) for value in x.tolist()])


def test_codes_of_e1m2_are_its_values():
    """Bit 3 is the sign, bit 2 the exponent, bits 0 and 1 the fraction; the first element is the low half of a byte."""
    got = widened(E1M2, 512).reshape(256, 2)
    for byte in range(256):
        for place, code in enumerate((byte % 16, byte // 16)):
            exponent, fraction = code >> 2 & 1, Fraction(code & 3, 4)
            size = (1 + fraction) * Fraction(2) ** (exponent - 1) if exponent else fraction
            value = float(got[byte, place])
            assert value == math.copysign(float(size), -1.0 if code & 8 else 1.0)
            assert math.copysign(1.0, value) == (-1.0 if code & 8 else 1.0)
