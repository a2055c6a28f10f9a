"""FP8, E8M0 and HF8: all codes, casts of all FP16 values, saturation, products, movement, and what a2a3 says."""

import itertools
import math

import pytest
import torch
from catalogue_support import case_id, run, spec

import pypto
from pypto import ir

FP32, HF8, E4M3 = pypto.DT_FP32, pypto.DT_HF8, pypto.DT_FP8E4M3
FP8 = {
    pypto.DT_FP8E4M3: torch.float8_e4m3fn, pypto.DT_FP8E5M2: torch.float8_e5m2, pypto.DT_FP8E8M0: torch.float8_e8m0fnu,
}  # fmt: skip
SMALL = [*FP8, HF8]
HALVES = torch.arange(-(2**15), 2**15).to(torch.int16).view(torch.float16)
CODES = torch.arange(256, dtype=torch.int32).to(torch.uint8)
LARGEST = {pypto.DT_FP8E4M3: 448.0, pypto.DT_FP8E5M2: 57344.0, pypto.DT_FP8E8M0: 2.0**127, HF8: 32768.0}


def hf8_value(code):
    """HiFloat8 (arXiv 2409.16626, tables 1 and 2): sign, dot, exponent as sign and magnitude, significand."""
    sign = -1.0 if code & 0x80 else 1.0
    text = format(code & 0x7F, "07b")
    dots = (("11", 4), ("10", 3), ("01", 2), ("001", 1), ("0001", 0), ("0000", None))
    dot, width = next(pair for pair in dots if text.startswith(pair[0]))
    rest = text[len(dot) :]
    if width is None:
        power = int(rest, 2)
        if power == 0:
            return math.nan if code & 0x80 else 0.0
        return sign * 2.0 ** (power - 23)
    exponent = int("1" + rest[1:width], 2) if width else 0
    if width and rest[0] == "1":
        exponent = -exponent
    fraction = rest[width:]
    if exponent == 15 and fraction == "1":
        return sign * math.inf
    return sign * 2.0**exponent * (1 + int(fraction, 2) / 2 ** len(fraction))


HF8_VALUES = torch.tensor([hf8_value(code) for code in range(256)], dtype=torch.float64)


def hf8_codes(x, saturate=False):
    """The nearest code, ties away from zero; 1.5 * 2^15 stands for infinity; what rounds to zero has no sign."""
    positive = sorted((float(HF8_VALUES[code]), code) for code in range(128) if math.isfinite(HF8_VALUES[code]))
    grid = torch.tensor([value for value, _ in positive] + [1.5 * 2.0**15], dtype=torch.float64)
    codes = torch.tensor([code for _, code in positive] + [0x6F])
    magnitude = x.double().abs().nan_to_num(0, posinf=1e300)
    if saturate:
        magnitude = magnitude.clamp(max=32768.0)
    middle = (grid[1:] + grid[:-1]) / 2
    place = torch.bucketize(magnitude, middle, right=True)
    result = codes[place]
    result = torch.where((result != 0) & x.double().signbit(), result | 0x80, result)
    return torch.where(x.isnan(), 0x80, result).to(torch.uint8)


def kernel_cast(x, declared, target, out, **options):
    """Cast on a5sim from a declared dtype."""
    source, result = pypto.Tensor(list(x.shape), declared), pypto.Tensor(list(out.shape), target)

    @pypto.frontend.jit
    def kernel(a: source, b: result):
        pypto.set_vec_tile_shapes(64)
        b[:] = pypto.cast(a, target, **options)

    ir.compile(kernel, platform="a5sim")(x, out)
    return out


def same(got, expected):
    """Equal bits of numbers; any NaN is a NaN."""
    assert got.dtype == expected.dtype
    assert torch.equal(got.isnan(), expected.isnan())
    assert torch.equal(got.nan_to_num(0.5), expected.nan_to_num(0.5))
    assert torch.equal(got.signbit()[~got.isnan()], expected.signbit()[~expected.isnan()])


def test_dtypes_map_to_torch():
    for dtype, host in FP8.items():
        assert pypto.bytes_of(dtype) == 1
        assert pypto.runtime._torch.torch_dtype(dtype.name.removeprefix("DT_")) == host
        assert pypto.dtypes.from_host_dtype(host) == dtype
    assert pypto.dtypes.from_host_dtype(torch.uint8) == pypto.DT_UINT8
    assert pypto.dtypes.torch_name(HF8) == "uint8"


def test_the_table_of_hf8_has_its_landmarks():
    finite = HF8_VALUES[HF8_VALUES.isfinite()]
    assert len(set(finite.tolist())) == 253
    assert finite.max() == 2.0**15
    assert finite[finite > 0].min() == 2.0**-22
    assert hf8_value(0x08) == 1.0
    assert hf8_value(0x6F) == math.inf
    assert math.isnan(hf8_value(0x80))


@pytest.mark.parametrize("wide", [torch.float32, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("dtype", SMALL, ids=case_id)
def test_all_codes_widen(dtype, wide):
    target = pypto.dtypes.from_host_dtype(wide)
    codes = CODES if dtype == HF8 else CODES.view(FP8[dtype])
    got = kernel_cast(codes, dtype, target, torch.empty(256, dtype=wide))
    same(got, (HF8_VALUES if dtype == HF8 else codes.float()).to(wide))


@pytest.mark.parametrize("saturate", [False, True])
@pytest.mark.parametrize("dtype", SMALL, ids=case_id)
def test_all_halves_narrow(dtype, saturate):
    options = {"satmode": pypto.SaturationMode(int(saturate))}
    host = FP8.get(dtype, torch.uint8)
    got = kernel_cast(HALVES, pypto.DT_FP16, dtype, torch.empty(65536, dtype=torch.uint8).view(host), **options)
    if dtype == HF8:
        assert torch.equal(got, hf8_codes(HALVES, saturate))
        return
    limit = LARGEST[dtype]
    wide = HALVES.float()
    same(got.float(), (wide.clamp(-limit, limit) if saturate or dtype == E4M3 else wide).to(host).float())


@pytest.mark.parametrize("dtype", SMALL, ids=case_id)
def test_singles_between_the_codes_narrow(dtype):
    exact = HF8_VALUES if dtype == HF8 else CODES.view(FP8[dtype]).double()
    grid = exact[exact.isfinite()].unique()
    middle = ((grid[1:] + grid[:-1]) / 2).float()
    edges = torch.tensor([0.0, -0.0, math.inf, -math.inf, math.nan, 1e38, -1e38, 1e-45, 2.0**-23, -(2.0**-24), 40960.0])
    x = torch.cat([middle, torch.nextafter(middle, middle + 1), torch.nextafter(middle, middle - 1), edges])
    x = x[: x.numel() // 64 * 64]
    host = FP8.get(dtype, torch.uint8)
    got = kernel_cast(x, FP32, dtype, torch.empty(x.shape, dtype=torch.uint8).view(host))
    if dtype == HF8:
        assert torch.equal(got, hf8_codes(x))
    else:
        # E4M3 has no infinity; not every version of torch clamps.
        same(got.float(), (x.clamp(-448, 448) if dtype == E4M3 else x).to(host).float())


@pytest.mark.parametrize("dtype", SMALL, ids=case_id)
def test_codes_are_moved_as_they_are(dtype):
    codes = CODES if dtype == HF8 else CODES.view(FP8[dtype])
    codes = codes.reshape(16, 16)
    operand = pypto.Tensor([16, 16], dtype)

    @pypto.frontend.jit
    def kernel(a: operand, copy: operand, turned: operand, moved: operand):
        pypto.set_vec_tile_shapes(8, 8)
        copy[:] = pypto.clone(a)
        turned[:] = pypto.transpose(a, 0, 1)
        moved[0:8, :] = a[8:16, :]
        moved[8:16, :] = a[0:8, :]

    outs = [torch.empty(16, 16, dtype=torch.uint8).view(codes.dtype) for _ in range(3)]
    ir.compile(kernel, platform="a5sim")(codes, *outs)
    bits = codes.view(torch.uint8)
    expected = [bits, bits.T.contiguous(), bits.roll(8, 0)]
    for got, want in zip(outs, expected, strict=True):
        assert torch.equal(got.view(torch.uint8), want)


@pytest.mark.parametrize("dtype", SMALL, ids=case_id)
def test_fills_are_rounded(dtype):
    operand = pypto.Tensor([64], dtype)

    @pypto.frontend.jit
    def kernel(a: operand):
        a[:] = pypto.full([64], 3.3, dtype)

    out = torch.empty(64, dtype=torch.uint8)
    ir.compile(kernel, platform="a5sim")(out if dtype == HF8 else out.view(FP8[dtype]))
    value = 3.3 if dtype == HF8 else float(torch.tensor(3.3).to(FP8[dtype]).float())
    assert torch.equal(out, hf8_codes(torch.full((64,), value)) if dtype == HF8 else
                       torch.full((64,), value).to(FP8[dtype]).view(torch.uint8))  # fmt: skip


@pytest.mark.parametrize("dtype", FP8, ids=case_id)
def test_rows_are_selected(dtype):
    codes, index = CODES.view(FP8[dtype]).reshape(16, 16), torch.tensor([15, 0, 3], dtype=torch.int32)
    operand, result = pypto.Tensor([16, 16], dtype), pypto.Tensor([3, 16], dtype)

    @pypto.frontend.jit
    def kernel(a: operand, i: pypto.Tensor([3], pypto.DT_INT32), b: result):
        b[:] = pypto.index_select(a, 0, i)

    out = torch.empty(3, 16, dtype=torch.uint8)
    ir.compile(kernel, platform="a5sim")(codes, index, out.view(FP8[dtype]))
    assert torch.equal(out, codes.view(torch.uint8)[index.long()])


@pytest.mark.parametrize(("trans", "out"), list(itertools.product((False, True), (FP32, pypto.DT_FP16, pypto.DT_BF16))))
@pytest.mark.parametrize("dtype", [pypto.DT_FP8E4M3, pypto.DT_FP8E5M2, HF8], ids=case_id)
def test_products_accumulate_in_singles(dtype, trans, out):
    shapes = [(17, 300), (300, 33)] if not trans else [(300, 17), (33, 300)]
    generator = torch.Generator().manual_seed(1)
    inputs = [torch.randn(shape, generator=generator) for shape in shapes]
    if dtype == HF8:
        inputs = [hf8_codes(x) for x in inputs]
        exact = [HF8_VALUES[x.long()] for x in inputs]
    else:
        inputs = [x.to(FP8[dtype]) for x in inputs]
        exact = [x.double() for x in inputs]
    a, b = (x.T if trans else x for x in exact)
    first, second = (pypto.Tensor(list(x.shape), dtype) for x in inputs)
    host = {FP32: torch.float32, pypto.DT_FP16: torch.float16, pypto.DT_BF16: torch.bfloat16}[out]
    result = torch.empty(17, 33, dtype=host)

    @pypto.frontend.jit
    def kernel(x: first, y: second, z: spec(result)):
        z[:] = pypto.matmul(x, y, out, a_trans=trans, b_trans=trans)

    ir.compile(kernel, platform="a5sim")(*inputs, result)
    error = (result.double() - a @ b).abs()
    assert float((error / ((a @ b).abs() * torch.finfo(host).eps + 2e-5)).max()) <= 0.6


def test_eight_bits_stay_on_the_device():
    with pypto.runtime.ChipWorker(pypto.runtime.RunConfig("a5sim")) as worker:
        resident = worker.alloc_tensor((256,), HF8, init=CODES)
        assert resident.dtype == torch.uint8
        assert torch.equal(resident.to_host(), CODES)
        other = worker.alloc_tensor((256,), pypto.DT_FP8E5M2)
        with pytest.raises(ValueError, match="DT_FP8E5M2"):
            other.copy_from_host(CODES)


@pytest.mark.parametrize("dtype", SMALL, ids=case_id)
def test_a2a3_names_the_platforms_that_have_them(dtype):
    operand = pypto.Tensor([64], dtype)

    @pypto.frontend.jit
    def takes(a: operand, b: operand):
        b[:] = a

    with pytest.raises(pypto.CompileError, match=rf"parameter 'a': {dtype.name} is not .*platform a2a3sim.*a5 and a5s"):
        ir.compile(takes, platform="a2a3sim")

    @pypto.frontend.jit
    def makes(a: pypto.Tensor([64], FP32), b: pypto.Tensor([64], FP32)):
        b[:] = pypto.cast(pypto.cast(a, dtype), FP32)

    with pytest.raises(pypto.CompileError, match=rf"cast\(\) of {dtype.name} is not .* a2a3; it is on a5 and a5sim"):
        ir.compile(makes, platform="a2a3")


def test_operations_without_them_and_other_bytes_are_refused():
    operand = pypto.Tensor([64], pypto.DT_FP8E4M3)

    @pypto.frontend.jit
    def adds(a: operand, b: operand):
        b[:] = a + a

    with pytest.raises(TypeError, match=r"add\(\): dtype DT_FP8E4M3 is not supported"):
        ir.compile(adds, platform="a5sim")

    @pypto.frontend.jit
    def copies(a: operand, b: operand):
        b[:] = pypto.clone(a)

    codes = torch.zeros(64, dtype=torch.uint8)
    with pytest.raises(TypeError, match="DT_UINT8"):
        ir.compile(copies, platform="a5sim")(codes, codes.clone())


def test_bytes_become_codes_and_back():
    def through(x):
        return pypto.view(pypto.cast(pypto.cast(pypto.unpack(x, HF8), FP32), HF8), dtype=pypto.DT_UINT8)

    got = run(through, [CODES], torch.empty(256, dtype=torch.uint8), "a5sim", (64,))
    assert torch.equal(got, CODES)


@pytest.mark.parametrize("dtype", [pypto.DT_FP8E4M3, pypto.DT_FP8E5M2], ids=case_id)
@pytest.mark.parametrize("shape", [(1, 1), (5, 64), (3, 77), (16, 1000)])
def test_chains_between_small_floats(dtype, shape):
    """All codes, an operation in FP32, and back, whatever the tail."""
    rows, columns = shape
    x, scale = CODES.repeat(-(-rows * columns // 256))[: rows * columns].view(shape), torch.randn(1, columns)

    @pypto.frontend.jit
    def kernel(
        a: pypto.Tensor([rows, columns], dtype),
        b: pypto.Tensor([1, columns], FP32),
        wide: pypto.Tensor([rows, columns], FP32),
        out: pypto.Tensor([rows, columns], dtype),
    ):
        product = pypto.cast(a, FP32) * b
        wide[:] = product
        out[:] = pypto.cast(product, dtype)

    small, wide = x.view(FP8[dtype]), torch.empty(shape)
    out = torch.empty(shape, dtype=FP8[dtype])
    ir.compile(kernel, platform="a5sim")(small, scale, wide, out)
    same(wide, small.float() * scale)
    expected = kernel_cast(wide.view(1, -1), FP32, dtype, torch.empty(1, rows * columns, dtype=FP8[dtype]))
    same(out.float(), expected.view(shape).float())
