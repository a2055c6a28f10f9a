"""Mixture of experts: tokens are sorted by expert, every expert multiplies its rows, each token sums what it got back.

The gate's choice comes in as (expert, weight) pairs. Rows of an expert lie next to each other after the sort, so that
its weights are read once per block of rows; counts are known on the device only and bound the loops.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from _report import check

import pypto

FP32, BF16, INT32 = pypto.DT_FP32, pypto.DT_BF16, pypto.DT_INT32


@dataclass(frozen=True)
class Experts:
    """Sizes: `most` tokens at once, each of them goes to `best` of `count` experts; `block` rows are one product."""

    count: int = 8
    best: int = 2
    hidden: int = 64
    inner: int = 96
    most: int = 64
    block: int = 16


def sort_by_expert(choice, count):
    """Of pairs (token, k) in a row: the pair at each place, the place of each pair, and where every expert begins."""
    pairs = choice.shape[0]
    order = pypto.argsort(pypto.cast(choice, FP32), 0)
    place = pypto.argsort(pypto.cast(order, FP32), 0)
    experts = pypto.cast(pypto.reshape(pypto.arange(count + 1), [count + 1, 1]), FP32)
    before = pypto.cast(pypto.reshape(choice, [1, pairs]), FP32) < experts
    begins = pypto.sum(pypto.where(before, 1.0, 0.0), -1)
    return order, place, pypto.cast(begins, INT32)


def experts_kernel(sizes: Experts):
    """A kernel for any number of tokens up to `sizes.most`."""
    pairs = sizes.most * sizes.best
    tokens = pypto.frontend.dynamic("tokens")

    @pypto.frontend.jit
    def moe_experts(
        x: pypto.Tensor([tokens, sizes.hidden], BF16),
        expert: pypto.Tensor([tokens, sizes.best], INT32),
        weight: pypto.Tensor([tokens, sizes.best], FP32),
        gate_up: pypto.Tensor([sizes.count, sizes.hidden, 2 * sizes.inner], BF16),
        down: pypto.Tensor([sizes.count, sizes.inner, sizes.hidden], BF16),
        out: pypto.Tensor([tokens, sizes.hidden], BF16),
        rows_of: pypto.Tensor([sizes.count], INT32),
    ):
        pypto.set_vec_tile_shapes(16, pairs)
        pypto.set_cube_tile_shapes([16, 16], [64, 64], [64, 64])
        # Pairs of tokens that are not there belong to an expert behind the last one.
        window = pypto.view(expert, [sizes.most, sizes.best], [0, 0])
        choice = pypto.reshape(pypto.fillpad(window, value=sizes.count), [pairs])
        order, place, begins = sort_by_expert(choice, sizes.count)
        rows_of[:] = begins[1:] - begins[: sizes.count]

        gathered = pypto.zeros(pairs, sizes.hidden, dtype=BF16)
        results = pypto.zeros(pairs, sizes.hidden)
        for row in pypto.loop(x.shape[0] * sizes.best, name="gather"):
            token = order[row] // sizes.best
            gathered[row : row + 1, :] = x[token : token + 1, :]
        for number in pypto.loop(sizes.count, name="experts"):
            end = begins[number + 1]
            for row in pypto.loop(begins[number], end, sizes.block, name="rows"):
                valid = [pypto.min(sizes.block, end - row), sizes.hidden]
                rows = pypto.view(gathered, [sizes.block, sizes.hidden], [row, 0], valid_shape=valid)
                both = pypto.matmul(rows, gate_up[number], FP32)
                gate, up = both[:, : sizes.inner], both[:, sizes.inner :]
                inner = pypto.cast(gate * pypto.sigmoid(gate) * up, BF16)
                results[row : row + sizes.block, :] = pypto.matmul(inner, down[number], FP32)
        for token in pypto.loop(x.shape[0], name="combine"):
            total = pypto.zeros(1, sizes.hidden)
            for k in range(sizes.best):
                row = place[token * sizes.best + k]
                total = total + results[row : row + 1, :] * weight[token : token + 1, k : k + 1]
            out[token : token + 1, :] = pypto.cast(total, BF16)

    return moe_experts


SIZES = Experts()
moe_experts = experts_kernel(SIZES)


def reference(x, expert, weight, gate_up, down) -> tuple[torch.Tensor, torch.Tensor]:
    """Token by token, in FP64; what the down projection takes is BF16, as in the kernel."""
    results = torch.zeros(x.shape[0], SIZES.hidden, dtype=torch.float64)
    for token, experts in enumerate(expert.tolist()):
        for k, number in enumerate(experts):
            gate, up = (x[token].double() @ gate_up[number].double()).chunk(2)
            inner = (torch.nn.functional.silu(gate) * up).bfloat16()
            results[token] += weight[token, k].double() * (inner.double() @ down[number].double())
    return results, torch.bincount(expert.flatten(), minlength=SIZES.count)


def main() -> None:
    torch.manual_seed(0)
    gate_up = (torch.randn(SIZES.count, SIZES.hidden, 2 * SIZES.inner) / SIZES.hidden**0.5).bfloat16()
    down = (torch.randn(SIZES.count, SIZES.inner, SIZES.hidden) / SIZES.inner**0.5).bfloat16()
    for tokens in (1, 23, 64):
        x = torch.randn(tokens, SIZES.hidden, dtype=torch.bfloat16)
        weight, expert = torch.randn(tokens, SIZES.count).softmax(-1).topk(SIZES.best)
        out, rows = torch.empty_like(x), torch.empty(SIZES.count, dtype=torch.int32)
        args = (x, expert.int(), weight, gate_up, down, out, rows)
        moe_experts(*args)
        expected = reference(*args[:5])
        check("MoE experts", moe_experts, args, {"out": (out, expected[0], 1e-2), "rows": (rows, expected[1], 0.0)})


if __name__ == "__main__":
    main()
