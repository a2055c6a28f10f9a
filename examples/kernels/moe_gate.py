"""MoE gate: sigmoid scores, the best groups of experts by their two best scores, then the best experts in them."""

from __future__ import annotations

import torch
from _report import check

import pypto

EXPERTS, GROUPS, BEST_GROUPS, BEST = 64, 8, 4, 8
PER_GROUP = EXPERTS // GROUPS
HIDDEN = 128
TOKENS_PER_STEP = 16


@pypto.frontend.jit
def moe_gate(
    x: pypto.Tensor([pypto.DYNAMIC, HIDDEN], pypto.DT_FP32),
    weight: pypto.Tensor([EXPERTS, HIDDEN], pypto.DT_FP32),
    bias: pypto.Tensor([1, EXPERTS], pypto.DT_FP32),
    weights: pypto.Tensor([pypto.DYNAMIC, BEST], pypto.DT_FP32),
    experts: pypto.Tensor([pypto.DYNAMIC, BEST], pypto.DT_INT32),
):
    """The bias takes part in the choice only; the chosen scores are made to sum to one."""
    pypto.set_vec_tile_shapes(TOKENS_PER_STEP, EXPERTS)
    pypto.set_cube_tile_shapes([16, 16], [128, 128], [64, 64])
    for token in pypto.loop(0, x.shape[0], TOKENS_PER_STEP, name="tokens"):
        tokens = slice(token, token + TOKENS_PER_STEP)
        scores = pypto.sigmoid(pypto.matmul(x[tokens, :], weight, pypto.DT_FP32, b_trans=True))
        biased = scores + bias

        pypto.set_vec_tile_shapes(TOKENS_PER_STEP, GROUPS, PER_GROUP)
        grouped = pypto.reshape(biased, [TOKENS_PER_STEP, GROUPS, PER_GROUP])
        two_best, _ = pypto.topk(grouped, 2)
        group_scores = pypto.sum(two_best, -1)

        pypto.set_vec_tile_shapes(TOKENS_PER_STEP, GROUPS)
        _, groups = pypto.topk(group_scores, BEST_GROUPS)
        chosen = pypto.scatter(pypto.zeros(TOKENS_PER_STEP, GROUPS), 1, groups, 1.0)
        penalty = pypto.reshape((chosen - 1.0) * 1e30, [TOKENS_PER_STEP, GROUPS, 1])

        pypto.set_vec_tile_shapes(TOKENS_PER_STEP, GROUPS, PER_GROUP)
        allowed = pypto.reshape(grouped + penalty, [TOKENS_PER_STEP, EXPERTS])
        pypto.set_vec_tile_shapes(TOKENS_PER_STEP, EXPERTS)
        _, best = pypto.topk(allowed, BEST)
        picked = pypto.gather(scores, 1, best)
        weights[tokens, :] = picked / pypto.sum(picked, -1, keepdim=True)
        experts[tokens, :] = best


def reference(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The same choice in FP64."""
    scores = torch.sigmoid(x.double() @ weight.double().T)
    grouped = (scores + bias.double()).view(-1, GROUPS, PER_GROUP)
    groups = grouped.topk(2).values.sum(-1).topk(BEST_GROUPS).indices
    mask = torch.zeros(x.shape[0], GROUPS).scatter(1, groups, 1.0).bool()
    experts = grouped.masked_fill(~mask[:, :, None], -1e30).flatten(1).topk(BEST).indices
    picked = scores.gather(1, experts)
    return picked / picked.sum(-1, keepdim=True), experts


def main() -> None:
    torch.manual_seed(0)
    weight, bias = torch.randn(EXPERTS, HIDDEN) / 8, torch.randn(1, EXPERTS) / 10
    for tokens in (1, 60):
        x = torch.randn(tokens, HIDDEN)
        weights = torch.empty(tokens, BEST)
        experts = torch.empty(tokens, BEST, dtype=torch.int32)
        args = (x, weight, bias, weights, experts)
        moe_gate(*args)
        expected = reference(x, weight, bias)
        results = {"weights": (weights, expected[0], 1e-5), "experts": (experts, expected[1], 0.0)}
        check("MoE gate", moe_gate, args, results)


if __name__ == "__main__":
    main()
