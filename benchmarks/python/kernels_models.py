"""Kernels of several operations, as models use them, each beside torch: the rows of kernels_composite.py."""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F

import pypto
from kernels_moves import Row

TOKENS, HIDDEN, INNER = 512, 1024, 4096
HEADS, LENGTH, HEAD = 8, 512, 64
BATCH, CONTEXT, PAGE = 16, 2048, 128
PAGES = CONTEXT // PAGE
EXPERTS, BEST, GATE_TOKENS = 256, 8, 512


def _swiglu(name: str) -> Row:
    tile, kind = {"fp32": (pypto.DT_FP32, torch.float32), "bf16": (pypto.DT_BF16, torch.bfloat16)}[name]

    @pypto.frontend.jit
    def swiglu(
        x: pypto.Tensor([TOKENS, HIDDEN], tile),
        gate: pypto.Tensor([HIDDEN, INNER], tile),
        up: pypto.Tensor([HIDDEN, INNER], tile),
        down: pypto.Tensor([INNER, HIDDEN], tile),
        out: pypto.Tensor([TOKENS, HIDDEN], tile),
    ):
        gated = pypto.matmul(x, gate, pypto.DT_FP32)
        raised = pypto.matmul(x, up, pypto.DT_FP32)
        inner = pypto.cast(gated * pypto.sigmoid(gated) * raised, tile)
        out[:] = pypto.matmul(inner, down, tile)

    x = torch.randn(TOKENS, HIDDEN).to(kind)
    gate, up = ((torch.randn(HIDDEN, INNER) / HIDDEN**0.5).to(kind) for _ in range(2))
    down = (torch.randn(INNER, HIDDEN) / INNER**0.5).to(kind)
    peer: Callable[[], object] = lambda: (F.silu(x @ gate) * (x @ up)) @ down  # noqa: E731
    inputs = (x, gate, up, down)
    return Row(f"SwiGLU {name}", swiglu, inputs, (torch.empty_like(x),), peer, allowed=1e-5 if name == "fp32" else 2e-2)


def _prefill(name: str) -> Row:
    tile, kind = {"fp32": (pypto.DT_FP32, torch.float32), "bf16": (pypto.DT_BF16, torch.bfloat16)}[name]
    block = 128

    @pypto.frontend.jit
    def prefill(
        query: pypto.Tensor([HEADS, LENGTH, HEAD], tile),
        key: pypto.Tensor([HEADS, LENGTH, HEAD], tile),
        value: pypto.Tensor([HEADS, LENGTH, HEAD], tile),
        out: pypto.Tensor([HEADS, LENGTH, HEAD], tile),
    ):
        for head in pypto.loop(HEADS, name="heads"):
            for row in pypto.loop(0, LENGTH, block, name="queries"):
                q = query[head, row : row + block, :]
                largest = pypto.full([block, 1], -1e30, pypto.DT_FP32)
                total = pypto.zeros(block, 1)
                result = pypto.zeros(block, HEAD)
                for column in pypto.loop(0, row + block, block, name="keys"):
                    k, v = key[head, column : column + block, :], value[head, column : column + block, :]
                    scores = pypto.matmul(q, k, pypto.DT_FP32, b_trans=True) * (1.0 / math.sqrt(HEAD))
                    if column + block > row:
                        scores = scores + pypto.triu(pypto.full([block, block], -1e30, pypto.DT_FP32), row - column + 1)
                    now = pypto.maximum(largest, pypto.amax(scores, -1, keepdim=True))
                    share = pypto.exp(scores - now)
                    correction = pypto.exp(largest - now)
                    total = total * correction + pypto.sum(share, -1, keepdim=True)
                    result = result * correction + pypto.matmul(pypto.cast(share, tile), v, pypto.DT_FP32)
                    largest = now
                out[head, row : row + block, :] = pypto.cast(result / total, tile)

    q, k, v = (torch.randn(HEADS, LENGTH, HEAD).to(kind) for _ in range(3))
    peer: Callable[[], object] = lambda: F.scaled_dot_product_attention(  # noqa: E731
        q[None], k[None], v[None], is_causal=True
    )[0]
    allowed = 1e-5 if name == "fp32" else 2e-2
    return Row(f"attention prefill {name}", prefill, (q, k, v), (torch.empty_like(q),), peer, allowed=allowed)


def _paged() -> Row:
    kv_heads, group = 2, 4
    pages = BATCH * PAGES

    @pypto.frontend.jit
    def paged(
        query: pypto.Tensor([BATCH, kv_heads, group, HEAD], pypto.DT_BF16),
        key_cache: pypto.Tensor([pages, kv_heads, PAGE, HEAD], pypto.DT_BF16),
        value_cache: pypto.Tensor([pages, kv_heads, PAGE, HEAD], pypto.DT_BF16),
        block_table: pypto.Tensor([BATCH, PAGES], pypto.DT_INT32),
        lengths: pypto.Tensor([BATCH], pypto.DT_INT32),
        out: pypto.Tensor([BATCH, kv_heads, group, HEAD], pypto.DT_BF16),
    ):
        for sequence in pypto.loop(BATCH, name="sequences"):
            length = lengths[sequence]
            for head in pypto.loop(kv_heads, name="kv_heads"):
                q = query[sequence, head, :, :]
                largest = pypto.full([group, 1], -1e30, pypto.DT_FP32)
                total = pypto.zeros(group, 1)
                result = pypto.zeros(group, HEAD)
                for page in pypto.loop(pypto.ceildiv(length, PAGE), name="pages"):
                    block = block_table[sequence, page]
                    valid = [pypto.min(PAGE, length - page * PAGE), HEAD]
                    k = pypto.view(key_cache[block, head, :, :], [PAGE, HEAD], [0, 0], valid_shape=valid)
                    v = pypto.view(value_cache[block, head, :, :], [PAGE, HEAD], [0, 0], valid_shape=valid)
                    scores = pypto.matmul(q, k, pypto.DT_FP32, b_trans=True) * (1.0 / math.sqrt(HEAD))
                    now = pypto.maximum(largest, pypto.amax(scores, -1, keepdim=True))
                    share = pypto.exp(scores - now)
                    correction = pypto.exp(largest - now)
                    total = total * correction + pypto.sum(share, -1, keepdim=True)
                    result = result * correction + pypto.matmul(pypto.cast(share, pypto.DT_BF16), v, pypto.DT_FP32)
                    largest = now
                out[sequence, head, :, :] = pypto.cast(result / total, pypto.DT_BF16)

    query = torch.randn(BATCH, kv_heads, group, HEAD, dtype=torch.bfloat16)
    keys, values = (torch.randn(pages, kv_heads, PAGE, HEAD, dtype=torch.bfloat16) for _ in range(2))
    table = torch.randperm(pages).reshape(BATCH, PAGES).int()
    lengths = torch.full((BATCH,), CONTEXT, dtype=torch.int32)

    def peer() -> torch.Tensor:
        """The pages gathered for the batch, then one call of torch's attention."""
        k, v = (cache[table.long()].transpose(1, 2).reshape(BATCH, kv_heads, CONTEXT, HEAD) for cache in (keys, values))
        return F.scaled_dot_product_attention(query, k, v)

    inputs = (query, keys, values, table, lengths)
    return Row("paged decode bf16", paged, inputs, (torch.empty_like(query),), peer, allowed=2e-2)


def _gate() -> Row:
    step = 128

    @pypto.frontend.jit
    def gate(
        x: pypto.Tensor([GATE_TOKENS, HIDDEN], pypto.DT_FP32),
        weight: pypto.Tensor([HIDDEN, EXPERTS], pypto.DT_FP32),
        weights: pypto.Tensor([GATE_TOKENS, BEST], pypto.DT_FP32),
        experts: pypto.Tensor([GATE_TOKENS, BEST], pypto.DT_INT32),
    ):
        for token in pypto.loop(0, GATE_TOKENS, step, name="tokens"):
            scores = pypto.sigmoid(pypto.matmul(x[token : token + step, :], weight, pypto.DT_FP32))
            values, best = pypto.topk(scores, BEST)
            weights[token : token + step, :] = values / pypto.sum(values, -1, keepdim=True)
            experts[token : token + step, :] = best

    x, weight = torch.randn(GATE_TOKENS, HIDDEN), torch.randn(HIDDEN, EXPERTS) / 32

    def peer() -> tuple[torch.Tensor, torch.Tensor]:
        values, best = torch.topk(torch.sigmoid(x @ weight), BEST)
        return values / values.sum(-1, keepdim=True), best

    outputs = (torch.empty(GATE_TOKENS, BEST), torch.empty(GATE_TOKENS, BEST, dtype=torch.int32))
    return Row("MoE gate 8 of 256", gate, (x, weight), outputs, peer, allowed=1e-5)


def _int8() -> Row:
    @pypto.frontend.jit
    def projection(
        x: pypto.Tensor([TOKENS, HIDDEN], pypto.DT_FP32),
        weight: pypto.Tensor([HIDDEN, HIDDEN], pypto.DT_INT8),
        weight_scale: pypto.Tensor([1, HIDDEN], pypto.DT_FP32),
        out: pypto.Tensor([TOKENS, HIDDEN], pypto.DT_FP32),
    ):
        scale = pypto.maximum(pypto.amax(pypto.abs(x), -1, keepdim=True), 1e-8) * (1.0 / 127.0)
        rounded = pypto.cast(x / scale, pypto.DT_FP16, pypto.CastMode.CAST_RINT)
        values = pypto.cast(rounded, pypto.DT_INT8, pypto.CastMode.CAST_RINT)
        product = pypto.cast(pypto.matmul(values, weight, pypto.DT_INT32), pypto.DT_FP32)
        out[:] = product * scale * weight_scale

    x = torch.randn(TOKENS, HIDDEN)
    full = torch.randn(HIDDEN, HIDDEN) / HIDDEN**0.5
    weight_scale = full.abs().amax(0, keepdim=True) / 127
    weight = (full / weight_scale).round().to(torch.int8)

    def peer() -> torch.Tensor:
        scale = x.abs().amax(-1, keepdim=True).clamp(min=1e-8) / 127
        product = torch._int_mm((x / scale).round().to(torch.int8), weight)
        return product.float() * scale * weight_scale

    return Row("INT8 projection", projection, (x, weight, weight_scale), (torch.empty(TOKENS, HIDDEN),), peer, 0, 1e-2)


def rows() -> list[Row]:
    """All rows, in the order in which they are printed."""
    return [
        _swiglu("fp32"), _swiglu("bf16"), _prefill("fp32"), _prefill("bf16"), _paged(), _gate(), _int8()
    ]  # fmt: skip
