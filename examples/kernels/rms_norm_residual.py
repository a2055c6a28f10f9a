"""RMS norm fused with the residual addition before it: two outputs, the sum and its norm."""

from __future__ import annotations

import torch
from _report import check

import pypto

HIDDEN = 1024
EPSILON = 1e-6
ROWS_PER_STEP = 16


def rms_norm(x, weight):
    """x · rsqrt(mean(x²) + ε) · weight along the last dim; inlined into the kernel."""
    mean = pypto.sum(x * x, -1, keepdim=True) * (1.0 / x.shape[-1])
    return x * pypto.rsqrt(mean + EPSILON) * weight


@pypto.frontend.jit
def rms_norm_residual(
    x: pypto.Tensor([pypto.DYNAMIC, HIDDEN], pypto.DT_FP16),
    residual: pypto.Tensor([pypto.DYNAMIC, HIDDEN], pypto.DT_FP16),
    weight: pypto.Tensor([HIDDEN], pypto.DT_FP16),
    out: pypto.Tensor([pypto.DYNAMIC, HIDDEN], pypto.DT_FP16),
    total: pypto.Tensor([pypto.DYNAMIC, HIDDEN], pypto.DT_FP16),
):
    pypto.set_vec_tile_shapes(4, HIDDEN)
    scale = pypto.cast(weight, pypto.DT_FP32)
    for row in pypto.loop(0, x.shape[0], ROWS_PER_STEP, name="rows"):
        rows = slice(row, row + ROWS_PER_STEP)
        added = pypto.cast(x[rows, :], pypto.DT_FP32) + pypto.cast(residual[rows, :], pypto.DT_FP32)
        total[rows, :] = pypto.cast(added, pypto.DT_FP16)
        out[rows, :] = pypto.cast(rms_norm(added, scale), pypto.DT_FP16)


def main() -> None:
    torch.manual_seed(0)
    weight = torch.randn(HIDDEN, dtype=torch.float16)
    for rows in (1, 50):
        x, residual = (torch.randn(rows, HIDDEN).half() for _ in range(2))
        out, total = torch.empty_like(x), torch.empty_like(x)
        rms_norm_residual(x, residual, weight, out, total)
        added = x.double() + residual.double()
        normal = added * torch.rsqrt(added.square().mean(-1, keepdim=True) + EPSILON) * weight.double()
        results = {"out": (out, normal, 1e-3), "total": (total, added, 1e-3)}
        check("RMS norm with residual", rms_norm_residual, (x, residual, weight, out, total), results)


if __name__ == "__main__":
    main()
