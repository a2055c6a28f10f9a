"""Softmax over the last dim, any number of rows, in FP32, FP16 and BF16."""

from __future__ import annotations

import torch
from _report import check

import pypto

COLUMNS = 1000
ROWS_PER_STEP = 32


def softmax_kernel(dtype: pypto.DataType):
    """A kernel for one dtype; half types are computed in FP32."""

    @pypto.frontend.jit
    def softmax(
        x: pypto.Tensor([pypto.DYNAMIC, COLUMNS], dtype),
        out: pypto.Tensor([pypto.DYNAMIC, COLUMNS], dtype),
    ):
        pypto.set_vec_tile_shapes(8, 1024)
        for row in pypto.loop(0, x.shape[0], ROWS_PER_STEP, name="rows"):
            block = pypto.cast(x[row : row + ROWS_PER_STEP, :], pypto.DT_FP32)
            exponent = pypto.exp(block - pypto.amax(block, -1, keepdim=True))
            share = exponent / pypto.sum(exponent, -1, keepdim=True)
            out[row : row + ROWS_PER_STEP, :] = pypto.cast(share, dtype)

    return softmax


def main() -> None:
    torch.manual_seed(0)
    for dtype, name, allowed in (
        (torch.float32, pypto.DT_FP32, 1e-6),
        (torch.float16, pypto.DT_FP16, 1e-3),
        (torch.bfloat16, pypto.DT_BF16, 8e-3),
    ):
        kernel = softmax_kernel(name)
        for rows in (1, 77):
            x = (torch.randn(rows, COLUMNS) * 4).to(dtype)
            out = torch.empty_like(x)
            kernel(x, out)
            expected = torch.softmax(x.double(), -1)
            check(f"softmax {dtype}", kernel, (x, out), {"out": (out, expected, allowed)})


if __name__ == "__main__":
    main()
