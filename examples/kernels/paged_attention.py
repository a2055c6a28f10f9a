"""Decode attention over a paged KV cache with grouped query heads; pages are found through a block table."""

import math

import torch
from _report import check

import pypto


def paged_attention_kernel(heads: tuple[int, int], width: int, cache: tuple[int, int], table_pages: int):
    """A kernel for (KV heads, queries of each) and a cache of (pages, rows of a page); any number of sequences."""
    kv_heads, group = heads
    pages, page_rows = cache

    @pypto.frontend.jit
    def paged_attention(
        query: pypto.Tensor([pypto.DYNAMIC, kv_heads, group, width], pypto.DT_BF16),
        key_cache: pypto.Tensor([pages, kv_heads, page_rows, width], pypto.DT_BF16),
        value_cache: pypto.Tensor([pages, kv_heads, page_rows, width], pypto.DT_BF16),
        block_table: pypto.Tensor([pypto.DYNAMIC, table_pages], pypto.DT_INT32),
        lengths: pypto.Tensor([pypto.DYNAMIC], pypto.DT_INT32),
        out: pypto.Tensor([pypto.DYNAMIC, kv_heads, group, width], pypto.DT_BF16),
    ):
        pypto.set_vec_tile_shapes(group, max(page_rows, width))
        pypto.set_cube_tile_shapes([16, 16], [64, 64], [page_rows, page_rows])
        for sequence in pypto.loop(query.shape[0], name="sequences"):
            length = lengths[sequence]
            for head in pypto.loop(kv_heads, name="kv_heads"):
                q = query[sequence, head, :, :]
                largest = pypto.full([group, 1], -1e30, pypto.DT_FP32)
                total = pypto.zeros(group, 1)
                result = pypto.zeros(group, width)
                for page in pypto.loop(pypto.ceildiv(length, page_rows), name="pages"):
                    block = block_table[sequence, page]
                    valid = [pypto.min(page_rows, length - page * page_rows), width]
                    k = pypto.view(key_cache[block, head, :, :], [page_rows, width], [0, 0], valid_shape=valid)
                    v = pypto.view(value_cache[block, head, :, :], [page_rows, width], [0, 0], valid_shape=valid)
                    scores = pypto.matmul(q, k, pypto.DT_FP32, b_trans=True) * (1.0 / math.sqrt(width))
                    now = pypto.maximum(largest, pypto.amax(scores, -1, keepdim=True))
                    share = pypto.exp(scores - now)
                    correction = pypto.exp(largest - now)
                    total = total * correction + pypto.sum(share, -1, keepdim=True)
                    result = result * correction + pypto.matmul(pypto.cast(share, pypto.DT_BF16), v, pypto.DT_FP32)
                    largest = now
                out[sequence, head, :, :] = pypto.cast(result / total, pypto.DT_BF16)

    return paged_attention


KV_HEADS, GROUP, HEAD = 2, 4, 64
PAGE, PAGES, PAGES_PER_SEQUENCE = 16, 64, 8
paged_attention = paged_attention_kernel((KV_HEADS, GROUP), HEAD, (PAGES, PAGE), PAGES_PER_SEQUENCE)


def reference(query, key_cache, value_cache, block_table, lengths) -> torch.Tensor:
    """Each sequence gathered and attended to on its own, in FP64."""
    results = []
    for sequence, length in enumerate(lengths.tolist()):
        pages = block_table[sequence].long()
        keys, values = (
            cache[pages].double().transpose(0, 1).reshape(KV_HEADS, -1, HEAD)[:, :length]
            for cache in (key_cache, value_cache)
        )
        scores = query[sequence].double() @ keys.transpose(1, 2) / math.sqrt(HEAD)
        results.append(torch.softmax(scores, -1) @ values)
    return torch.stack(results)


def main() -> None:
    torch.manual_seed(0)
    caches = [torch.randn(PAGES, KV_HEADS, PAGE, HEAD, dtype=torch.bfloat16) for _ in range(2)]
    for lengths in ([1], [16, 17, 128, 50, 3]):
        batch = len(lengths)
        query = torch.randn(batch, KV_HEADS, GROUP, HEAD, dtype=torch.bfloat16)
        table = torch.randperm(PAGES)[: batch * PAGES_PER_SEQUENCE].reshape(batch, -1).int()
        sizes = torch.tensor(lengths, dtype=torch.int32)
        out = torch.empty_like(query)
        args = (query, *caches, table, sizes, out)
        paged_attention(*args)
        check("paged attention", paged_attention, args, {"out": (out, reference(*args[:-1]), 1.5e-2)})


if __name__ == "__main__":
    main()
