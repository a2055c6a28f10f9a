"""Two programs share a resident KV cache: prefill writes it, decode reads and extends it step by step."""

from __future__ import annotations

import math

import torch

import pypto
from pypto import ir
from pypto.runtime import ChipWorker, RunConfig

HEAD = 64
CAPACITY = 128
BLOCK = 16


@pypto.frontend.jit
def prefill(
    x: pypto.Tensor([pypto.DYNAMIC, HEAD], pypto.DT_FP32),
    wk: pypto.Tensor([HEAD, HEAD], pypto.DT_FP32),
    wv: pypto.Tensor([HEAD, HEAD], pypto.DT_FP32),
    k_cache: pypto.Tensor([CAPACITY, HEAD], pypto.DT_FP32),
    v_cache: pypto.Tensor([CAPACITY, HEAD], pypto.DT_FP32),
):
    """Keys and values of the prompt go to the first rows of the caches; the rest keeps its contents."""
    for i in pypto.loop(0, x.shape[0], BLOCK):
        rows = x[i : i + BLOCK, :]
        k_cache[i : i + BLOCK, :] = pypto.matmul(rows, wk, pypto.DT_FP32)
        v_cache[i : i + BLOCK, :] = pypto.matmul(rows, wv, pypto.DT_FP32)


@pypto.frontend.jit
def decode(
    x: pypto.Tensor([1, HEAD], pypto.DT_FP32),
    wq: pypto.Tensor([HEAD, HEAD], pypto.DT_FP32),
    wk: pypto.Tensor([HEAD, HEAD], pypto.DT_FP32),
    wv: pypto.Tensor([HEAD, HEAD], pypto.DT_FP32),
    k_cache: pypto.Tensor([CAPACITY, HEAD], pypto.DT_FP32),
    v_cache: pypto.Tensor([CAPACITY, HEAD], pypto.DT_FP32),
    out: pypto.Tensor([1, HEAD], pypto.DT_FP32),
    position: int,
):
    """Appends row `position` to the caches, then attends to rows 0 … position."""
    k_cache[position : position + 1, :] = pypto.matmul(x, wk, pypto.DT_FP32)
    v_cache[position : position + 1, :] = pypto.matmul(x, wv, pypto.DT_FP32)
    keys = pypto.view(k_cache, [CAPACITY, HEAD], [0, 0], valid_shape=[position + 1, HEAD])
    values = pypto.view(v_cache, [CAPACITY, HEAD], [0, 0], valid_shape=[position + 1, HEAD])
    query = pypto.matmul(x, wq, pypto.DT_FP32)
    scores = pypto.matmul(query, keys, pypto.DT_FP32, b_trans=True) * (1.0 / math.sqrt(HEAD))
    weights = pypto.exp(scores - pypto.amax(scores, -1, keepdim=True))
    weights = weights / pypto.sum(weights, -1, keepdim=True)
    out[:] = pypto.matmul(weights, values, pypto.DT_FP32)


def reference(x: torch.Tensor, wq: torch.Tensor, wk: torch.Tensor, wv: torch.Tensor) -> torch.Tensor:
    """Attention of the last row over all rows, in FP64."""
    x, wq, wk, wv = x.double(), wq.double(), wk.double(), wv.double()
    scores = (x[-1:] @ wq) @ (x @ wk).T / math.sqrt(HEAD)
    return torch.softmax(scores, -1) @ (x @ wv)


def main() -> None:
    torch.manual_seed(0)
    prompt, steps = 37, 20
    sequence = torch.randn(prompt + steps, HEAD)
    host_weights = [torch.randn(HEAD, HEAD) / 8 for _ in range(3)]
    config = RunConfig(platform="a2a3sim")
    with ChipWorker(config=config) as worker:
        wq, wk, wv = (worker.alloc_tensor((HEAD, HEAD), torch.float32, init=weight) for weight in host_weights)
        empty = torch.zeros(CAPACITY, HEAD)
        k_cache = worker.alloc_tensor((CAPACITY, HEAD), torch.float32, init=empty)
        v_cache = worker.alloc_tensor((CAPACITY, HEAD), torch.float32, init=empty)
        write = worker.register(ir.compile(prefill))
        step = worker.register(ir.compile(decode))

        write(sequence[:prompt], wk, wv, k_cache, v_cache)
        before = worker.counters()
        worst = 0.0
        out = torch.empty(1, HEAD)
        for position in range(prompt, prompt + steps):
            step(sequence[position : position + 1], wq, wk, wv, k_cache, v_cache, out, position)
            expected = reference(sequence[: position + 1], *host_weights)
            worst = max(worst, float((out.double() - expected).abs().max()))
        assert worst < 1e-4, worst
        after = worker.counters()
        sent = after["h2d_bytes"] + after["inline_bytes"] - before["h2d_bytes"] - before["inline_bytes"]
        assert sent == steps * HEAD * 4, "only the new row travels to the device"
        keys = k_cache.to_host()[: prompt + steps]
        torch.testing.assert_close(keys, sequence @ host_weights[1], rtol=1e-4, atol=1e-4)
        print(f"prefill of {prompt} rows, {steps} decode steps: largest error {worst:.1e} against full attention")
        print(f"bytes sent per decode step: {sent // steps}")


if __name__ == "__main__":
    main()
