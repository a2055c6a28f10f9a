"""Sparse attention index: the rows with the best scores are selected and gathered."""

from __future__ import annotations

import torch
from _report import check

import pypto

ROWS, WIDTH, BEST = 200, 32, 16


@pypto.frontend.jit
def select_rows(
    query: pypto.Tensor([pypto.DYNAMIC, WIDTH], pypto.DT_FP32),
    rows: pypto.Tensor([ROWS, WIDTH], pypto.DT_FP32),
    indices: pypto.Tensor([pypto.DYNAMIC, BEST], pypto.DT_INT32),
    out: pypto.Tensor([pypto.DYNAMIC, BEST, WIDTH], pypto.DT_FP32),
):
    pypto.set_vec_tile_shapes(1, 256)
    pypto.set_cube_tile_shapes([16, 16], [32, 32], [256, 256])
    for index in pypto.loop(query.shape[0], name="queries"):
        scores = pypto.matmul(query[index : index + 1, :], rows, pypto.DT_FP32, b_trans=True)
        _, best = pypto.topk(scores, BEST)
        indices[index : index + 1, :] = best
        out[index, :, :] = pypto.index_select(rows, 0, pypto.reshape(best, [BEST]))


def main() -> None:
    torch.manual_seed(0)
    rows = torch.randn(ROWS, WIDTH)
    for count in (1, 9):
        query = torch.randn(count, WIDTH)
        indices, out = torch.empty(count, BEST, dtype=torch.int32), torch.empty(count, BEST, WIDTH)
        args = (query, rows, indices, out)
        select_rows(*args)
        best = (query.double() @ rows.double().T).topk(BEST).indices
        check("top-k and gather", select_rows, args, {"indices": (indices, best, 0.0), "out": (out, rows[best], 0.0)})


if __name__ == "__main__":
    main()
