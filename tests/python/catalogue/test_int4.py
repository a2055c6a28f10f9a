"""INT4: two elements in a byte, on all platforms. Casts in both directions, moves, fills and what does not fit."""

import pytest
import torch
from catalogue_support import case_id

import pypto
from pypto import ir

INT4, INT8, INT32, FP16, FP32 = pypto.DT_INT4, pypto.DT_INT8, pypto.DT_INT32, pypto.DT_FP16, pypto.DT_FP32
Mode, Sat = pypto.CastMode, pypto.SaturationMode
BYTES = torch.arange(256, dtype=torch.uint8).reshape(4, 64)


def values_of(octets: torch.Tensor) -> torch.Tensor:
    codes = torch.stack([octets & 15, octets >> 4], -1).to(torch.int64).flatten(-2)
    return codes - (codes >= 8) * 16


def packed_of(values: torch.Tensor) -> torch.Tensor:
    codes = (values.to(torch.int64) & 15).to(torch.uint8).unflatten(-1, (-1, 2))
    return codes[..., 0] | codes[..., 1] << 4


def run(body, specs, tensors, platform="a2a3sim"):
    first, second = specs

    @pypto.frontend.jit
    def kernel(a: first, b: second):
        body(a, b)

    ir.compile(kernel, platform=platform)(*tensors)
    return tensors[1]


@pytest.mark.parametrize("platform", ["a2a3sim", "a5sim"])
@pytest.mark.parametrize("wide", [INT8, pypto.DT_INT16, INT32, pypto.DT_INT64, FP16, pypto.DT_BF16, FP32], ids=case_id)
def test_all_bytes_widen(wide, platform):
    def body(a, b):
        assert a.shape == [4, 128] and a.dtype == INT4
        b[:] = pypto.cast(a, wide)

    dtype = getattr(torch, pypto.dtypes.torch_name(wide))
    specs = pypto.Tensor([4, 128], INT4), pypto.Tensor([4, 128], wide)
    got = run(body, specs, (BYTES, torch.empty(4, 128, dtype=dtype)), platform)
    assert torch.equal(got, values_of(BYTES).to(dtype))


@pytest.mark.parametrize("saturate", [Sat.OFF, Sat.ON])
@pytest.mark.parametrize("narrow", [INT8, pypto.DT_INT16, INT32], ids=case_id)
def test_integers_wrap_or_clamp(narrow, saturate):
    dtype = getattr(torch, pypto.dtypes.torch_name(narrow))
    x = torch.randint(-120, 120, (4, 128)).to(dtype)

    def body(a, b):
        b[:] = pypto.cast(a, INT4, satmode=saturate)

    got = run(body, (pypto.Tensor([4, 128], narrow), pypto.Tensor([4, 128], INT4)), (x, torch.empty_like(BYTES)))
    assert torch.equal(got, packed_of(x.clamp(-8, 7) if saturate == Sat.ON else x))


ROUNDED = {
    Mode.CAST_NONE: torch.trunc,
    Mode.CAST_RINT: torch.round,
    Mode.CAST_FLOOR: torch.floor,
    Mode.CAST_CEIL: torch.ceil,
    Mode.CAST_TRUNC: torch.trunc,
}


@pytest.mark.parametrize("saturate", [Sat.OFF, Sat.ON])
@pytest.mark.parametrize("mode", ROUNDED)
@pytest.mark.parametrize("wide", [FP16, FP32], ids=case_id)
def test_floats_are_rounded_by_the_mode(wide, mode, saturate):
    dtype = getattr(torch, pypto.dtypes.torch_name(wide))
    x = (torch.arange(512).reshape(4, 128) / 8 - 32).to(dtype)

    def body(a, b):
        b[:] = pypto.cast(a, INT4, mode, saturate)

    got = run(body, (pypto.Tensor([4, 128], wide), pypto.Tensor([4, 128], INT4)), (x, torch.empty_like(BYTES)))
    whole = ROUNDED[mode](x.double())
    assert torch.equal(got, packed_of(whole.clamp(-8, 7) if saturate == Sat.ON else whole))


def test_moves_count_elements_and_fills():
    def body(a, b):
        b[:] = pypto.clone(a)
        part = a[1:3, 32:64]
        assert part.shape == [2, 32]
        b[2:4, 0:32] = part
        b[0:1, 64:128] = pypto.full([1, 64], -3, INT4)

    got = run(body, (pypto.Tensor([4, 128], INT4), pypto.Tensor([4, 128], INT4)), (BYTES, torch.empty_like(BYTES)))
    expected = BYTES.clone()
    expected[2:4, 0:16] = BYTES[1:3, 16:32]
    expected[0, 32:64] = packed_of(torch.full((64,), -3))
    assert torch.equal(got, expected)


def test_refusals():
    def refused(kind, text, body, shape=(4, 128)):
        specs = pypto.Tensor(list(shape), INT4), pypto.Tensor([4, 128], INT32)
        with pytest.raises(kind, match=text):
            run(body, specs, (BYTES, torch.empty(4, 128, dtype=torch.int32)))

    refused(TypeError, r"add\(\): dtype DT_INT4 is not supported", lambda a, b: a + a)
    refused(ValueError, "even extents and offsets", lambda a, b: a[0:1, 1:3])
    refused(ValueError, "the last dim of an INT4 tensor is even", lambda a, b: pypto.cast(b[:, 0:7], INT4))
    refused(ValueError, "two elements in a byte is static and even, got 7", lambda a, b: a, (4, 7))
