"""Matrix products as layers of a model have them: few rows, transposed weights, results in the place of an operand."""

import math

import pytest
import torch

import pypto
from pypto import ir
from pypto.runtime import ChipWorker, RunConfig

DTYPES = {torch.float32: pypto.DT_FP32, torch.float16: pypto.DT_FP16, torch.bfloat16: pypto.DT_BF16}


def values(*shape: int, dtype: torch.dtype, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    if dtype is torch.int8:
        return torch.randint(-128, 128, shape, generator=generator).to(dtype)
    return torch.randn(shape, generator=generator).to(dtype)


def check(got: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> None:
    expected = a.double() @ b.double()
    if a.dtype is torch.int8:
        assert torch.equal(got.double(), expected)
        return
    allowed = (a.double().abs() @ b.double().abs()) * 2.0**-23 * math.sqrt(a.shape[-1])
    assert bool(((got.double() - expected).abs() <= allowed).all())


def layer(m, k, n, dtype, b_trans):
    names = (pypto.DT_INT8, pypto.DT_INT32) if dtype is torch.int8 else (DTYPES[dtype], pypto.DT_FP32)
    b_shape = [n, k] if b_trans else [k, n]

    @pypto.frontend.jit
    def product(x: pypto.Tensor([m, k], names[0]), w: pypto.Tensor(b_shape, names[0]),
                out: pypto.Tensor([m, n], names[1])):  # fmt: skip
        out[:] = pypto.matmul(x, w, names[1], b_trans=b_trans)

    return product


@pytest.mark.parametrize("b_trans", [False, True])
@pytest.mark.parametrize("rows", [1, 4, 16, 17])
@pytest.mark.parametrize("dtype", [*DTYPES, torch.int8])
def test_few_rows_against_a_resident_weight(dtype, rows, b_trans):
    k, n = 517, 1030
    x, w = values(rows, k, dtype=dtype, seed=1), values(k, n, dtype=dtype, seed=2)
    given = w.T.contiguous() if b_trans else w
    results = []
    with ChipWorker(config=RunConfig()) as worker:
        handle = worker.register(ir.compile(layer(rows, k, n, dtype, b_trans)))
        weight = worker.alloc_tensor(tuple(given.shape), dtype, init=given)
        for _ in range(3):
            results.append(torch.empty(rows, n, dtype=torch.int32 if dtype is torch.int8 else torch.float32))
            handle(x, weight, results[-1])
    check(results[0], x, w)
    assert all(torch.equal(results[0], other) for other in results)


@pytest.mark.parametrize("rows", [1, 3, 40])
@pytest.mark.parametrize("dtype", DTYPES)
def test_the_product_takes_the_place_of_its_operand(dtype, rows):
    k = 200

    @pypto.frontend.jit
    def step(x: pypto.Tensor([rows, k], DTYPES[dtype]), w: pypto.Tensor([k, k], DTYPES[dtype])):
        pypto.set_cube_tile_shapes([32, 32], [64, 64], [64, 64])
        x[:] = pypto.matmul(x, w, DTYPES[dtype])

    x, w = values(rows, k, dtype=dtype, seed=3), values(k, k, dtype=dtype, seed=4)
    got = x.clone()
    step(got, w)
    expected = x.double() @ w.double()
    allowed = expected.abs() * torch.finfo(dtype).eps + (x.double().abs() @ w.double().abs()) * 2.0**-21
    assert bool(((got.double() - expected).abs() <= allowed).all())
