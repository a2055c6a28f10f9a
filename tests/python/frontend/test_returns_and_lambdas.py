"""Helpers that return inside of branches on symbolic conditions, and lambdas, which are helpers too."""

import itertools

import pytest
import torch
from frontend_samples import line_of

import pypto
from pypto import ir

FP32, INT32 = pypto.DT_FP32, pypto.DT_INT32
T = pypto.Tensor
SCALE = 3


def early(x, n, m):
    if n > 0:
        return x + 1
    return x * 2


def both(x, n, m):
    if n > 0:
        return x + 1
    else:  # noqa: RET505
        return x * 2


def some_paths(x, n, m):
    if n > 0:
        if m > 0:
            return x + 1
        x = x * 3
    elif m > 1:
        return x - 1
    x = x + n
    if m > 0:
        return x * 5
    return x * 7


def chain(x, n, m):
    if n == 0:
        return x
    if n == 1:
        return x + m
    if n == 2:
        y = x * 2
    elif n == 3:
        return x - 3
    else:
        y = x * SCALE
    return y + 1


def numbers(x, n, m):
    def number():
        if n > 0:
            return m
        if m > 0:
            return 2
        return n + 5

    return x + number()


def pairs(x, n, m):
    def pair():
        if n > 0:
            return x + 1, x * 2
        return x * 3, x - 1

    a, b = pair()
    return a + b * 5


def nothing(x, n, m):
    y = x + 0

    def update():
        if n > 0:
            return
        y[:] = x * 2
        if m > 0:
            return None  # noqa: RET501
        y[0:1] = x[1:2] + 1

    update()
    return y


def known_conditions(x, n, m):
    for step in range(4):
        if step == 3:
            return x * step + n
    return x


def with_options(x, n, m):
    with pypto.options():
        if n > 0:
            return x + 1
        x = x * 2
    if m > 0:
        x = x + 10
    return x


def in_a_loop_around(x, n, m):
    def step(x, i):
        if i > n:
            return x * 2
        return x + i

    for i in LOOP(4):
        x = step(x, i)
    return x


def in_a_python_loop(x, n, m):
    for step in range(3):
        if n > step:
            return x + step
    return x * 2


def in_loops_in_loops(x, n, m):
    for step in range(3):
        for inner in range(2):
            if n > step and m > inner:
                return x + step * 10 + inner
        if m == 1:
            return x + 99
    return x * 2


def behind_what_the_body_does(x, n, m):
    for step in range(3):
        x = x + 1
        if n > step:
            if m > 0:
                return x
            x = x * 2
    return x - 5


def in_an_endless_loop(x, n, m):
    while True:
        if n > 0:
            return x + m
        return x + 1


def beside_known_conditions(x, n, m):
    for step in range(5):
        if step == 3:
            return x + 7
        if n == step:
            return x * step
        with pypto.options():
            if step == 1 and m > 0:
                return x - 1
    return x


def of_a_number(x, n, m):
    def first():
        for step in (4, 2, 1):
            if n >= step:
                return step
        return 0

    return x + first()


def of_pairs(x, n, m):
    def pair():
        for step in range(2):
            if n == step:
                return x, step
        return x + 1, 5

    y, k = pair()
    return y * (k + 2)


LOOP = range
HELPERS = [
    in_a_python_loop, in_loops_in_loops, behind_what_the_body_does, in_an_endless_loop, beside_known_conditions,
    of_a_number, of_pairs,
    early, both, some_paths, chain, numbers, pairs, nothing, known_conditions, with_options, in_a_loop_around,
]  # fmt: skip


@pytest.mark.parametrize("helper", HELPERS, ids=lambda helper: helper.__name__)
def test_returns_in_branches(helper, monkeypatch):
    @pypto.frontend.jit
    def kernel(x: T([8], FP32), k: T([2], INT32), out: T([8], FP32)):
        out[:] = helper(x, k[0], k[1])

    for n, m in itertools.product((-1, 0, 1, 2, 3, 4), (0, 1, 2)):
        x, out = torch.randn(8), torch.zeros(8)
        expected = helper(x.clone(), n, m)
        with monkeypatch.context() as patch:
            patch.setattr(f"{__name__}.LOOP", pypto.loop)
            kernel(x, torch.tensor([n, m], dtype=torch.int32), out)
        torch.testing.assert_close(out, expected)


def test_what_returns_do_not_fit():
    def kinds(x, n):
        if n > 0:
            return x
        return 3

    def falls_off(x, n):  # noqa: RET503
        if n > 0:
            return x
        x[:] = x + 1

    def out_of_a_loop(x, n):
        if n > 3:
            return x
        for i in pypto.loop(3):
            if i == n:
                return x + 1
        return x

    @pypto.frontend.jit
    def mixed(x: T([4], FP32), n: T([1], INT32)):
        x[:] = kinds(x, n[0])

    @pypto.frontend.jit
    def missing(x: T([4], FP32), n: T([1], INT32)):
        x[:] = falls_off(x, n[0])

    @pypto.frontend.jit
    def looped(x: T([4], FP32), n: T([1], INT32)):
        x[:] = out_of_a_loop(x, n[0])

    text = "in one branch of the if at line"
    with pytest.raises(pypto.CompileError, match="'return value of kinds' is a tensor .* DT_FP32 " + text) as caught:
        ir.compile(mixed)
    assert "and 3 in the other" in str(caught.value)
    assert caught.value.lineno == line_of(mixed, "x[:] = kinds")
    with pytest.raises(pypto.CompileError, match="'return value of falls_off' is a tensor .* and None in the other"):
        ir.compile(missing)
    with pytest.raises(SyntaxError, match="Unsupported syntax: return in a pypto.loop") as caught:
        ir.compile(looped)
    assert caught.value.lineno == line_of(out_of_a_loop, "return x + 1")


def test_ten_returns_are_traced_once_each():
    def ladder(x, n):
        if n == 0:
            return x
        if n == 1:
            return x + 1
        if n == 2:
            return x + 2
        if n == 3:
            return x + 3
        if n == 4:
            return x + 4
        if n == 5:
            return x + 5
        if n == 6:
            return x + 6
        if n == 7:
            return x + 7
        return x + 8

    @pypto.frontend.jit
    def kernel(x: T([4], FP32), n: T([1], INT32)):
        x[:] = ladder(x, n[0])

    text = ir.compile(kernel).to_text()
    assert text.count("= add(") == 8


# Lambdas.

CHOSEN = lambda x, n: (x + 1.0) if n > 0 else (x * 2.0)  # noqa: E731
LARGER = lambda n, m: n if n > 0 and m > n else m  # noqa: E731
PAIR = [(lambda x, n: x + 1.0 if n > 0 else x), (lambda x, n: x * 2.0 if n < 1 or n == 3 else x)]
NESTED = lambda n: lambda x: x if not n > 1 else early(x, n, 0)  # noqa: E731
LONG = (  # noqa: E731
    lambda x, n: (
        x * 5.0
        if 0 < n < 3
        else early(x, n, 0)
    )
)  # fmt: skip


def test_lambdas_outside_of_the_kernel():
    table = {"last": lambda x, n: x - 5.0 if n == 0 else x}
    shift = 4.0
    captured = lambda x, n: x + shift if n > 1 else x  # noqa: E731

    def body(x, n, m):
        x = CHOSEN(x, n) + LARGER(n, m)
        for each in PAIR:
            x = each(x, n)
        x = NESTED(n)(x)
        return table["last"](captured(LONG(x, n), n), n)

    @pypto.frontend.jit
    def kernel(x: T([4], FP32), k: T([2], INT32), out: T([4], FP32)):
        out[:] = body(x, k[0], k[1])

    for n, m in itertools.product((-1, 0, 1, 2, 3), (0, 1, 2)):
        x, out = torch.randn(4), torch.zeros(4)
        kernel(x, torch.tensor([n, m], dtype=torch.int32), out)
        torch.testing.assert_close(out, body(x, n, m))


def test_lambdas_whose_source_cannot_be_told_run_natively():
    made = eval("lambda x, n: x + n")
    refused = eval("lambda x, n: x if n > 0 else x * 2")

    @pypto.frontend.jit
    def kernel(x: T([4], FP32), n: T([1], INT32), out: T([4], FP32)):
        out[:] = made(x, n[0])

    @pypto.frontend.jit
    def unknown(x: T([4], FP32), n: T([1], INT32), out: T([4], FP32)):
        out[:] = refused(x, n[0])

    x, out = torch.randn(4), torch.zeros(4)
    kernel(x, torch.tensor([2], dtype=torch.int32), out)
    assert torch.equal(out, x + 2)
    with pytest.raises(pypto.CompileError, match="Not concrete value."):
        ir.compile(unknown)


def test_a_changed_lambda_is_another_kernel():
    factor = 2.0
    act = lambda x, n: x * factor if n > 0 else x  # noqa: E731

    @pypto.frontend.jit
    def kernel(x: T([4], FP32), n: T([1], INT32), out: T([4], FP32)):
        out[:] = act(x, n[0])

    x, out, one = torch.randn(4), torch.zeros(4), torch.tensor([1], dtype=torch.int32)
    kernel(x, one, out)
    assert torch.equal(out, x * 2)
    factor = 5.0
    kernel(x, one, out)
    assert torch.equal(out, x * 5)
    act = lambda x, n: x * factor if n < 0 else x  # noqa: E731
    kernel(x, one, out)
    assert torch.equal(out, x)


def test_errors_in_a_lambda_point_into_it():
    broken = lambda x, n: x + pypto.zeros(3) if n > 0 else x  # noqa: E731

    @pypto.frontend.jit
    def kernel(x: T([4], FP32), n: T([1], INT32), out: T([4], FP32)):
        out[:] = broken(x, n[0])

    with pytest.raises(pypto.CompileError) as caught:
        ir.compile(kernel)
    assert caught.value.lineno == broken.__code__.co_firstlineno
    assert "in <lambda>" in str(caught.value)
