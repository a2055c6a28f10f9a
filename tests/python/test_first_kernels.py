"""The three-loop kernel, softmax, layer norm, fused GELU and dynamic rows: numbers against torch in FP64."""

import math

import pytest
import torch
import worked_example

import pypto

DTYPES = {
    torch.float32: (pypto.DT_FP32, 2e-6),
    torch.float16: (pypto.DT_FP16, 2e-3),
    torch.bfloat16: (pypto.DT_BF16, 2e-2),
}
SHAPES = [(1, 1), (1, 7), (3, 64), (33, 100), (64, 128), (70, 257)]


def assert_close(got: torch.Tensor, expected: torch.Tensor, tolerance: float) -> None:
    """Error relative to the largest expected magnitude."""
    scale = max(1.0, float(expected.abs().max()))
    error = float((got.double() - expected.double()).abs().max())
    assert error <= tolerance * scale, f"error {error:.3e}, allowed {tolerance * scale:.3e}"


def test_three_loops():
    dy, weight = worked_example.inputs()
    output1, output2 = torch.full((1, 64, 16), math.nan), torch.full((1, 64, 16), math.nan)
    worked_example.three_loops(dy, weight, output1, output2)
    assert_close(output1, dy[:, :, 0].double() @ weight[0].double().T, 1e-6)
    assert torch.equal(output2, (dy + dy)[:, :, 0])


def softmax_kernel(rows: int, columns: int, dtype: pypto.DataType):
    @pypto.frontend.jit
    def softmax(x: pypto.Tensor([rows, columns], dtype), out: pypto.Tensor([rows, columns], dtype)):
        pypto.set_vec_tile_shapes(16, 512)
        wide = pypto.cast(x, pypto.DT_FP32)
        shifted = pypto.exp(wide - pypto.amax(wide, -1, keepdim=True))
        out[:] = pypto.cast(shifted / pypto.sum(shifted, -1, keepdim=True), dtype)

    return softmax


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_softmax(shape, dtype):
    torch.manual_seed(2)
    name, tolerance = DTYPES[dtype]
    x = (torch.randn(shape) * 3).to(dtype)
    out = torch.empty_like(x)
    softmax_kernel(*shape, name)(x, out)
    assert_close(out, torch.softmax(x.double(), -1), tolerance)


def layer_norm_kernel(rows: int, columns: int, dtype: pypto.DataType):
    @pypto.frontend.jit
    def layer_norm(
        x: pypto.Tensor([rows, columns], dtype),
        gamma: pypto.Tensor([columns], dtype),
        beta: pypto.Tensor([columns], dtype),
        out: pypto.Tensor([rows, columns], dtype),
    ):
        pypto.set_vec_tile_shapes(8, 512)
        wide = pypto.cast(x, pypto.DT_FP32)
        centred = wide - pypto.sum(wide, -1, keepdim=True) * (1.0 / columns)
        variance = pypto.sum(centred * centred, -1, keepdim=True) * (1.0 / columns)
        normal = centred * pypto.rsqrt(variance + 1e-5)
        out[:] = pypto.cast(normal * pypto.cast(gamma, pypto.DT_FP32) + pypto.cast(beta, pypto.DT_FP32), dtype)

    return layer_norm


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_layer_norm(shape, dtype):
    torch.manual_seed(3)
    name, tolerance = DTYPES[dtype]
    x, gamma, beta = torch.randn(shape).to(dtype), torch.randn(shape[1]).to(dtype), torch.randn(shape[1]).to(dtype)
    out = torch.empty_like(x)
    layer_norm_kernel(*shape, name)(x, gamma, beta, out)
    expected = torch.nn.functional.layer_norm(x.double(), shape[1:], gamma.double(), beta.double())
    assert_close(out, expected, tolerance * 4)


def gelu_linear_kernel(rows: int, inner: int, columns: int, dtype: pypto.DataType):
    @pypto.frontend.jit
    def gelu_linear(
        x: pypto.Tensor([rows, inner], dtype),
        w: pypto.Tensor([inner, columns], dtype),
        b: pypto.Tensor([columns], dtype),
        out: pypto.Tensor([rows, columns], dtype),
    ):
        pypto.set_cube_tile_shapes([64, 64], [64, 64], [64, 64])
        pypto.set_vec_tile_shapes(16, 64)
        h = pypto.matmul(x, w, pypto.DT_FP32) + pypto.cast(b, pypto.DT_FP32)
        out[:] = pypto.cast(h * 0.5 * (pypto.erf(h * math.sqrt(0.5)) + 1.0), dtype)

    return gelu_linear


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1, 1, 1), (7, 33, 5), (64, 64, 64), (65, 129, 100)])
def test_gelu_linear(shape, dtype):
    torch.manual_seed(4)
    rows, inner, columns = shape
    name, tolerance = DTYPES[dtype]
    x = torch.randn(rows, inner).to(dtype)
    w = (torch.randn(inner, columns) / math.sqrt(inner)).to(dtype)
    b = torch.randn(columns).to(dtype)
    out = torch.empty(rows, columns, dtype=dtype)
    gelu_linear_kernel(rows, inner, columns, name)(x, w, b, out)
    expected = torch.nn.functional.gelu(x.double() @ w.double() + b.double())
    assert_close(out, expected, tolerance * 2)


def scaled_rows_kernel(columns: int, dtype: pypto.DataType):
    rows = pypto.frontend.dynamic("rows")

    @pypto.frontend.jit
    def scaled_rows(
        x: pypto.Tensor([rows, columns], dtype),
        y: pypto.Tensor([rows, columns], dtype),
        out: pypto.Tensor([rows, columns], dtype),
    ):
        pypto.set_vec_tile_shapes(8, 64)
        for i in pypto.loop(0, x.shape[0], 16):
            out[i : i + 16, :] = x[i : i + 16, :] * 2.0 + y[i : i + 16, :]

    return scaled_rows


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("columns", [1, 63, 200])
def test_dynamic_rows(columns, dtype):
    torch.manual_seed(5)
    name, tolerance = DTYPES[dtype]
    kernel = scaled_rows_kernel(columns, name)
    for rows in (0, 1, 15, 16, 17, 100):
        x, y = torch.randn(rows, columns).to(dtype), torch.randn(rows, columns).to(dtype)
        out = torch.full((rows, columns), 7.0).to(dtype)
        kernel(x, y, out)
        if rows:
            assert_close(out, x.double() * 2 + y.double(), tolerance)
    assert kernel.cache_info().misses == 1
