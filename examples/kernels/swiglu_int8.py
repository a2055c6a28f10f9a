"""SwiGLU feed-forward with INT8 weights per output channel and activations quantised per token on the way."""

from __future__ import annotations

import torch
from _report import check

import pypto

HIDDEN, INNER = 256, 512
TOKENS_PER_STEP = 16


def quantise(x):
    """Rows to INT8 with one scale each: (values, scale [rows, 1])."""
    scale = pypto.maximum(pypto.amax(pypto.abs(x), -1, keepdim=True), 1e-8) * (1.0 / 127.0)
    rounded = pypto.cast(x / scale, pypto.DT_FP16, pypto.CastMode.CAST_RINT)
    return pypto.cast(rounded, pypto.DT_INT8, pypto.CastMode.CAST_RINT), scale


def linear(x, scale, weight, weight_scale):
    """INT8 × INT8 accumulated in INT32, then scaled back to FP32."""
    product = pypto.cast(pypto.matmul(x, weight, pypto.DT_INT32), pypto.DT_FP32)
    return product * scale * weight_scale


@pypto.frontend.jit
def swiglu(
    x: pypto.Tensor([pypto.DYNAMIC, HIDDEN], pypto.DT_BF16),
    gate: pypto.Tensor([HIDDEN, INNER], pypto.DT_INT8),
    gate_scale: pypto.Tensor([1, INNER], pypto.DT_FP32),
    up: pypto.Tensor([HIDDEN, INNER], pypto.DT_INT8),
    up_scale: pypto.Tensor([1, INNER], pypto.DT_FP32),
    down: pypto.Tensor([INNER, HIDDEN], pypto.DT_INT8),
    down_scale: pypto.Tensor([1, HIDDEN], pypto.DT_FP32),
    out: pypto.Tensor([pypto.DYNAMIC, HIDDEN], pypto.DT_BF16),
):
    pypto.set_vec_tile_shapes(TOKENS_PER_STEP, INNER)
    pypto.set_cube_tile_shapes([16, 16], [128, 128], [128, 128])
    for token in pypto.loop(0, x.shape[0], TOKENS_PER_STEP, name="tokens"):
        tokens = slice(token, token + TOKENS_PER_STEP)
        values, scale = quantise(pypto.cast(x[tokens, :], pypto.DT_FP32))
        gated = linear(values, scale, gate, gate_scale)
        raised = linear(values, scale, up, up_scale)
        inner = gated * pypto.reciprocal(pypto.exp(-gated) + 1.0) * raised
        values, scale = quantise(inner)
        out[tokens, :] = pypto.cast(linear(values, scale, down, down_scale), pypto.DT_BF16)


def quantised_weight(rows: int, columns: int) -> tuple[torch.Tensor, torch.Tensor]:
    weight = torch.randn(rows, columns) / rows**0.5
    scale = weight.abs().amax(0, keepdim=True) / 127
    return (weight / scale).round().to(torch.int8), scale


def reference(x: torch.Tensor, layers: list[tuple[torch.Tensor, torch.Tensor]]) -> torch.Tensor:
    """The same in FP64, the activations quantised too."""

    def quantised(value: torch.Tensor) -> torch.Tensor:
        scale = value.abs().amax(-1, keepdim=True).clamp(min=1e-8) / 127
        return (value / scale).round() * scale

    gate, up, down = (weight.double() * scale.double() for weight, scale in layers)
    x = quantised(x.double())
    return quantised(torch.nn.functional.silu(x @ gate) * (x @ up)) @ down


def main() -> None:
    torch.manual_seed(0)
    layers = [quantised_weight(HIDDEN, INNER), quantised_weight(HIDDEN, INNER), quantised_weight(INNER, HIDDEN)]
    weights = [tensor for layer in layers for tensor in layer]
    for tokens in (1, 50):
        x = torch.randn(tokens, HIDDEN, dtype=torch.bfloat16)
        out = torch.empty_like(x)
        swiglu(x, *weights, out)
        # One step of the second quantisation where FP32 and FP64 round a tie apart.
        check("SwiGLU, INT8", swiglu, (x, *weights, out), {"out": (out, reference(x, layers), 1.5e-2)})


if __name__ == "__main__":
    main()
