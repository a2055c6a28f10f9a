"""Causal flash attention: online softmax over blocks of keys, tails of the sequence included."""

from __future__ import annotations

import math

import torch
from _report import check

import pypto

HEADS, HEAD = 4, 64
QUERIES, KEYS = 32, 32  # rows per block


@pypto.frontend.jit
def flash_attention(
    query: pypto.Tensor([HEADS, pypto.DYNAMIC, HEAD], pypto.DT_FP16),
    key: pypto.Tensor([HEADS, pypto.DYNAMIC, HEAD], pypto.DT_FP16),
    value: pypto.Tensor([HEADS, pypto.DYNAMIC, HEAD], pypto.DT_FP16),
    out: pypto.Tensor([HEADS, pypto.DYNAMIC, HEAD], pypto.DT_FP16),
):
    pypto.set_vec_tile_shapes(QUERIES, 64)
    pypto.set_cube_tile_shapes([32, 32], [64, 64], [64, 64])
    length = query.shape[1]
    for head in pypto.loop(HEADS, name="heads"):
        for row in pypto.loop(0, length, QUERIES, name="queries"):
            q = query[head, row : row + QUERIES, :]
            largest = pypto.full([QUERIES, 1], -1e30, pypto.DT_FP32)
            total = pypto.zeros(QUERIES, 1)
            result = pypto.zeros(QUERIES, HEAD)
            for column in pypto.loop(0, pypto.min(row + QUERIES, length), KEYS, name="keys"):
                k, v = key[head, column : column + KEYS, :], value[head, column : column + KEYS, :]
                scores = pypto.matmul(q, k, pypto.DT_FP32, b_trans=True) * (1.0 / math.sqrt(HEAD))
                if column + KEYS > row:
                    # Keys after the query: above the diagonal that starts at `row - column`.
                    scores = scores + pypto.triu(pypto.full([QUERIES, KEYS], -1e30, pypto.DT_FP32), row - column + 1)
                now = pypto.maximum(largest, pypto.amax(scores, -1, keepdim=True))
                share = pypto.exp(scores - now)
                correction = pypto.exp(largest - now)
                total = total * correction + pypto.sum(share, -1, keepdim=True)
                update = pypto.matmul(pypto.cast(share, pypto.DT_FP16), v, pypto.DT_FP32)
                result = result * correction + update
                largest = now
            out[head, row : row + QUERIES, :] = pypto.cast(result / total, pypto.DT_FP16)


def main() -> None:
    torch.manual_seed(0)
    for length in (1, 33, 100):
        query, key, value = (torch.randn(HEADS, length, HEAD).half() for _ in range(3))
        out = torch.empty_like(query)
        args = (query, key, value, out)
        flash_attention(*args)
        expected = torch.nn.functional.scaled_dot_product_attention(
            query.double(), key.double(), value.double(), is_causal=True
        )
        check("flash attention, causal", flash_attention, args, {"out": (out, expected, 2e-3)})


if __name__ == "__main__":
    main()
