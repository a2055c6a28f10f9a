"""Latent attention decode: all heads attend to one compressed KV row per token (values are a part of the keys)."""

from __future__ import annotations

import math

import torch
from _report import check

import pypto

HEADS, LATENT, ROTARY = 16, 128, 32
WIDTH = LATENT + ROTARY
BLOCK, CAPACITY = 32, 256
SCALE = 1.0 / math.sqrt(WIDTH)


@pypto.frontend.jit
def mla_decode(
    query: pypto.Tensor([pypto.DYNAMIC, HEADS, WIDTH], pypto.DT_BF16),
    cache: pypto.Tensor([pypto.DYNAMIC, CAPACITY, WIDTH], pypto.DT_BF16),
    lengths: pypto.Tensor([pypto.DYNAMIC], pypto.DT_INT32),
    out: pypto.Tensor([pypto.DYNAMIC, HEADS, LATENT], pypto.DT_BF16),
):
    """The queries were multiplied into the latent space before; the up-projection of the result follows after."""
    pypto.set_vec_tile_shapes(HEADS, 128)
    pypto.set_cube_tile_shapes([16, 16], [160, 160], [128, 128])
    for sequence in pypto.loop(query.shape[0], name="sequences"):
        length = lengths[sequence]
        q = query[sequence, :, :]
        largest = pypto.full([HEADS, 1], -1e30, pypto.DT_FP32)
        total = pypto.zeros(HEADS, 1)
        result = pypto.zeros(HEADS, LATENT)
        for start in pypto.loop(0, length, BLOCK, name="blocks"):
            valid = pypto.min(BLOCK, length - start)
            keys = pypto.view(cache[sequence, :, :], [BLOCK, WIDTH], [start, 0], valid_shape=[valid, WIDTH])
            values = pypto.view(cache[sequence, :, :], [BLOCK, LATENT], [start, 0], valid_shape=[valid, LATENT])
            scores = pypto.matmul(q, keys, pypto.DT_FP32, b_trans=True) * SCALE
            now = pypto.maximum(largest, pypto.amax(scores, -1, keepdim=True))
            share = pypto.exp(scores - now)
            correction = pypto.exp(largest - now)
            total = total * correction + pypto.sum(share, -1, keepdim=True)
            result = result * correction + pypto.matmul(pypto.cast(share, pypto.DT_BF16), values, pypto.DT_FP32)
            largest = now
        out[sequence, :, :] = pypto.cast(result / total, pypto.DT_BF16)


def reference(query: torch.Tensor, cache: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """Attention over the rows in use, in FP64."""
    rows = torch.arange(CAPACITY)
    scores = query.double() @ cache.double().transpose(1, 2) * SCALE
    scores = scores.masked_fill(rows >= lengths[:, None, None], -math.inf)
    return torch.softmax(scores, -1) @ cache[:, :, :LATENT].double()


def main() -> None:
    torch.manual_seed(0)
    for lengths in ([1], [32, 33, 200, 77]):
        batch = len(lengths)
        query = torch.randn(batch, HEADS, WIDTH, dtype=torch.bfloat16)
        cache = torch.randn(batch, CAPACITY, WIDTH, dtype=torch.bfloat16)
        sizes = torch.tensor(lengths, dtype=torch.int32)
        out = torch.empty(batch, HEADS, LATENT, dtype=torch.bfloat16)
        args = (query, cache, sizes, out)
        mla_decode(*args)
        check("MLA decode", mla_decode, args, {"out": (out, reference(query, cache, sizes), 1.5e-2)})


if __name__ == "__main__":
    main()
