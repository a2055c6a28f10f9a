"""Layer norm with weight and bias, any number of rows."""

from __future__ import annotations

import torch
from _report import check

import pypto

HIDDEN = 768
EPSILON = 1e-5
ROWS_PER_STEP = 16


@pypto.frontend.jit
def layer_norm(
    x: pypto.Tensor([pypto.DYNAMIC, HIDDEN], pypto.DT_BF16),
    weight: pypto.Tensor([HIDDEN], pypto.DT_FP32),
    bias: pypto.Tensor([HIDDEN], pypto.DT_FP32),
    out: pypto.Tensor([pypto.DYNAMIC, HIDDEN], pypto.DT_BF16),
):
    pypto.set_vec_tile_shapes(8, HIDDEN)
    for row in pypto.loop(0, x.shape[0], ROWS_PER_STEP, name="rows"):
        block = pypto.cast(x[row : row + ROWS_PER_STEP, :], pypto.DT_FP32)
        centred = block - pypto.sum(block, -1, keepdim=True) * (1.0 / HIDDEN)
        variance = pypto.sum(centred * centred, -1, keepdim=True) * (1.0 / HIDDEN)
        normal = centred * pypto.rsqrt(variance + EPSILON)
        out[row : row + ROWS_PER_STEP, :] = pypto.cast(normal * weight + bias, pypto.DT_BF16)


def main() -> None:
    torch.manual_seed(0)
    weight, bias = torch.randn(HIDDEN), torch.randn(HIDDEN)
    for rows in (1, 100):
        x = torch.randn(rows, HIDDEN, dtype=torch.bfloat16)
        out = torch.empty_like(x)
        layer_norm(x, weight, bias, out)
        expected = torch.nn.functional.layer_norm(x.double(), (HIDDEN,), weight.double(), bias.double(), EPSILON)
        check("layer norm", layer_norm, (x, weight, bias, out), {"out": (out, expected, 8e-3)})


if __name__ == "__main__":
    main()
