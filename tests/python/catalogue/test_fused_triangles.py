"""tril and triu inside chains: tiles and blocks of every cut, moving diagonals, batches, masks that are added."""

import pytest
import torch

import pypto
from pypto import ir

DTYPES = {
    "fp32": (pypto.DT_FP32, torch.float32),
    "bf16": (pypto.DT_BF16, torch.bfloat16),
    "int32": (pypto.DT_INT32, torch.int32),
}


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("tile", [(96, 80), (7, 80), (16, 33), (1, 1)])
def test_between_neighbours(worker, name, tile):
    dtype, kind = DTYPES[name]

    @pypto.frontend.jit
    def chain(
        x: pypto.Tensor([2, 96, 80], dtype),
        lower: pypto.Tensor([2, 96, 80], dtype),
        upper: pypto.Tensor([2, 96, 80], dtype),
    ):
        pypto.set_vec_tile_shapes(1, *tile)
        shifted = x + 3
        lower[:] = pypto.tril(shifted, -5) + x
        upper[:] = pypto.triu(shifted, 9) * 2

    x = torch.randint(-9, 9, (2, 96, 80)).to(kind)
    lower, upper = torch.empty_like(x), torch.empty_like(x)
    ir.compile(chain)(x, lower, upper)
    assert torch.equal(lower, torch.tril(x + 3, -5) + x)
    assert torch.equal(upper, torch.triu(x + 3, 9) * 2)


def test_masks_of_a_moving_diagonal(worker):
    block = 32

    @pypto.frontend.jit
    def masked(x: pypto.Tensor([128, 128], pypto.DT_FP32), out: pypto.Tensor([128, 128], pypto.DT_FP32)):
        for row in pypto.loop(0, 128, block):
            for column in pypto.loop(0, 128, block):
                cells = x[row : row + block, column : column + block]
                mask = pypto.triu(pypto.full([block, block], -1e30, pypto.DT_FP32), row - column + 1)
                out[row : row + block, column : column + block] = pypto.exp(cells + mask)

    compiled = ir.compile(masked)
    leaves = [line for line in compiled.to_text().splitlines() if line.strip().startswith("leaf ")]
    assert len(leaves) == 1  # the mask never reaches memory
    x, out = torch.randn(128, 128), torch.empty(128, 128)
    compiled(x, out)
    assert torch.allclose(out, torch.exp(x + torch.triu(torch.full((128, 128), -1e30), 1)), rtol=1e-6)


def test_values_behind_the_diagonal_may_be_anything(worker):
    @pypto.frontend.jit
    def lower(x: pypto.Tensor([40, 40], pypto.DT_FP32), out: pypto.Tensor([40, 40], pypto.DT_FP32)):
        out[:] = pypto.tril(x / 0.0)

    x, out = torch.randn(40, 40), torch.empty(40, 40)
    ir.compile(lower)(x, out)
    assert torch.equal(out, torch.tril(x / 0.0))
