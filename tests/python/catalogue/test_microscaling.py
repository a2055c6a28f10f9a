"""scaled_mm and quant_mx against the formulas of the OCP Microscaling Formats Specification 1.0."""

import itertools

import pytest
import torch
from catalogue_support import case_id

import pypto
from pypto import ir

FP32, E8M0 = pypto.DT_FP32, pypto.DT_FP8E8M0
TORCH = {pypto.DT_FP8E4M3: torch.float8_e4m3fn, pypto.DT_FP8E5M2: torch.float8_e5m2}
WIDE = {FP32: torch.float32, pypto.DT_FP16: torch.float16, pypto.DT_BF16: torch.bfloat16}
LARGEST = {pypto.DT_FP8E4M3: (8, 448.0), pypto.DT_FP8E5M2: (15, 57344.0), pypto.DT_FP4_E2M1X2: (2, 6.0)}


def operand(tensor):
    return pypto.Tensor(list(tensor.shape), pypto.dtypes.from_host_dtype(tensor.dtype))


def compiled(body, tensors, platform="a5sim"):
    """body(*tensors), with outputs among them, run on a platform."""
    specs = [operand(tensor) for tensor in tensors] + [pypto.Tensor([1], FP32)] * (5 - len(tensors))
    count = len(tensors)

    @pypto.frontend.jit
    def kernel(a: specs[0], b: specs[1], c: specs[2], d: specs[3], e: specs[4]):
        body(*[a, b, c, d, e][:count])

    spare = [torch.zeros(1) for _ in range(5 - count)]
    ir.compile(kernel, platform=platform)(*tensors, *spare)


def blocks(shape, along):
    scaled = list(shape)
    scaled[along] = -(-shape[along] // 32)
    return scaled


def spread(scale, along, count):
    return scale.float().double().repeat_interleave(32, along).narrow(along, 0, count)


@pytest.mark.parametrize("trans", list(itertools.product((False, True), repeat=2)))
@pytest.mark.parametrize("out", WIDE, ids=case_id)
@pytest.mark.parametrize("dtype", TORCH, ids=case_id)
@pytest.mark.parametrize("k", [32, 100])
def test_scaled_products(dtype, out, trans, k):
    generator = torch.Generator().manual_seed(5)
    a, b = torch.randn(2, 17, k, generator=generator), torch.randn(2, k, 33, generator=generator)
    a, b = (x.to(TORCH[dtype]) for x in (a, b))
    scale_a, scale_b = (
        torch.randint(123, 130, shape, generator=generator).to(torch.uint8).view(torch.float8_e8m0fnu)
        for shape in (blocks(a.shape, 2), blocks(b.shape, 1))
    )
    exact = (a.double() * spread(scale_a, 2, k)) @ (b.double() * spread(scale_b, 1, k))
    bound = (a.double().abs() * spread(scale_a, 2, k)) @ (b.double().abs() * spread(scale_b, 1, k))
    turn = lambda x, swapped: x.view(torch.uint8).mT.contiguous().view(x.dtype) if swapped else x  # noqa: E731
    flags = {"a_trans": trans[0], "b_trans": trans[1], "scale_a_trans": trans[1], "scale_b_trans": trans[0]}
    tensors = [turn(a, trans[0]), turn(b, trans[1]), turn(scale_a, trans[1]), turn(scale_b, trans[0])]
    got = torch.empty(2, 17, 33, dtype=WIDE[out])

    def body(x, y, sx, sy, z):
        z[:] = pypto.scaled_mm(x, y, out, sx, sy, **flags)

    compiled(body, [*tensors, got])
    allowed = exact.abs() * torch.finfo(WIDE[out]).eps * 0.51 + bound * 1e-6 + 2.0**-25
    assert bool(((got.double() - exact).abs() <= allowed).all())


def test_bias_and_relu_follow_the_product():
    a, b = torch.randn(8, 64).to(torch.float8_e4m3fn), torch.randn(64, 16).to(torch.float8_e5m2)
    bias, ones = torch.randn(1, 16), torch.ones(8, 2).to(torch.float8_e8m0fnu)
    got = torch.empty(8, 16)

    def body(x, y, z, s, out):
        other = pypto.cast(pypto.full([2, 16], 2.0, FP32), E8M0)
        out[:] = pypto.scaled_mm(x, y, FP32, s, other, extend_params={"bias_tensor": z, "relu_type": 1})

    compiled(body, [a, b, bias, ones, got])
    exact = (a.double() @ b.double() * 2 + bias.double()).relu()
    assert torch.allclose(got.double(), exact, atol=1e-4)


def scaled_down(x, dtype, mode="ROUND_DOWN"):
    """Elements before rounding, and scale codes, by the rule of section 6.3; or so that nothing is clamped."""
    exponent, limit = LARGEST[dtype]
    k = x.shape[-1]
    padded = torch.nn.functional.pad(x.double(), (0, -k % 32)).unflatten(-1, (-1, 32))
    largest = padded.abs().amax(-1)
    power = torch.frexp(largest)[1].double() - 1 - exponent
    power = power + ((largest > limit * 2.0**power) & (mode == "ROUND_UP"))
    power = torch.where(largest == 0, -127.0, power).clamp(-127, 127)
    codes = torch.where(largest.isfinite(), power + 127, 255.0).to(torch.uint8)
    small = (padded / 2.0 ** power[..., None]).clamp(-limit, limit)
    small = torch.where(largest.isfinite()[..., None], small, torch.nan)
    return small.flatten(-2)[..., :k].float(), codes


@pytest.mark.parametrize("mode", ["ROUND_DOWN", "ROUND_UP"])
@pytest.mark.parametrize("axis", [-1, 0, 1])
@pytest.mark.parametrize("source", WIDE, ids=case_id)
@pytest.mark.parametrize("dtype", TORCH, ids=case_id)
def test_blocks_get_their_scale(dtype, source, axis, mode):
    generator = torch.Generator().manual_seed(9)
    x = torch.randn(40, 3, 70, generator=generator) * 10.0 ** torch.randint(-4, 4, (40, 3, 70), generator=generator)
    x = x.to(WIDE[source])
    x[0, 0, :32] = 0
    x[33, 1, 40] = torch.inf
    x[39, 2, 69] = torch.nan
    x[5, 0, :32] = torch.tensor([448.0] + [-447.0] * 31)
    x[6, 0, :32] = torch.tensor([511.0] + [1e-3] * 31)
    q, codes = scaled_down(x.transpose(axis, -1), dtype, mode)
    turn = lambda t: t.view(torch.uint8).transpose(axis, -1).contiguous()  # noqa: E731
    got = torch.empty(x.shape, dtype=torch.uint8).view(TORCH[dtype])
    scale = torch.empty(blocks(x.shape, axis), dtype=torch.uint8).view(torch.float8_e8m0fnu)

    def body(a, b, c):
        elements, scales = pypto.quant_mx(a, dtype, mode, axis)
        b[:] = elements
        c[:] = scales

    compiled(body, [x, got, scale])
    assert torch.equal(scale.view(torch.uint8), turn(codes))
    expected = turn(q.to(TORCH[dtype])).view(TORCH[dtype]).float()
    assert torch.equal(got.float().isnan(), expected.isnan())
    assert torch.equal(got.float().nan_to_num(0), expected.nan_to_num(0))


def test_the_least_scales():
    x = torch.tensor([2.0**-130, 1e-45, 2.0**-118, 0.0]).repeat_interleave(32)
    q, scale = (torch.empty(n, dtype=torch.uint8).view(t) for n, t in ((128, TORCH[pypto.DT_FP8E4M3]),
                                                                      (4, torch.float8_e8m0fnu)))  # fmt: skip

    def body(a, b, c):
        b[:], c[:] = pypto.quant_mx(a)

    compiled(body, [x, q, scale])
    assert scale.view(torch.uint8).tolist() == [0, 0, 1, 0]
    assert q.float()[::32].tolist() == [2.0**-3, 0.0, 2.0**8, 0.0]


def refused(error, text, body):
    x = torch.zeros(8, 64)
    with pytest.raises(error, match=text):
        compiled(body, [x, x.to(torch.float8_e4m3fn), torch.zeros(8, 2, dtype=torch.uint8).view(torch.float8_e8m0fnu)])


def test_what_does_not_fit_is_said():
    refused(TypeError, r"quant_mx\(\): dtype DT_FP8E4M3 is not supported; accepted: DT_FP32, DT_FP16, DT_BF16",
            lambda x, a, s: pypto.quant_mx(a))  # fmt: skip
    refused(TypeError, r"quant_mx\(\): quant_dtype is DT_FP8E4M3, DT_FP8E5M2, DT_FP4_E2M1X2, got DT_HF8",
            lambda x, a, s: pypto.quant_mx(x, pypto.DT_HF8))  # fmt: skip
    refused(
        NotImplementedError,
        "the mode is ROUND_DOWN or ROUND_UP, got 'UP'",
        lambda x, a, s: pypto.quant_mx(x, mode="UP"),
    )
    refused(TypeError, "scaled_mm.*: a is DT_FP8E4M3, DT_FP8E5M2, DT_FP4_E2M1X2 and scale_a is DT_FP8E8M0, got DT_FP32",
            lambda x, a, s: pypto.scaled_mm(x, a, FP32, s, s))  # fmt: skip
    refused(ValueError, r"scale_b has one element for every 32 along K of b: expected \[1, 64\] for \[8, 64\], got",
            lambda x, a, s: pypto.scaled_mm(a, a, FP32, s, s))  # fmt: skip
    refused(TypeError, "out_dtype is DT_FP32", lambda x, a, s: pypto.scaled_mm(a, a, pypto.DT_INT8, s, s))
    refused(ValueError, r"unknown extend_params \['scale'\]; known: bias_tensor, relu_type",
            lambda x, a, s: pypto.scaled_mm(a, a, FP32, s, s, extend_params={"scale": 1.0}))  # fmt: skip
    refused(NotImplementedError, "c_matrix_nz", lambda x, a, s: pypto.scaled_mm(a, a, FP32, s, s, c_matrix_nz=True))


def test_the_platforms_that_have_them_are_named():
    @pypto.frontend.jit
    def kernel(x: pypto.Tensor([8, 64], FP32), y: pypto.Tensor([8, 64], FP32)):
        y[:] = pypto.cast(pypto.quant_mx(x)[0], FP32)

    with pytest.raises(pypto.CompileError, match="a2a3sim; it is on a5 and a5sim"):
        ir.compile(kernel, platform="a2a3sim")
