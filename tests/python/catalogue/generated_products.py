"""Makers of cases: convolutions, and products and quantisation of microscaled tensors.

Inputs are small whole numbers, so that sums are exact and the result is rounded once.
"""

import math
import random
from typing import NamedTuple

import torch
from catalogue_support import TORCH
from generated_support import FP16, FP32, PACKED, Case, small, to_codes, wide
from test_microscaling import blocks, scaled_down, spread
from test_packed import packed_of
from test_small_floats import FP8

import pypto
from pypto.frontend.catalogue.operations import CATALOGUE

E8M0, E2M1 = pypto.DT_FP8E8M0, pypto.DT_FP4_E2M1X2


class Convolution(NamedTuple):
    """Of [N, C, ...] with a kernel of some taps; one item per dim behind the first two."""

    taps: list[int]
    strides: list[int]
    around: list[int]  # before and behind each dim
    dilations: list[int]
    further: list[int]  # only of transposed ones
    groups: int = 1
    outputs: int = 2  # per group
    transposed: bool = False
    one_padding: bool = False  # per dim: before and behind it
    bias: bool = False
    relu: bool = False


def drawn(shape, choose, transposed):
    """A convolution that fits; `choose(low, high)` gives a whole number."""
    channels = shape[1]
    groups = [each for each in range(1, channels + 1) if channels % each == 0]
    one_padding, made = bool(choose(0, 1)), Convolution([], [], [], [], [])
    for extent in shape[2:]:
        taps, stride, dilation = choose(1, 3), choose(1, 3), choose(1, 2)
        before = choose(0, 2)
        behind = before if one_padding else choose(0, 2)
        further = choose(0, max(stride, dilation) - 1)
        reach = dilation * (taps - 1) + 1
        if not transposed and extent + before + behind < reach:
            taps = 1
        if transposed and (extent - 1) * stride + reach + further < before + behind + 1:
            before = behind = 0
        for list_, value in zip(made[:5], (taps, stride, [before, behind], dilation, further), strict=True):
            list_.extend(value if isinstance(value, list) else [value])
    return made._replace(
        groups=groups[choose(0, len(groups) - 1)], outputs=choose(1, 3), transposed=transposed,
        one_padding=one_padding, bias=bool(choose(0, 1)), relu=bool(choose(0, 1)),
    )  # fmt: skip


def _exact_convolution(x, w, bias, how):
    dims = len(how.taps)
    name = f"conv_transpose{dims}d" if how.transposed else f"conv{dims}d"
    function = getattr(torch.nn.functional, name)
    if how.transposed:
        whole = function(x, w, stride=how.strides, groups=how.groups, dilation=how.dilations)
        grown = [amount for further in reversed(how.further) for amount in (0, further)]
        whole = torch.nn.functional.pad(whole, grown)
        ends = [whole.shape[2 + at] - how.around[2 * at + 1] for at in range(dims)]
        result = whole[(..., *(slice(how.around[2 * at], ends[at]) for at in range(dims)))]
    else:
        amounts = [amount for at in reversed(range(dims)) for amount in how.around[2 * at : 2 * at + 2]]
        padded = torch.nn.functional.pad(x, amounts)
        result = function(padded, w, stride=how.strides, groups=how.groups, dilation=how.dilations)
    result = result if bias is None else result + bias.reshape(-1, *[1] * dims)
    return result.relu() if how.relu else result


def convolution(shape, dtype, how, result=None, specials=False):
    """A case of it."""
    channels, outputs = shape[1], how.outputs * how.groups
    ends = (channels, how.outputs) if how.transposed else (outputs, channels // how.groups)
    x, w = small(shape, dtype), small([*ends, *how.taps], dtype, 2)
    if specials:
        x.view(-1)[0], x.view(-1)[-1] = math.inf, math.nan
    bias = small([outputs], dtype, 3) if how.bias else None
    result = dtype if result is None else result

    def body(t, u, *rest):
        more = {"output_paddings": how.further} if how.transposed else {}
        paddings = how.around[::2] if how.one_padding else how.around
        extend = {"relu_type": int(how.relu), **({"bias_tensor": rest[0]} if rest else {})}
        return CATALOGUE["conv"](
            t, u, result, how.strides, paddings, how.dilations, groups=how.groups, transposed=how.transposed,
            extend_params=extend, **more,
        )  # fmt: skip

    inputs = [(each, dtype) for each in (x, w, bias) if each is not None]
    exact = _exact_convolution(wide(x), wide(w), None if bias is None else wide(bias), how)
    return Case(inputs, body, exact, result, 0.5)


def _convolution_of(seed, transposed):
    def make(shape, dtype):
        how = drawn(shape, random.Random(f"{seed} {shape}").randint, transposed)
        result = {FP32: FP16}.get(dtype, FP32) if seed % 3 == 2 else dtype
        return convolution(shape, dtype, how, result, specials=seed % 4 == 3)

    return make


def _turned(x):
    return x.mT.contiguous()


def _scaled_product(a_turned, b_turned, bias, result):
    """[..., m, k] x [..., k, 6]; each may come transposed, with its scale or without."""

    def make(shape, dtype):
        if dtype in PACKED and a_turned:  # then m is the last dim
            shape = (*shape[:-2], 2 * shape[-2], shape[-1])
        behind = (*[1] * (len(shape) - 2), shape[-1], 6)
        a, b = (small(size, FP32, seed).clamp(-4, 4) for seed, size in enumerate((shape, behind)))
        generator = torch.Generator().manual_seed(8)
        powers = [
            torch.randint(-3, 4, blocks(x.shape, along), generator=generator).float() for x, along in ((a, -1), (b, -2))
        ]
        factors = [spread(2.0**each, a.dim() + at, shape[-1]) for each, at in zip(powers, (-1, -2), strict=True)]
        exact = (a.double() * factors[0]) @ (b.double() * factors[1])
        codes = [(each + 127).to(torch.uint8).view(torch.float8_e8m0fnu) for each in powers]
        codes[1] = _turned(codes[1].view(torch.uint8)).view(torch.float8_e8m0fnu)  # always so: scale_b_trans
        stored = [to_codes(_turned(x) if turned else x, dtype) for x, turned in ((a, a_turned), (b, b_turned))]
        inputs = [(stored[0], dtype), (stored[1], dtype), (codes[0], E8M0), (codes[1], E8M0)]
        if bias:
            row = small([*[1] * (len(shape) - 1), 6], FP32, 5)
            inputs, exact = [*inputs, (row, FP32)], (exact + row.double()).relu()

        def body(t, u, scale_t, scale_u, *rest):
            extend = {"bias_tensor": rest[0], "relu_type": 1} if rest else None
            return CATALOGUE["scaled_mm"](
                t, u, result, scale_t, scale_u, a_trans=a_turned, b_trans=b_turned, scale_b_trans=True,
                extend_params=extend,
            )  # fmt: skip

        return Case(inputs, body, exact, result, 0.5)

    return make


def _for_blocks(shape, dtype):
    """Values of all magnitudes; an infinity and a NaN, blocks of zeros, numbers that round to both sides."""
    generator = torch.Generator().manual_seed(9)
    x = torch.randn(shape, generator=generator) * 10.0 ** torch.randint(-4, 4, shape, generator=generator)
    flat = x.view(-1)
    flat[:: max(flat.numel() // 7, 3)] = 0.0
    flat[: min(32, flat.numel() // 2)] = 0.0
    if flat.numel() > 70:
        flat[-1], flat[-40] = math.nan, -math.inf
        flat[40:44] = torch.tensor([448.0, -447.0, 2.5, -0.0])
    return x.to(TORCH[dtype])


def _quantised(target, mode, axis, part):
    def make(shape, dtype):
        if target in PACKED:
            shape = (*shape[:-1], 2 * shape[-1])
        x, along = _for_blocks(shape, dtype), axis(shape)
        scaled, codes = scaled_down(x.transpose(along, -1), target, mode)
        body = lambda t: CATALOGUE["quant_mx"](t, target, mode, along)[part]  # noqa: E731
        if part == 1:
            expected = codes.transpose(along, -1).contiguous().view(torch.float8_e8m0fnu)
            return Case([(x, dtype)], body, expected, E8M0)
        if target in PACKED:
            expected = packed_of(scaled.transpose(along, -1), target)
            return Case([(x, dtype)], body, expected, target)
        rounded = scaled.to(FP8[target]).float().transpose(along, -1).contiguous()
        return Case([(x, dtype)], lambda t: pypto.cast(body(t), FP32), rounded, FP32)

    return make


_AXES = (lambda shape: -1, lambda shape: 0, lambda shape: len(shape) // 2)
PRODUCTS = {
    "conv": [_convolution_of(seed, transposed) for seed in range(5) for transposed in (False, True)],
    "scaled_mm": [
        _scaled_product(False, False, False, FP32),
        _scaled_product(True, False, True, FP16),
        _scaled_product(False, True, False, pypto.DT_BF16),
        _scaled_product(True, True, True, FP32),
    ],
    "quant_mx": [
        _quantised(target, mode, axis, part)
        for target, mode in zip((*list(FP8)[:2], E2M1) * 2, ("ROUND_DOWN", "ROUND_UP") * 3, strict=True)
        for axis in _AXES
        for part in (0, 1)
    ],
}
