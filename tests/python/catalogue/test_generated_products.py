"""Convolutions and random numbers drawn by hypothesis; operands of which a part is valid."""

import functools
import math

import hypothesis
import hypothesis.strategies as st
import pytest
import torch
from catalogue_support import FLOATS, case_id, check, run
from generated_products import _exact_convolution, convolution, drawn
from generated_random import normal_numbers, uniform_numbers
from generated_support import FP32, TILES, small
from test_generated import host_dtype, verify
from test_microscaling import scaled_down

import pypto
from pypto import ir

DRAWN = hypothesis.settings(
    max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(hypothesis.HealthCheck)
)


@DRAWN
@hypothesis.given(st.data())
def test_any_convolution(draw):
    dims = draw.draw(st.integers(1, 3))
    shape = [draw.draw(st.integers(1, 4)) for _ in range(2)] + [draw.draw(st.integers(1, 7)) for _ in range(dims)]
    dtype, result = draw.draw(st.sampled_from(FLOATS)), draw.draw(st.sampled_from(FLOATS))
    how = drawn(shape, lambda low, high: draw.draw(st.integers(low, high)), draw.draw(st.booleans()))
    verify(convolution(shape, dtype, how, result, draw.draw(st.booleans())), len(shape))


def _part(shape, valid, declared, body, tensors, out, tiles):
    """out after `body` of a window on the first tensor of which `valid` cells count."""
    specs = [pypto.Tensor(list(each.shape), declared) for each in tensors]
    a, b, result = specs[0], specs[-1], pypto.Tensor(list(out.shape), pypto.dtypes.from_host_dtype(out.dtype))
    rank, count = len(shape), len(tensors)

    @pypto.frontend.jit
    def kernel(x: a, w: b, n: pypto.Tensor([5], pypto.DT_INT32), out: result):
        pypto.set_vec_tile_shapes(*tiles)
        window = pypto.view(x, list(shape), [0] * rank, valid_shape=[n[i] for i in range(rank)])
        pypto.assemble(body(window, w) if count == 2 else body(window), [0] * rank, out)

    extents = torch.tensor([*valid, *[0] * (5 - rank)], dtype=torch.int32)
    ir.compile(kernel, platform="a5sim")(tensors[0], tensors[-1], extents, out)
    return out


@DRAWN
@hypothesis.given(st.data())
def test_convolutions_of_a_part(draw):
    """As if the rest were not there, whatever it holds."""
    dims = draw.draw(st.integers(1, 2))
    shape = [3, 2, *(draw.draw(st.integers(3, 7)) for _ in range(dims))]
    valid = [draw.draw(st.integers(1, 3)), 2, *(draw.draw(st.integers(3, extent)) for extent in shape[2:])]
    how = drawn(valid, lambda low, high: draw.draw(st.integers(low, high)), draw.draw(st.booleans()))
    how = how._replace(bias=False, one_padding=False)
    ends = (2, how.outputs) if how.transposed else (how.outputs * how.groups, 2 // how.groups)
    x, w = small(shape, FP32), small([*ends, *how.taps], FP32, 2)
    part = x[tuple(map(slice, valid))]
    exact = _exact_convolution(part.double(), w.double(), None, how)
    whole = _exact_convolution(x.double(), w.double(), None, how)
    more = {"output_paddings": how.further} if how.transposed else {}

    def body(t, u):
        return pypto.conv(
            t, u, FP32, how.strides, how.around, how.dilations, groups=how.groups, transposed=how.transposed,
            extend_params={"relu_type": int(how.relu)}, **more,
        )  # fmt: skip

    expected = torch.full(whole.shape, 77.0)
    expected[tuple(map(slice, exact.shape))] = exact.float()
    got = _part(shape, valid, FP32, body, [x, w], torch.full(whole.shape, 77.0), TILES[len(shape)])
    assert torch.equal(got, expected), (how, valid)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("valid", [(40, 70), (33, 1), (7, 64), (0, 70)])
def test_blocks_of_a_part(axis, valid):
    """Cells that do not count do not count for the scale of their block either."""
    x = torch.randn(70, 70, generator=torch.Generator().manual_seed(1))
    part = x[: valid[0], : valid[1]]
    x = torch.where(torch.nn.functional.pad(torch.ones(valid), (0, 70 - valid[1], 0, 70 - valid[0])) == 1, x, 1e9)
    q, codes = scaled_down(part.transpose(axis, -1), pypto.DT_FP8E4M3)
    exact = q.to(torch.float8_e4m3fn).float().transpose(axis, -1)
    for at, reference in ((0, exact), (1, 2.0 ** (codes.float() - 127).transpose(axis, -1))):
        extents = [3 if each == axis and at else 70 for each in (0, 1)]
        expected = torch.full(extents, 77.0)
        expected[tuple(map(slice, reference.shape))] = reference
        body = lambda t, at=at: pypto.cast(pypto.quant_mx(t, axis=axis)[at], FP32)  # noqa: E731
        got = _part([70, 70], valid, FP32, body, [x], torch.full(extents, 77.0), TILES[2])
        assert torch.equal(got, expected)


NUMBERS = {"uniform": uniform_numbers, "normal": lambda key, counter, shape, dtype: normal_numbers(key, counter, shape)}


def _made(name, shape, key, counter, dtype):
    body = lambda: getattr(pypto, name)(list(shape), key, counter, 1, dtype)  # noqa: E731
    return run(body, [], torch.empty(shape, dtype=host_dtype(dtype)), "a5sim")


@DRAWN
@hypothesis.given(
    st.sampled_from(list(NUMBERS)), st.sampled_from(FLOATS), st.lists(st.integers(1, 9), min_size=1, max_size=4),
    st.integers(0, 2**64 - 1), st.integers(0, 2**128 - 9999),
)  # fmt: skip
def test_any_random_numbers(name, dtype, shape, key, counter):
    """Those of the key and the counter, in each call."""
    halves = [counter & (2**64 - 1), counter >> 64]
    got = _made(name, shape, key, halves, dtype)
    tolerance = (0.0, 0.0) if name == "uniform" else (8.0 if dtype == FP32 else 0.51, 3e-6)
    check(got, NUMBERS[name](key, counter, tuple(shape), dtype), *tolerance)
    assert torch.equal(got, _made(name, shape, key, halves, dtype))


@functools.cache
def _many(name, dtype, key=2**40 + 17):
    return _made(name, [100, 1000], key, 3, dtype).double()


@pytest.mark.parametrize("dtype", FLOATS, ids=case_id)
@pytest.mark.parametrize("name", NUMBERS)
def test_distribution(name, dtype):
    """Kolmogorov-Smirnov at 1e-6, moments at five standard errors, no correlation of neighbours."""
    x = _many(name, dtype).flatten()
    count, last = x.numel(), 2.0 ** -{FP32: 23, pypto.DT_FP16: 10, pypto.DT_BF16: 7}[dtype]
    is_normal = name == "normal"
    distribution = torch.special.ndtr if is_normal else lambda value: value.clamp(0, 1)
    ordered = x.sort().values
    for shift, side in ((0, -1), (1, 1)):  # values lie on a grid: both ends of a step
        steps = (torch.arange(count, dtype=torch.float64) + shift) / count
        grid = last * (ordered.abs().clamp(min=1) if is_normal else 1)
        gap = side * (steps - distribution(ordered + side * grid))
        assert float(gap.max()) < 2.7 / math.sqrt(count)
    mean, spread = (0.0, 1.0) if is_normal else (0.5 - last / 2, math.sqrt(1 / 12))
    assert abs(float(x.mean()) - mean) < 5 * spread / math.sqrt(count) + last / 8
    assert abs(float(x.std()) / spread - 1) < 5 / math.sqrt(2 * count) + last
    centred = (x - x.mean()) / x.std()
    for distance in (1, 2, 4, 1000):
        assert abs(float((centred[distance:] * centred[:-distance]).mean())) < 5 / math.sqrt(count)


@pytest.mark.parametrize("name", NUMBERS)
def test_keys_and_counters_tell_numbers_apart(name):
    one, other = _many(name, FP32), _many(name, FP32, 2**40 + 18)
    assert float((one == other).double().mean()) < 1e-3
    later = _made(name, [99, 1000], 2**40 + 17, 3 + 250, FP32).double()  # 250 blocks of four numbers
    assert torch.equal(later, one[1:])
