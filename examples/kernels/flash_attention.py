"""Causal flash attention: online softmax over blocks of keys, tails of the sequence included."""

from __future__ import annotations

import math

import torch
from _report import check

import pypto


def flash_attention_kernel(heads: int, width: int, block: int, dtype: pypto.DataType):
    """A kernel for `heads` heads of `width` in blocks of `block` queries and keys, any number of them."""

    @pypto.frontend.jit
    def flash_attention(
        query: pypto.Tensor([heads, pypto.DYNAMIC, width], dtype),
        key: pypto.Tensor([heads, pypto.DYNAMIC, width], dtype),
        value: pypto.Tensor([heads, pypto.DYNAMIC, width], dtype),
        out: pypto.Tensor([heads, pypto.DYNAMIC, width], dtype),
    ):
        pypto.set_vec_tile_shapes(block, max(block, width))
        pypto.set_cube_tile_shapes([block, block], [64, 64], [64, 64])
        length = query.shape[1]
        for head in pypto.loop(heads, name="heads"):
            for row in pypto.loop(0, length, block, name="queries"):
                q = query[head, row : row + block, :]
                largest = pypto.full([block, 1], -1e30, pypto.DT_FP32)
                total = pypto.zeros(block, 1)
                result = pypto.zeros(block, width)
                for column in pypto.loop(0, pypto.min(row + block, length), block, name="keys"):
                    k, v = key[head, column : column + block, :], value[head, column : column + block, :]
                    scores = pypto.matmul(q, k, pypto.DT_FP32, b_trans=True) * (1.0 / math.sqrt(width))
                    if column + block > row:
                        # Keys after the query: above the diagonal that starts at `row - column`.
                        scores = scores + pypto.triu(pypto.full([block, block], -1e30, pypto.DT_FP32), row - column + 1)
                    now = pypto.maximum(largest, pypto.amax(scores, -1, keepdim=True))
                    share = pypto.exp(scores - now)
                    correction = pypto.exp(largest - now)
                    total = total * correction + pypto.sum(share, -1, keepdim=True)
                    update = pypto.matmul(pypto.cast(share, dtype), v, pypto.DT_FP32)
                    result = result * correction + update
                    largest = now
                out[head, row : row + block, :] = pypto.cast(result / total, dtype)

    return flash_attention


HEADS, HEAD = 4, 64
flash_attention = flash_attention_kernel(HEADS, HEAD, 32, pypto.DT_FP16)


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
