"""Rotary position embedding of query heads, in both layouts: halves (NeoX) and interleaved pairs (GPT-J)."""

from __future__ import annotations

import torch
from _report import check

import pypto

HEADS = 8
HEAD = 64
HALF = HEAD // 2
TOKENS_PER_STEP = 16


@pypto.frontend.jit
def rotary_half(
    x: pypto.Tensor([pypto.DYNAMIC, HEADS, HEAD], pypto.DT_FP32),
    cos: pypto.Tensor([pypto.DYNAMIC, 1, HALF], pypto.DT_FP32),
    sin: pypto.Tensor([pypto.DYNAMIC, 1, HALF], pypto.DT_FP32),
    out: pypto.Tensor([pypto.DYNAMIC, HEADS, HEAD], pypto.DT_FP32),
):
    """Element i of the first half is rotated together with element i of the second half."""
    pypto.set_vec_tile_shapes(4, HEADS, HEAD)
    for token in pypto.loop(0, x.shape[0], TOKENS_PER_STEP, name="tokens"):
        tokens = slice(token, token + TOKENS_PER_STEP)
        first, second = x[tokens, :, :HALF], x[tokens, :, HALF:]
        c, s = cos[tokens, :, :], sin[tokens, :, :]
        out[tokens, :, :HALF] = first * c - second * s
        out[tokens, :, HALF:] = second * c + first * s


@pypto.frontend.jit
def rotary_interleaved(
    x: pypto.Tensor([pypto.DYNAMIC, HEADS, HALF, 2], pypto.DT_FP32),
    cos: pypto.Tensor([pypto.DYNAMIC, 1, HALF, 1], pypto.DT_FP32),
    sin: pypto.Tensor([pypto.DYNAMIC, 1, HALF, 1], pypto.DT_FP32),
    out: pypto.Tensor([pypto.DYNAMIC, HEADS, HALF, 2], pypto.DT_FP32),
):
    """Elements 2 i and 2 i + 1 are rotated together; the caller views [tokens, heads, 64] as pairs."""
    pypto.set_vec_tile_shapes(4, HEADS, HALF, 2)
    for token in pypto.loop(0, x.shape[0], TOKENS_PER_STEP, name="tokens"):
        tokens = slice(token, token + TOKENS_PER_STEP)
        even, odd = x[tokens, :, :, 0:1], x[tokens, :, :, 1:2]
        c, s = cos[tokens, :, :, :], sin[tokens, :, :, :]
        out[tokens, :, :, 0:1] = even * c - odd * s
        out[tokens, :, :, 1:2] = odd * c + even * s


def angles(tokens: int) -> tuple[torch.Tensor, torch.Tensor]:
    frequencies = 10000.0 ** (-torch.arange(HALF, dtype=torch.float64) / HALF)
    phase = torch.arange(tokens, dtype=torch.float64)[:, None] * frequencies
    return phase.cos(), phase.sin()


def main() -> None:
    torch.manual_seed(0)
    for tokens in (1, 45):
        x = torch.randn(tokens, HEADS, HEAD)
        cos, sin = angles(tokens)
        c, s = cos[:, None, :].float(), sin[:, None, :].float()

        out = torch.empty_like(x)
        rotary_half(x, c, s, out)
        first, second = x.double().split(HALF, -1)
        expected = torch.cat(
            [first * cos[:, None] - second * sin[:, None], second * cos[:, None] + first * sin[:, None]], -1
        )
        check("rotary, halves", rotary_half, (x, c, s, out), {"out": (out, expected, 1e-6)})

        pairs, out = x.view(tokens, HEADS, HALF, 2), torch.empty(tokens, HEADS, HALF, 2)
        rotary_interleaved(pairs, c[..., None], s[..., None], out)
        turned = torch.view_as_complex(pairs.double()) * torch.complex(cos, sin)[:, None]
        args = (pairs, c[..., None], s[..., None], out)
        check("rotary, interleaved", rotary_interleaved, args, {"out": (out, torch.view_as_real(turned), 1e-6)})


if __name__ == "__main__":
    main()
