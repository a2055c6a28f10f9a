"""FP4: two elements in a byte. All codes, casts of all FP16 values, views, products, and what does not fit."""

import pytest
import torch
from catalogue_support import case_id

import pypto
from pypto import ir

FP32, E2M1, E1M2 = pypto.DT_FP32, pypto.DT_FP4_E2M1X2, pypto.DT_FP4_E1M2X2
MAGNITUDES = {
    E2M1: [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0],  # OCP Microscaling 1.0, table 5
    E1M2: [0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75],
}
FP4 = list(MAGNITUDES)
BYTES = torch.arange(256, dtype=torch.int32).to(torch.uint8).reshape(4, 64)
HALVES = torch.arange(-(2**15), 2**15).to(torch.int16).view(torch.float16).reshape(64, 1024)


def values_of(packed, dtype):
    """Elements of bytes: the first in the low half."""
    table = torch.tensor([sign * value for sign in (1.0, -1.0) for value in MAGNITUDES[dtype]], dtype=torch.float64)
    number = packed.to(torch.int64)
    return table[torch.stack([number % 16, number // 16], -1)].flatten(-2)


def packed_of(x, dtype):
    """The nearest codes, ties to the even one, clamped; NaN is 0."""
    grid = torch.tensor(MAGNITUDES[dtype], dtype=torch.float64)
    exact = x.double().nan_to_num(0, posinf=100, neginf=-100)
    magnitude = exact.abs().clamp(max=float(grid[-1]))
    middle = (grid[1:] + grid[:-1]) / 2
    code = torch.bucketize(magnitude.contiguous(), middle)
    tie = (magnitude[..., None] == middle).any(-1)
    code = torch.where(tie & (code % 2 == 1), code + 1, code) + 8 * exact.signbit()
    pairs = code.unflatten(-1, (-1, 2))
    return (pairs[..., 0] + 16 * pairs[..., 1]).to(torch.uint8)


def compiled(body, specs, tensors):
    first, second = specs

    @pypto.frontend.jit
    def kernel(a: first, b: second):
        pypto.set_vec_tile_shapes(4, 256)
        body(a, b)

    ir.compile(kernel, platform="a5sim")(*tensors)
    return tensors[1]


@pytest.mark.parametrize("wide", [torch.float32, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("dtype", FP4, ids=case_id)
def test_all_bytes_widen(dtype, wide):
    target = pypto.dtypes.from_host_dtype(wide)

    def body(a, b):
        assert a.shape == [4, 128]
        b[:] = pypto.cast(a, target)

    specs = pypto.Tensor([4, 128], dtype), pypto.Tensor([4, 128], target)
    got = compiled(body, specs, (BYTES, torch.empty(4, 128, dtype=wide)))
    expected = values_of(BYTES, dtype)
    assert torch.equal(got.double(), expected)
    assert torch.equal(got.signbit(), expected.signbit())


@pytest.mark.parametrize("dtype", FP4, ids=case_id)
def test_all_halves_narrow(dtype):
    def body(a, b):
        b[:] = pypto.cast(a, dtype)

    specs = pypto.Tensor([64, 1024], pypto.DT_FP16), pypto.Tensor([64, 1024], dtype)
    got = compiled(body, specs, (HALVES, torch.empty(64, 512, dtype=torch.uint8)))
    assert torch.equal(got, packed_of(HALVES, dtype))


@pytest.mark.parametrize("dtype", FP4, ids=case_id)
def test_windows_and_writes_count_elements(dtype):
    def body(a, b):
        b[:] = pypto.clone(a)
        part = a[1:3, 32:64]
        assert part.shape == [2, 32]
        b[2:4, 0:32] = part
        held = pypto.tensor([2, 32], dtype)
        held[:] = pypto.reshape(pypto.view(a, [1, 64], [0, 64]), [2, 32])
        pypto.assemble(held, [0, 96], b)

    specs = pypto.Tensor([pypto.DYNAMIC, 128], dtype), pypto.Tensor([4, 128], dtype)

    def whole(a, b):
        body(pypto.view(a, [4, 128], [0, 0]), b)

    got = compiled(whole, specs, (BYTES, torch.empty(4, 64, dtype=torch.uint8)))
    expected = BYTES.clone()
    expected[2:4, 0:16] = BYTES[1:3, 16:32]
    expected[0:2, 48:64] = BYTES[0:1, 32:64].reshape(2, 16)
    assert torch.equal(got, expected)


def test_direct_calls_take_bytes(monkeypatch):
    @pypto.frontend.jit
    def kernel(a: pypto.Tensor([pypto.STATIC, 128], E2M1), b: pypto.Tensor([4, 128], FP32)):
        b[:] = pypto.cast(a, FP32)

    monkeypatch.setattr(pypto.runtime, "default_platform", lambda: "a5sim")
    for _ in range(3):
        out = torch.empty(4, 128)
        kernel(BYTES, out)
        assert torch.equal(out.double(), values_of(BYTES, E2M1))


def test_blocks_of_four_bits_and_their_product():
    generator = torch.Generator().manual_seed(11)
    x = torch.randn(8, 64, generator=generator) * 5
    got, product = torch.empty(8, 32, dtype=torch.uint8), torch.empty(8, 8)

    @pypto.frontend.jit
    def kernel(a: pypto.Tensor([8, 64], FP32), b: pypto.Tensor([8, 64], E2M1), c: pypto.Tensor([8, 8], FP32)):
        elements, scale = pypto.quant_mx(a, E2M1)
        b[:] = elements
        c[:] = pypto.scaled_mm(elements, elements, FP32, scale, scale, b_trans=True, scale_b_trans=True)

    ir.compile(kernel, platform="a5sim")(x, got, product)
    power = torch.frexp(x.double().unflatten(-1, (2, 32)).abs().amax(-1))[1].double() - 1 - 2
    factor = (2.0**power).repeat_interleave(32, -1)
    assert torch.equal(got, packed_of(x.double() / factor, E2M1))
    exact = values_of(got, E2M1) * factor
    assert torch.allclose(product.double(), exact @ exact.T, atol=1e-3)


def refused(error, text, body, shape=(4, 128), platform="a5sim"):
    @pypto.frontend.jit
    def kernel(a: pypto.Tensor(list(shape), E2M1)):
        body(a)

    with pytest.raises(error, match=text):
        ir.compile(kernel, platform=platform)


def test_what_does_not_fit_is_said():
    refused(ValueError, "even extents and offsets, two elements to a byte, got 3", lambda a: pypto.clone(a[:, 3:35]))
    refused(ValueError, "got a symbolic one", lambda a: [a[:, i : i + 2].clone() for i in [pypto_symbol(a)]])
    refused(TypeError, r"add\(\): dtype DT_FP4_E2M1X2 is not supported", lambda a: a + a)
    refused(
        ValueError, "FP4 and INT4 tensors are reshaped without inplace", lambda a: pypto.reshape(a, [512], inplace=True)
    )
    refused(
        ValueError, "the last dim of a tensor of two elements in a byte is static and even, got 7", lambda a: a, (4, 7)
    )
    refused(ValueError, "the last dim of an FP4 tensor is even, got",
            lambda a: pypto.cast(pypto.full([4, 7], 1.0, FP32), E2M1))  # fmt: skip
    refused(pypto.CompileError, "DT_FP4_E2M1X2 is not available on platform a2a3; it is on a5 and a5sim",
            pypto.clone, platform="a2a3")  # fmt: skip


def pypto_symbol(a):
    """A number known only at run time."""
    return pypto.cast(pypto.full([1, 1], 2, FP32), pypto.DT_INT32)[0, 0]


def test_other_bytes_and_odd_shapes_of_hosts():
    @pypto.frontend.jit
    def kernel(a: pypto.Tensor([4, 128], E2M1), b: pypto.Tensor([4, 128], E2M1)):
        b[:] = pypto.clone(a)

    with pytest.raises(pypto.FeError, match="does not match the shape"):
        ir.compile(kernel, BYTES.repeat(1, 2), BYTES, platform="a5sim")
    with pytest.raises(pypto.FeError, match="dtype of 1st input tensor"):
        ir.compile(kernel, BYTES.view(torch.int8), BYTES, platform="a5sim")


def test_tensors_of_fp4_of_torch():
    if not hasattr(torch, "float4_e2m1fn_x2"):
        pytest.skip("this torch has no FP4")

    @pypto.frontend.jit
    def kernel(a: pypto.Tensor([4, 128]), b: pypto.Tensor([4, 128], FP32)):
        assert a.dtype == E2M1
        b[:] = pypto.cast(a, FP32)

    given, out = BYTES.view(torch.float4_e2m1fn_x2), torch.empty(4, 128)
    kernel.compile(given, out, platform="a5sim")(given, out)
    assert torch.equal(out.double(), values_of(BYTES, E2M1))


@pytest.mark.parametrize("dtype", FP4, ids=case_id)
def test_tensors_of_one_value(dtype):
    def body(a, b):
        b[:] = pypto.clone(a)
        b[1:3, 32:64] = pypto.full([2, 32], -1.5, dtype)
        b[0:1, 0:8] = pypto.full([1, 8], pypto.Element(dtype, 0.5), dtype)

    specs = pypto.Tensor([4, 128], dtype), pypto.Tensor([4, 128], dtype)
    got = values_of(compiled(body, specs, (BYTES, torch.empty(4, 64, dtype=torch.uint8))), dtype)
    expected = values_of(BYTES, dtype)
    expected[1:3, 32:64], expected[0:1, 0:8] = -1.5, 0.5
    assert torch.equal(got, expected)
