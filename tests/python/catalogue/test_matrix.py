"""Matrix products with bias, scale and relu; quantisation; what other platforms have."""

import math

import pytest
import torch
from catalogue_support import FLOATS, HALF_ULPS, TORCH, case_id, check, run, values

import pypto

FP32, FP16, INT8, INT32 = pypto.DT_FP32, pypto.DT_FP16, pypto.DT_INT8, pypto.DT_INT32


@pytest.mark.parametrize("dtype", FLOATS, ids=case_id)
def test_bias_and_relu(dtype):
    a, b, bias = (torch.randn(shape).to(TORCH[dtype]) for shape in ((17, 40), (40, 33), (1, 33)))
    options = {"relu_type": 1}
    got = run(lambda x, y, z: pypto.matmul(x, y, dtype, extend_params={"bias_tensor": z, **options}), [a, b, bias],
              torch.empty(17, 33, dtype=TORCH[dtype]))  # fmt: skip
    check(got, (a.double() @ b.double() + bias.double()).relu(), 0.51, 1e-5)


def test_batched_with_transposes_and_bias():
    a, b, bias = torch.randn(3, 40, 9), torch.randn(1, 20, 40), torch.randn(3, 1, 20)
    got = run(
        lambda x, y, z: pypto.matmul(x, y, FP32, a_trans=True, b_trans=True, extend_params={"bias_tensor": z}),
        [a, b, bias], torch.empty(3, 9, 20),
    )  # fmt: skip
    check(got, a.double().mT @ b.double().mT + bias.double(), 0.51, 1e-4)


def test_dequantising_product():
    a, b = (torch.randint(-128, 128, shape).to(torch.int8) for shape in ((5, 64), (64, 33)))
    exact = a.double() @ b.double()
    got = run(lambda x, y: pypto.matmul(x, y, FP16, extend_params={"scale": 0.0078125}), [a, b],
              torch.empty(5, 33, dtype=torch.float16))  # fmt: skip
    check(got, exact / 128, 0.51)
    scales = torch.rand(1, 33).clamp(0.01)
    bits = scales.view(torch.int32).to(torch.int64) | (7 << 40)
    kept = (scales.view(torch.int32) & ~0x1FFF).view(torch.float32).double()
    got = run(lambda x, y, s: pypto.matmul(x, y, FP16, extend_params={"scale_tensor": s}), [a, b, bits],
              torch.empty(5, 33, dtype=torch.float16))  # fmt: skip
    check(got, exact * kept, 0.52)


def test_quantising_product():
    a, b = torch.randn(9, 40).half(), torch.randn(40, 20).half()
    got = run(lambda x, y: pypto.matmul(x, y, INT8, extend_params={"scale": 32.0}), [a, b],
              torch.empty(9, 20, dtype=torch.int8))  # fmt: skip
    expected = (a.double() @ b.double() * 32).round().clamp(-128, 127)
    assert int((got.double() - expected).abs().max()) <= 1
    assert int((got.double() != expected).sum()) <= 2


def test_tf32_inputs():
    a, b = torch.randn(9, 40), torch.randn(40, 20)
    got = run(lambda x, y: pypto.matmul(x, y, FP32, extend_params={"trans_mode": 1}), [a, b], torch.empty(9, 20))
    cut = [((t.view(torch.int32) + 0xFFF + (t.view(torch.int32) >> 13 & 1)) & ~0x1FFF).view(torch.float32).double()
           for t in (a, b)]  # fmt: skip
    check(got, cut[0] @ cut[1], 1.0, 1e-5)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_quantize_and_dequantize(axis):
    x = torch.randn(12, 20) * 40
    scale = torch.rand(x.shape[axis]) + 0.5
    zero = torch.randint(0, 20, (x.shape[axis],), dtype=torch.int32)
    wide = scale.reshape([-1, 1] if axis == 0 else [1, -1])
    zeros = zero.reshape(wide.shape)
    got = run(lambda t, s: pypto.quantize(t, s, INT8, axis), [x, scale], torch.empty(12, 20, dtype=torch.int8))
    check(got, (x * wide).round().clamp(-128, 127))
    unsigned = run(lambda t, s, z: pypto.quantize(t, s, pypto.DT_UINT8, axis, z), [x, scale, zero],
                   torch.empty(12, 20, dtype=torch.uint8))  # fmt: skip
    check(unsigned, (x * wide + zeros).round().clamp(0, 255))
    back = run(lambda t, s, z: pypto.dequantize(t, s, FP16, axis, z), [got, scale, zero],
               torch.empty(12, 20, dtype=torch.float16))  # fmt: skip
    check(back, ((got.float() + zeros) * wide).double(), 0.51)


def test_what_a_platform_lacks_names_those_that_have_it():
    spec = pypto.Tensor([8], INT8)

    @pypto.frontend.jit
    def kernel(x: spec, out: spec):
        out[:] = pypto.maximum(x, x)

    text = r"maximum\(\) of DT_INT8 is not available on platform a2a3sim; it is on a5 and a5sim"
    with pytest.raises(pypto.CompileError, match=text):
        pypto.ir.compile(kernel)
    x = values((8,), INT8)
    assert torch.equal(run(lambda t: pypto.maximum(t, t), [x], torch.empty_like(x), "a5sim"), x)


CONVOLUTIONS = [
    ((2, 3, 20), (4, 3, 3), [1], [0], [1], 1),
    ((1, 4, 9, 11), (6, 4, 3, 2), [1, 1], [1, 0], [1, 1], 1),
    ((2, 4, 12, 9), (6, 2, 3, 3), [2, 1], [1, 2, 0, 1], [1, 2], 2),
    ((1, 2, 5, 6, 7), (3, 2, 2, 3, 1), [1, 2, 1], [0, 1, 0], [1, 1, 1], 1),
    ((2, 300, 17), (300, 1, 4), [1], [3, 0], [1], 300),  # one channel by one
    ((1, 6, 9, 8), (6, 1, 3, 2), [2, 3], [1, 1], [1, 2], 6),
    ((2, 3, 4, 5, 6), (3, 1, 2, 2, 3), [1, 2, 2], [1, 0, 1], [1, 1, 1], 3),
    ((1, 130, 11), (260, 1, 3), [2], [1], [2], 130),
    ((2, 150, 6, 5), (4, 150, 3, 3), [1, 2], [1, 1], [1, 1], 1),  # three products, the last one of fewer channels
    ((1, 3, 23, 20), (8, 3, 7, 5), [3, 4], [3, 2], [1, 1], 1),
]


@pytest.mark.parametrize("dtype", FLOATS, ids=case_id)
@pytest.mark.parametrize(("shape", "kernel", "strides", "paddings", "dilations", "groups"), CONVOLUTIONS)
def test_conv(shape, kernel, strides, paddings, dilations, groups, dtype):
    scales = (1, math.prod(kernel[1:]) ** -0.5, 1)
    sizes = (shape, kernel, (kernel[0],))
    x, w, bias = ((torch.randn(size) * scale).to(TORCH[dtype]) for size, scale in zip(sizes, scales, strict=True))
    dims = len(strides)
    before_and_behind = paddings if len(paddings) == 2 * dims else [p for p in paddings for _ in range(2)]
    pads = [p for i in reversed(range(dims)) for p in before_and_behind[2 * i : 2 * i + 2]]
    padded = torch.nn.functional.pad(x.double(), pads)
    reference = [torch.nn.functional.conv1d, torch.nn.functional.conv2d, torch.nn.functional.conv3d][dims - 1]
    expected = reference(padded, w.double(), bias.double(), strides, 0, dilations, groups).relu()

    def body(a, b, c):
        return pypto.conv(
            a, b, dtype, strides, paddings, dilations, groups=groups,
            extend_params={"bias_tensor": c, "relu_type": 1},
        )  # fmt: skip

    got = run(body, [x, w, bias], torch.empty(expected.shape, dtype=TORCH[dtype]))
    check(got, expected, HALF_ULPS, 2e-5)


@pytest.mark.parametrize("count", [1, 6])
def test_a_scaled_conv(count):
    x, w, bias = torch.randn(2, 3, 20), torch.randn(6, 3, 3) / 3, torch.randn(6)
    scales = torch.rand(count) + 0.5
    bits = scales.view(torch.int32).to(torch.int64) | (7 << 40)
    product = torch.nn.functional.conv1d(x.double(), w.double())

    def body(a, b, c):
        how = {"scale_tensor": c} if c.dtype == pypto.DT_INT64 else {"bias_tensor": c, "scale": 0.7500001}
        return pypto.conv(a, b, FP32, [1], [0], [1], extend_params={"relu_type": 1, **how})

    got = run(body, [x, w, bias], torch.empty(product.shape))
    check(got, ((product + bias.double().reshape(1, 6, 1)) * 0.75).relu(), 4, 2e-6)  # a scale keeps ten bits
    kept = (scales.view(torch.int32) & ~0x1FFF).view(torch.float32).double()
    got = run(body, [x, w, bits], torch.empty(product.shape))
    check(got, (product * kept.reshape(1, -1, 1)).relu(), 4, 2e-6)


def test_what_follows_a_conv_is_checked():
    def kernel_with(**extend):
        @pypto.frontend.jit
        def kernel(x: pypto.Tensor([1, 3, 20], FP32), w: pypto.Tensor([6, 3, 3], FP32), b: pypto.Tensor([5], FP32)):
            pypto.conv(x, w, FP32, [1], [0], [1], extend_params={k: b if v == "b" else v for k, v in extend.items()})

        return kernel

    for extend, text in (
        (
            {"bias": "b"},
            r"conv\(\): unknown extend_params \['bias'\]; known: bias_tensor, relu_type, scale, scale_tensor",
        ),
        ({"bias_tensor": "b"}, r"conv\(\): bias_tensor holds 5 numbers; expected 1 or one for each of 6 outputs"),
        ({"scale_tensor": "b"}, r"conv\(\): scale_tensor is DT_UINT64 or DT_INT64, got DT_FP32"),
    ):
        with pytest.raises(pypto.CompileError, match=text):
            pypto.ir.compile(kernel_with(**extend))


TRANSPOSED = [
    # x, w, strides, paddings, dilations, output paddings, groups
    ((2, 3, 9), (3, 5, 4), [2], [1], [1], [1], 1),
    ((1, 4, 6), (4, 2, 3), [3], [0], [2], [2], 2),
    ((1, 2, 5), (2, 3, 1), [1], [0], [1], None, 1),
    ((2, 3, 5, 4), (3, 4, 3, 2), [2, 3], [1, 0], [1, 2], [1, 2], 1),
    ((1, 4, 6, 6), (4, 1, 3, 3), [1, 1], [2, 2], [1, 1], None, 4),
    ((1, 2, 4, 4), (2, 2, 2, 2), [2, 2], [2, 1], [1, 1], [0, 1], 1),
    ((1, 2, 3, 3, 2), (2, 2, 2, 3, 2), [2, 1, 2], [0, 1, 0], [1, 1, 1], [1, 0, 1], 1),
]  # fmt: skip


@pytest.mark.parametrize("case", TRANSPOSED, ids=lambda case: "x".join(map(str, case[0])))
@pytest.mark.parametrize("dtype", FLOATS, ids=case_id)
def test_transposed_convolutions(dtype, case):
    shape, kernel, strides, paddings, dilations, further, groups = case
    generator = torch.Generator().manual_seed(2)
    x, w = (torch.randn(each, generator=generator).to(TORCH[dtype]) for each in (shape, kernel))
    bias = torch.randn(kernel[1] * groups, generator=generator).to(TORCH[dtype])
    reference = getattr(torch.nn.functional, f"conv_transpose{len(strides)}d")
    exact = reference(x.double(), w.double(), bias.double(), strides, paddings, further or 0, groups, dilations)
    got = run(
        lambda a, b, c: pypto.conv(
            a, b, dtype, strides, paddings, dilations, groups=groups, transposed=True, output_paddings=further,
            extend_params={"bias_tensor": c},
        ),
        [x, w, bias], torch.empty(exact.shape, dtype=TORCH[dtype]),
    )  # fmt: skip
    check(got, exact, HALF_ULPS, 2e-5)


def test_transposed_convolutions_that_do_not_fit():
    def refused(text, w, **options):
        @pypto.frontend.jit
        def kernel(x: pypto.Tensor([1, 2, 8], FP32), y: pypto.Tensor(w, FP32)):
            pypto.conv(x, y, FP32, [2], [0], [1], **options)

        with pytest.raises(ValueError, match=text):
            pypto.ir.compile(kernel)

    refused(r"w \[C, O / groups, ...\]", [3, 2, 3], transposed=True)
    refused(r"below the stride or the dilation \[2\], got \[2\]", [2, 3, 3], transposed=True, output_paddings=[2])
    refused("output_paddings go with transposed=True", [3, 2, 3], output_paddings=[1])
