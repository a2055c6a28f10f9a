"""Kernels of several operations, as models use them, each beside torch: the rows of kernels_composite.py."""

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch
import torch.nn.functional as F

import pypto
from kernels_moves import Row

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples" / "kernels"))

from flash_attention import flash_attention_kernel  # noqa: E402
from paged_attention import paged_attention_kernel  # noqa: E402

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
    row = Row(f"SwiGLU {name}", swiglu, inputs, (torch.empty_like(x),), peer, allowed=1e-5 if name == "fp32" else 2e-2)
    return replace(row, operations=6.0 * TOKENS * HIDDEN * INNER, unit=name)


def _prefill(name: str) -> Row:
    tile, kind = {"fp32": (pypto.DT_FP32, torch.float32), "bf16": (pypto.DT_BF16, torch.bfloat16)}[name]
    q, k, v = (torch.randn(HEADS, LENGTH, HEAD).to(kind) for _ in range(3))
    peer: Callable[[], object] = lambda: F.scaled_dot_product_attention(  # noqa: E731
        q[None], k[None], v[None], is_causal=True
    )[0]
    kernel = flash_attention_kernel(HEADS, HEAD, 128, tile)
    allowed = 1e-5 if name == "fp32" else 2e-2
    row = Row(f"attention prefill {name}", kernel, (q, k, v), (torch.empty_like(q),), peer, allowed=allowed)
    return replace(row, operations=2.0 * HEADS * LENGTH * (LENGTH + 1) * HEAD, unit=name)


def _paged() -> Row:
    kv_heads, group = 2, 4
    pages = BATCH * PAGES
    query = torch.randn(BATCH, kv_heads, group, HEAD, dtype=torch.bfloat16)
    keys, values = (torch.randn(pages, kv_heads, PAGE, HEAD, dtype=torch.bfloat16) for _ in range(2))
    table = torch.randperm(pages).reshape(BATCH, PAGES).int()
    lengths = torch.full((BATCH,), CONTEXT, dtype=torch.int32)

    def peer() -> torch.Tensor:
        """The pages gathered for the batch, then one call of torch's attention."""
        k, v = (cache[table.long()].transpose(1, 2).reshape(BATCH, kv_heads, CONTEXT, HEAD) for cache in (keys, values))
        return F.scaled_dot_product_attention(query, k, v)

    kernel = paged_attention_kernel((kv_heads, group), HEAD, (pages, PAGE), PAGES)
    inputs = (query, keys, values, table, lengths)
    row = Row("paged decode bf16", kernel, inputs, (torch.empty_like(query),), peer, allowed=2e-2)
    return replace(row, operations=4.0 * query.numel() * CONTEXT, unit="bf16")


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
    row = Row("MoE gate 8 of 256", gate, (x, weight), outputs, peer, allowed=1e-5)
    return replace(row, operations=2.0 * GATE_TOKENS * HIDDEN * EXPERTS)


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

    outputs = (torch.empty(TOKENS, HIDDEN),)
    row = Row("INT8 projection", projection, (x, weight, weight_scale), outputs, peer, allowed=1e-2)
    return replace(row, operations=2.0 * TOKENS * HIDDEN * HIDDEN, unit="int8")


def rows() -> list[Row]:
    """All rows, in the order in which they are printed."""
    return [
        _swiglu("fp32"), _swiglu("bf16"), _prefill("fp32"), _prefill("bf16"), _paged(), _gate(), _int8()
    ]  # fmt: skip
