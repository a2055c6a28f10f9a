"""Chunked gated delta rule: a matrix state per head that decays, forgets along a key and learns a value.

Per token:  S ← exp(g) S;  S ← S + k (β (v − kᵀ S))ᵀ;  o = Sᵀ q. A chunk of tokens is done at once: the corrections
inside a chunk solve a unit lower triangular system, whose inverse is a product, because its strict part is nilpotent:
(I + A)⁻¹ = (I − A)(I + A²)(I + A⁴)(I + A⁸) for chunks of 16.
"""

from __future__ import annotations

import torch
from _report import check

import pypto

HEADS, KEY, VALUE = 2, 32, 48
CHUNK = 16
FP32 = pypto.DT_FP32


def product(a, b, **transposes):
    """a @ b in FP32."""
    return pypto.matmul(a, b, FP32, **transposes)


def inverse(lower, identity):
    """(I + lower)⁻¹ for a strictly lower triangular [16, 16] matrix."""
    result, power = identity - lower, lower
    for _ in range(3):
        power = product(power, power)
        result = product(result, identity + power)
    return result


@pypto.frontend.jit
def gated_delta_rule(
    query: pypto.Tensor([HEADS, pypto.DYNAMIC, KEY], FP32),
    key: pypto.Tensor([HEADS, pypto.DYNAMIC, KEY], FP32),
    value: pypto.Tensor([HEADS, pypto.DYNAMIC, VALUE], FP32),
    gate: pypto.Tensor([HEADS, pypto.DYNAMIC, 1], FP32),
    beta: pypto.Tensor([HEADS, pypto.DYNAMIC, 1], FP32),
    identity: pypto.Tensor([CHUNK, CHUNK], FP32),
    out: pypto.Tensor([HEADS, pypto.DYNAMIC, VALUE], FP32),
    last_state: pypto.Tensor([HEADS, KEY, VALUE], FP32),
):
    """gate is log decay (≤ 0). The number of tokens is a multiple of the chunk."""
    pypto.set_vec_tile_shapes(32, 64)
    pypto.set_cube_tile_shapes([32, 32], [64, 64], [64, 64])
    for head in pypto.loop(HEADS, name="heads"):
        state = pypto.zeros(KEY, VALUE)
        for start in pypto.loop(0, query.shape[1], CHUNK, name="chunks"):
            tokens = slice(start, start + CHUNK)
            q, k, v, b = query[head, tokens, :], key[head, tokens, :], value[head, tokens, :], beta[head, tokens, :]
            decay = pypto.cumsum(gate[head, tokens, :], 0)
            between = pypto.exp(pypto.tril(decay - pypto.transpose(decay, 0, 1)))
            overlap = product(k, k, b_trans=True) * between * b
            solve = inverse(pypto.tril(overlap, -1), identity)
            since = pypto.exp(decay)
            learned = product(solve, v * b - product(k * since * b, state))
            inside = pypto.tril(product(q, k, b_trans=True) * between)
            out[head, tokens, :] = product(q * since, state) + product(inside, learned)
            last = decay[CHUNK - 1 : CHUNK, :]
            state = state * pypto.exp(last) + product(k * pypto.exp(last - decay), learned, a_trans=True)
        last_state[head, :, :] = state


def reference(query, key, value, gate, beta) -> tuple[torch.Tensor, torch.Tensor]:
    """Token by token, in FP64."""
    query, key, value, gate, beta = (tensor.double() for tensor in (query, key, value, gate, beta))
    state = torch.zeros(HEADS, KEY, VALUE, dtype=torch.float64)
    results = []
    for token in range(query.shape[1]):
        k = key[:, token]
        state = state * gate[:, token, :, None].exp()
        error = value[:, token] - torch.einsum("hk,hkv->hv", k, state)
        state = state + torch.einsum("hk,hv->hkv", k, beta[:, token] * error)
        results.append(torch.einsum("hk,hkv->hv", query[:, token], state))
    return torch.stack(results, 1), state


def main() -> None:
    torch.manual_seed(0)
    for tokens in (16, 96):
        query, key = (torch.nn.functional.normalize(torch.randn(HEADS, tokens, KEY), dim=-1) for _ in range(2))
        value = torch.randn(HEADS, tokens, VALUE)
        gate, beta = -torch.rand(HEADS, tokens, 1) / 4, torch.rand(HEADS, tokens, 1)
        out, last_state = torch.empty(HEADS, tokens, VALUE), torch.empty(HEADS, KEY, VALUE)
        args = (query, key, value, gate, beta, torch.eye(CHUNK), out, last_state)
        gated_delta_rule(*args)
        expected, state = reference(query, key, value, gate, beta)
        results = {"out": (out, expected, 1e-5), "state": (last_state, state, 1e-5)}
        check("gated delta rule", gated_delta_rule, args, results)


if __name__ == "__main__":
    main()
