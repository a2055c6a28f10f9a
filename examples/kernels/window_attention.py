"""Prefill of several sequences in one tensor: grouped heads, a sliding window, and a sink logit for every head.

`begins` holds where each sequence starts in the queries and in the keys; a sequence with more keys than queries
continues a past. Blocks of keys before the window are not visited. The sink takes part in the sum of a row and has no
value: a row may attend to nothing.
"""

from __future__ import annotations

import math

import torch
from _report import check

import pypto

FP32, BF16 = pypto.DT_FP32, pypto.DT_BF16
HEADS, KV_HEADS, WIDTH = 4, 2, 64
GROUP = HEADS // KV_HEADS
WINDOW, BLOCK = 24, 16
QUERIES, KEYS, MARKS = (pypto.frontend.dynamic(name) for name in ("queries", "keys", "marks"))


class RunningSoftmax:
    """Largest logit, sum and weighted values of a block of rows so far; it starts from the sink."""

    def __init__(self, sink):
        self.largest = pypto.expand_clone(sink, [BLOCK, 1])
        self.total = pypto.ones(BLOCK, 1)
        self.values = pypto.zeros(BLOCK, WIDTH)

    def add(self, logits, values):
        """One block of keys."""
        largest = pypto.maximum(self.largest, pypto.amax(logits, -1, keepdim=True))
        share, correction = pypto.exp(logits - largest), pypto.exp(self.largest - largest)
        self.total = self.total * correction + pypto.sum(share, -1, keepdim=True)
        self.values = self.values * correction + pypto.matmul(pypto.cast(share, BF16), values, FP32)
        self.largest = largest

    @property
    def result(self):
        return pypto.cast(self.values / self.total, BF16)


def block_of(tensor, row, head, rows):
    """Rows of one head as a matrix of which `rows` are valid."""
    part = pypto.view(tensor, [BLOCK, 1, WIDTH], [row, head, 0], valid_shape=[pypto.min(BLOCK, rows), 1, WIDTH])
    return pypto.reshape(part, [BLOCK, WIDTH])


@pypto.frontend.jit
def window_attention(
    query: pypto.Tensor([QUERIES, HEADS, WIDTH], BF16),
    key: pypto.Tensor([KEYS, KV_HEADS, WIDTH], BF16),
    value: pypto.Tensor([KEYS, KV_HEADS, WIDTH], BF16),
    begins: pypto.Tensor([MARKS, 2], pypto.DT_INT32),
    sinks: pypto.Tensor([HEADS, 1], FP32),
    out: pypto.Tensor([QUERIES, HEADS, WIDTH], BF16),
):
    pypto.set_vec_tile_shapes(BLOCK, WIDTH)
    pypto.set_cube_tile_shapes([16, 16], [64, 64], [64, 64])
    rows, columns = pypto.reshape(pypto.arange(BLOCK), [BLOCK, 1]), pypto.reshape(pypto.arange(BLOCK), [1, BLOCK])
    steps = pypto.cast(rows - columns, FP32)
    for sequence in pypto.loop(begins.shape[0] - 1, name="sequences"):
        first_query, first_key = begins[sequence, 0], begins[sequence, 1]
        queries, keys = begins[sequence + 1, 0] - first_query, begins[sequence + 1, 1] - first_key
        past = keys - queries
        for head in pypto.loop(HEADS, name="heads"):
            for i in pypto.loop(0, queries, BLOCK, name="queries"):
                q = block_of(query, first_query + i, head, queries - i)
                softmax = RunningSoftmax(sinks[head : head + 1, :])
                oldest = pypto.max(0, past + i - WINDOW + 1) // BLOCK * BLOCK
                for j in pypto.loop(oldest, pypto.min(keys, past + i + BLOCK), BLOCK, name="keys"):
                    k = block_of(key, first_key + j, head // GROUP, keys - j)
                    v = block_of(value, first_key + j, head // GROUP, keys - j)
                    logits = pypto.matmul(q, k, FP32, b_trans=True) * (1.0 / math.sqrt(WIDTH))
                    distance = steps + (past + i - j)
                    seen = pypto.logical_and(distance >= 0.0, distance < float(WINDOW))
                    softmax.add(pypto.where(seen, logits, -1e30), v)
                at = first_query + i
                result = pypto.view(
                    softmax.result, [BLOCK, WIDTH], [0, 0], valid_shape=[pypto.min(BLOCK, queries - i), WIDTH]
                )
                out[at : at + BLOCK, head : head + 1, :] = pypto.reshape(result, [BLOCK, 1, WIDTH])


def reference(query, key, value, begins, sinks) -> torch.Tensor:
    """Each sequence on its own, in FP64."""
    results = []
    for (q0, k0), (q1, k1) in zip(begins.tolist(), begins.tolist()[1:], strict=False):
        q = query[q0:q1].double().transpose(0, 1)
        k, v = (x[k0:k1].double().transpose(0, 1).repeat_interleave(GROUP, 0) for x in (key, value))
        logits = q @ k.transpose(1, 2) / math.sqrt(WIDTH)
        distance = torch.arange(q1 - q0)[:, None] + (k1 - k0) - (q1 - q0) - torch.arange(k1 - k0)
        logits = logits.masked_fill((distance < 0) | (distance >= WINDOW), -math.inf)
        sink = sinks.double()[:, :, None].expand(-1, q1 - q0, 1)
        share = torch.softmax(torch.cat([logits, sink], -1), -1)[..., :-1]
        results.append((share @ v).transpose(0, 1))
    return torch.cat(results)


def main() -> None:
    torch.manual_seed(0)
    sinks = torch.randn(HEADS, 1)
    for lengths in ([(1, 1)], [(33, 33), (1, 100), (16, 21), (50, 50)]):
        begins = torch.tensor([(0, 0), *lengths], dtype=torch.int32).cumsum(0, dtype=torch.int32)
        queries, keys = begins[-1].tolist()
        query = torch.randn(queries, HEADS, WIDTH, dtype=torch.bfloat16)
        key, value = (torch.randn(keys, KV_HEADS, WIDTH, dtype=torch.bfloat16) for _ in range(2))
        out = torch.empty_like(query)
        args = (query, key, value, begins, sinks, out)
        window_attention(*args)
        check("window attention", window_attention, args, {"out": (out, reference(*args[:-1]), 1e-2)})


if __name__ == "__main__":
    main()
