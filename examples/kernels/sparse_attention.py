"""Attention to what an indexer picks: cheap scores over all rows in use, then full attention to the best of them.

The indexer's score of a row is the weighted sum over its heads of relu(query · key). Rows of one latent cache are keys
and values of all heads at once; a sequence with fewer rows than may be picked attends to all of them.
"""

from __future__ import annotations

import math

import torch
from _report import check

import pypto

FP32, BF16, INT32 = pypto.DT_FP32, pypto.DT_BF16, pypto.DT_INT32
INDEX_HEADS, INDEX_WIDTH = 8, 32
HEADS, WIDTH = 16, 64
CAPACITY, BEST, BLOCK = 512, 64, 64
SEQUENCES = pypto.frontend.dynamic("sequences")
NEVER = -1e30


@pypto.frontend.jit
def sparse_attention(
    index_query: pypto.Tensor([SEQUENCES, INDEX_HEADS, INDEX_WIDTH], BF16),
    index_keys: pypto.Tensor([SEQUENCES, CAPACITY, INDEX_WIDTH], BF16),
    head_weights: pypto.Tensor([SEQUENCES, INDEX_HEADS, 1], FP32),
    query: pypto.Tensor([SEQUENCES, HEADS, WIDTH], BF16),
    cache: pypto.Tensor([SEQUENCES, CAPACITY, WIDTH], BF16),
    lengths: pypto.Tensor([SEQUENCES], INT32),
    picked: pypto.Tensor([SEQUENCES, BEST], INT32),
    out: pypto.Tensor([SEQUENCES, HEADS, WIDTH], BF16),
):
    """`picked` are the rows in the order of their scores, -1 where there are no more."""
    pypto.set_cube_tile_shapes([16, 16], [64, 64], [64, 64])
    for sequence in pypto.loop(query.shape[0], name="sequences"):
        length = lengths[sequence]
        pypto.set_vec_tile_shapes(INDEX_HEADS, BLOCK)
        scores = pypto.full([1, CAPACITY], NEVER, FP32)
        for start in pypto.loop(0, length, BLOCK, name="index"):
            valid = [pypto.min(BLOCK, length - start), INDEX_WIDTH]
            keys = pypto.view(index_keys[sequence], [BLOCK, INDEX_WIDTH], [start, 0], valid_shape=valid)
            alike = pypto.relu(pypto.matmul(index_query[sequence], keys, FP32, b_trans=True))
            scores[:, start : start + BLOCK] = pypto.sum(alike * head_weights[sequence], 0, keepdim=True)

        pypto.set_vec_tile_shapes(1, CAPACITY)
        best, rows = pypto.topk(scores, BEST)
        rows = pypto.where(best > NEVER, rows, pypto.full([1, BEST], -1, INT32))
        picked[sequence : sequence + 1, :] = rows

        pypto.set_vec_tile_shapes(BEST, WIDTH)
        found = pypto.index_select(cache[sequence], 0, pypto.maximum(rows[0], 0))
        found = pypto.view(found, [BEST, WIDTH], [0, 0], valid_shape=[pypto.min(BEST, length), WIDTH])
        logits = pypto.matmul(query[sequence], found, FP32, b_trans=True) * (1.0 / math.sqrt(WIDTH))
        share = pypto.softmax(logits, -1)
        out[sequence] = pypto.matmul(pypto.cast(share, BF16), found, BF16)


def reference(index_query, index_keys, head_weights, query, cache, lengths) -> tuple[torch.Tensor, torch.Tensor]:
    """Each sequence on its own, in FP64."""
    picked = torch.full((len(lengths), BEST), -1)
    results = []
    for sequence, length in enumerate(lengths.tolist()):
        alike = torch.relu(index_query[sequence].double() @ index_keys[sequence, :length].double().T)
        scores = (alike * head_weights[sequence].double()).sum(0)
        rows = scores.argsort(descending=True, stable=True)[:BEST]
        picked[sequence, : len(rows)] = rows
        found = cache[sequence, rows].double()
        results.append(torch.softmax(query[sequence].double() @ found.T / math.sqrt(WIDTH), -1) @ found)
    return picked, torch.stack(results)


def main() -> None:
    torch.manual_seed(0)
    for lengths in ([1], [512, 64, 65, 300, 7]):
        count = len(lengths)
        index_query = torch.randn(count, INDEX_HEADS, INDEX_WIDTH, dtype=torch.bfloat16)
        index_keys = torch.randn(count, CAPACITY, INDEX_WIDTH, dtype=torch.bfloat16)
        head_weights = torch.rand(count, INDEX_HEADS, 1)
        query = torch.randn(count, HEADS, WIDTH, dtype=torch.bfloat16)
        cache = torch.randn(count, CAPACITY, WIDTH, dtype=torch.bfloat16)
        picked, out = torch.empty(count, BEST, dtype=torch.int32), torch.empty_like(query)
        inputs = (index_query, index_keys, head_weights, query, cache, torch.tensor(lengths, dtype=torch.int32))
        sparse_attention(*inputs, picked, out)
        rows, expected = reference(*inputs)
        results = {"picked": (picked, rows, 0.0), "out": (out, expected, 1e-2)}
        check("sparse attention", sparse_attention, (*inputs, picked, out), results)


if __name__ == "__main__":
    main()
