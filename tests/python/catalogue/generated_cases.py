"""One case for each operation of the catalogue, dtype and shape: inputs, what the kernel does, and the exact result.

`CASES` has a maker by name, or several of them where a parameter changes what is done. A maker takes a shape and a
dtype; `dtypes_in_table` and `ranks_in_table` say what those may be. References are torch in FP64, exact integers, or
the bits of what is only moved.
"""

import torch
from catalogue_support import FLOATS, HALF_ULPS, TORCH, values
from generated_moves import MOVED
from generated_products import PRODUCTS
from generated_random import RANDOM
from generated_support import (
    BOOL,
    FP16,
    FP32,
    INT32,
    Case,
    bits,
    codes_of,
    data,
    dim_of,
    in_place,
    small,
    stored_shape,
    to_codes,
    wide,
)
from test_elementwise import BINARY, UNARY, _exact, _result_dtype, _right_operand, _wrapped
from test_int4 import values_of as int4_values
from test_packed import MAGNITUDES
from test_packed import values_of as fp4_values
from test_small_floats import FP8, HF8_VALUES

import pypto
from pypto.frontend.catalogue.operations import CATALOGUE

# Elementwise.


def _unary(name):
    def make(shape, dtype):
        reference, ulps = UNARY[name]
        x = values(shape, dtype)
        if name in ("exp2", "expm1") and dtype not in FLOATS:
            x = x % 30
        exact = _exact(x)
        return _rounded(name, [(x, dtype)], reference(exact.double() if name in ("exp2", "expm1") else exact), dtype,
                        ulps)  # fmt: skip

    return make


def _rounded(name, inputs, expected, dtype, ulps):
    result = _result_dtype(name, dtype)
    if result not in FLOATS and result != BOOL and dtype != BOOL:
        expected = _wrapped(expected, dtype)
    if result in FLOATS and result != FP32 and ulps > 0:
        ulps = HALF_ULPS
    return Case(inputs, CATALOGUE[name], expected, result, ulps)


def broadcast(shape):
    """Another shape that goes with it: extents of 1 where the first has none, every second time."""
    other = [1 if at % 2 else extent for at, extent in enumerate(shape)]
    other = [3 if extent == 1 and at % 2 == 0 else extent for at, extent in enumerate(other)]
    return tuple(other)


def _binary(name):
    def make(shape, dtype, other=None):
        reference, ulps = BINARY[name]
        x, y = values(shape, dtype, 1), _right_operand(name, shape if other is None else other, dtype)
        if name == "ceil_div":
            x, y = x // 4096, y // 4096
        a, b = (t.contiguous() for t in torch.broadcast_tensors(_exact(x), _exact(y)))
        expected = torch.exp((x.float() - y.float()).double()) if reference is None else reference(a, b)
        return _rounded(name, [(x, dtype), (y, dtype)], expected, dtype, ulps)

    return make


def _greater(shape, dtype, other=None):
    case = _binary("gt")(shape, dtype, other)
    return case._replace(body=CATALOGUE["greater"])


def _where(shape, dtype, other=None):
    other = shape if other is None else other
    condition = torch.rand(shape, generator=torch.Generator().manual_seed(4)) > 0.5
    a, b = values(shape, dtype, 1), values(other, dtype, 2)
    both = torch.broadcast_shapes(shape, other)
    expected = torch.where(condition.expand(both), wide(a).expand(both), wide(b).expand(both))
    return Case([(condition, BOOL), (a, dtype), (b, dtype)], CATALOGUE["where"], expected, dtype)


def _cast(shape, dtype):
    x = data(shape, dtype)
    if dtype in TORCH:
        target = FP32 if dtype != FP32 else FP16
        expected = wide(x).double() if dtype != pypto.DT_INT64 else x.double()
        return Case([(x, dtype)], lambda t: CATALOGUE["cast"](t, target), expected, target, 0.51)
    if dtype == pypto.DT_INT4:
        return Case([(x, dtype)], lambda t: CATALOGUE["cast"](t, INT32), int4_values(x), INT32)
    exact = (
        fp4_values(x, dtype) if dtype in MAGNITUDES else HF8_VALUES[x.long()] if dtype == pypto.DT_HF8 else x.double()
    )
    return Case([(x, dtype)], lambda t: CATALOGUE["cast"](t, FP32), exact, FP32)


def _clip(shape, dtype):
    x = values(shape, dtype)
    return Case([(x, dtype)], lambda t: CATALOGUE["clip"](t, -1, 2), wide(x).clamp(-1, 2), dtype)


def _round(shape, dtype):
    x = values(shape, dtype)
    return Case([(x, dtype)], CATALOGUE["round"], torch.round(x.double()).to(wide(x).dtype), dtype)


def _lrelu(shape, dtype):
    x = values(shape, dtype)
    slope = float(torch.tensor(0.01))
    expected = torch.where(wide(x) >= 0, wide(x), wide(x) * slope)
    return Case([(x, dtype)], CATALOGUE["lrelu"], expected, dtype, HALF_ULPS)


def _prelu(shape, dtype):
    x, weight = values(shape, dtype), small([shape[1] if len(shape) > 1 else 1], dtype, 2)
    along = weight.double().reshape([-1 if at == min(1, len(shape) - 1) else 1 for at in range(len(shape))])
    expected = torch.where(wide(x) >= 0, wide(x), wide(x) * along)
    return Case([(x, dtype), (weight, dtype)], CATALOGUE["prelu"], expected, dtype, HALF_ULPS)


def _axpy(shape, dtype):
    y, x = small(shape, dtype), small(broadcast_into(shape), dtype, 2)
    expected = wide(y) + 2.5 * wide(x)
    return Case([(y, dtype), (x, dtype)], lambda t, u: in_place("axpy_")(t, u, 2.5), expected, dtype, HALF_ULPS)


def broadcast_into(shape):
    """A shape that broadcasts to this one."""
    return tuple(1 if at % 2 else extent for at, extent in enumerate(shape))


# Along an axis.


def _reduced(name):
    def make(shape, dtype):
        dim = dim_of(shape)
        x = values(shape, dtype) if name in ("amax", "amin") else small(shape, dtype)
        expected = getattr(torch, name)(wide(x), dim, keepdim=True)
        if dtype not in FLOATS:
            expected = expected.to(TORCH[dtype]) if dtype in (INT32, pypto.DT_INT16) else expected
        return Case([(x, dtype)], lambda t: CATALOGUE[name](t, dim, True), expected, dtype, HALF_ULPS)

    return make


def _first_extreme(name):
    def make(shape, dtype):
        x, dim = (values(shape, dtype) * 4).round(), dim_of(shape)
        expected = getattr(torch, name)(x.float(), dim, keepdim=True)
        return Case([(x, dtype)], lambda t: CATALOGUE[name](t, dim, True), expected, INT32)

    return make


def _running(name):
    def make(shape, dtype):
        x, dim = small(shape, dtype), dim_of(shape)
        result = dtype if dtype in FLOATS else pypto.DT_INT64
        expected = getattr(torch, name)(wide(x), dim)
        return Case([(x, dtype)], lambda t: CATALOGUE[name](t, dim), expected, result, HALF_ULPS)

    return make


def _topk(shape, dtype):
    x, count = values(shape, dtype), min(shape[-1], 3)
    expected = torch.sort(wide(x), dim=-1, descending=True, stable=True).values[..., :count]
    return Case([(x, dtype)], lambda t: CATALOGUE["topk"](t, count)[0], expected, dtype)


def _argsort(shape, dtype):
    x = (values(shape, dtype) * 2).round()
    return Case([(x, dtype)], lambda t: CATALOGUE["argsort"](t, -1), torch.argsort(x, dim=-1, stable=True), INT32)


def _var(shape, dtype):
    x, dim = small(shape, dtype), dim_of(shape)
    expected = torch.var(wide(x), dim, correction=0, keepdim=True)
    return Case([(x, dtype)], lambda t: CATALOGUE["var"](t, dim, 0, True), expected, dtype, 8.0, 1e-5)


def _softmax(shape, dtype):
    x = torch.randn(shape, generator=torch.Generator().manual_seed(6))
    dim = dim_of(shape)
    return Case([(x, dtype)], lambda t: CATALOGUE["softmax"](t, dim), torch.softmax(x.double(), dim), dtype, 8.0)


def _rms_norm(shape, dtype):
    x = small(shape, dtype)
    expected = wide(x) * torch.rsqrt((wide(x) ** 2).mean(-1, keepdim=True) + 1e-6)
    return Case([(x, dtype)], CATALOGUE["rms_norm"], expected, dtype, 8.0 if dtype == FP32 else HALF_ULPS)


# Made of numbers, of codes, of pairs.


def _filled(name):
    def make(shape, dtype):
        value = {"zeros": 0, "ones": 1, "full": 1}[name]
        if dtype in TORCH:
            expected = torch.full(shape, value).to(TORCH[dtype])
        else:
            codes = torch.full(stored_shape(shape, dtype), codes_of(value, dtype), dtype=torch.uint8)
            expected = codes.view(FP8[dtype]) if dtype in FP8 else codes
        if name == "full":
            return Case([], lambda: CATALOGUE[name](list(shape), value, dtype), expected, dtype)
        return Case([], lambda: CATALOGUE[name](*shape, dtype=dtype), expected, dtype)

    return make


def _arange(shape, dtype):
    """INT32 or FP32 by its arguments; other dtypes by a cast of that."""
    count = shape[-1]
    expected = torch.arange(2, 2 + 3 * count, 3)

    def body():
        start = 2.0 if dtype in FLOATS else 2
        made = CATALOGUE["arange"](start, 2 + 3 * count, 3)
        return made if made.dtype == dtype else pypto.cast(made, dtype)

    return Case([], body, expected.double() if dtype in FLOATS else expected, dtype)


def _one_hot(shape, dtype):
    x = small(shape, dtype).abs()
    expected = torch.nn.functional.one_hot(x.long(), 7)
    return Case([(x, dtype)], lambda t: CATALOGUE["one_hot"](t, 7), expected, pypto.DT_INT64)


def _paired(name):
    def make(shape, dtype):
        shape = (*shape[:-1], 2 * shape[-1])  # the last dim is even
        x, y = data(shape, dtype, 1), data(shape, dtype, 2)
        both = torch.cat([bits(x), bits(y)], -1)
        stream = torch.stack([bits(x), bits(y)], -1).reshape(*shape[:-1], -1)
        expected = stream if name == "interleave" else torch.cat([both[..., 0::2], both[..., 1::2]], -1)
        body = lambda t, u: pypto.concat(list(CATALOGUE[name](t, u)), -1)  # noqa: E731
        return Case([(x, dtype), (y, dtype)], body, expected.view(x.dtype), dtype)

    return make


def _quantize(shape, dtype):
    x = small(shape, FP32) * 20.5
    scale = torch.full([shape[-1]], 1.5)
    expected = (x.double() * 1.5).round().clamp(-128, 127)
    inputs = [(x, dtype), (scale, FP32)]
    return Case(inputs, lambda t, s: CATALOGUE["quantize"](t, s, pypto.DT_INT8, -1), expected, pypto.DT_INT8)


def _dequantize(shape, dtype):
    x, scale = values(shape, dtype), torch.full([shape[-1]], 0.75)
    body = lambda t, s: CATALOGUE["dequantize"](t, s, FP32, -1)  # noqa: E731
    return Case([(x, dtype), (scale, FP32)], body, x.double() * 0.75, FP32)


def _matmul(shape, dtype):
    """[..., m, k] x [..., k, 5], with batch dims of 1 in the second."""
    behind = (*[1] * (len(shape) - 2), shape[-1], 5)
    result = INT32 if dtype == pypto.DT_INT8 else FP32
    if dtype in TORCH:
        a, b = (small(size, dtype, seed) for seed, size in enumerate((shape, behind)))
        product = wide(a).double() @ wide(b).double()
    else:
        exact = [small(size, FP32, seed).clamp(-4, 4) for seed, size in enumerate((shape, behind))]
        a, b = (to_codes(x, dtype) for x in exact)
        product = exact[0].double() @ exact[1].double()
    return Case([(a, dtype), (b, dtype)], lambda t, u: CATALOGUE["matmul"](t, u, result), product, result)


CASES = {
    **MOVED,
    **PRODUCTS,
    **RANDOM,
    **{name: _unary(name) for name in UNARY},
    **{name: _binary(name) for name in BINARY},
    **{name: _reduced(name) for name in ("sum", "prod", "amax", "amin")},
    **{name: _first_extreme(name) for name in ("argmax", "argmin")},
    **{name: _running(name) for name in ("cumsum", "cumprod")},
    **{name: _filled(name) for name in ("zeros", "ones", "full")},
    **{name: _paired(name) for name in ("interleave", "deinterleave")},
    "greater": _greater, "where": _where, "cast": _cast, "clip": _clip, "round": _round, "lrelu": _lrelu,
    "prelu": _prelu, "axpy_": _axpy, "topk": _topk, "argsort": _argsort, "var": _var, "softmax": _softmax,
    "rms_norm": _rms_norm, "arange": _arange, "one_hot": _one_hot, "quantize": _quantize, "dequantize": _dequantize,
    "matmul": _matmul,
}  # fmt: skip
