"""State space scan (Mamba-2): a state per head that decays by a rate of each token and takes in its outer product.

Per token:  S ← exp(Δ a) S + Δ x bᵀ;  y = S c + d x. A chunk of tokens is a few matrix products; the state goes from
chunk to chunk and is updated in place, so that a sequence may arrive in pieces of any length. In the last chunk the
tokens that are not there are zeros: Δ = 0 neither lets the state decay nor adds to it.
"""

from __future__ import annotations

import torch
from _report import check

import pypto

HEADS, WIDTH, STATE = 4, 32, 64
CHUNK = 16
FP32 = pypto.DT_FP32
SEQUENCES, TOKENS = pypto.frontend.dynamic("sequences"), pypto.frontend.dynamic("tokens")


def product(a, b, **transposes):
    """a @ b in FP32."""
    return pypto.matmul(a, b, FP32, **transposes)


@pypto.frontend.jit
def state_space_scan(
    x: pypto.Tensor([SEQUENCES, HEADS, TOKENS, WIDTH], FP32),
    step: pypto.Tensor([SEQUENCES, HEADS, TOKENS, 1], FP32),
    rate: pypto.Tensor([HEADS, 1], FP32),
    skip: pypto.Tensor([HEADS, 1], FP32),
    b: pypto.Tensor([SEQUENCES, TOKENS, STATE], FP32),
    c: pypto.Tensor([SEQUENCES, TOKENS, STATE], FP32),
    state: pypto.Tensor([SEQUENCES, HEADS, WIDTH, STATE], FP32),
    y: pypto.Tensor([SEQUENCES, HEADS, TOKENS, WIDTH], FP32),
):
    """rate is negative; b and c are shared by the heads."""
    pypto.set_vec_tile_shapes(CHUNK, 64)
    pypto.set_cube_tile_shapes([16, 16], [64, 64], [64, 64])
    for sequence in pypto.loop(x.shape[0], name="sequences"):
        for head in pypto.loop(HEADS, name="heads"):
            carried = state[sequence, head]
            a, d = rate[head : head + 1, :], skip[head : head + 1, :]
            for start in pypto.loop(0, x.shape[2], CHUNK, name="chunks"):
                tokens = slice(start, start + CHUNK)
                inputs, steps = x[sequence, head, tokens, :], step[sequence, head, tokens, :]
                xs, dt, bs, cs = map(pypto.fillpad, (inputs, steps, b[sequence, tokens, :], c[sequence, tokens, :]))
                decay = pypto.cumsum(dt * a, 0)
                # Row i of `between` says what is left of token j's part when token i reads it.
                between = pypto.tril(pypto.exp(pypto.tril(decay - pypto.transpose(decay, 0, 1))))
                weighted = xs * dt
                inside = product(product(cs, bs, b_trans=True) * between, weighted)
                before = product(cs, carried, b_trans=True) * pypto.exp(decay)
                valid = [pypto.min(CHUNK, x.shape[2] - start), WIDTH]
                y[sequence, head, tokens, :] = pypto.view(
                    inside + before + xs * d, [CHUNK, WIDTH], [0, 0], valid_shape=valid
                )
                last = decay[CHUNK - 1 :, :]
                carried = carried * pypto.exp(last) + product(weighted * pypto.exp(last - decay), bs, a_trans=True)
            state[sequence, head] = carried


def reference(x, step, rate, skip, b, c, state) -> tuple[torch.Tensor, torch.Tensor]:
    """Token by token, in FP64."""
    x, step, rate, skip, b, c, state = (tensor.double() for tensor in (x, step, rate, skip, b, c, state))
    results = []
    for token in range(x.shape[2]):
        dt, xs = step[:, :, token], x[:, :, token]
        state = state * torch.exp(dt * rate)[..., None] + torch.einsum("shw,sn->shwn", dt * xs, b[:, token])
        results.append(torch.einsum("shwn,sn->shw", state, c[:, token]) + xs * skip)
    return torch.stack(results, 2), state


def main() -> None:
    torch.manual_seed(0)
    rate, skip = -torch.rand(HEADS, 1), torch.randn(HEADS, 1)
    for sequences, tokens in ((3, 1), (1, 16), (2, 77)):
        x, step = torch.randn(sequences, HEADS, tokens, WIDTH), torch.rand(sequences, HEADS, tokens, 1)
        b, c = (torch.randn(sequences, tokens, STATE) / STATE**0.5 for _ in range(2))
        state, y = torch.randn(sequences, HEADS, WIDTH, STATE), torch.empty_like(x)
        args = (x, step, rate, skip, b, c, state, y)
        expected_y, expected_state = reference(*args[:-1])
        state_space_scan(*args)
        results = {"y": (y, expected_y, 1e-5), "state": (state.clone(), expected_state, 1e-5)}
        check("state space scan", state_space_scan, args, results)


if __name__ == "__main__":
    main()
