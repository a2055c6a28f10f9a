"""Every element-wise row of the table, by dtype and shape, against torch in FP64 or exact integers."""

import math

import pytest
import torch
from catalogue_support import BROADCASTS, FLOATS, HALF_ULPS, ROWS, SHAPES, TORCH, case_id, check, dtypes_of, run, values

import pypto


def _wrapped(value, dtype):
    bits = {pypto.DT_INT8: 8, pypto.DT_UINT8: 8, pypto.DT_INT16: 16, pypto.DT_UINT16: 16}.get(dtype, 32)
    value = value & ((1 << bits) - 1)
    signed = dtype in (pypto.DT_INT8, pypto.DT_INT16, pypto.DT_INT32)
    return torch.where(value >= 1 << (bits - 1), value - (1 << bits), value) if signed else value


def _floor_quotient(a, b):
    safe = b.where(b != 0, torch.ones_like(b))
    return torch.div(a, safe, rounding_mode="floor").where(b != 0, torch.zeros_like(a))


def _integer_power(a, b):
    result = torch.zeros_like(a)
    for index in range(a.numel()):
        base, power = int(a.view(-1)[index]), int(b.view(-1)[index])
        if power < 0:
            result.view(-1)[index] = 1 if base == 1 else ((-1 if power % 2 else 1) if base == -1 else 0)
        else:
            result.view(-1)[index] = pow(base, power, 1 << 32)
    return result


def _int_or(real, whole):
    return lambda *x: real(*x) if x[0].is_floating_point() else whole(*x)


# By name: the reference, and the kernel's error in FP32 in ulps. Integer references work on INT64 and wrap afterwards.
UNARY = {
    "neg": (torch.neg, 0.0), "exp": (torch.exp, 1.0), "sqrt": (torch.sqrt, HALF_ULPS), "rsqrt": (torch.rsqrt, 1.5),
    "reciprocal": (torch.reciprocal, HALF_ULPS), "tanh": (torch.tanh, 2.0), "erf": (torch.erf, 2.0),
    "abs": (torch.abs, 0.0), "log": (torch.log, 1.0), "ceil": (torch.ceil, 0.0), "floor": (torch.floor, 0.0),
    "trunc": (torch.trunc, 0.0), "sin": (torch.sin, HALF_ULPS), "cos": (torch.cos, HALF_ULPS),
    "tan": (torch.tan, HALF_ULPS), "asin": (torch.asin, HALF_ULPS), "acos": (torch.acos, HALF_ULPS),
    "atan": (torch.atan, HALF_ULPS), "sinh": (torch.sinh, HALF_ULPS), "cosh": (torch.cosh, HALF_ULPS),
    "asinh": (torch.asinh, HALF_ULPS), "acosh": (torch.acosh, HALF_ULPS), "atanh": (torch.atanh, HALF_ULPS),
    "cbrt": (lambda x: x.sign() * x.abs() ** (1 / 3), HALF_ULPS), "erfc": (torch.erfc, HALF_ULPS),
    "expm1": (torch.expm1, HALF_ULPS), "exp2": (torch.exp2, 1.0), "log1p": (torch.log1p, HALF_ULPS),
    "log2": (torch.log2, HALF_ULPS), "log10": (torch.log10, HALF_ULPS),
    "sign": (lambda x: (x > 0).to(x.dtype) - (x < 0).to(x.dtype), 0.0),
    "signbit": (lambda x: torch.signbit(x) & (x == x), 0.0), "isfinite": (torch.isfinite, 0.0),
    "isnan": (torch.isnan, 0.0), "logical_not": (lambda x: x == 0, 0.0),
    "bitwise_not": (torch.bitwise_not, 0.0), "relu": (lambda x: x.clamp(min=0), 0.0), "sigmoid": (torch.sigmoid, 2.0),
}  # fmt: skip
BINARY = {
    "add": (torch.add, HALF_ULPS), "sub": (torch.sub, HALF_ULPS), "mul": (torch.mul, HALF_ULPS),
    "div": (lambda a, b: a.double() / b.double(), 1.51), "maximum": (torch.maximum, 0.0),
    "minimum": (torch.minimum, 0.0), "eq": (torch.eq, 0.0), "ne": (torch.ne, 0.0), "lt": (torch.lt, 0.0),
    "le": (torch.le, 0.0), "gt": (torch.gt, 0.0), "ge": (torch.ge, 0.0), "logical_and": (torch.logical_and, 0.0),
    "bitwise_and": (torch.bitwise_and, 0.0), "bitwise_or": (torch.bitwise_or, 0.0),
    "bitwise_xor": (torch.bitwise_xor, 0.0),
    "bitwise_left_shift": (lambda a, b: a << b, 0.0), "bitwise_right_shift": (lambda a, b: a >> b, 0.0),
    "floor_div": (_int_or(torch.floor_divide, _floor_quotient), HALF_ULPS),
    "ceil_div": (lambda a, b: -_floor_quotient(-a, b), 0.0),
    "remainder": (_int_or(torch.remainder, lambda a, b: (a - _floor_quotient(a, b) * b).where(b != 0, 0 * a)),
                  HALF_ULPS),
    "fmod": (torch.fmod, HALF_ULPS), "pow": (_int_or(torch.pow, _integer_power), HALF_ULPS),
    "atan2": (torch.atan2, HALF_ULPS), "hypot": (torch.hypot, HALF_ULPS), "gcd": (torch.gcd, 0.0),
    "expand_exp_dif": (None, 1.0),
}  # fmt: skip


def test_every_elementwise_row_is_tested_here():
    public = {name for name in ROWS if not name.startswith("_")}
    assert {name for name in public if ROWS[name][2] == "unary"} == set(UNARY)
    assert {name for name in public if ROWS[name][2] == "binary"} == set(BINARY)
    assert {name for name in public if ROWS[name][2] == "select"} == {"where"}


def _cases(table):
    return [(name, dtype, platform) for name in table for dtype, platform in dtypes_of(name)]


def _exact(x):
    if x.is_floating_point():
        return x.double()
    return x if x.dtype is torch.bool else x.to(torch.int64)


def _result_dtype(name, dtype):
    if name in ("signbit", "isfinite", "isnan", "logical_not", "logical_and", "eq", "ne", "lt", "le", "gt", "ge"):
        return pypto.DT_BOOL
    to_float = name in ("div", "expm1", "exp2") and dtype not in FLOATS
    return pypto.DT_FP32 if to_float else dtype


def _check_result(name, dtype, got, expected, ulps):
    result = _result_dtype(name, dtype)
    if not got.dtype.is_floating_point and result != pypto.DT_BOOL and dtype != pypto.DT_BOOL:
        expected = _wrapped(expected, dtype)
    if result in (pypto.DT_FP16, pypto.DT_BF16) and ulps > 0:
        ulps = HALF_ULPS
    check(got, expected, ulps)


@pytest.mark.parametrize(("name", "dtype", "platform"), _cases(UNARY), ids=case_id)
def test_unary(name, dtype, platform):
    reference, ulps = UNARY[name]
    for shape in SHAPES:
        x = values(shape, dtype)
        if name in ("exp2", "expm1") and dtype not in FLOATS:
            x = x % 30
        out = run(getattr(pypto, name), [x], torch.empty(shape, dtype=TORCH[_result_dtype(name, dtype)]), platform)
        exact = _exact(x)
        if name in ("exp2", "expm1"):
            exact = exact.double()
        _check_result(name, dtype, out, reference(exact), ulps)


def _right_operand(name, shape, dtype):
    if name.startswith("bitwise_") and name.endswith("shift"):
        return torch.randint(0, 12, shape).to(TORCH[dtype])
    if name == "pow" and dtype not in FLOATS:
        return (torch.randint(0, 9, shape)).to(TORCH[dtype])
    if name == "div" and dtype not in FLOATS:
        y = values(shape, dtype, 2)
        return y.where(y != 0, torch.ones_like(y))
    return values(shape, dtype, 2)


@pytest.mark.parametrize(("name", "dtype", "platform"), _cases(BINARY), ids=case_id)
def test_binary(name, dtype, platform):
    reference, ulps = BINARY[name]
    for left, right in BROADCASTS:
        x, y = values(left, dtype, 1), _right_operand(name, right, dtype)
        if name == "ceil_div":
            x, y = x // 4096, y // 4096
        shape = torch.broadcast_shapes(left, right)
        out = run(getattr(pypto, name), [x, y], torch.empty(shape, dtype=TORCH[_result_dtype(name, dtype)]), platform)
        a, b = (t.contiguous() for t in torch.broadcast_tensors(_exact(x), _exact(y)))
        if name == "expand_exp_dif":
            expected = torch.exp((x.float() - y.float()).double())
        else:
            expected = reference(a, b)
        _check_result(name, dtype, out, expected, ulps)


@pytest.mark.parametrize(("name", "dtype", "platform"), _cases({"where": None}), ids=case_id)
def test_where(name, dtype, platform):
    for shape in ((7,), (33, 40), (2, 3, 5, 19)):
        condition = torch.rand(shape) > 0.5
        a, b = values(shape, dtype, 1), values((1,) * len(shape), dtype, 2)
        out = run(pypto.where, [condition, a, b], torch.empty(shape, dtype=TORCH[dtype]), platform)
        check(out, torch.where(condition, a, b.expand(shape)).double() if dtype in FLOATS else a.where(condition, b))


def test_where_with_numbers():
    condition, x = torch.rand(9, 20) > 0.5, torch.randn(9, 20)
    check(run(lambda c, t: pypto.where(c, t, 2.5), [condition, x], torch.empty(9, 20)), x.where(condition, 2.5))
    check(run(lambda c: pypto.where(c, 1.5, -1.0), [condition], torch.empty(9, 20)),
          torch.where(condition, 1.5, -1.0))  # fmt: skip
    whole = run(lambda c: pypto.where(c, 3, 4), [condition], torch.empty(9, 20, dtype=torch.int32))
    check(whole, torch.where(condition, 3, 4))
    half = run(
        lambda c, t: pypto.where(c, t, pypto.Element(pypto.DT_FP16, 0.1)), [condition, x.half()],
        torch.empty(9, 20, dtype=torch.float16),
    )  # fmt: skip
    check(half, x.half().where(condition, torch.tensor(0.1).half()))


@pytest.mark.parametrize("dtype", FLOATS, ids=case_id)
def test_functions_with_parameters(dtype):
    x = values((13, 40), dtype)
    empty = torch.empty(13, 40, dtype=TORCH[dtype])
    wide = x.double()
    check(run(pypto.round, [x], empty.clone()), torch.round(wide))
    check(run(lambda t: pypto.round(t, 2), [x], empty.clone()), torch.round(wide, decimals=2), HALF_ULPS)
    check(run(lambda t: pypto.round(t, -1), [x], empty.clone()), torch.round(wide, decimals=-1), HALF_ULPS)
    check(run(pypto.lrelu, [x], empty.clone()), torch.where(wide >= 0, wide, wide * float(torch.tensor(0.01))), 0.51)
    check(run(lambda t: pypto.clip(t, -1.0, 2), [x], empty.clone()), wide.clamp(-1, 2))
    check(run(lambda t: pypto.clip(t, max=-2), [x], empty.clone()), wide.clamp(max=-2))
    check(run(lambda t: pypto.clip(t, 3, 1), [x], empty.clone()), torch.where(wide.isnan(), wide, 1.0))
    check(run(lambda t: pypto.clip(t, math.nan, 1.0), [x], empty.clone()), torch.full_like(wide, math.nan))
    low, high = values((40,), dtype, 5), values((13, 1), dtype, 6)
    check(run(pypto.clip, [x, low, high], empty.clone()), torch.minimum(torch.maximum(wide, low), high))
    weight = torch.randn(40).to(TORCH[dtype])
    check(run(pypto.prelu, [x, weight], empty.clone()), torch.where(wide >= 0, wide, wide * weight.double()), 0.51)


def test_integer_clip_and_round():
    x = values((13, 40), pypto.DT_INT32)
    empty = torch.empty(13, 40, dtype=torch.int32)
    check(run(lambda t: pypto.clip(t, -5, 7), [x], empty.clone()), x.clamp(-5, 7))
    check(run(pypto.round, [x], empty.clone()), x)
    small = x % 1000
    expected = torch.round(small.double() / 100) * 100
    check(run(lambda t: pypto.round(t, -2), [small], empty.clone()), expected)


@pytest.mark.parametrize(
    ("left", "right", "result"),
    [
        (pypto.DT_FP32, pypto.DT_FP16, pypto.DT_FP32), (pypto.DT_FP16, pypto.DT_BF16, pypto.DT_FP32),
        (pypto.DT_BF16, pypto.DT_INT32, pypto.DT_BF16), (pypto.DT_INT32, pypto.DT_FP32, pypto.DT_FP32),
    ],
    ids=case_id,
)  # fmt: skip
def test_pow_promotes(left, right, result):
    x, y = (torch.randint(1, 5, (9, 33)).to(TORCH[dtype]) for dtype in (left, right))
    out = run(pypto.pow, [x, y], torch.empty(9, 33, dtype=TORCH[result]))
    check(out, x.double() ** y.double(), HALF_ULPS)


def test_axpy_in_place():
    @pypto.frontend.jit
    def kernel(
        y: pypto.Tensor([8, 24], pypto.DT_FP32), x: pypto.Tensor([1, 24], pypto.DT_FP16),
        out: pypto.Tensor([8, 24], pypto.DT_FP32),
    ):  # fmt: skip
        out[:] = pypto.axpy_(y, x, 2.5) + 1.0

    y, x, out = torch.randn(8, 24), torch.randn(1, 24).half(), torch.empty(8, 24)
    expected = y + 2.5 * x.float()
    kernel(y, x, out)
    check(y, expected.double(), 1.0, 1e-6)
    check(out, (expected + 1).double(), 1.0, 1e-6)


def test_shifts_beyond_the_width():
    x = torch.tensor([1, -1, 255, -256, 32767], dtype=torch.int16)
    shift = torch.tensor([16, 15, 20, 31, 100], dtype=torch.int16)
    left = run(pypto.bitwise_left_shift, [x, shift], torch.empty_like(x))
    right = run(pypto.bitwise_right_shift, [x, shift], torch.empty_like(x))
    assert left.tolist() == [0, -32768, 0, 0, 0]
    assert right.tolist() == [0, -1, 0, -1, 0]
