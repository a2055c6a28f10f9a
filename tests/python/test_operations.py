"""Every operation of the table, by dtype and shape, against torch in FP64 or exact integers."""

import math

import pytest
import torch

import pypto

FLOATS = {torch.float32: pypto.DT_FP32, torch.float16: pypto.DT_FP16, torch.bfloat16: pypto.DT_BF16}
INTEGERS = {torch.int32: pypto.DT_INT32}
# One rounding of the result, and two units in the last place for the transcendental ones in FP32.
EPSILON = {torch.float32: 2.0**-23, torch.float16: 2.0**-10, torch.bfloat16: 2.0**-7}
SHAPES = [(1,), (7,), (300,), (1, 1), (3, 33), (40, 65), (2, 3, 17), (2, 1, 3, 19)]
TILES = {1: (64,), 2: (16, 32), 3: (2, 2, 16), 4: (1, 1, 2, 8)}

UNARY = {
    "neg": torch.neg,
    "exp": torch.exp,
    "sqrt": torch.sqrt,
    "rsqrt": torch.rsqrt,
    "reciprocal": torch.reciprocal,
    "tanh": torch.tanh,
    "erf": torch.erf,
    "abs": torch.abs,
    "log": torch.log,
}
BINARY = {
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "div": torch.div,
    "maximum": torch.maximum,
    "minimum": torch.minimum,
}
REDUCTIONS = {"sum": torch.sum, "amax": torch.amax, "amin": torch.amin}


def values(shape, dtype, seed=0):
    generator = torch.Generator().manual_seed(seed)
    if dtype in INTEGERS:
        return torch.randint(-(2**31), 2**31, shape, generator=generator).to(dtype)
    x = torch.randn(shape, generator=generator, dtype=torch.float64) * 3
    flat = x.view(-1)
    special = [0.0, -0.0, math.inf, -math.inf, math.nan, 1e-30, -1e30, 88.0, -100.0]
    for index in range(0, flat.numel() - 1, 11):
        flat[index] = special[(index // 11) % len(special)]
    return x.to(dtype)


def check(got, expected, ulps=0.5):
    """NaN, infinity and zero signs alike; else within `ulps` of the last place of the expected value."""
    assert got.shape == expected.shape
    if not got.dtype.is_floating_point:
        assert torch.equal(got, expected)
        return
    rounded = expected.to(got.dtype)
    wide, exact = got.double(), expected.double()
    assert torch.equal(wide.isnan(), rounded.isnan())
    finite = rounded.isfinite() & got.isfinite()
    either = rounded.isinf() | got.isinf()
    edge = torch.finfo(got.dtype).max * (1 - EPSILON[got.dtype])
    assert bool(((wide == rounded.double()) | (exact.abs() >= edge))[either & ~rounded.isnan()].all())
    unit = torch.maximum(exact.abs(), torch.tensor(torch.finfo(got.dtype).tiny)) * EPSILON[got.dtype]
    error = ((wide - exact).abs() / unit)[finite]
    assert float(error.max() if error.numel() else 0.0) <= ulps, f"{float(error.max()):.2f} units"


def unary_kernel(name, shape, dtype):
    function = getattr(pypto, name)

    @pypto.frontend.jit
    def kernel(x: pypto.Tensor(list(shape), dtype), out: pypto.Tensor(list(shape), dtype)):
        pypto.set_vec_tile_shapes(*TILES[len(shape)])
        out[:] = function(x)

    return kernel


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", UNARY)
def test_unary(name, dtype, shape):
    x = values(shape, dtype)
    out = torch.empty_like(x)
    unary_kernel(name, shape, FLOATS[dtype])(x, out)
    check(out, UNARY[name](x.double()), 3.0 if dtype is torch.float32 else 1.01)


def binary_kernel(name, left, right, result, dtype, out_dtype):
    function = getattr(pypto, name)

    @pypto.frontend.jit
    def kernel(
        x: pypto.Tensor(list(left), dtype), y: pypto.Tensor(list(right), dtype), out: pypto.Tensor(result, out_dtype)
    ):
        pypto.set_vec_tile_shapes(*TILES[len(result)])
        out[:] = function(x, y)

    return kernel


BROADCASTS = [
    ((1,), (1,)),
    ((100,), (100,)),
    ((100,), (1,)),
    ((33, 40), (33, 40)),
    ((33, 40), (40,)),
    ((33, 1), (33, 40)),
    ((1, 40), (33, 1)),
    ((2, 3, 17), (3, 1)),
    ((2, 1, 3, 19), (5, 1, 19)),
]


@pytest.mark.parametrize(("left", "right"), BROADCASTS)
@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
@pytest.mark.parametrize("name", BINARY)
def test_binary(name, dtype, left, right):
    x, y = values(left, dtype, 1), values(right, dtype, 2)
    result = list(torch.broadcast_shapes(left, right))
    names = {**FLOATS, **INTEGERS}
    if dtype in INTEGERS and name == "div":
        y = y.where(y != 0, torch.ones_like(y))
        out = torch.empty(result, dtype=torch.float32)
        binary_kernel(name, left, right, result, names[dtype], pypto.DT_FP32)(x, y, out)
        check(out, x.double() / y.double(), 1.51)
        return
    out = torch.empty(result, dtype=dtype)
    binary_kernel(name, left, right, result, names[dtype], names[dtype])(x, y, out)
    expected = BINARY[name](x, y) if dtype in INTEGERS else BINARY[name](x.double(), y.double())
    check(out, expected, 0.501)


def scalar_kernel(shape, dtype, number):
    @pypto.frontend.jit
    def kernel(x: pypto.Tensor(list(shape), dtype), out: pypto.Tensor(list(shape), dtype)):
        out[:] = number - (x * number + number)

    return kernel


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
def test_numbers_on_either_side(dtype):
    number = 3 if dtype in INTEGERS else 0.75
    x = values((40, 65), dtype, 3)
    out = torch.empty_like(x)
    scalar_kernel((40, 65), {**FLOATS, **INTEGERS}[dtype], number)(x, out)
    check(out, number - (x * number + number), 0.501)


def reduction_kernel(name, shape, dtype, axis, keepdim, result):
    function = getattr(pypto, name)

    @pypto.frontend.jit
    def kernel(x: pypto.Tensor(list(shape), dtype), out: pypto.Tensor(result, dtype)):
        pypto.set_vec_tile_shapes(*TILES[len(shape)])
        out[:] = function(x, axis, keepdim=keepdim)

    return kernel


@pytest.mark.parametrize("keepdim", [True, False])
@pytest.mark.parametrize("shape", [shape for shape in SHAPES if len(shape) > 1])
@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name, dtype, shape, keepdim):
    if name == "sum" and dtype is torch.float16:  # not in the catalogue
        with pytest.raises(TypeError, match=r"sum.*FP16"):
            reduction_kernel(name, shape, pypto.DT_FP16, 0, keepdim, list(shape)).compile()
        return
    x = values(shape, dtype, 4) if name != "sum" or dtype in INTEGERS else torch.randn(shape).to(dtype)
    if dtype in INTEGERS:
        x = x // 1000
    for axis in range(-1, len(shape)):
        expected = REDUCTIONS[name](x if dtype in INTEGERS else x.double(), axis, keepdim=keepdim)
        expected = expected.to(dtype) if dtype in INTEGERS else expected
        out = torch.empty(expected.shape, dtype=dtype)
        kernel = reduction_kernel(name, shape, {**FLOATS, **INTEGERS}[dtype], axis, keepdim, list(expected.shape))
        kernel(x, out)
        if name == "sum" and dtype in FLOATS:
            magnitude = x.double().abs().sum(axis, keepdim=keepdim)
            allowed = magnitude * 2.0**-22 + expected.abs() * EPSILON[dtype] * 0.51
            assert bool(((out.double() - expected).abs() <= allowed).all())
        else:
            check(out, expected, 0.0)


def cast_kernel(shape, source, target):
    @pypto.frontend.jit
    def kernel(x: pypto.Tensor(list(shape), source), out: pypto.Tensor(list(shape), target)):
        pypto.set_vec_tile_shapes(16, 32)
        out[:] = pypto.cast(x, target)

    return kernel


CASTS = {**FLOATS, **INTEGERS, torch.int8: pypto.DT_INT8}


@pytest.mark.parametrize("target", CASTS)
@pytest.mark.parametrize("source", CASTS)
def test_cast(source, target):
    x = (torch.randn(40, 65, dtype=torch.float64) * 40).clamp(-120, 120).to(source)
    out = torch.empty(40, 65, dtype=target)
    cast_kernel((40, 65), CASTS[source], CASTS[target])(x, out)
    assert torch.equal(out, x.to(target))


def matmul_kernel(a_shape, b_shape, c_shape, dtype, out_dtype, a_trans, b_trans):
    @pypto.frontend.jit
    def kernel(
        a: pypto.Tensor(list(a_shape), dtype),
        b: pypto.Tensor(list(b_shape), dtype),
        out: pypto.Tensor(list(c_shape), out_dtype),
    ):
        pypto.set_cube_tile_shapes([32, 32], [48, 48], [64, 64])
        out[:] = pypto.matmul(a, b, out_dtype, a_trans=a_trans, b_trans=b_trans)

    return kernel


@pytest.mark.parametrize("transposes", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("size", [(1, 1, 1), (1, 64, 130), (5, 3, 7), (33, 70, 65), (64, 64, 64), (100, 1, 17)])
@pytest.mark.parametrize("dtype", [*FLOATS, torch.int8])
def test_matmul(dtype, size, transposes):
    m, k, n = size
    a_trans, b_trans = transposes
    generator = torch.Generator().manual_seed(5)
    if dtype is torch.int8:
        a, b = (torch.randint(-128, 128, shape, generator=generator).to(dtype) for shape in ((m, k), (k, n)))
        out, names = torch.empty(m, n, dtype=torch.int32), (pypto.DT_INT8, pypto.DT_INT32)
    else:
        a, b = (torch.randn(shape, generator=generator).to(dtype) for shape in ((m, k), (k, n)))
        out, names = torch.empty(m, n, dtype=torch.float32), (FLOATS[dtype], pypto.DT_FP32)
    expected = a.double() @ b.double()
    a_given, b_given = (a.T.contiguous() if a_trans else a), (b.T.contiguous() if b_trans else b)
    matmul_kernel(a_given.shape, b_given.shape, (m, n), *names, a_trans, b_trans)(a_given, b_given, out)
    if dtype is torch.int8:
        assert torch.equal(out.double(), expected)
    else:
        allowed = (a.double().abs() @ b.double().abs()) * 2.0**-23 * max(2.0, math.sqrt(k))
        assert bool(((out.double() - expected).abs() <= allowed).all())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_matmul_rounds_once_to_half(dtype):
    a, b = torch.randn(33, 50).to(dtype), torch.randn(50, 20).to(dtype)
    out = torch.empty(33, 20, dtype=dtype)
    matmul_kernel((33, 50), (50, 20), (33, 20), FLOATS[dtype], FLOATS[dtype], False, False)(a, b, out)
    expected = a.double() @ b.double()
    allowed = expected.abs() * EPSILON[dtype] * 0.51 + (a.double().abs() @ b.double().abs()) * 2.0**-22
    assert bool(((out.double() - expected).abs() <= allowed).all())


@pytest.mark.parametrize(
    ("left", "right"), [((3, 5, 7), (3, 7, 4)), ((1, 5, 7), (3, 7, 4)), ((2, 3, 5, 7), (2, 1, 7, 4))]
)
def test_batched_matmul(left, right):
    a, b = torch.randn(left), torch.randn(right)
    expected = a.double() @ b.double()
    out = torch.empty(expected.shape)
    matmul_kernel(left, right, tuple(expected.shape), pypto.DT_FP32, pypto.DT_FP32, False, False)(a, b, out)
    assert float((out.double() - expected).abs().max()) < 1e-5


def movement_kernel(shape, dtype):
    rows, columns = shape

    @pypto.frontend.jit
    def kernel(
        x: pypto.Tensor([rows, columns], dtype),
        turned: pypto.Tensor([columns, rows], dtype),
        flat: pypto.Tensor([rows * columns], dtype),
        filled: pypto.Tensor([rows, columns], dtype),
        copied: pypto.Tensor([rows, columns], dtype),
    ):
        pypto.set_vec_tile_shapes(8, 16)
        turned[:] = pypto.permute(x, [1, 0]) if dtype == pypto.DT_BOOL else pypto.transpose(x, 0, 1)
        flat[:] = pypto.reshape(x, [rows * columns])
        filled[:] = pypto.full([rows, columns], 3, dtype)
        copied[:] = pypto.clone(x)

    return kernel


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS, torch.int8, torch.bool])
@pytest.mark.parametrize("shape", [(1, 1), (5, 33), (40, 70)])
def test_movement(shape, dtype):
    names = {**CASTS, torch.bool: pypto.DT_BOOL}
    x = torch.randint(0, 2, shape).to(dtype) if dtype is torch.bool else (torch.randn(shape) * 50).to(dtype)
    turned, flat = torch.empty(shape[1], shape[0], dtype=dtype), torch.empty(shape[0] * shape[1], dtype=dtype)
    filled, copied = torch.empty(shape, dtype=dtype), torch.empty(shape, dtype=dtype)
    movement_kernel(shape, names[dtype])(x, turned, flat, filled, copied)
    assert torch.equal(turned, x.T)
    assert torch.equal(flat, x.reshape(-1))
    assert torch.equal(filled, torch.full(shape, 3).to(dtype))
    assert torch.equal(copied, x)


@pypto.frontend.jit
def windows(
    x: pypto.Tensor([37, 20], pypto.DT_FP32),
    out: pypto.Tensor([37, 20], pypto.DT_FP32),
    sums: pypto.Tensor([37, 1], pypto.DT_FP32),
):
    pypto.set_vec_tile_shapes(4, 8)
    whole = pypto.tensor([37, 20], pypto.DT_FP32, "whole")
    for i in pypto.loop(0, 37, 8):
        for j in pypto.loop(0, 20, 12):
            whole[i : i + 8, j : j + 12] = x[i : i + 8, j : j + 12] * 2.0
    for i in pypto.loop(0, 37, 10):
        rows = whole[i : i + 10, :]
        out[i : i + 10, :] = rows - 1.0
        sums[i : i + 10, :] = pypto.sum(rows, -1, keepdim=True)


def test_windows_with_tails():
    x = torch.randn(37, 20)
    out, sums = torch.full((37, 20), math.nan), torch.full((37, 1), math.nan)
    windows(x, out, sums)
    assert torch.equal(out, x * 2 - 1)
    torch.testing.assert_close(sums, (x * 2).sum(-1, keepdim=True), rtol=1e-5, atol=1e-5)
